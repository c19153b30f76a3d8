"""What a rank says of its run: where it is, the rows as they come, and at the end the document."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from configurator.bench import raw
from configurator.bench.machine import cpu_count
from configurator.bench.measure import Variant
from configurator.bench.results import MIN_SAMPLES, Measurement, cpu_banner, document, measurement_of, same_case
from configurator.bench.session import Session, environment

CHECKED = 0.22
"""Share of a run after which the time left is told from the time taken."""
OVER_BUDGET = 1.6
"""Ten samples of everything take longer than a short budget: what the default problem took on two cores, over its budget."""


class Reporter:
    """Writes events through the session and keeps the last word on each case.

    Attributes:
        started: Fields of the ``started`` event, once it has been written.
        any_wrong: Whether a case was wrong.
    """

    def __init__(self, session: Session, snapshot: str | None) -> None:
        self.session = session
        self.started: dict[str, Any] = {}
        self.any_wrong = False
        self._snapshot = snapshot
        self._selftest: Mapping[str, Any] = {}
        self._rows: list[dict[str, Any]] = []
        self._reference: list[dict[str, Any]] = []
        self._begun = time.monotonic()

    def start(self) -> None:
        """Write ``started``: the environment, and the session's plan."""
        session = self.session
        functional, cores = session.mode == "gloo", cpu_count()
        self.started = {
            "environment": environment(session) | {"snapshot": self._snapshot},
            "label": "functional" if functional else "measured",
            "banner": cpu_banner(session.ranks, cores) if functional else "",
            "oversubscribed": functional and session.ranks > cores,
            "problem": session.problem.to_json(),
            "planned": [
                {"backend": c.backend.name, "replicate_q": c.replicate_q, "graph": c.graph} for c in session.plan.cases
            ],
            "unavailable": list(session.plan.unavailable),
        }
        session.emit("started", **self.started)

    def tell(self, stage: str, done: float) -> None:
        """Say where the run is."""
        elapsed = time.monotonic() - self._begun
        planned = (1 - done) * OVER_BUDGET * self.session.problem.time_budget_s
        left = planned if done < CHECKED else elapsed * (1 - done) / done
        self.session.emit("progress", stage=stage, done=round(done, 3), left_s=round(left, 1))

    def selftest(self, found: Mapping[str, Any]) -> None:
        """Write what the self-test found."""
        self._selftest = found
        self.session.emit("selftest", **found)

    def row(self, variant: Variant, *, provisional: bool, note: str = "") -> None:
        """Write a variant's row; final ones are kept for the document."""
        rounds = tuple(variant.rounds)
        if provisional and sum(map(len, rounds)) < MIN_SAMPLES:
            rounds = (tuple(variant.first),) if variant.first else ()  # the first look says more than a round or two
        found: dict[str, Any] = {
            "wrong": variant.agreement.wrong,
            "checked": variant.agreement.checked,
            "max_rel_err_row": variant.agreement.max_rel_err_row,
            "rounds": rounds,
            "stages": variant.entries,
            "merge_us": variant.merge_us,
            "note": note,
        }
        case = variant.case
        measurement = Measurement(backend="tp_only", **found) if case is None else measurement_of(case, **found)
        entry = measurement.to_json(self.session.problem.num_layers)
        if not provisional:
            self.any_wrong |= variant.agreement.wrong > 0
            (self._reference if case is None else self._rows).append(entry)
        self.session.emit("reference" if case is None else "case", provisional=provisional, **entry)

    def finish(self, collectives: list[dict[str, Any]]) -> None:
        """Write the document, its cases in the order of the plan."""
        order = [same_case(planned) for planned in self.started["planned"]]
        self._rows.sort(key=lambda row: order.index(same_case(row)))
        for row in (*self._rows, *self._reference):
            raw.add_wire_times(row["stages"], collectives)
        result = document(
            self.session.problem,
            self.started,
            cases=self._rows,
            reference=self._reference,
            collectives=collectives,
            extra={
                "selftest": self._selftest,
                "fits": raw.fits(collectives, self.session.fabric.ranks),
                "status": "wrong" if self.any_wrong else "complete",
                "elapsed_s": round(time.monotonic() - self._begun, 3),
            },
        )
        self.session.emit("done", document=result)
