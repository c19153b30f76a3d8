"""Points of the plots: they agree with the plans, and crossings are where lines cross."""

import pytest

from configurator.core.unknown import is_unknown
from configurator.planner.curves import capacity_curve, latency_lines
from configurator.planner.latency import plan_latency
from configurator.planner.memory import plan_memory


def test_tokens_against_dcp_size(serve):
    server = serve("deepseek-v3.1", dcp_size=4)
    memory = plan_memory(server)
    curve = capacity_curve(server, memory)
    assert [p.dcp_size for p in curve] == [1, 2, 4, 8]
    assert next(p for p in curve if p.dcp_size == 4).tokens == memory.logical_tokens
    assert [round(p.tokens / curve[0].tokens, 3) for p in curve] == [1, 2, 4, 8]
    assert all(p.low == int(p.tokens * 0.9) and p.high == int(p.tokens * 1.1) for p in curve)


def test_gqa_flattens(serve):
    server = serve("qwen3-235b-a22b")
    curve = capacity_curve(server, plan_memory(server))
    assert [round(p.tokens / curve[0].tokens, 2) for p in curve] == [1, 2, 2, 2]


@pytest.mark.parametrize("dcp", [2, 4, 8])
def test_lines_cross_where_they_say(serve, dcp):
    server = serve("deepseek-v3.1", dcp_size=dcp, dcp_replicate_q_proj=True)
    tp, *others = latency_lines(server, batch_size=8)
    assert [line.key for line in others] == ["ag_rs", "a2a", "a2a+q"]
    assert [line.chosen for line in others] == [False, False, True]
    for line in others:
        assert line.at(line.break_even_tokens) == pytest.approx(tp.at(line.break_even_tokens), rel=0.01)
        assert line.points[-1][0] > line.break_even_tokens


def test_the_chosen_line_is_the_plan(serve):
    server = serve("deepseek-v3.1", dcp_size=4)
    plan = plan_latency(server, batch_size=8, context_tokens=32_768)
    line = next(line for line in latency_lines(server, batch_size=8) if line.chosen)
    assert line.at(8 * 32_768) == pytest.approx(plan.per_layer_us, rel=1e-3)
    assert line.break_even_tokens == plan.break_even_tokens


def test_without_dcp_the_lines_show_what_dcp_would_cost(serve):
    tp, first, *_ = latency_lines(serve("deepseek-v3.1"), batch_size=8)
    assert tp.chosen
    assert first.label == "DCP 2, ag_rs"


def test_gqa_has_one_exchange(serve):
    lines = latency_lines(serve("qwen3-235b-a22b", dcp_size=2), batch_size=8)
    assert [line.key for line in lines] == ["tp", "gqa"]


def test_sparse_attention_never_crosses(serve):
    flags = {"dsa_prefill_backend": "trtllm", "dsa_decode_backend": "trtllm", "kv_cache_dtype": "fp8_e4m3"}
    lines = latency_lines(serve("glm-5.2", "b200x8", dcp_size=8, dcp_comm_backend="fi_a2a", **flags), batch_size=8)
    assert {line.key for line in lines} == {"tp", "ag_rs", "a2a", "a2a+q", "fi_a2a", "fi_a2a+q"}
    assert all(line.break_even_tokens is None for line in lines)
    assert all(line.points[-1][0] > 0 for line in lines)


def test_an_unknown_link_gives_no_lines(serve):
    assert is_unknown(latency_lines(serve("qwen3-8b", "max1550x8", dcp_size=2), batch_size=8))
    assert is_unknown(latency_lines(serve("deepseek-v3.1", tp_size=1), batch_size=8)), "one rank forms no group"
