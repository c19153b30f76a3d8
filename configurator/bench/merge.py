"""The merge maths of decode context parallelism, on tensors only: weights, corrections, packing, combining.

Every rank of a group holds, for all heads of the group, the attention output over its own tokens and the
log-sum-exp of its scores. The exact output over all tokens is the sum of the partial outputs, each weighted by
the share of the softmax's denominator that its tokens make up. Communication is elsewhere: these functions run
the same on one process as on many, which is how they are tested.

Shape letters: B requests, H heads of the group, h heads of one rank, c ranks of the group, D output width.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor

LseBase = Literal["e", "2"]


def merge_weights(lses: Tensor, base: LseBase) -> Tensor:
    """Return each shard's share of the softmax denominator.

    An empty shard has a log-sum-exp of minus infinity and weight 0. NaN and plus infinity are taken for empty
    as well. Where all shards are empty all weights are 0, so that the merged output is 0 and not NaN.

    Args:
        lses: ``[c, ...]`` fp32, log-sum-exps of the shards.
        base: Base of their logarithm.

    Returns:
        ``[c, ...]`` fp32; sums to 1 over the first dimension, or to 0.

    Source: SGLang 0.5.23, ``sglang/srt/layers/dcp`` (combination of the received parts), restated.
    """
    finite = torch.where(torch.isfinite(lses), lses, -math.inf)
    largest = finite.amax(0)
    largest = torch.where(torch.isneginf(largest), 0.0, largest)
    weights = torch.exp2(finite - largest) if base == "2" else torch.exp(finite - largest)
    # The largest term is exactly 1, so the clamp acts only where every shard is empty.
    return weights / weights.sum(0).clamp_min(1.0)


def correct_partial(partial_out: Tensor, lses: Tensor, rank: int, base: LseBase) -> Tensor:
    """Scale this rank's partial output so that a plain sum over ranks is the exact output (ag_rs).

    Args:
        partial_out: ``[B, H, D]`` in the activation type.
        lses: ``[c, B, H]`` fp32, gathered.
        rank: This rank's place in the group.
        base: Base of the log-sum-exps.

    Returns:
        ``[H, B, D]`` fp32, contiguous: head-major, so that a reduce-scatter over the first dimension leaves each
        rank its own heads.
    """
    weight = merge_weights(lses, base)[rank]
    return (partial_out.float() * weight.unsqueeze(-1)).transpose(0, 1).contiguous()


def finish_reduce_scatter(reduced: Tensor, dtype: torch.dtype) -> Tensor:
    """Turn the reduce-scatter's ``[h, B, D]`` fp32 into ``[B, h, D]`` of *dtype*."""
    return reduced.transpose(0, 1).to(dtype)


def lse_slots(dtype: torch.dtype) -> int:
    """Return how many elements of *dtype* one fp32 log-sum-exp takes when its bits are stored in them."""
    return 4 // dtype.itemsize


def pack(partial_out: Tensor, lse: Tensor, ranks: int) -> Tensor:
    """Pack outputs and log-sum-exps for the all-to-all (a2a).

    Args:
        partial_out: ``[B, H, D]``, any type of 1, 2 or 4 bytes; ``D`` a multiple of ``4 / itemsize``.
        lse: ``[B, H]`` fp32.
        ranks: Size of the group; divides ``H``.

    Returns:
        ``[c, B, h, D + 4 / itemsize]`` of the same type, contiguous: slot ``[p]`` goes to rank ``p``, which owns
        heads ``p * h`` to ``(p + 1) * h``; the log-sum-exp's bits are behind the output.

    Raises:
        ValueError: The shapes do not fit the packing.
    """
    batch, heads, width = partial_out.shape
    slots = lse_slots(partial_out.dtype)
    if heads % ranks or width % slots:
        msg = f"{heads} heads of width {width} cannot be packed for {ranks} ranks with {slots} elements per log-sum-exp"
        raise ValueError(msg)
    sent = torch.empty(ranks, batch, heads // ranks, width + slots, dtype=partial_out.dtype, device=partial_out.device)
    sent[..., :width] = partial_out.view(batch, ranks, heads // ranks, width).transpose(0, 1)
    sent.view(torch.float32)[..., -1] = lse.view(batch, ranks, heads // ranks).transpose(0, 1)
    return sent


def combine(outputs: Tensor, lses: Tensor, base: LseBase, dtype: torch.dtype) -> Tensor:
    """Merge the parts of this rank's heads.

    Args:
        outputs: ``[c, B, h, D]``, from each rank.
        lses: ``[c, B, h]`` fp32.
        base: Base of the log-sum-exps.
        dtype: Type of the result.

    Returns:
        ``[B, h, D]`` of *dtype*.
    """
    return (outputs.float() * merge_weights(lses, base).unsqueeze(-1)).sum(0).to(dtype)


def combine_packed(received: Tensor, base: LseBase) -> Tensor:
    """Merge what the all-to-all brought: ``[c, B, h, D + slots]`` to ``[B, h, D]`` of the same type."""
    slots = lse_slots(received.dtype)
    return combine(received[..., :-slots], received.view(torch.float32)[..., -1], base, received.dtype)


def pack_fi(partial_out: Tensor, lse: Tensor, ranks: int) -> tuple[Tensor, Tensor]:
    """Lay outputs and log-sum-exps out as FlashInfer's kernel wants them (fi_a2a).

    Args:
        partial_out: ``[B, H, D]`` bf16 or fp16.
        lse: ``[B, H]`` fp32.
        ranks: Size of the group.

    Returns:
        ``[B, h, c, D]`` of the same type and ``[B, h, c, 2]`` fp32, of which the second column is padding: the
        kernel wants an even number of statistics.
    """
    batch, heads, width = partial_out.shape
    outputs = partial_out.view(batch, ranks, heads // ranks, width).transpose(1, 2).contiguous()
    stats = torch.zeros(batch, heads // ranks, ranks, 2, dtype=torch.float32, device=lse.device)
    stats[..., 0] = lse.view(batch, ranks, heads // ranks).transpose(1, 2)
    return outputs, stats


def combine_fi(outputs: Tensor, stats: Tensor, base: LseBase) -> Tensor:
    """Merge what FlashInfer's exchange brought: ``[B, h, c, D]`` and ``[B, h, c, 2]`` to ``[B, h, D]``."""
    return combine(outputs.movedim(2, 0), stats[..., 0].movedim(2, 0), base, outputs.dtype)


def scale_for_all_reduce(partial_out: Tensor, lses: Tensor, rank: int) -> Tensor:
    """Scale this rank's partial output for the all-reduce of the GQA path.

    Args:
        partial_out: ``[B, H, D]`` fp32.
        lses: ``[c, B, H]`` fp32, natural logarithms, gathered.
        rank: This rank's place in the group.

    Returns:
        ``[B, H, D]`` fp32; what an empty shard left undefined is 0.

    Source: SGLang 0.5.23, the Triton decode path, restated.
    """
    total = torch.logsumexp(lses, 0)
    scale = torch.nan_to_num(torch.exp(lses[rank] - total), nan=0.0, posinf=0.0, neginf=0.0)
    return torch.nan_to_num(partial_out) * scale.unsqueeze(-1)
