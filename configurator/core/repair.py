"""Ways out: fixes for one finding, repairs for a whole command, the change that frees a blocked option.

All three are one search. A configuration that breaks has a first broken rule; whatever repairs it must change a flag
that this rule reads, so the search branches only there. It goes in order of cost (uniform cost), so the first
configuration without a broken rule is the cheapest, and it never tries changes that no conflict asks for.
Facts of the machine, the model and the release are never changed.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count

from configurator.core.availability import AUTO, Auto, Choice, change_to, choices, chosen
from configurator.core.configuration import Change, Configuration
from configurator.core.engine import Case, Engine, Finding, Verdict, engine_for
from configurator.core.rule import Choose, Effect, Rule, Set, SetEnv, Unset
from configurator.core.unknown import Unknown

_BUDGET = 6000
"""Configurations one search may evaluate before it gives up; far above what any recorded command needs."""


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
    before = engine.check(case)
    bad_before = {f.rule.code for f in before.findings if f.certain}
    found: list[Change] = []
    rule = finding.rule

    def works(change: Change) -> bool:
        after = engine.check(
            Case(case.release, case.configuration.replace(change), case.facts, _still_unread(case, change))
        )
        for other in after.findings:
            if other.rule.code == rule.code:
                return False
            as_bad = other.rule.effect.breaks or other.rule.effect.rank <= rule.effect.rank
            if as_bad and other.certain and other.rule.code not in bad_before:
                return False
        return True

    for change in _declared(engine, case, rule):
        if change not in found and works(change):
            found.append(change)
    if not found and rule.effect is not Effect.UNVERIFIED:
        single = sorted(
            (
                (step_cost(engine, case, dest, choice), change_to(engine, dest, choice))
                for dest, choice in _steps(engine, case.configuration, rule)
            ),
            key=lambda pair: pair[0],
        )
        found.extend(change for _, change in single if works(change))
    return tuple(found[:6])


def _still_unread(case: Case, change: Change) -> dict[str, Unknown]:
    return {d: u for d, u in case.unread.items() if d not in change.set and d not in change.unset}


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
                        (
                            c
                            for c in choices(engine, dest, case.configuration)
                            if _is_step(engine, case.configuration, dest, c)
                        ),
                        key=lambda c: step_cost(engine, case, dest, c),
                    )
                    for choice in ranked:
                        yield change_to(engine, dest, choice)


def repairs(case: Case, limit: int = 4) -> tuple[Repair, ...]:
    """Return repairs of the whole command, cheapest first; none of them contains another.

    Of repairs that change the same flags only the cheapest is returned: up to *limit* that keep DCP, then, last, the
    cheapest that gives it up. Empty where nothing breaks, and where no change of flags helps.
    """
    engine = engine_for(case.release)
    found = list(_ranked(engine, case, Change(), 0.0, limit))
    if engine.broken(case.configuration, case) and "dcp_size" in case.configuration:
        off = change_to(engine, "dcp_size", 1)
        found.extend(_ranked(engine, case, off, step_cost(engine, case, "dcp_size", 1), 1))
    unique = {_signature(repair.change): repair for repair in found}
    return tuple(sorted(unique.values(), key=lambda repair: repair.cost))


def _ranked(engine: Engine, case: Case, start: Change, start_cost: float, limit: int) -> Iterator[Repair]:
    shapes: set[frozenset[str]] = set()
    for change, cost in _search(
        engine, case, _Goal(lambda c: engine.broken(c, case), first=start, first_cost=start_cost)
    ):
        shape = frozenset({*change.set, *change.unset, *change.env})
        if shape in shapes:
            continue
        shapes.add(shape)
        after = engine.check(
            Case(case.release, case.configuration.replace(change), case.facts, _still_unread(case, change))
        )
        yield Repair(change, round(cost, 2), after.verdict)
        if len(shapes) >= limit:
            return


def way_out(case: Case, dest: str, choice: Choice) -> Change | None:
    """Return the smallest change of other flags after which *choice* of *dest* is no longer blocked, or ``None``."""
    engine = engine_for(case.release)
    base = case.configuration.replace(change_to(engine, dest, choice))
    start = Case(case.release, base, case.facts, {d: u for d, u in case.unread.items() if d != dest})
    goal = _Goal(lambda c: engine.broken(c, start, about=(dest,)), pinned=frozenset({dest}))
    return next((change for change, _ in _search(engine, start, goal)), None)


def step_cost(engine: Engine, case: Case, dest: str, choice: Choice) -> float:
    """Return the weighted cost of choosing *choice* for *dest*.

    Milder is cheaper: choosing another value costs less than dropping a feature; giving up DCP costs most.
    """
    modelled = engine.release.modelled[dest]
    if isinstance(choice, Auto) or (choice is False and dest not in engine.release.modelled[dest].values):
        return modelled.unset_cost
    cost = modelled.change_cost + modelled.value_costs.get(choice, 0.0)
    if modelled.prefer is not None and case.facts.get(modelled.prefer.key) != choice:
        cost += modelled.not_preferred
    return cost


def _is_step(engine: Engine, configuration: Configuration, dest: str, choice: Choice) -> bool:
    now = chosen(engine, dest, configuration)
    return not (choice == now and type(choice) is type(now))


def _steps(engine: Engine, configuration: Configuration, rule: Rule) -> Iterator[tuple[str, Choice]]:
    for dest in sorted(rule.flags()):
        if dest not in engine.release.table:
            continue
        offered = choices(engine, dest, configuration)
        for choice in offered:
            if _is_step(engine, configuration, dest, choice):
                yield dest, choice
        if dest in configuration.flags and AUTO not in offered:
            spec = engine.release.table[dest]
            if configuration.flags[dest] != spec.default and spec.default not in offered:
                yield dest, AUTO


@dataclass(frozen=True)
class _Goal:
    """What a search wants: no code left in ``broken``, from a first change on, with some flags left alone."""

    broken: Callable[[Configuration], frozenset[str]]
    pinned: frozenset[str] = frozenset()
    first: Change = field(default_factory=Change)
    first_cost: float = 0.0


def _search(engine: Engine, case: Case, goal: _Goal) -> Iterator[tuple[Change, float]]:
    """Yield changes that reach *goal*, cheapest first, none containing an earlier one."""
    order = count()
    queue: list[tuple[float, int, Change]] = [(goal.first_cost, next(order), goal.first)]
    seen: set[frozenset[tuple[str, object]]] = set()
    accepted: list[frozenset[tuple[str, object]]] = []
    rank = {compiled.rule.code: (i, compiled.rule) for i, compiled in enumerate(engine.breaking)}
    evaluated = 0
    while queue and evaluated < _BUDGET:
        cost, _, change = heapq.heappop(queue)
        signature = _signature(change)
        if signature in seen or any(earlier <= signature for earlier in accepted):
            continue
        seen.add(signature)
        configuration = case.configuration.replace(change)
        codes = goal.broken(configuration)
        evaluated += 1
        if not codes:
            if not change:
                return
            accepted.append(signature)
            yield change, cost
            continue
        _, rule = min((rank[code] for code in codes), key=lambda pair: pair[0])
        changed = {*change.set, *change.unset, *change.env} | goal.pinned
        for step in _branch(engine, case, configuration, rule):
            if not changed & {*step.change.set, *step.change.unset, *step.change.env}:
                heapq.heappush(queue, (cost + step.cost, next(order), change.then(step.change)))


@dataclass(frozen=True, slots=True)
class _Step:
    change: Change
    cost: float


def _branch(engine: Engine, case: Case, configuration: Configuration, rule: Rule) -> Iterator[_Step]:
    for fix in rule.fixes:
        if isinstance(fix, SetEnv) and configuration.env.get(fix.name) != fix.value:
            yield _Step(Change(env={fix.name: fix.value}), 1.0)
    extra = {fix.dest for fix in rule.fixes if isinstance(fix, Set | Unset | Choose)} - rule.flags()
    for dest, choice in _steps(engine, configuration, rule):
        yield _Step(change_to(engine, dest, choice), step_cost(engine, case, dest, choice))
    for dest in sorted(extra):
        if dest not in engine.release.table or dest not in engine.release.modelled:
            continue
        for choice in choices(engine, dest, configuration):
            if _is_step(engine, configuration, dest, choice):
                yield _Step(change_to(engine, dest, choice), step_cost(engine, case, dest, choice))


def _signature(change: Change) -> frozenset[tuple[str, object]]:
    return frozenset(
        [
            *change.set.items(),
            *((dest, AUTO) for dest in change.unset),
            *((f"${name}", v) for name, v in change.env.items()),
        ]
    )
