"""Conflicts: of a violated rule, the few choices one of which must change before it can stop being violated."""

from __future__ import annotations

from collections.abc import Iterable

from configurator.core.engine import Case, CompiledRule, Engine
from configurator.core.unknown import Unknown

_FREE = Unknown("any other choice")


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


def unavoidable(engine: Engine, case: Case, violated: CompiledRule, fixed: frozenset[str]) -> bool:
    """Tell whether a rule that *case* violates stays violated whatever is chosen apart from *fixed*."""
    return _holds(engine, case, violated, engine.depends_on(violated.rule) - fixed)


def _holds(engine: Engine, case: Case, violated: CompiledRule, open_: Iterable[str]) -> bool:
    env = engine.start(case.configuration, case.facts, case.unread)
    for name in open_:
        if name.startswith("env."):
            env[name] = _FREE
        else:
            env[f"asked.{name}"] = env[f"resolved.{name}"] = env[f"given.{name}"] = _FREE
    engine.resolve(env)
    return violated.violated(env) is True
