"""The run of one rank: self-test, check, then time; nothing is timed that was not right first."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from configurator.bench import inputs, program
from configurator.bench.attention import project_queries
from configurator.bench.backends import A2A, Case
from configurator.bench.collectives import bandwidths_gbps
from configurator.bench.inputs import RankState
from configurator.bench.oracle import NOTHING_COMPARED, Agreement, compare, reference_outputs
from configurator.bench.program import Stage
from configurator.bench.session import Session
from configurator.bench.statistics import percentile
from configurator.bench.timing import CudaGraph

SELFTEST_TOKENS = 512
GRAPH_STEPS = 10


@dataclasses.dataclass
class Variant:
    """One case, or the reference row, ready to run.

    Attributes:
        case: The case; ``None`` for the reference.
        stages: Its stages.
        states: States of the ranks played here, with tensors of their own.
        agreement: How it compared with the oracle, over all ranks.
        first: Samples in microseconds taken right after the warm-up; shown early and then dropped.
        rounds: Samples in microseconds by round, each the time of the slowest rank.
        entries: The stages as the JSON has them.
        merge_us: Samples of the merge alone.
        graph: Several steps captured in one CUDA graph; a sample is then their time over their number.
    """

    case: Case | None
    stages: tuple[Stage, ...]
    states: list[RankState]
    agreement: Agreement = NOTHING_COMPARED
    first: list[float] = dataclasses.field(default_factory=list)
    rounds: list[tuple[float, ...]] = dataclasses.field(default_factory=list)
    entries: tuple[dict[str, Any], ...] = ()
    merge_us: tuple[float, ...] = ()
    graph: CudaGraph | None = None

    @property
    def label(self) -> str:
        """Short name for progress."""
        return "the reference" if self.case is None else self.case.label

    def step(self, session: Session) -> None:
        """Run the whole step once."""
        for stage in self.stages:
            stage.run(self.states, session.fabric)

    def warm(self, session: Session) -> None:
        """Run what is timed, untimed."""
        if self.graph is None:
            self.step(session)
        else:
            self.graph.replay()

    def sample(self, session: Session, count: int) -> list[float]:
        """Time the whole step *count* times: for each, the time of the slowest rank in microseconds."""
        work, runs = (lambda: self.step(session), 1) if self.graph is None else (self.graph.replay, self.graph.runs)
        times = session.timer.sample([work], count, session.before_step)[0]
        return session.slowest([time / runs for time in times])

    def capture(self, session: Session) -> list[list[RankState]]:
        """Capture steps in a CUDA graph, each on another copy of the cache, as long as the GPU's own would hold one.

        Returns:
            The states of each copy.
        """
        copies = [self.states, *(with_own_cache(self.states) for _ in range(cache_copies(session, self.states) - 1))]
        turn = itertools.cycle(copies)

        def step() -> None:
            states = next(turn)
            for stage in self.stages:
                stage.run(states, session.fabric)

        self.graph = CudaGraph(step, GRAPH_STEPS)
        return copies

    @property
    def merge_stages(self) -> tuple[Stage, ...]:
        """The stages after attention."""
        names = [stage.name for stage in self.stages]
        return self.stages[names.index("attention") + 1 :]


def states_for(
    session: Session, lengths: list[int], weights: tuple[Tensor, Tensor | None], gain: float
) -> list[RankState]:
    """Return the states of the ranks played here for a batch of *lengths*."""
    problem, device = session.problem, session.device
    return [
        inputs.make_state(
            problem, rank, session.group, device, weights,
            inputs.make_batch(problem, lengths, rank, problem.dcp_size, session.group, device, gain=gain),
        )
        for rank in session.played
    ]  # fmt: skip


def with_own_tensors(states: Sequence[RankState], **changes: Any) -> list[RankState]:
    """Return the same states with tensors of their own, and *changes* made."""
    return [dataclasses.replace(state, tensors={}, **changes) for state in states]


def with_own_cache(states: Sequence[RankState]) -> list[RankState]:
    """Return the same states with a KV cache of their own."""

    def copied(state: RankState) -> RankState:
        keys = state.batch.keys.clone()
        mla = state.problem.attention_kind == "mla"
        values = inputs.mla_values(state.problem, keys) if mla else state.batch.values.clone()
        return dataclasses.replace(state, tensors={}, batch=dataclasses.replace(state.batch, keys=keys, values=values))

    return [copied(state) for state in states]


def cache_copies(session: Session, states: Sequence[RankState]) -> int:
    """Return how many copies of the cache outlast the GPU's second-level cache, at most one a captured step."""
    if session.flush is None:
        return 1
    held = sum(state.batch.keys.nbytes for state in states)
    return min(GRAPH_STEPS, 1 + math.ceil(session.flush.size_bytes / held))


class Oracle:
    """Compares outputs of a batch with float64 attention, and keeps the reference while the queries stay the same."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._kept: dict[tuple[int, ...], tuple[Tensor, Tensor]] = {}

    def agreement(
        self, stages: Sequence[Stage], states: Sequence[RankState], step: Callable[[], None] | None = None
    ) -> Agreement:
        """Run the stages, or *step* where they have been captured, and compare what they leave.

        The queries are compared with an unsharded projection, which finds heads gathered in the wrong order; the output
        with unsharded attention from the queries as they arrived, which leaves only sharding and merging under test.

        Returns:
            The comparison over all ranks.
        """
        if step is None:
            program.run(stages, states, self._session.fabric)
        else:
            step()
        found = NOTHING_COMPARED
        for state in states:
            queries = state.tensors["q"]
            whole = project_queries(
                state.batch.hidden, state.weight, state.absorb, state.problem.num_heads, state.dtype
            )
            expected = whole if queries.shape == whole.shape else whole[state.own_heads]
            wanted = self._reference(state, whole if queries.shape != whole.shape else queries)
            found += compare(queries, expected.double(), state.problem.dtype)
            found += compare(state.tensors["merged_out"], wanted, state.problem.dtype)
        wrong, checked = self._session.total([float(found.wrong), float(found.checked)])
        # A NaN must survive the maximum over ranks, which treats it as it likes: it goes as infinity.
        worst = [x if x == x else float("inf") for x in (found.max_abs_error, found.max_rel_err_row)]  # noqa: PLR0124
        largest = self._session.slowest(worst)
        return Agreement(int(wrong), int(checked), *largest)

    def _reference(self, state: RankState, queries: Tensor) -> Tensor:
        key = (state.rank, *state.batch.lengths)
        kept = self._kept.get(key)
        if kept is not None and torch.equal(kept[0].view(torch.uint8), queries.contiguous().view(torch.uint8)):
            return kept[1]
        caches = inputs.request_caches(state.problem, state.batch.lengths, state.group, state.device)
        reference = reference_outputs(queries.transpose(0, 1), caches, state.scale, state.own_heads)
        self._kept[key] = queries.contiguous().clone(), reference
        return reference


def selftest(session: Session, weights: tuple[Tensor, Tensor | None]) -> dict[str, Any]:
    """Show that the check can fail: with a wrong base of logarithm, and with NaN left in an empty shard.

    Returns:
        Fields of the ``selftest`` event. With one rank per group neither fault can occur and ``caught`` is ``None``.
    """
    problem = session.problem
    if problem.dcp_size == 1:
        return {"caught": None, "reason": "one rank holds the whole cache: there is nothing to merge wrongly"}
    tokens = min(max(problem.context_length, 32 * problem.dcp_size), SELFTEST_TOKENS)
    small = dataclasses.replace(problem, context_length=tokens)
    oracle = Oracle(session)
    shrunk = dataclasses.replace(session, problem=small)
    clean = states_for(shrunk, inputs.ragged_lengths(small), weights, inputs.PEAKY_GAIN)
    stages = program.build(Case(A2A))
    other = "e" if problem.lse_base == "2" else "2"
    found = {
        "clean": oracle.agreement(stages, with_own_tensors(clean)).wrong,
        "wrong_base": oracle.agreement(stages, with_own_tensors(clean, merge_base=other)).wrong,
        "nan_in_empty": oracle.agreement(stages, with_own_tensors(clean, nan_in_empty=True)).wrong,
    }
    return {
        "caught": found["wrong_base"] > 0 and found["nan_in_empty"] > 0,
        "clean": found["clean"] == 0,
        "wrong": found,
    }


def whole_cache_state(session: Session, state: RankState, lengths: list[int]) -> RankState | None:
    """Return a state without DCP: the rank's own heads over the whole cache; ``None`` where KV heads do not divide."""
    problem = session.problem
    batch = inputs.make_batch(problem, lengths, 0, 1, session.group, session.device, gain=1.0)
    if problem.attention_kind == "gqa":
        kv_heads = problem.num_kv_heads or 1
        each = problem.num_heads // kv_heads
        if problem.num_local_heads % each and each % problem.num_local_heads:
            return None
        first, count = state.own_heads.start // each, max(1, problem.num_local_heads // each)

        def own(tensor: Tensor) -> Tensor:
            return tensor.view(len(lengths), kv_heads, *tensor.shape[1:])[:, first : first + count].flatten(0, 1)

        batch = dataclasses.replace(
            batch,
            keys=own(batch.keys),
            values=own(batch.values),
            empty=None if batch.empty is None else own(batch.empty),
        )
    return dataclasses.replace(state, batch=batch, tensors={})


def time_apart(session: Session, variant: Variant, count: int) -> tuple[list[dict[str, Any]], list[float]]:
    """Time each stage by itself, each stage within a step, and the merge by itself.

    Returns:
        Entries of ``stages``, and the samples of the merge. Where ranks are played by one GPU, exchanges have no time.
    """
    together: list[list[float]] = []
    merge: list[float] = []
    if session.mode != "solo":
        actions = [lambda s=stage: s.run(variant.states, session.fabric) for stage in variant.stages]
        together = [session.slowest(series) for series in session.timer.sample(actions, count, session.before_step)]
        if variant.merge_stages:

            def run_merge() -> None:
                for stage in variant.merge_stages:
                    stage.run(variant.states, session.fabric)

            merge = session.slowest(session.timer.sample([run_merge], count, session.barrier)[0])
    entries = []
    for index, stage in enumerate(variant.stages):
        entries.append(_time_stage(session, variant, stage, count, together[index] if together else []))
    return entries, merge


def _time_stage(session: Session, variant: Variant, stage: Stage, count: int, together: list[float]) -> dict[str, Any]:
    payload = stage.payload_bytes(variant.states[0])
    entry: dict[str, Any] = {
        "name": stage.name, "p50_us": None, "n": 0, "in_step_p50_us": None,
        "payload_bytes": payload, "algbw_gbps": None, "busbw_gbps": None,
    }  # fmt: skip
    solo = session.mode == "solo"
    if solo and stage.collective is not None:
        return entry | {"note": "one GPU: the link cannot be measured here"}
    states = variant.states[:1] if solo else variant.states
    # What attention reads comes from memory in a server; what a merge reads has just been written.
    before = session.before_step if stage.name in ("q_proj", "attention") else session.barrier
    samples = session.slowest(session.timer.sample([lambda: stage.run(states, session.fabric)], count, before)[0])
    middle = percentile(samples, 0.5)
    entry |= {"p50_us": middle, "n": len(samples), "in_step_p50_us": percentile(together, 0.5) if together else None}
    if stage.collective is not None:
        algbw, busbw = bandwidths_gbps(stage.collective, payload, middle, session.problem.dcp_size)
        entry |= {"algbw_gbps": algbw, "busbw_gbps": busbw}
    return entry
