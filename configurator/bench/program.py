"""A decode step as a list of stages that can be run together and apart, one builder per communication backend."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from configurator.bench import merge
from configurator.bench.attention import attend, project_queries
from configurator.bench.backends import Case
from configurator.bench.collectives import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, REDUCE_SCATTER, Collective
from configurator.bench.fabric import Fabric, receive_shape
from configurator.bench.inputs import RankState


@dataclass(frozen=True)
class Stage:
    """A part of the step: work of one rank alone, or one collective.

    Attributes:
        name: As in results.
        local: The work, on the rank's state; ``None`` for a collective.
        collective: The operation, or ``None`` for local work.
        sent: Name of the tensor a collective sends.
        received: Name of the tensor it fills.
        custom: An exchange that is no collective of the fabric (FlashInfer's kernel).
    """

    name: str
    local: Callable[[RankState], None] | None = None
    collective: Collective | None = None
    sent: str = ""
    received: str = ""
    custom: bool = False

    def run(self, states: Sequence[RankState], fabric: Fabric) -> None:
        """Run the stage for the ranks this process plays. What it reads stays, so that it can be run again."""
        if self.local is not None:
            for state in states:
                self.local(state)
        if self.collective is None or self.custom:
            return
        sent = [state.tensors[self.sent] for state in states]
        for state, tensor in zip(states, sent, strict=True):
            shape = receive_shape(self.collective, tensor, fabric.ranks)
            old = state.tensors.get(self.received)
            if old is None or old.shape != shape or old.dtype != tensor.dtype:
                state.tensors[self.received] = torch.empty(shape, dtype=tensor.dtype, device=tensor.device)
        fabric.run(self.collective, sent, [state.tensors[self.received] for state in states])

    def payload_bytes(self, state: RankState) -> int:
        """Return the size of the exchange as nccl-tests defines it, from the tensors that were moved."""
        if self.collective is None:
            return 0
        name = self.received if self.collective.size_is == "received" else self.sent
        return sum(state.tensors[n].nbytes for n in name.split("+"))


def build(case: Case) -> tuple[Stage, ...]:
    """Return the stages of a case, in order."""
    module, _, function = case.backend.runner.partition(":")
    merge_stages: tuple[Stage, ...] = getattr(importlib.import_module(module), function)()
    if case.replicate_q:
        return (Stage("q_proj", _project_group), Stage("attention", _attention), *merge_stages)
    return (
        Stage("q_proj", _project_own),
        Stage("gather_q", collective=ALL_GATHER, sent="q_own", received="q"),
        Stage("attention", _attention),
        *merge_stages,
    )


def run(stages: Sequence[Stage], states: Sequence[RankState], fabric: Fabric) -> list[Tensor]:
    """Run a whole step and return each played rank's ``[B, h, D]`` output."""
    for stage in stages:
        stage.run(states, fabric)
    return [state.tensors["merged_out"] for state in states]


def ag_rs() -> tuple[Stage, ...]:
    """All-gather of the log-sum-exps, correction, reduce-scatter in fp32."""

    def correct(state: RankState) -> None:
        lses = state.tensors["lses"].view(state.problem.dcp_size, *state.tensors["lse"].shape)
        state.tensors["corrected"] = merge.correct_partial(
            state.tensors["partial_out"], lses, state.rank, state.merge_base
        )

    def finish(state: RankState) -> None:
        state.tensors["merged_out"] = merge.finish_reduce_scatter(state.tensors["reduced"], state.dtype)

    return (
        Stage("gather_lse", collective=ALL_GATHER, sent="lse", received="lses"),
        Stage("pack", correct),
        Stage("reduce_scatter", collective=REDUCE_SCATTER, sent="corrected", received="reduced"),
        Stage("combine", finish),
    )


def a2a() -> tuple[Stage, ...]:
    """One all-to-all of outputs and log-sum-exps packed as bytes."""

    def pack(state: RankState) -> None:
        state.tensors["packed"] = merge.pack(state.tensors["partial_out"], state.tensors["lse"], state.problem.dcp_size)

    def combine(state: RankState) -> None:
        state.tensors["merged_out"] = merge.combine_packed(state.tensors["parts"], state.merge_base)

    return (
        Stage("pack", pack),
        Stage("exchange", collective=ALL_TO_ALL, sent="packed", received="parts"),
        Stage("combine", combine),
    )


def fi_a2a() -> tuple[Stage, ...]:
    """The same exchange by FlashInfer's kernel, outputs and log-sum-exps in two tensors."""
    from configurator.bench import fused  # noqa: PLC0415 - FlashInfer is not everywhere

    def pack(state: RankState) -> None:
        outputs, stats = merge.pack_fi(state.tensors["partial_out"], state.tensors["lse"], state.problem.dcp_size)
        state.tensors |= {"outputs": outputs, "stats": stats}

    def combine(state: RankState) -> None:
        received = state.tensors["received_outputs"], state.tensors["received_stats"]
        state.tensors["merged_out"] = merge.combine_fi(*received, state.merge_base)

    return (
        Stage("pack", pack),
        Stage("exchange", fused.exchange, ALL_TO_ALL, sent="outputs+stats", custom=True),
        Stage("combine", combine),
    )


def all_reduce() -> tuple[Stage, ...]:
    """The GQA path: all-gather of the log-sum-exps, scaling, all-reduce of the whole fp32 output, own heads kept."""

    def scale(state: RankState) -> None:
        lses = state.tensors["lses"].view(state.problem.dcp_size, *state.tensors["lse"].shape)
        if state.merge_base != "e":
            # A negative control: natural logarithms taken for base 2.
            weights = merge.merge_weights(lses, state.merge_base)[state.rank]
            state.tensors["scaled"] = state.tensors["partial_out"] * weights.unsqueeze(-1)
            return
        state.tensors["scaled"] = merge.scale_for_all_reduce(state.tensors["partial_out"], lses, state.rank)

    def keep_own(state: RankState) -> None:
        state.tensors["merged_out"] = state.tensors["summed"][:, state.own_heads].to(state.dtype)

    return (
        Stage("gather_lse", collective=ALL_GATHER, sent="lse", received="lses"),
        Stage("pack", scale),
        Stage("exchange", collective=ALL_REDUCE, sent="scaled", received="summed"),
        Stage("combine", keep_own),
    )


def tp_only() -> tuple[Stage, ...]:
    """The reference without DCP: this rank's heads over the whole cache, no exchange. Its state holds a whole-cache batch."""

    def own_as_all(state: RankState) -> None:
        _project_own(state)
        state.tensors["q"] = state.tensors["q_own"]

    def output(state: RankState) -> None:
        _attention(state)
        state.tensors["merged_out"] = state.tensors["partial_out"].to(state.dtype)

    return (Stage("q_proj", own_as_all), Stage("attention", output))


def _project_own(state: RankState) -> None:
    """Project the queries of this rank's heads to ``q_own`` ``[h, B, Dq]``."""
    local = state.problem.num_local_heads
    rows = state.weight.shape[0] // state.problem.num_heads * local
    weight = state.weight[state.rank * rows : (state.rank + 1) * rows]
    absorb = None if state.absorb is None else state.absorb[state.own_heads]
    state.tensors["q_own"] = project_queries(state.batch.hidden, weight, absorb, local, state.dtype)


def _project_group(state: RankState) -> None:
    """Project the queries of all heads of the group to ``q`` ``[H, B, Dq]``."""
    heads = state.problem.num_heads
    state.tensors["q"] = project_queries(state.batch.hidden, state.weight, state.absorb, heads, state.dtype)


def _attention(state: RankState) -> None:
    """Attend over this rank's shard: ``q`` to ``partial_out`` ``[B, H, D]`` and ``lse`` ``[B, H]`` fp32."""
    queries = state.tensors["q"].transpose(0, 1)
    batch, heads, width = queries.shape
    kv_heads = state.batch.keys.shape[0] // batch
    grouped = queries.reshape(batch * kv_heads, heads // kv_heads, width)
    out, lse = attend(grouped, state.batch.keys, state.batch.values, state.scale, state.batch.empty)
    if state.nan_in_empty and state.batch.empty is not None:
        out = torch.where(state.batch.empty.all(-1, keepdim=True), torch.nan, out)
    # The GQA kernel gives fp32, the MLA kernels give the activation type.
    out_dtype = torch.float32 if state.problem.attention_kind == "gqa" else state.dtype
    state.tensors["partial_out"] = out.view(batch, heads, -1).to(out_dtype)
    lse = lse.view(batch, heads)
    state.tensors["lse"] = lse * _LOG2_E if state.base == "2" else lse


_LOG2_E = 1.4426950408889634
