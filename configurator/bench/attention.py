"""Local attention over one rank's shard, with its log-sum-exp, and the query projection before it.

These are plain torch operations with fp32 accumulation: they produce what a decode kernel produces, but their time is not
the time of FlashMLA, FlashInfer or any other kernel that a server would use.
"""

from __future__ import annotations

import functools
import math

import torch
from torch import Tensor


def project_queries(hidden: Tensor, weight: Tensor, absorb: Tensor | None, heads: int, dtype: torch.dtype) -> Tensor:
    """Project queries, head-major; for MLA absorb the key up-projection into them.

    The rotation of the rope part is left out: it is the same for every backend and takes no communication.

    Args:
        hidden: ``[B, K]``, the normalised input of the projection.
        weight: ``[h * Dp, K]``: rows of the heads wanted. For MLA ``Dp`` is nope + rope, rope last.
        absorb: ``[h, nope, R]`` for MLA, else ``None``.
        heads: The ``h`` above.
        dtype: Type of the result.

    Returns:
        ``[h, B, Dq]`` contiguous: for MLA ``Dq`` is rope + R with the rope part first, the layout in which it is gathered.
    """
    batch = hidden.shape[0]
    per_head = (hidden @ weight.T).view(batch, heads, -1).transpose(0, 1)
    if absorb is None:
        return per_head.to(dtype).contiguous()
    nope = absorb.shape[1]
    rope = per_head.shape[-1] - nope
    queries = torch.empty(heads, batch, rope + absorb.shape[2], dtype=dtype, device=hidden.device)
    queries[..., :rope] = per_head[..., nope:]
    queries[..., rope:] = torch.bmm(per_head[..., :nope], absorb)
    return queries


def attend(queries: Tensor, keys: Tensor, values: Tensor, scale: float, empty: Tensor | None) -> tuple[Tensor, Tensor]:
    """Attend over a padded shard.

    Args:
        queries: ``[N, h, Dq]``.
        keys: ``[N, n, Dq]``, n >= 1.
        values: ``[N, n, Dv]``.
        scale: Factor of the scores.
        empty: ``[N, 1, n]`` bool, true where a row of the shard is padding; ``None`` where none is.

    Returns:
        ``[N, h, Dv]`` fp32 and the natural log-sum-exp ``[N, h]`` fp32. Where all rows are padding: 0 and minus infinity.
        Both matter: weight 0 times a NaN output would still be NaN.
    """
    scores = _product(queries, keys.transpose(1, 2)) * scale
    if empty is not None:
        scores.masked_fill_(empty, -math.inf)
    largest = scores.amax(-1, keepdim=True)
    if empty is not None:
        largest = torch.where(torch.isneginf(largest), 0.0, largest)
    shares = torch.exp_(scores - largest)
    total = shares.sum(-1, keepdim=True)
    out = _product(shares, values) / total.clamp_min(torch.finfo(torch.float32).tiny)
    return out, (total.log() + largest).squeeze(-1)


def _product(left: Tensor, right: Tensor) -> Tensor:
    """Multiply batches with fp32 results: by tensor cores where there are some, else in fp32 throughout."""
    if right.is_cuda and right.dtype in (torch.bfloat16, torch.float16) and _has_fp32_out():
        return torch.bmm(left.to(right.dtype), right, out_dtype=torch.float32)
    return torch.bmm(left.float(), right.float())


@functools.cache
def _has_fp32_out() -> bool:
    """Tell whether this torch multiplies 16-bit batches into fp32 (2.8 and later do, on CUDA)."""
    one = torch.ones(1, 16, 16, dtype=torch.bfloat16, device="cuda")
    try:
        torch.bmm(one, one, out_dtype=torch.float32)
    except (TypeError, RuntimeError, NotImplementedError):
        return False
    return True
