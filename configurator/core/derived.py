"""Widths and counts that follow from flags and facts: named pure functions, restated from SGLang."""

from __future__ import annotations


def tp_size_per_node(tp_size: int, nnodes: int, pp_size: int) -> int:
    """Return how many tensor-parallel ranks one node holds.

    The floor division gives 0 where there are fewer nodes than pipeline stages; upstream then takes 1.
    Source: sglang/srt/layers/dcp/comm.py, is_fi_a2a_supported, 0.5.23.
    """
    return tp_size // max(nnodes // max(pp_size, 1), 1)


def attn_tp_size(tp_size: int, dp_size: int, attn_cp_size: int, *, dp_attention: bool) -> int:
    """Return the tensor-parallel width that attention sees: the TP group shared out over attention DP and CP."""
    return tp_size // max(dp_size if dp_attention else 1, 1) // max(attn_cp_size, 1)


def gpus_needed(tp_size: int, pp_size: int, nnodes: int) -> int:
    """Return the GPUs that each node must hold, rounded up."""
    return -(-tp_size * pp_size // max(nnodes, 1))


def kv_heads_per_rank(num_kv_heads: int, tp_size: int) -> int:
    """Return the KV heads of one rank; a rank never has less than one, so TP copies heads beyond that."""
    return max(1, num_kv_heads // max(tp_size, 1))
