"""Conflicts: of a violated rule, the few choices one of which must change before it can stop being violated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from configurator.core.engine import Case, CompiledResolution, CompiledRule, Engine, Environment
from configurator.core.unknown import Unknown

_FREE = Unknown("any other choice")
_SOME = Unknown("any other value", has_value=True)
_MOST_REMEMBERED = 20_000


@dataclass(frozen=True, slots=True)
class Effort:
    """How hard to look whether a rule stays violated.

    Attributes:
        most_unset: Of so many open flags without a default it is told apart whether they are given; each one doubles
            the cases.
        most_forks: Beyond these, what cannot be decided is unknown, which is as sound and says less.
    """

    most_unset: int
    most_forks: int


THOROUGH = Effort(4, 32)
QUICK = Effort(0, 2)


def conflict(engine: Engine, case: Case, violated: CompiledRule, fixed: frozenset[str] = frozenset()) -> frozenset[str]:
    """Return choices that together keep a rule violated: whatever repairs *case* changes one of them.

    Choices are left open one after the other, as unknown as a missing fact, while three-valued logic still finds the
    rule violated; those that cannot be left open are the conflict. It is minimal in that none of them can be left out,
    as far as that logic sees. Flags that only steer what the server fills in are left open first, so that a conflict
    speaks of what the rule itself reads where it can.

    Args:
        engine: The release.
        case: A configuration with its facts.
        violated: A rule that *case* certainly violates.
        fixed: Choices that stay as they are, flags by ``dest`` and variables as ``env.NAME``.

    Returns:
        Flags by ``dest`` and variables as ``env.NAME``, none of *fixed*; empty where nothing else helps.
    """
    open_ = frozenset[str]()
    candidates = engine.depends_on(violated.rule) - fixed
    direct = candidates & violated.flags
    for group in (candidates - direct, direct):
        if _holds(engine, case, violated, open_ | group):
            open_ |= group
            continue
        for name in sorted(group):
            if _holds(engine, case, violated, open_ | {name}):
                open_ |= {name}
    return candidates - open_


def unavoidable(
    engine: Engine, case: Case, violated: CompiledRule, fixed: frozenset[str], *, effort: Effort = THOROUGH
) -> bool:
    """Tell whether a rule that *case* violates stays violated whatever is chosen apart from *fixed*.

    The answer depends on the fixed choices and on the facts the rule depends on, and is remembered for them. With less
    *effort*, ``False`` may mean that it was not seen.
    """
    names = engine.depends_on(violated.rule)
    read = (*engine.slice(violated.reads).facts, "model.is_placeholder")
    facts = tuple(repr(case.facts[key]) if key in case.facts else "" for key in read)
    choices = tuple((name, repr(case.configuration.flags.get(name, _FREE))) for name in sorted(fixed))
    unread = tuple(name for name in sorted(fixed) if name in case.unread)
    key = (violated.rule.code, choices, unread, facts, effort)
    known = engine.unavoidable.get(key)
    if known is None:
        if len(engine.unavoidable) >= _MOST_REMEMBERED:
            engine.unavoidable.clear()
        known = engine.unavoidable[key] = _holds(engine, case, violated, names - fixed, effort)
    return known


def _holds(engine: Engine, case: Case, violated: CompiledRule, open_: Iterable[str], effort: Effort = THOROUGH) -> bool:
    env = engine.start(case.configuration, case.facts, case.unread)
    unset: list[str] = []
    for name in sorted(open_):  # the same few are told apart in every process
        if name.startswith("env."):
            env[name] = _FREE
            continue
        if engine.defaults[f"asked.{name}"] is None and len(unset) < effort.most_unset:
            unset.append(name)
        env[f"asked.{name}"] = env[f"resolved.{name}"] = env[f"given.{name}"] = _FREE
    resolutions = () if env["model.is_placeholder"] is True else engine.slice(violated.reads).resolutions
    return all(
        violated.violated(outcome) is True
        for given in product((True, False), repeat=len(unset))
        for outcome in _outcomes(engine, resolutions, _with_given(env, dict(zip(unset, given, strict=True))), effort)
    )


def _with_given(env: Environment, given: Mapping[str, bool]) -> Environment:
    """Return *env* with open flags told apart: given some value or other, or not given."""
    told = Environment(env)
    for name, is_given in given.items():
        told[f"asked.{name}"] = told[f"resolved.{name}"] = _SOME if is_given else None
        told[f"given.{name}"] = is_given
    return told


def _outcomes(
    engine: Engine, resolutions: tuple[CompiledResolution, ...], env: Environment, effort: Effort
) -> Iterator[Environment]:
    """Yield what *resolutions* may make of *env*: both cases where it cannot be decided whether one applies."""
    waiting, forks = [(env, 0)], 0
    while waiting:
        env, first = waiting.pop()
        for at in range(first, len(resolutions)):
            compiled = resolutions[at]
            truth = compiled.applies(env)
            if truth is False:
                continue
            values = compiled.values(env)
            if truth is not True:
                if all(env[key] == value for key, value in values.items()):
                    continue
                if forks == effort.most_forks:
                    engine.resolve(env, resolutions[at:])
                    break
                forks += 1
                waiting.append((Environment(env), at + 1))
            env.update(values)
        yield env
