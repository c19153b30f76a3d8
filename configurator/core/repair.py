"""Ways out: fixes for one finding, repairs for a whole command, the change that frees a blocked option.

All three are one search. A configuration that breaks has a first broken rule, and that rule a conflict: a few choices
one of which whatever repairs it must change. The search branches only there. It goes in order of cost (uniform cost),
so the first configuration without a broken rule is the cheapest, and it never tries changes that no conflict asks for.
Facts of the machine, the model and the release are never changed.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from itertools import count, islice
from math import inf

from configurator.core.availability import AUTO, Auto, Choice, change_to, choices, chosen
from configurator.core.configuration import Change
from configurator.core.conflict import conflict
from configurator.core.engine import Case, CompiledRule, Engine, Environment, Finding, Verdict, engine_for
from configurator.core.rule import Choose, Effect, Rule, Set, SetEnv, Unset

_BUDGET = 6000
"""Configurations one search may evaluate before it gives up; far above what any recorded command needs."""

_DEARER = 5.0
"""Alternatives that cost so much more than the cheapest repair are none: nobody would take them."""


_MOST_FIXES = 6


@dataclass(frozen=True, slots=True)
class Repair:
    """A change after which nothing refuses, crashes or corrupts.

    Attributes:
        change: What to change.
        cost: Weighted cost; see :func:`step_cost`.
        verdict: The engine's verdict after the change.
    """

    change: Change
    cost: float
    verdict: Verdict


def fixes(case: Case, finding: Finding) -> tuple[Change, ...]:
    """Return changes that remove *finding* and add none as bad, the mildest first.

    The ways the rule declares come first, in its own order; then single changes of the flags it reads, by cost.
    """
    engine = engine_for(case.release)
    before = engine.holding(case)
    found: list[Change] = []
    rule = finding.rule

    def works(change: Change) -> bool:
        return _clears(engine, _after(case, change), rule, before, _names(change))

    for change in _declared(engine, case, rule):
        if len(found) == _MOST_FIXES:
            break
        if change not in found and works(change):
            found.append(change)
    if not found and rule.effect is not Effect.UNVERIFIED:
        single = sorted(
            (
                (step_cost(engine, case, dest, choice), change_to(engine, dest, choice))
                for dest, choice in _steps(engine, case, rule.flags())
            ),
            key=lambda pair: pair[0],
        )
        found.extend(islice((change for _, change in single if works(change)), _MOST_FIXES))
    return tuple(found)


def _clears(engine: Engine, after: Case, rule: Rule, before: frozenset[str], names: frozenset[str]) -> bool:
    """Tell whether *rule* surely no longer holds *after* a change of *names*, and nothing as bad holds that did not."""
    rules, part = engine.touched(names)
    own = next((c for c in rules if c.rule.code == rule.code), None)
    if own is None:
        return False
    env = engine.start(after.configuration, after.facts, after.unread)
    first = Environment(env)
    first.unknowns = set(env.unknowns or ())
    engine.resolve(first, engine.slice(own.reads).resolutions)
    if own.violated(first) is not False:
        return False
    engine.resolve(env, part.resolutions)
    return not any(
        truth is True and c.rule.code not in before and (c.rule.effect.breaks or c.rule.effect.rank <= rule.effect.rank)
        for c, truth in engine.violations(rules, env)
    )


def _names(change: Change) -> frozenset[str]:
    return frozenset({*change.set, *change.unset, *(f"env.{name}" for name in change.env)})


def _after(case: Case, change: Change) -> Case:
    unread = {d: u for d, u in case.unread.items() if d not in change.set and d not in change.unset}
    return Case(case.release, case.configuration.replace(change), case.facts, unread)


def _declared(engine: Engine, case: Case, rule: Rule) -> Iterator[Change]:
    for fix in rule.fixes:
        match fix:
            case Set(dest, value):
                if dest in engine.release.table:
                    yield change_to(engine, dest, value)
            case Unset(dest):
                if dest in case.configuration.flags:
                    yield Change(unset=frozenset({dest}))
            case SetEnv(name, value):
                yield Change(env={name: value})
            case Choose(dest):
                if dest in engine.release.table:
                    ranked = sorted(
                        (c for c in choices(engine, dest, case.configuration) if _is_step(engine, case, dest, c)),
                        key=lambda c: step_cost(engine, case, dest, c),
                    )
                    for choice in ranked:
                        yield change_to(engine, dest, choice)


def repairs(case: Case, limit: int = 4) -> tuple[Repair, ...]:
    """Return repairs of the whole command, cheapest first; none of them contains another.

    Of repairs that change the same flags only the cheapest is returned: up to *limit* that cost about as little as the
    cheapest, then, last, the cheapest that gives DCP up. Empty where nothing breaks, and where no change of flags helps.
    """
    engine = engine_for(case.release)
    found = list(_ranked(engine, case, _Goal(), limit))
    if engine.broken(case.configuration, case) and _runs_dcp(engine, case):
        off = _Goal(first=change_to(engine, "dcp_size", 1), first_cost=step_cost(engine, case, "dcp_size", 1))
        kept = [_signature(repair.change) for repair in found]
        # Where the rest of the change is a repair without giving up DCP, giving it up adds nothing.
        found.extend(
            repair for repair in _ranked(engine, case, off, 1) if not any(k <= _signature(repair.change) for k in kept)
        )
    return tuple(sorted(found, key=lambda repair: repair.cost))


def _runs_dcp(engine: Engine, case: Case) -> bool:
    return "dcp_size" in engine.release.modelled and _is_step(engine, case, "dcp_size", 1)


def _ranked(engine: Engine, case: Case, goal: _Goal, limit: int) -> Iterator[Repair]:
    shapes: set[frozenset[str]] = set()
    for change, cost in _search(engine, case, goal, _DEARER):
        shape = _names(change)
        if shape in shapes:
            continue
        shapes.add(shape)
        yield Repair(change, round(cost, 2), engine.check(_after(case, change)).verdict)
        if len(shapes) >= limit:
            return


def way_out(case: Case, dest: str, choice: Choice) -> Change | None:
    """Return the smallest change of other flags after which *choice* of *dest* is no longer blocked, or ``None``."""
    engine = engine_for(case.release)
    start = _after(case, change_to(engine, dest, choice))
    goal = _Goal(about=(dest,), pinned=frozenset({dest}))
    return next((change for change, _ in _search(engine, start, goal)), None)


def step_cost(engine: Engine, case: Case, dest: str, choice: Choice) -> float:
    """Return the weighted cost of choosing *choice* for *dest*.

    Milder is cheaper: choosing another value costs less than dropping a feature; giving up DCP costs most.
    """
    modelled = engine.release.modelled[dest]
    if isinstance(choice, Auto) or (choice is False and choice not in modelled.values):
        return modelled.unset_cost
    cost = modelled.change_cost + modelled.value_costs.get(choice, 0.0)
    if modelled.prefer is not None and case.facts.get(modelled.prefer.key) != choice:
        cost += modelled.not_preferred
    return cost


def _is_step(engine: Engine, case: Case, dest: str, choice: Choice) -> bool:
    if dest in case.unread:
        return True
    now = chosen(engine, dest, case.configuration)
    return not (choice == now and type(choice) is type(now))


def _steps(engine: Engine, case: Case, dests: frozenset[str]) -> Iterator[tuple[str, Choice]]:
    configuration = case.configuration
    for dest in sorted(dests & engine.release.modelled.keys() & engine.release.table.keys()):
        offered = choices(engine, dest, configuration)
        for choice in offered:
            if _is_step(engine, case, dest, choice):
                yield dest, choice
        if dest in configuration.flags and AUTO not in offered:
            spec = engine.release.table[dest]
            if configuration.flags[dest] != spec.default and spec.default not in offered:
                yield dest, AUTO


@dataclass(frozen=True)
class _Goal:
    """What a search wants: no broken rule about some flags, from a first change on, with some flags left alone."""

    about: tuple[str, ...] | None = None
    pinned: frozenset[str] = frozenset()
    first: Change = field(default_factory=Change)
    first_cost: float = 0.0


def _search(engine: Engine, case: Case, goal: _Goal, dearer: float = inf) -> Iterator[tuple[Change, float]]:
    """Yield changes that reach *goal*, cheapest first, none containing an earlier one nor costing *dearer* more."""
    order = count()
    queue: list[tuple[float, int, Change]] = [(goal.first_cost, next(order), goal.first)]
    seen: set[frozenset[tuple[str, object]]] = set()
    accepted: list[frozenset[tuple[str, object]]] = []
    rank = {compiled.rule.code: (i, compiled) for i, compiled in enumerate(engine.breaking)}
    conflicts: dict[Hashable, frozenset[str]] = {}
    evaluated, most = 0, inf
    while queue and evaluated < _BUDGET:
        cost, _, change = heapq.heappop(queue)
        if cost > most:
            return
        signature = _signature(change)
        if signature in seen or any(earlier <= signature for earlier in accepted):
            continue
        seen.add(signature)
        after = _after(case, change)
        codes = engine.broken(after.configuration, after, goal.about)
        evaluated += 1
        if not codes:
            if not change:
                return
            accepted.append(signature)
            most = min(most, cost + dearer)
            yield change, cost
            continue
        _, first = min((rank[code] for code in codes), key=lambda pair: pair[0])
        fixed = goal.pinned.union(change.set, change.unset, (f"env.{name}" for name in change.env))
        # A conflict depends on the choices that its rule depends on, and many configurations of a search share those.
        key = _key(engine, after, first, fixed)
        if key not in conflicts:
            conflicts[key] = conflict(engine, after, first, fixed)
        for step in _branch(engine, after, conflicts[key]):
            heapq.heappush(queue, (cost + step.cost, next(order), change.then(step.change)))


def _key(engine: Engine, case: Case, violated: CompiledRule, fixed: frozenset[str]) -> Hashable:
    names = engine.depends_on(violated.rule)
    flags, env = case.configuration.flags, case.configuration.env
    chosen_ = (
        (name, env.get(name.removeprefix("env.")) if name.startswith("env.") else repr(flags.get(name, AUTO)))
        for name in names
    )
    return violated.rule.code, frozenset(chosen_), fixed & names, names.intersection(case.unread)


@dataclass(frozen=True, slots=True)
class _Step:
    change: Change
    cost: float


def _branch(engine: Engine, case: Case, choices_: frozenset[str]) -> Iterator[_Step]:
    for variable in engine.variables:
        if f"env.{variable.name}" in choices_ and case.configuration.env.get(variable.name) != variable.value:
            yield _Step(Change(env={variable.name: variable.value}), 1.0)
    for dest, choice in _steps(engine, case, choices_):
        yield _Step(change_to(engine, dest, choice), step_cost(engine, case, dest, choice))


def _signature(change: Change) -> frozenset[tuple[str, object]]:
    return frozenset(
        [
            *change.set.items(),
            *((dest, AUTO) for dest in change.unset),
            *((f"${name}", v) for name, v in change.env.items()),
        ]
    )
