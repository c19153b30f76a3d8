"""The whole run of one rank: self-test, check, rounds, stages, bare collectives, document."""

from __future__ import annotations

import gc
import time
from collections.abc import Mapping
from typing import Any

from configurator.bench import inputs, measure, memory, program, raw
from configurator.bench.backends import plan
from configurator.bench.machine import cpu_count
from configurator.bench.measure import Oracle, Variant
from configurator.bench.problem import Problem
from configurator.bench.results import (
    MIN_SAMPLES,
    Measurement,
    cpu_banner,
    document,
    measurement_of,
    same_case,
)
from configurator.bench.session import (
    Emit,
    Session,
    choose_mode,
    close_session,
    environment,
    machine_facts,
    open_session,
)
from configurator.bench.statistics import percentile
from configurator.core.errors import ConfiguratorError, InputError

WARM_UP = 5
MIN_ROUNDS = 6
AIM_ROUNDS = 20
MAX_SAMPLES = 2000
SHARES = {"rounds": 0.55, "stages": 0.15, "collectives": 0.3}
"""How the time for timed iterations is spent."""
SHOW_EVERY_S = 1.0
RENDEZVOUS_S = 120.0


def run_rank(problem: Problem, request: Mapping[str, Any], emit: Emit, at: Emit) -> None:
    """Take part in a run as one rank; events are written by the first.

    Args:
        problem: What is measured.
        request: The worker's request.
        emit: Writes an event.
        at: Tells the watchdog what comes.

    Raises:
        InputError: The problem does not fit this machine.
    """
    rank = int(request["rank"])
    at("ranks finding each other", RENDEZVOUS_S)
    emit("progress", stage="The ranks find each other", done=0.0, left_s=None)
    if choose_mode(problem) == "solo" and rank > 0:
        return  # one GPU plays all ranks, and the first process has it
    session = open_session(problem, rank, str(request["store"]), emit, at, RENDEZVOUS_S)
    Benchmark(session, request).run()
    at("leaving", 30)
    close_session(session)


class SelfTestError(ConfiguratorError):
    """The check of results does not find faults that were put in."""


class Benchmark:
    """A run, phase by phase. Every rank goes through the same phases; numbers of iterations come from the first."""

    def __init__(self, session: Session, request: Mapping[str, Any]) -> None:
        self.session = session
        self.problem = session.problem
        self.request = request
        self.started: dict[str, Any] = {}
        self.selftest: dict[str, Any] = {}
        self.wrong: list[Variant] = []
        self.rows: list[dict[str, Any]] = []
        self.reference: list[dict[str, Any]] = []
        self._begun = time.monotonic()
        swept = self.problem.raw_collectives != "off" and self.problem.dcp_size > 1 and session.mode != "solo"
        spare = 0.0 if swept else SHARES["collectives"]
        self.budget = {
            "rounds": (SHARES["rounds"] + spare) * self.problem.time_budget_s,
            "stages": SHARES["stages"] * self.problem.time_budget_s,
            "collectives": SHARES["collectives"] * self.problem.time_budget_s if swept else 0.0,
        }
        self.allowance_s = memory.allowance_s(self.problem, on_gpu=session.device.type == "cuda")

    def run(self) -> None:
        """Run all phases."""
        self.announce()
        weights = inputs.make_weights(self.problem, self.session.group, self.session.device)
        self.prove_the_check(weights)
        live = self.check(weights)
        gc.collect()
        gc.disable()  # a collection inside a timed step would be ours and not the backend's
        self.time_rounds(live)
        self.time_stages(live)
        collectives = self.time_collectives()
        gc.enable()
        self.finish(collectives)

    def announce(self) -> None:
        """Decide what runs and say so."""
        session = self.session
        self.tell("Plan", 0.02)
        session.plan = plan(self.problem, machine_facts(session), graphs=session.mode == "nccl")
        functional = session.mode == "gloo"
        cores = cpu_count()
        oversubscribed = functional and session.ranks > cores
        self.started = {
            "environment": environment(session) | {"snapshot": self.request.get("snapshot")},
            "label": "functional" if functional else "measured",
            "banner": cpu_banner(session.ranks, cores) if functional else "",
            "oversubscribed": oversubscribed,
            "problem": self.problem.to_json(),
            "planned": [
                {"backend": c.backend.name, "replicate_q": c.replicate_q, "graph": c.graph} for c in session.plan.cases
            ],
            "unavailable": list(session.plan.unavailable),
        }
        session.emit("started", **self.started)
        if not session.plan.cases:
            reasons = "; ".join(f"{u['backend']}: {u['reason']}" for u in session.plan.unavailable)
            raise InputError(f"None of the backends asked for can run here - {reasons}.", part="--backends")
        memory.check_fit(self.problem, session)

    def prove_the_check(self, weights: Any) -> None:
        """Show that the check finds faults; a check that cannot fail proves nothing."""
        self.tell("Self-test: two faults that must be found", 0.05)
        self.selftest = measure.selftest(self.session, weights)
        self.session.emit("selftest", **self.selftest)
        if self.selftest["caught"] is False:
            raise SelfTestError(
                "The self-test put a wrong logarithm base and a NaN into the merge, and the check did not find both - "
                "no result of this run could be trusted, so nothing was timed - please report this with the problem's shapes."
            )

    def check(self, weights: Any) -> list[Variant]:
        """Compare each case with the oracle, then warm it up, and show a first row at once.

        Returns:
            The variants to time: the cases that were right, and the reference.
        """
        session, problem = self.session, self.problem
        ragged = measure.states_for(session, inputs.ragged_lengths(problem), weights, inputs.PEAKY_GAIN)
        timed = measure.states_for(session, inputs.timed_lengths(problem), weights, 1.0)
        oracles = Oracle(session), Oracle(session)
        live = []
        cases = session.plan.cases
        for index, case in enumerate(cases):
            self.tell(f"Check of {case.label} against float64 attention", 0.08 + 0.12 * index / len(cases))
            stages = program.build(case)
            variant = Variant(case, stages, measure.with_own_tensors(timed))
            for oracle, states in zip(oracles, (ragged, timed), strict=True):
                variant.agreement += oracle.agreement(stages, measure.with_own_tensors(states))
            if variant.agreement.wrong:
                self.wrong.append(variant)
                self.show(variant, provisional=False, note="wrong, so it was not timed")
                continue
            self.warm_up(variant)
            live.append(variant)
        reference = self.make_reference(timed, oracles[1])
        return live if reference is None else [*live, reference]

    def make_reference(self, timed: list[inputs.RankState], oracle: Oracle) -> Variant | None:
        """Return the row without DCP, checked and warm; ``None`` where it cannot be had."""
        self.tell("Reference without DCP", 0.2)
        if not memory.reference_fits(self.problem, self.session):
            return None
        state = measure.whole_cache_state(self.session, timed[0], inputs.timed_lengths(self.problem))
        if state is None:
            return None
        variant = Variant(None, program.tp_only(), [state])
        variant.agreement = oracle.agreement(variant.stages, variant.states)
        if variant.agreement.wrong:
            self.show(variant, provisional=False, note="wrong, so it was not timed")
            return None
        self.warm_up(variant)
        return variant

    def warm_up(self, variant: Variant) -> None:
        """Run a variant until lazy set-up is over, and show a first row from a few samples."""
        self.session.at(f"warm-up of {variant.label}", self.allowance_s * (WARM_UP + MIN_SAMPLES))
        for _ in range(WARM_UP):
            variant.step(self.session)
        if self.session.mode != "solo":
            variant.first = variant.sample(self.session, MIN_SAMPLES)
        self.show(variant, provisional=True)

    def time_rounds(self, live: list[Variant]) -> None:
        """Time whole steps, the variants in turn and the turn reversed every second round, until the time is over."""
        session = self.session
        if session.mode == "solo" or not live:
            return
        a_round_us = sum(percentile(v.first, 0.5) for v in live) * 1.3
        each = session.agree(max(2, min(100, int(self.budget["rounds"] * 1e6 / AIM_ROUNDS / max(1.0, a_round_us)))))
        begun = shown = time.monotonic()
        number = 0
        while True:
            session.at(f"round {number + 1}", self.allowance_s * each * len(live))
            for variant in live if number % 2 == 0 else reversed(live):
                variant.rounds.append(tuple(variant.sample(session, each)))
            number += 1
            now = time.monotonic()
            samples = number * each
            enough = samples >= MIN_SAMPLES and number >= MIN_ROUNDS
            over = now - begun >= self.budget["rounds"] or samples >= MAX_SAMPLES
            if not session.agree(int(not (enough and over))):
                return
            share = min(1.0, (now - begun) / self.budget["rounds"], samples / MIN_SAMPLES)
            if now - shown >= SHOW_EVERY_S:
                shown = now
                self.tell(f"Timing in turn, {samples} steps of each", 0.22 + 0.4 * share)
                for variant in live:
                    self.show(variant, provisional=True)

    def time_stages(self, live: list[Variant]) -> None:
        """Time the stages apart and show the final rows."""
        session = self.session
        for index, variant in enumerate(live):
            self.tell(f"Stages of {variant.label}", 0.62 + 0.13 * index / len(live))
            samples = [x for part in variant.rounds for x in part]
            step_us = 3.0 * percentile(samples, 0.5) if samples else 1e4
            share_us = self.budget["stages"] * 1e6 / len(live)
            count = session.agree(max(MIN_SAMPLES, min(100, int(share_us / max(1.0, step_us)))))
            session.at(f"stages of {variant.label}", self.allowance_s * count * 3)
            entries, merge = measure.time_apart(session, variant, count)
            variant.entries, variant.merge_us = tuple(entries), tuple(merge)
            note = "one GPU: exchanges cannot be timed here, nor the whole step" if session.mode == "solo" else ""
            self.show(variant, provisional=False, note=note)

    def time_collectives(self) -> list[dict[str, Any]]:
        """Sweep the bare collectives."""
        rows: list[dict[str, Any]] = []
        if not self.budget["collectives"]:
            return rows
        total = 4 * len(raw.sizes(self.problem.raw_collectives, self.problem.dcp_size))
        for row in raw.measure_collectives(self.session, self.budget["collectives"]):
            rows.append(row)
            self.session.emit("collective", **row)
            self.tell(f"Bare {row['collective']}", 0.75 + 0.24 * len(rows) / total)
        return rows

    def finish(self, collectives: list[dict[str, Any]]) -> None:
        """Write the document."""
        ranks = self.session.fabric.ranks
        order = [same_case(planned) for planned in self.started["planned"]]
        self.rows.sort(key=lambda row: order.index(same_case(row)))
        for row in (*self.rows, *self.reference):
            raw.add_wire_times(row["stages"], collectives)
        result = document(
            self.problem,
            self.started,
            cases=self.rows,
            reference=self.reference,
            collectives=collectives,
            extra={
                "selftest": self.selftest,
                "fits": raw.fits(collectives, ranks),
                "status": "wrong" if self.wrong else "complete",
                "elapsed_s": round(time.monotonic() - self._begun, 3),
            },
        )
        self.session.emit("done", document=result)

    def tell(self, stage: str, done: float) -> None:
        """Say where the run is, to the reader and to the watchdog."""
        self.session.at(stage, 60 + 20 * self.allowance_s)
        elapsed = time.monotonic() - self._begun
        # Ten samples of everything take longer than a short budget; 1.6 is what the default problem took on two cores.
        left = (1 - done) * 1.6 * self.problem.time_budget_s if done < 0.22 else elapsed * (1 - done) / done
        self.session.emit("progress", stage=stage, done=round(done, 3), left_s=round(left, 1))

    def show(self, variant: Variant, *, provisional: bool, note: str = "") -> None:
        """Write a variant's row; final ones are kept for the document."""
        found: dict[str, Any] = {
            "wrong": variant.agreement.wrong,
            "checked": variant.agreement.checked,
            "max_rel_err_row": variant.agreement.max_rel_err_row,
            "rounds": tuple(variant.rounds) or ((tuple(variant.first),) if variant.first and provisional else ()),
            "stages": variant.entries,
            "merge_us": variant.merge_us,
            "note": note,
        }
        case = variant.case
        row = (Measurement(backend="tp_only", **found) if case is None else measurement_of(case, **found)).to_json(
            self.problem.num_layers
        )
        if not provisional:
            (self.reference if case is None else self.rows).append(row)
        self.session.emit("reference" if case is None else "case", provisional=provisional, **row)
