"""The search behind repairs and ways out: it learns from every configuration that breaks.

A configuration that breaks has a first broken rule, and that rule a *nogood*: values of a few flags that together keep
it broken whatever else is chosen. Whatever repairs the configuration gives one of those flags a value outside. The search
goes in order of cost, so the first configuration in which nothing is broken is the cheapest, and it asks the engine only
where no nogood that it knows forbids a configuration. Where nothing repairs, the nogoods run out of values to try.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, product
from math import inf, prod

from configurator.core.configuration import Change
from configurator.core.conflict import QUICK, conflict, unavoidable
from configurator.core.engine import Case, CompiledRule, Engine

_MOST_ASKED = 120
"""Configurations that one search may ask the engine about. Nearly all commands need fewer than 40; the few that need more
hold the page up for seconds, and what they would find is far from what was asked."""
_MOST_VISITED = 60_000
_MOST_COMBINATIONS = 48
"""A nogood is widened as long as no more combinations of its other values have to be tried for each new value."""

Places = tuple[tuple[str, int], ...]
Nogood = Mapping[str, set[int]]


@dataclass(frozen=True, slots=True)
class Step:
    """Another choice for one flag or variable, with what it costs; one that costs infinitely much is never taken."""

    change: Change
    cost: float


@dataclass(frozen=True)
class Problem:
    """What is searched: from a case, by these steps, until no rule about some flags is broken.

    Attributes:
        engine: The release.
        case: What is changed.
        steps: By flag (``dest``) or variable (``env.NAME``): the other choices.
        about: Only rules about these flags count; all where ``None``.
        allowed: Codes of rules that may stay broken.
        pinned: Choices that are never opened: what is asked for.
        first: Steps that every answer takes, by place in ``steps``, from 1.
        dearer: Answers that cost so much more than the cheapest are none.
        most_asked: Configurations that the engine may be asked about.
        nogoods: What was learnt so far.
    """

    engine: Engine
    case: Case
    steps: Mapping[str, Sequence[Step]]
    about: tuple[str, ...] | None = None
    allowed: frozenset[str] = frozenset()
    pinned: frozenset[str] = frozenset()
    first: Places = ()
    dearer: float = inf
    most_asked: int = _MOST_ASKED
    nogoods: list[Nogood] = field(default_factory=list)

    def answers(self) -> Iterator[tuple[Change, float]]:
        """Yield changes after which nothing is broken, cheapest first; none changes all that an earlier one changes."""
        order = count()
        queue: list[tuple[float, int, Places]] = [(self._cost(self.first), next(order), self.first)]
        seen: set[Places] = set()
        shapes: list[frozenset[str]] = []
        asked, most = 0, inf
        while queue and asked < self.most_asked and len(seen) < _MOST_VISITED:
            cost, _, places = heapq.heappop(queue)
            if cost > most:
                return
            names = frozenset(name for name, _ in places)
            if places in seen or any(shape <= names for shape in shapes):
                continue
            seen.add(places)
            at = dict(places)
            nogood = self._known(at)
            if nogood is None:
                asked += 1
                nogood = self._learned(at)
            if nogood is None:
                if not places:
                    return
                shapes.append(names)
                most = min(most, cost + self.dearer)
                yield self._change(places), cost
                continue
            for step_cost, there in self._branches(nogood, at):
                heapq.heappush(queue, (cost + step_cost, next(order), there))

    def _branches(self, nogood: Nogood, at: Mapping[str, int]) -> Iterator[tuple[float, Places]]:
        """Yield what gives one more flag of *nogood* a value outside, with its cost."""
        for name, forbidden in nogood.items():
            if name not in at:
                for place, step in enumerate(self.steps[name], start=1):
                    if place not in forbidden and step.cost < inf:
                        yield step.cost, tuple(sorted((*at.items(), (name, place))))

    def _known(self, at: Mapping[str, int]) -> Nogood | None:
        """Return the nogood that forbids this, the one that leaves least to try first."""
        found: Nogood | None = None
        least = inf
        for nogood in self.nogoods:
            if all(at.get(name, 0) in forbidden for name, forbidden in nogood.items()):
                left = sum(len(self.steps[name]) + 1 - len(f) for name, f in nogood.items() if name not in at)
                if left < least:
                    found, least = nogood, left
        return found

    def _learned(self, at: Mapping[str, int]) -> Nogood | None:
        """Ask the engine; return and remember why this breaks, ``None`` where it does not."""
        case = self._case(tuple(at.items()))
        codes = self.engine.broken(case.configuration, case, self.about) - self.allowed
        if not codes:
            return None
        violated = next(c for c in self.engine.breaking if c.rule.code in codes)
        names = conflict(self.engine, case, violated, self.pinned) & self.steps.keys()
        nogood = {name: {at.get(name, 0)} for name in names}
        self._widen(nogood, violated)
        self.nogoods.append(nogood)
        return nogood

    def _widen(self, nogood: dict[str, set[int]], violated: CompiledRule) -> None:
        """Add values to *nogood* with which the rule is just as broken, so that they need not be tried."""
        for name in sorted(nogood, key=lambda n: (len(self.steps[n]), n)):
            others = {other: sorted(places) for other, places in nogood.items() if other != name}
            if prod(len(places) for places in others.values()) > _MOST_COMBINATIONS:
                continue
            combinations = [tuple(zip(others, places, strict=True)) for places in product(*others.values())]
            for place in range(len(self.steps[name]) + 1):
                if place in nogood[name]:
                    continue
                if all(self._breaks((*c, (name, place)), violated) for c in combinations):
                    nogood[name].add(place)

    def _breaks(self, places: Places, violated: CompiledRule) -> bool:
        """Tell whether these values alone keep the rule violated."""
        case = self._case(places)
        fixed = self.pinned.union(name for name, _ in places) & self.engine.depends_on(violated.rule)
        return unavoidable(self.engine, case, violated, fixed, effort=QUICK)

    def _case(self, places: Iterable[tuple[str, int]]) -> Case:
        return self.case.after(self._change(places))

    def _change(self, places: Iterable[tuple[str, int]]) -> Change:
        change = Change()
        for name, place in places:
            if place:
                change = change.then(self.steps[name][place - 1].change)
        return change

    def _cost(self, places: Iterable[tuple[str, int]]) -> float:
        return sum(self.steps[name][place - 1].cost for name, place in places)


__all__ = ["Problem", "Step"]
