"""Predicates as Python: the interpreter for environments without unknowns, several times as fast as the closures.

Without an unknown among what a predicate reads, three-valued logic is Python's own, so a predicate becomes one Python
expression. :meth:`Expr.compile` stays the definition; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, cast

from configurator.core.expr import And, Compare, Constant, Derived, Env, Expr, Given, In, Not, Or, Term
from configurator.core.unknown import Unknown

Decided = dict[str, str]

_NUMBER = "(type({0}) is int or type({1}) is float)"
_ORDER = {
    "at least": "{0} >= {1}",
    "less than": "{0} < {1}",
    "more than": "{0} > {1}",
    "divides": "{0} != 0 and {1} % {0} == 0",
}


def compile_fast(when: Expr, unless: Expr | None = None) -> Callable[[Env], bool]:
    """Return whether *when* holds, and *unless* does not, as a function of an environment without unknowns.

    Every value that either reads must be known.
    """
    writer = _Writer()
    text = writer.predicate(when)
    if unless is not None:
        text = f"{text} and not {writer.predicate(unless)}"
    return cast("Callable[[Env], bool]", writer.function("e", [f"    return {text}"]))


def compile_steps(
    steps: Sequence[tuple[Expr, Mapping[str, object], Mapping[str, str]]],
) -> Callable[[Env, Decided], None]:
    """Return a function that applies resolutions to an environment without unknowns, in place.

    Args:
        steps: Of each, in order: when it applies, the values or terms it sets by key, and who decided what then.

    Returns:
        A function of the environment and of a mapping that is told who decided. It raises :class:`UnknownValueError`
        where a value turns out to be unknown; the environment is then spoilt.
    """
    writer = _Writer()
    lines = []
    for when, sets, decides in steps:
        lines.append(f"    if {writer.predicate(when)}:")
        # A value it copies is read before any is set.
        for at, value in enumerate(sets.values()):
            text = writer.value(value) if isinstance(value, Term) else writer.bind(value)
            lines.append(f"        s{at} = {text}")
            if isinstance(value, Term):
                lines.append(
                    f"        if type(s{at}) is {writer.bind(Unknown)}: raise {writer.bind(UnknownValueError)}"
                )
        lines.extend(f"        e[{writer.bind(key)}] = s{at}" for at, key in enumerate(sets))
        lines.extend(f"        d[{writer.bind(dest)}] = {writer.bind(slug)}" for dest, slug in decides.items())
    return cast("Callable[[Env, Decided], None]", writer.function("e, d", lines or ["    pass"]))


def compile_checks(rules: Mapping[int, tuple[Expr, Expr]]) -> Callable[[Env], list[int]]:
    """Return a function that tells which of *rules*, whom each concerns and what must hold by number, are violated."""
    writer = _Writer()
    lines = ["    found = []"]
    for at, (when, require) in rules.items():
        lines.append(f"    if {writer.predicate(when)} and not {writer.predicate(require)}: found.append({at})")
    return cast("Callable[[Env], list[int]]", writer.function("e", [*lines, "    return found"]))


class UnknownValueError(Exception):
    """A value that was thought to be known is not."""


class _Writer:
    def __init__(self) -> None:
        self.constants: dict[str, object] = {}
        self._numbers = count()

    def function(self, parameters: str, lines: Sequence[str]) -> object:
        """Return the function with these *lines*."""
        names: dict[str, Any] = dict(self.constants)
        # The text is made of our own operators and of names; values and keys are bound, never spelled.
        exec("\n".join([f"def fast({parameters}):", *lines]), names)  # noqa: S102
        return names["fast"]

    def bind(self, value: object) -> str:
        """Return a name that stands for *value*."""
        name = f"c{next(self._numbers)}"
        self.constants[name] = value
        return name

    def keep(self, text: str) -> tuple[str, str]:
        """Return an assignment expression for *text*, and the name it assigns, for a value that is used twice."""
        name = f"v{next(self._numbers)}"
        return f"({name} := {text})", name

    def value(self, term: Term) -> str:
        """Return the expression for the value of *term*."""
        if isinstance(term, Derived):
            return f"{self.bind(term.function)}({', '.join(self.value(part) for part in term.of)})"
        return f"e[{self.bind(term.key)}]"

    def predicate(self, expr: Expr) -> str:
        """Return the expression for the truth of *expr*."""
        match expr:
            case Constant(truth):
                return str(truth)
            case Given(dest):
                return f"(e[{self.bind(f'given.{dest}')}] is True)"
            case Not(child):
                return f"(not {self.predicate(child)})"
            case And(children):
                return f"({' and '.join(self.predicate(child) for child in children)})" if children else "True"
            case Or(children):
                return f"({' or '.join(self.predicate(child) for child in children)})" if children else "False"
            case In(term, values):
                return self.member(term, values)
            case Compare(left, operator, right):
                return self.compare(left, operator, right)
        raise TypeError(f"no expression is known for {type(expr).__name__}")

    def member(self, term: Term, values: tuple[object, ...]) -> str:
        """Return membership; ``True`` is not 1."""
        if not any(value in (0, 1) for value in values):
            return f"({self.value(term)} in {self.bind(frozenset(values))})"
        first, name = self.keep(self.value(term))
        known = self.bind(frozenset((type(value) is bool, value) for value in values))
        return f"((type({first}) is bool, {name}) in {known})"

    def compare(self, left: Term, operator: str, right: object) -> str:
        """Return a comparison with a constant or a term; only numbers are ordered."""
        if operator in ("is", "is not"):
            text = self.same(left, right)
            return text if operator == "is" else f"(not {text})"
        first, a = self.keep(self.value(left))
        if isinstance(right, Term):
            second, b = self.keep(self.value(right))
            numbers = f"{_NUMBER.format(first, a)} and {_NUMBER.format(second, b)}"
            return f"({numbers} and {_ORDER[operator].format(a, b)})"
        if type(right) not in (int, float):
            return "False"
        return f"({_NUMBER.format(first, a)} and {_ORDER[operator].format(a, self.bind(right))})"

    def same(self, left: Term, right: object) -> str:
        """Return equality; ``True`` is not 1."""
        if right is None or isinstance(right, bool):
            return f"({self.value(left)} is {right})"
        if isinstance(right, Term):
            return f"{self.bind(_same)}({self.value(left)}, {self.value(right)})"
        if right in (0, 1):
            return f"{self.bind(_same)}({self.value(left)}, {self.bind(right)})"
        return f"({self.value(left)} == {self.bind(right)})"


def _same(a: object, b: object) -> bool:
    return a is b or (a == b and type(a) is not bool and type(b) is not bool)
