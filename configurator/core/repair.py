"""Ways out: fixes for one finding, repairs for a whole command, the change that frees a blocked option.

Fixes are tried one by one. Repairs and ways out are one search in order of cost (:mod:`configurator.core.search`).
Facts of the machine, the model and the release are never changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import inf

from configurator.core.availability import AUTO, Auto, Choice, change_to, choices, chosen
from configurator.core.configuration import Change
from configurator.core.engine import Case, Engine, Environment, Finding, Verdict, engine_for
from configurator.core.rule import Choose, Effect, Rule, Set, SetEnv, Unset
from configurator.core.search import Problem, Step

_DEARER = 5.0
"""Alternatives that cost so much more than the cheapest repair are none: nobody would take them."""

_MOST_FIXES = 6

_MOST_ASKED = 40
"""A way out that needs more than so many questions to the engine is none that a reader of one option would take."""


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
        return _clears(engine, case.after(change), rule, before, _names(change))

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
    """Return repairs of the whole command, cheapest first; none of them changes all that another one changes.

    Up to *limit* that cost about as little as the cheapest, then, last, the cheapest that gives DCP up. Empty where
    nothing breaks, and where no change of flags helps.
    """
    engine = engine_for(case.release)
    if not engine.broken(case.configuration, case):
        return ()
    steps = _all_steps(engine, case)
    off = next((at for at, choice in enumerate(steps.choices.get("dcp_size", ()), start=1) if choice == 1), None)
    kept = dict(steps.steps)
    if off is not None:
        # Giving DCP up is a search of its own: here its step is as good as forbidden.
        dcp = [*kept["dcp_size"]]
        dcp[off - 1] = Step(dcp[off - 1].change, inf)
        kept["dcp_size"] = dcp
    found = _ranked(Problem(engine, case, kept, dearer=_DEARER), limit)
    if off is not None:
        others = [_signature(repair.change) for repair in found]
        given_up = _ranked(Problem(engine, case, steps.steps, first=(("dcp_size", off),)), 1)
        # Where the rest of the change is a repair without giving up DCP, giving it up adds nothing.
        found += [repair for repair in given_up if not any(k <= _signature(repair.change) for k in others)]
    return tuple(sorted(found, key=lambda repair: repair.cost))


def _ranked(problem: Problem, limit: int) -> list[Repair]:
    found = islice((answer for answer in problem.answers() if answer[1] < inf), limit)
    check = problem.engine.check
    return [Repair(change, round(cost, 2), check(problem.case.after(change)).verdict) for change, cost in found]


def way_out(case: Case, dest: str, choice: Choice) -> Change | None:
    """Return the smallest change of other flags after which *choice* of *dest* is no longer blocked, or ``None``.

    What is broken already and is not about *dest* may stay so, but nothing else may break; only where that cannot be had
    is a change returned that frees *choice* and breaks something new.
    """
    engine = engine_for(case.release)
    start = case.after(change_to(engine, dest, choice))
    steps = {name: steps for name, steps in _all_steps(engine, start).steps.items() if name != dest}
    rest = engine.broken(case.configuration, case) - {c.rule.code for c in engine.breaking_by_flag[dest]}
    pinned = frozenset({dest})
    for problem in (
        Problem(engine, start, steps, allowed=rest, pinned=pinned, most_asked=_MOST_ASKED),
        Problem(engine, start, steps, about=(dest,), pinned=pinned, most_asked=_MOST_ASKED),
    ):
        found = next((change for change, _ in problem.answers()), None)
        if found is not None:
            return found
    return None


@dataclass(frozen=True, slots=True)
class _Steps:
    steps: Mapping[str, Sequence[Step]]
    choices: Mapping[str, Sequence[Choice]]


def _all_steps(engine: Engine, case: Case) -> _Steps:
    """Return every other choice of every modelled flag, and every variable that a rule names as a way out."""
    steps: dict[str, list[Step]] = {}
    choices_: dict[str, list[Choice]] = {}
    for dest, choice in _steps(engine, case, frozenset(engine.release.modelled)):
        steps.setdefault(dest, []).append(Step(change_to(engine, dest, choice), step_cost(engine, case, dest, choice)))
        choices_.setdefault(dest, []).append(choice)
    for variable in engine.variables:
        if case.configuration.env.get(variable.name) != variable.value:
            change = Change(env={variable.name: variable.value})
            steps.setdefault(f"env.{variable.name}", []).append(Step(change, 1.0))
    return _Steps(steps, choices_)


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


def _signature(change: Change) -> frozenset[tuple[str, object]]:
    return frozenset(
        [
            *change.set.items(),
            *((dest, AUTO) for dest in change.unset),
            *((f"${name}", v) for name, v in change.env.items()),
        ]
    )
