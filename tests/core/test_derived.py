"""Widths and counts that follow from flags and facts."""

from __future__ import annotations

import pytest

from configurator.core.derived import attn_tp_size, gpus_needed, kv_heads_per_rank, tp_size_per_node


@pytest.mark.parametrize(("tp", "nodes", "pp", "width"), [
    (8, 1, 1, 8), (16, 2, 1, 8), (16, 4, 1, 4), (16, 2, 2, 16), (8, 4, 2, 4), (8, 1, 2, 8), (8, 2, 4, 8),
    (8, 3, 1, 2), (4, 8, 1, 0), (8, 0, 0, 8), (8, 2, 0, 4),
])  # fmt: skip
def test_tp_size_per_node(tp, nodes, pp, width):
    assert tp_size_per_node(tp, nodes, pp) == width


@pytest.mark.parametrize(("tp", "dp", "cp", "dp_attention", "width"), [
    (8, 1, 1, False, 8), (8, 4, 1, False, 8), (8, 4, 1, True, 2), (8, 8, 1, True, 1), (8, 1, 2, False, 4),
    (16, 2, 4, True, 2), (8, 0, 0, True, 8),
])  # fmt: skip
def test_attn_tp_size(tp, dp, cp, dp_attention, width):
    assert attn_tp_size(tp, dp, cp, dp_attention=dp_attention) == width


@pytest.mark.parametrize(("tp", "pp", "nodes", "gpus"), [
    (8, 1, 1, 8), (16, 1, 2, 8), (16, 1, 3, 6), (8, 2, 2, 8), (8, 2, 1, 16), (1, 1, 4, 1), (8, 1, 0, 8),
])  # fmt: skip
def test_gpus_needed(tp, pp, nodes, gpus):
    assert gpus_needed(tp, pp, nodes) == gpus


@pytest.mark.parametrize(
    ("heads", "tp", "each"), [(8, 1, 8), (8, 4, 2), (8, 8, 1), (8, 16, 1), (1, 8, 1), (8, 3, 2), (8, 0, 8)]
)
def test_kv_heads_per_rank(heads, tp, each):
    assert kv_heads_per_rank(heads, tp) == each
