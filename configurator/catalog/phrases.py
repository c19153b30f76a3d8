"""Parts of messages that say which backend runs, and whose choice that is: the user's, or what an unset flag becomes."""

from __future__ import annotations

from collections.abc import Callable

from configurator.core.expr import Derived, Term
from configurator.core.unknown import is_unknown

ROLES = ("attention_backend", "decode_attention_backend", "prefill_attention_backend")
DECODE = ("decode_attention_backend", "attention_backend")
PREFILL = ("prefill_attention_backend", "attention_backend")


def _pairs(roles: tuple[str, ...]) -> tuple[Term, ...]:
    return tuple(Term(f"{space}.{role}") for role in roles for space in ("asked", "resolved"))


def _subject(dest: str, asked: object, got: object, verb: str) -> str:
    flag = "--" + dest.replace("_", "-")
    if asked == got:
        return f"{flag} {got} {verb}"
    if asked is None:
        return f"{flag} is not given and becomes {got}, which {verb}"
    return f"{flag} {asked} becomes {got}, which {verb}"


def _undecided(roles: tuple[str, ...], values: tuple[object, ...], may: str) -> str:
    for role, asked in zip(roles, values[::2], strict=True):
        if is_unknown(asked):
            return f"--{role.replace('_', '-')}, whose value is not known here, {may}"
    return f"The backend that an unset --attention-backend becomes {may}"


def _telling(roles: tuple[str, ...], is_it: Callable[[object], bool], verb: str, may: str) -> Derived:
    def tell(*values: object) -> str:
        for role, asked, got in zip(roles, values[::2], values[1::2], strict=True):
            if is_unknown(got):
                continue
            if is_it(got):
                return _subject(role, None if is_unknown(asked) else asked, got, verb)
        return _undecided(roles, values, may)

    return Derived("backend", tell, _pairs(roles), takes_unknown=True)


def backend(name: str, verb: str, may: str, roles: tuple[str, ...] = ROLES) -> Derived:
    """Return a subject with its verb for the backend *name*, by the first of *roles* that runs it.

    Args:
        name: The backend.
        verb: What it does, ``needs`` for example.
        may: The same of a backend of which it is not known whether it is this one: ``may need``.
        roles: Flags by ``dest``.
    """
    return _telling(roles, lambda got: got == name, verb, may)


def serving(roles: tuple[str, ...], verb: str, may: str) -> Derived:
    """Return a subject with its verb for the backend that serves a phase: the first of *roles* that has a value."""

    def tell(*values: object) -> str:
        for role, asked, got in zip(roles, values[::2], values[1::2], strict=True):
            if is_unknown(got):
                break
            if got is not None:
                return _subject(role, None if is_unknown(asked) else asked, got, verb)
        return _undecided(roles, values, may)

    return Derived("backend", tell, _pairs(roles), takes_unknown=True)


KINDS = {"mla": "MLA models", "dsa": "models with sparse attention", "gqa": "GQA models"}
ATTENTION_KIND = Derived(
    "kind of model",
    lambda kind: KINDS.get(str(kind), "this model"),
    (Term("model.attention_kind"),),
    takes_unknown=True,
)
"""Whom a backend serves, or does not."""
