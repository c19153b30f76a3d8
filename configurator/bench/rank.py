"""The whole run of one rank: self-test, check, rounds, stages, bare collectives, document."""

from __future__ import annotations

import gc
import time
from collections.abc import Mapping
from typing import Any

from configurator.bench import inputs, measure, memory, program, raw
from configurator.bench.backends import FI_A2A, Plan, plan
from configurator.bench.measure import Oracle, Variant
from configurator.bench.problem import Problem
from configurator.bench.report import CHECKED, Reporter
from configurator.bench.results import MIN_SAMPLES
from configurator.bench.session import (
    Emit,
    Session,
    choose_mode,
    close_session,
    machine_facts,
    open_session,
)
from configurator.bench.statistics import percentile
from configurator.core.errors import ConfiguratorError, InputError

WARM_UP, WARM_UP_SLOW = 5, 2
SLOW_STEP_S = 0.2
"""Steps longer than this hide whatever five of them would still warm up, and a reader waits for the first row."""
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


def ready(session: Session, wanted: Plan) -> Plan:
    """Return the plan without the cases whose kernel cannot be made ready, and with the reason."""
    if not any(case.backend is FI_A2A for case in wanted.cases):
        return wanted
    from configurator.bench import fused  # noqa: PLC0415 - FlashInfer is not everywhere

    session.at("FlashInfer's kernel being compiled and its workspace shared", 900)
    why = fused.prepare(session)
    if not why:
        return wanted
    others = tuple(case for case in wanted.cases if case.backend is not FI_A2A)
    return Plan(others, (*wanted.unavailable, {"backend": FI_A2A.name, "reason": why}))


class SelfTestError(ConfiguratorError):
    """The check of results does not find faults that were put in."""


class Benchmark:
    """A run, phase by phase. Every rank goes through the same phases; numbers of iterations come from the first."""

    def __init__(self, session: Session, request: Mapping[str, Any]) -> None:
        self.session = session
        self.problem = session.problem
        self.report = Reporter(session, request.get("snapshot"))
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
        for variant in live:
            if variant.graph is not None:
                variant.graph.close()  # it holds the communicator, which goes next
        self.report.finish(collectives)

    def announce(self) -> None:
        """Decide what runs and say so.

        Raises:
            InputError: Nothing can run here, or it does not fit.
        """
        session = self.session
        self.tell("Plan", 0.02)
        session.plan = ready(session, plan(self.problem, machine_facts(session), graphs=session.mode == "nccl"))
        self.report.start()
        if not session.plan.cases:
            reasons = "; ".join(f"{u['backend']}: {u['reason']}" for u in session.plan.unavailable)
            raise InputError(f"None of the backends asked for can run here - {reasons}.", part="--backends")
        memory.check_fit(self.problem, session)

    def prove_the_check(self, weights: Any) -> None:
        """Show that the check finds faults; a check that cannot fail proves nothing."""
        self.tell("Self-test: two faults that must be found", 0.05)
        found = measure.selftest(self.session, weights)
        self.report.selftest(found)
        if found["caught"] is False:
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
                self.report.row(variant, provisional=False, note="wrong, so it was not timed")
                continue
            if case.graph and not self.captured(variant, oracles[1]):
                continue
            self.warm_up(variant)
            live.append(variant)
        reference = self.make_reference(timed, oracles[1])
        return live if reference is None else [*live, reference]

    def captured(self, variant: Variant, oracle: Oracle) -> bool:
        """Capture a variant in a CUDA graph and compare what the graph leaves; tell whether it can be timed."""
        why = ""
        try:
            copies = variant.capture(self.session)
        except RuntimeError as error:
            why = str(error).partition("\n")[0] or type(error).__name__
        if self.session.total([float(bool(why))])[0]:
            self.report.row(
                variant, provisional=False, note=f"the step could not be captured: {why or 'on another rank'}"
            )
            return False
        graph = variant.graph
        if graph is None:
            return False
        for states in copies:
            variant.agreement += oracle.agreement(variant.stages, states, graph.replay)
        if variant.agreement.wrong:
            self.report.row(variant, provisional=False, note="wrong in a CUDA graph, so it was not timed")
        return not variant.agreement.wrong

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
            self.report.row(variant, provisional=False, note="wrong, so it was not timed")
            return None
        self.warm_up(variant)
        return variant

    def warm_up(self, variant: Variant) -> None:
        """Run a variant until lazy set-up is over, and show a first row from a few samples."""
        self.session.at(f"warm-up of {variant.label}", self.allowance_s * (WARM_UP + MIN_SAMPLES))
        begun = time.monotonic()
        variant.warm(self.session)
        slow = time.monotonic() - begun > SLOW_STEP_S
        for _ in range(self.session.agree(WARM_UP_SLOW if slow else WARM_UP) - 1):
            variant.warm(self.session)
        if self.session.mode != "solo":
            variant.first = variant.sample(self.session, MIN_SAMPLES)
        self.report.row(variant, provisional=True)

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
                self.tell(f"Timing in turn, {samples} steps of each", CHECKED + 0.4 * share)
                for variant in live:
                    self.report.row(variant, provisional=True)

    def time_stages(self, live: list[Variant]) -> None:
        """Time the stages apart and show the final rows."""
        session = self.session
        for index, variant in enumerate(live):
            if variant.graph is not None:
                self.report.row(
                    variant, provisional=False, note=f"{variant.graph.runs} steps in one graph; stages as without it"
                )
                continue
            self.tell(f"Stages of {variant.label}", 0.62 + 0.13 * index / len(live))
            samples = [x for part in variant.rounds for x in part]
            step_us = 3.0 * percentile(samples, 0.5) if samples else 1e4
            share_us = self.budget["stages"] * 1e6 / len(live)
            count = session.agree(max(MIN_SAMPLES, min(100, int(share_us / max(1.0, step_us)))))
            session.at(f"stages of {variant.label}", self.allowance_s * count * 3)
            entries, merge = measure.time_apart(session, variant, count)
            variant.entries, variant.merge_us = tuple(entries), tuple(merge)
            note = "one GPU: exchanges cannot be timed here, nor the whole step" if session.mode == "solo" else ""
            self.report.row(variant, provisional=False, note=note)

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

    def tell(self, stage: str, done: float) -> None:
        """Say where the run is, to the reader and to the watchdog."""
        self.session.at(stage, 60 + 20 * self.allowance_s)
        self.report.tell(stage, done)
