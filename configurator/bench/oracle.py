"""The truth every backend is compared with: unsharded attention in float64, and what counts as wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

TOLERANCES: Mapping[str, tuple[float, float]] = {
    "fp32": (5e-5, 1e-5),
    "fp16": (2.5e-3, 1e-3),
    "bf16": (2e-2, 8e-3),
    # e4m3 keeps three bits: half a step is 1/16 of a value, spent on the partial outputs and again on the result,
    # and a long context's small outputs fall into its subnormals.
    "fp8": (2e-1, 1.4e-1),
}
"""``(atol, rtol)`` by activation type: an element may differ by ``atol * rms(row) + rtol * |reference|``.

The scale is per row, because a request of one token has outputs near 1 and one of thousands near 0.02: a scale
over the whole tensor would hide any error in the long ones.
"""

CHUNK_TOKENS = 65536


def attention_fp64(queries: Tensor, keys: Tensor, values: Tensor, scale: float) -> Tensor:
    """Return softmax attention of one request in float64.

    Args:
        queries: ``[h, Dq]``, any floating type.
        keys: ``[n, Dq]``, n >= 0.
        values: ``[n, Dv]``.
        scale: Factor of the scores.

    Returns:
        ``[h, Dv]`` float64; zeros for no tokens.
    """
    tokens = keys.shape[0]
    if tokens == 0:
        return torch.zeros(queries.shape[0], values.shape[1], dtype=torch.float64, device=queries.device)
    query = queries.double()
    starts = range(0, tokens, CHUNK_TOKENS)
    scores = torch.cat([query @ keys[s : s + CHUNK_TOKENS].double().T for s in starts], -1) * scale
    shares = torch.softmax(scores, -1)
    out = torch.zeros(queries.shape[0], values.shape[1], dtype=torch.float64, device=queries.device)
    for start in starts:
        out += shares[:, start : start + CHUNK_TOKENS] @ values[start : start + CHUNK_TOKENS].double()
    return out


@dataclass(frozen=True)
class Agreement:
    """How a result compares with the reference.

    Attributes:
        wrong: Elements outside the tolerance; NaN counts as outside.
        checked: Elements compared.
        max_abs_error: Largest absolute difference; NaN where a result has one.
        max_rel_err_row: Largest difference over the root mean square of its row.
    """

    wrong: int
    checked: int
    max_abs_error: float
    max_rel_err_row: float

    def __add__(self, other: Agreement) -> Agreement:
        """Return both comparisons as one."""
        # max(nan, x) depends on the order in Python, and a NaN must never be lost.
        return Agreement(
            self.wrong + other.wrong,
            self.checked + other.checked,
            _largest(self.max_abs_error, other.max_abs_error),
            _largest(self.max_rel_err_row, other.max_rel_err_row),
        )


NOTHING_COMPARED = Agreement(0, 0, 0.0, 0.0)


def _largest(first: float, second: float) -> float:
    if first != first or second != second:  # noqa: PLR0124 - NaN is the value that differs from itself
        return float("nan")
    return max(first, second)


def compare(result: Tensor, reference: Tensor, dtype: str) -> Agreement:
    """Compare a result with its reference, element by element.

    Args:
        result: ``[..., D]``, any floating type.
        reference: Same shape, float64.
        dtype: Activation type, a key of :data:`TOLERANCES`.

    Returns:
        What was found.

    Raises:
        ValueError: The shapes differ.
    """
    if result.shape != reference.shape:
        msg = f"a result of shape {tuple(result.shape)} cannot be compared with a reference of {tuple(reference.shape)}"
        raise ValueError(msg)
    atol, rtol = TOLERANCES[dtype]
    want, got = reference.double(), result.double()
    row_rms = want.square().mean(-1, keepdim=True).sqrt()
    error = (got - want).abs()
    # "not within" rather than "outside": a NaN is neither, and must count.
    wrong = int((~(error <= atol * row_rms + rtol * want.abs())).sum())
    # A row of zeros (an empty request) has no scale; its error, if any, already shows in `wrong`.
    relative = torch.where(row_rms > 0, error / row_rms, error)
    return Agreement(wrong, got.numel(), float(error.max()), float(relative.max()))


def reference_outputs(queries: Tensor, caches: Iterable[tuple[Tensor, Tensor]], scale: float, heads: slice) -> Tensor:
    """Return the reference of a batch for some of a group's heads.

    Args:
        queries: ``[B, H, Dq]`` of all heads of the group, rounded to the activation type.
        caches: Per request ``(keys, values)``: ``[n, G, Dq]`` and ``[n, G, Dv]``; the H heads share the G KV heads in
            equal runs.
        scale: Factor of the scores.
        heads: Heads wanted.

    Returns:
        ``[B, heads wanted, Dv]`` float64.
    """
    rows = []
    for query, (keys, values) in zip(queries, caches, strict=True):
        each = query.shape[0] // keys.shape[1]
        parts = []
        for kv_head in range(heads.start // each, (heads.stop - 1) // each + 1):
            first, last = max(heads.start, kv_head * each), min(heads.stop, (kv_head + 1) * each)
            parts.append(attention_fp64(query[first:last], keys[:, kv_head], values[:, kv_head], scale))
        rows.append(torch.cat(parts))
    return torch.stack(rows)
