"""Tensors of one rank: weights, query inputs and its shard of the KV cache, the same on every rank for the same seed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from configurator.bench.merge import LseBase
from configurator.bench.problem import Problem

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
PEAKY_GAIN = 6.0
"""With plain random inputs the log-sum-exps of shards differ by less than a bit, and a wrong base hardly shows; this gain
spreads them over several bits."""


def torch_dtype(name: str) -> torch.dtype:
    """Return torch's type for an activation type of a problem."""
    return torch.float8_e4m3fn if name == "fp8" else DTYPES[name]


def shard_length(tokens: int, rank: int, ranks: int) -> int:
    """Return how many of *tokens* tokens *rank* owns: position p belongs to rank ``p mod ranks``."""
    return tokens // ranks + (rank < tokens % ranks)


def timed_lengths(problem: Problem) -> list[int]:
    """Return the requests' lengths in the timed batch."""
    if not problem.ragged:
        return [problem.context_length] * problem.batch_size
    span = max(1, problem.context_length // 2)
    return [max(1, problem.context_length - span * i // problem.batch_size) for i in range(problem.batch_size)]


def ragged_lengths(problem: Problem) -> list[int]:
    """Return lengths that try the merge: unequal, one request a single token, so that all shards but one are empty."""
    count = max(2, problem.batch_size)
    return [max(1, problem.context_length - 7 * i) for i in range(count - 1)] + [1]


@dataclass
class Batch:
    """A batch on one rank.

    Attributes:
        lengths: Tokens of each request, over all ranks.
        hidden: ``[B, K]`` input of the query projection.
        keys: ``[N, n, Dq]`` padded shard; N is B times the KV heads (1 for MLA).
        values: ``[N, n, Dv]``; for MLA a view of *keys*.
        empty: ``[N, 1, n]`` bool mask of the padding, or ``None``.
    """

    lengths: list[int]
    hidden: Tensor
    keys: Tensor
    values: Tensor
    empty: Tensor | None


@dataclass
class RankState:
    """All a rank needs to run a step: the problem, its place, its tensors.

    Attributes:
        problem: The problem.
        rank: Place in the DCP group.
        group: Number of the DCP group.
        device: Where the tensors are.
        base: Base in which local attention gives its log-sum-exps.
        merge_base: Base the merge assumes; differs from *base* in a negative control only.
        nan_in_empty: Whether local attention leaves NaN in empty shards: a negative control.
        weight: ``[heads * Dp, K]`` query projection of the whole group.
        absorb: ``[heads, nope, R]`` key up-projection of the whole group (MLA).
        batch: The current batch.
        tensors: What the stages leave for one another, by name.
    """

    problem: Problem
    rank: int
    group: int
    device: torch.device
    base: LseBase
    merge_base: LseBase
    weight: Tensor
    absorb: Tensor | None
    batch: Batch
    nan_in_empty: bool = False
    tensors: dict[str, Tensor] = field(default_factory=dict)

    @property
    def dtype(self) -> torch.dtype:
        """Activation type."""
        return torch_dtype(self.problem.dtype)

    @property
    def own_heads(self) -> slice:
        """This rank's heads among the group's."""
        return slice(self.rank * self.problem.num_local_heads, (self.rank + 1) * self.problem.num_local_heads)

    @property
    def scale(self) -> float:
        """Factor of the attention scores."""
        return score_scale(self.problem)


def score_scale(problem: Problem) -> float:
    """Return the factor of the scores: from the width before absorption, for MLA."""
    if problem.attention_kind == "mla":
        return 1.0 / math.sqrt(problem.qk_nope_head_dim + problem.qk_rope_head_dim)
    return 1.0 / math.sqrt(problem.query_dim)


def _normal(
    shape: Sequence[int], key: tuple[int, ...], device: torch.device, dtype: torch.dtype, gain: float = 1.0
) -> Tensor:
    """Return normal numbers that depend on *key* alone, so that each rank can make its own copy."""
    generator = torch.Generator(device=device)
    generator.manual_seed(hash(key) % 2**62)  # hashes of integers are the same in every process
    return (torch.randn(*shape, generator=generator, device=device) * gain).to(dtype)


def make_weights(problem: Problem, group: int, device: torch.device) -> tuple[Tensor, Tensor | None]:
    """Return the group's query projection and, for MLA, key up-projection.

    Returns:
        ``[heads * Dp, K]`` and ``[heads, nope, R]`` or ``None``, in the activation type, or bf16 for fp8: weights of 8 bits
        would need a scaled product, which is not under test.
    """
    dtype = torch.bfloat16 if problem.dtype == "fp8" else DTYPES[problem.dtype]
    heads, width = problem.num_heads, problem.q_lora_rank
    if problem.attention_kind == "gqa":
        gain = 1 / math.sqrt(width)
        return _normal((heads * problem.query_dim, width), (problem.seed, 1, group), device, dtype, gain), None
    nope = problem.qk_nope_head_dim
    per_head = nope + problem.qk_rope_head_dim
    weight = _normal((heads * per_head, width), (problem.seed, 1, group), device, dtype, 1 / math.sqrt(width))
    absorb = _normal((heads, nope, problem.kv_lora_rank), (problem.seed, 2, group), device, dtype, 1 / math.sqrt(nope))
    return weight, absorb


def request_caches(
    problem: Problem, lengths: Sequence[int], group: int, device: torch.device
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield each request's whole cache: keys ``[n, G, Dq]`` and values ``[n, G, Dv]``.

    One request at a time, so that no rank ever holds more than its own shard and one request.
    """
    dtype = torch_dtype(problem.dtype)
    for index, tokens in enumerate(lengths):
        key = (problem.seed, 3, group, index, tokens)
        if problem.attention_kind == "mla":
            latent = _normal((tokens, 1, problem.query_dim), key, device, dtype)
            yield latent, mla_values(problem, latent)
        else:
            heads = problem.num_kv_heads or 1
            both = _normal((tokens, heads, problem.query_dim + problem.output_dim), key, device, dtype)
            yield both[..., : problem.query_dim], both[..., problem.query_dim :]


def mla_values(problem: Problem, latent: Tensor) -> Tensor:
    """Return the values of MLA: the latent part of the keys, which follows the rope part."""
    return latent[..., problem.qk_rope_head_dim :]


def make_batch(
    problem: Problem, lengths: list[int], rank: int, ranks: int, group: int, device: torch.device, *, gain: float = 1.0
) -> Batch:
    """Make a batch on one rank of *ranks*; with one rank, the whole cache."""
    dtype = torch_dtype(problem.dtype)
    weights_dtype = torch.bfloat16 if problem.dtype == "fp8" else dtype
    hidden = _normal((len(lengths), problem.q_lora_rank), (problem.seed, 4, len(lengths)), device, weights_dtype, gain)
    owned = [shard_length(tokens, rank, ranks) for tokens in lengths]
    longest, heads = max(1, *owned), 1 if problem.attention_kind == "mla" else problem.num_kv_heads or 1
    keys = torch.zeros(len(lengths) * heads, longest, problem.query_dim, dtype=dtype, device=device)
    mla = problem.attention_kind == "mla"
    values = (
        mla_values(problem, keys)
        if mla
        else torch.zeros(len(lengths) * heads, longest, problem.output_dim, dtype=dtype, device=device)
    )
    for index, (request_keys, request_values) in enumerate(request_caches(problem, lengths, group, device)):
        rows = slice(index * heads, (index + 1) * heads)
        keys[rows, : owned[index]] = request_keys[rank::ranks].transpose(0, 1)
        if not mla:
            values[rows, : owned[index]] = request_values[rank::ranks].transpose(0, 1)
    empty = None
    if min(owned) < longest:
        counts = torch.tensor(owned, device=device).repeat_interleave(heads)
        empty = (torch.arange(longest, device=device) >= counts[:, None]).unsqueeze(1)
    return Batch(lengths, hidden, keys, values, empty)


def make_state(
    problem: Problem, rank: int, group: int, device: torch.device, weights: tuple[Tensor, Tensor | None], batch: Batch
) -> RankState:
    """Put one rank's state together."""
    return RankState(
        problem=problem,
        rank=rank,
        group=group,
        device=device,
        base=problem.lse_base,
        merge_base=problem.lse_base,
        weight=weights[0],
        absorb=weights[1],
        batch=batch,
    )
