"""Rows, logical tokens and the items of a GPU's memory."""

import json

import pytest

from configurator.core.errors import InputError
from configurator.core.unknown import Unknown, is_unknown
from configurator.planner import budget
from configurator.planner.cell import cell_of, gain_stops_at, index_bytes, kv_heads_held
from configurator.planner.deployment import GIB
from configurator.planner.memory import Measured, gain, plan_memory
from configurator.planner.weights import checkpoint_size, replicated_q_bytes, weights_of

FP8 = {"kv_cache_dtype": "fp8_e4m3"}
TRTLLM = {"dsa_prefill_backend": "trtllm", "dsa_decode_backend": "trtllm"}


@pytest.mark.parametrize(
    ("model", "flags", "bytes_"),
    [
        ("deepseek-v3.1", {}, 70_272),
        ("deepseek-v3.1", FP8, 35_136),
        ("kimi-k2", FP8, 35_136),
        ("deepseek-v3.1", {"kv_cache_dtype": "fp4_e2m1"}, 19_764),
        (
            "deepseek-v3.2",
            {**FP8, "dsa_prefill_backend": "flashmla_kv", "dsa_decode_backend": "flashmla_kv"},
            61 * (656 + 132),
        ),
        ("deepseek-v3.2", {**FP8, **TRTLLM}, 61 * (576 + 132)),
        (
            "deepseek-v3.2",
            {**FP8, "dsa_prefill_backend": "tilelang", "dsa_decode_backend": "tilelang"},
            61 * (576 + 132),
        ),
        ("deepseek-v3.2", {"kv_cache_dtype": "bfloat16", **TRTLLM}, 61 * (1152 + 132)),
        ("qwen3-235b-a22b", {}, 94 * 256 * 2),
        ("qwen3-235b-a22b", {"tp_size": 2}, 94 * 256 * 2 * 2),
    ],
)
def test_bytes_of_a_row(serve, model, flags, bytes_):
    assert cell_of(serve(model, **flags)).budgeted == bytes_


def test_raw_layout_of_sparse_attention_on_amd(serve):
    raw = {**FP8, "dsa_prefill_backend": "aiter", "dsa_decode_backend": "aiter"}
    assert cell_of(serve("deepseek-v3.2", "mi300x8", **raw)).sharded == 61 * 576
    assert cell_of(serve("deepseek-v3.2", "h200x8", **raw)).sharded == 61 * 656


def test_index_keys_by_release_and_pooling(serve):
    assert index_bytes(serve("glm-5.2", release="0.5.17")) == 78 * 132
    assert index_bytes(serve("glm-5.2", release="0.5.18")) == 21 * 132
    assert index_bytes(serve("glm-5.2", facts={"model.index_kpool": 4})) == 21 * 33
    assert index_bytes(serve("glm-5.2", enable_hisparse=True)) == 78 * 132


def test_a_draft_is_replicated_for_sparse_attention_only(serve):
    dsa = cell_of(serve("deepseek-v3.2", dcp_size=4, speculative_algorithm="EAGLE", **FP8, **TRTLLM))
    assert (dsa.draft, dsa.draft_outside) == (4 * (576 + 132), 0)
    mla = cell_of(serve("deepseek-v3.1", dcp_size=4, speculative_algorithm="EAGLE"))
    assert (mla.draft, mla.draft_outside) == (1152, 3 * 1152)
    assert any("draft" in note for note in mla.notes)


def test_a_draft_of_its_own_is_said_to_be_assumed(serve):
    own = plan_memory(serve("llama-3.1-70b", speculative_algorithm="EAGLE3", speculative_draft_model_path="x/y"))
    assert any("draft model's shape" in note for note in own.notes)
    shipped = plan_memory(serve("deepseek-v3.1", speculative_algorithm="EAGLE"))
    assert not any("draft model's shape" in note for note in shipped.notes)


def test_a_latent_cache_with_windows_is_not_guessed(serve):
    assert is_unknown(plan_memory(serve("deepseek-v3.1", facts={"model.is_hybrid_swa": True})))


def test_a_draft_of_unknown_shape_is_unknown(serve):
    plan = plan_memory(serve("deepseek-v3.1", speculative_algorithm="STANDALONE"))
    assert is_unknown(plan)
    assert "STANDALONE" in plan.reason


def test_rows_are_per_rank_and_tokens_are_logical(serve):
    one, four = plan_memory(serve("deepseek-v3.1")), plan_memory(serve("deepseek-v3.1", dcp_size=4))
    assert four.rows_per_rank == one.rows_per_rank
    assert four.logical_tokens == 4 * one.logical_tokens
    assert four.gain_over_dcp1 == 4


def test_rows_come_in_whole_pages(serve):
    plan = plan_memory(serve("deepseek-v3.1", dcp_size=8, page_size=64))
    assert plan.rows_per_rank % 64 == 0
    assert plan.page_tokens == 512
    assert plan.concurrent_requests(1) == plan.logical_tokens // 512
    assert plan.concurrent_requests(513) == plan.logical_tokens // 1024


@pytest.mark.parametrize(("dcp", "held", "expected"), [(1, 1, 1.0), (2, 1, 2.0), (4, 2, 2.0), (8, 4, 2.0)])
def test_the_gain_of_gqa_stops_at_tp_over_kv_heads(serve, dcp, held, expected):
    server = serve("qwen3-235b-a22b", dcp_size=dcp)
    assert kv_heads_held(server, dcp) == held
    assert gain(server) == expected
    assert gain_stops_at(server) == 2
    said = any("gain stops at --dcp-size 2" in note for note in cell_of(server).notes)
    assert said is (dcp > 2)


def test_gqa_gains_nothing_where_no_head_is_copied(serve):
    assert gain(serve("qwen3-235b-a22b", tp_size=4, dcp_size=4)) == 1.0


def test_a_windowed_model_gains_nothing(serve):
    plan = plan_memory(serve("gpt-oss-120b", dcp_size=2))
    assert plan.gain_over_dcp1 == 1.0
    assert plan.logical_tokens == plan.rows_per_rank


def test_items_add_up_and_each_has_a_basis(serve):
    plan = plan_memory(serve("deepseek-v3.1", dcp_size=4, dcp_replicate_q_proj=True))
    assert sum(item.bytes for item in plan.items) == plan.total_bytes
    assert {item.basis for item in plan.items} == {"modelled", "assumed"}
    assert plan.item("weights") / GIB == pytest.approx(79.6, abs=0.2)


def test_the_server_reserves_what_its_default_says(serve):
    reserve = budget.reserve_of(serve("deepseek-v3.1", dcp_size=4))
    assert reserve.fraction == round((140.4 * 1024 - (512 + 8192 * 1.5 + 1024 + 1024)) / (140.4 * 1024), 3)
    small = budget.reserve_of(serve("deepseek-v3.1", dcp_size=4, chunked_prefill_size=2048))
    assert small.fraction == round(1 - 10 / 140.4, 3), "never less than 10 GiB on a large GPU"
    given = budget.reserve_of(serve("deepseek-v3.1", mem_fraction_static=0.8))
    assert (given.fraction, given.given) == (0.8, True)
    wide = budget.reserve_of(serve("deepseek-v3.1", dp_size=8, enable_dp_attention=True))
    assert wide.fraction < 0.897 - 512 * 8 * 4.4 / (140.4 * 1024)


def test_a_pool_sized_after_capture_pays_for_its_graphs(serve):
    server = serve("qwen3-235b-a22b", cuda_graph_prefill_backend="full")
    assert budget.reserve_of(server).after_capture
    assert not budget.reserve_of(server.with_flags(dcp_size=2)).after_capture
    assert plan_memory(server).item("slack") < 4 * GIB


@pytest.mark.parametrize(
    ("dcp", "plain_gib", "fp8_gib", "plain_mb", "fp8_mb"),
    [(2, 1.31, 0.77, 11.5, 6.8), (4, 2.62, 1.55, 34.6, 20.4), (8, 5.24, 3.10, 80.7, 47.7)],
)
def test_the_copy_of_replicate_q(serve, dcp, plain_gib, fp8_gib, plain_mb, fp8_mb):
    plain = {"model.quantization": None, "model.weight_block_size": None}
    for facts, gib, mb in ((plain, plain_gib, plain_mb), ({}, fp8_gib, fp8_mb)):
        stored, read = replicated_q_bytes(serve("deepseek-v3", dcp_size=dcp, facts=facts))
        assert stored / GIB == pytest.approx(gib, abs=0.006)
        assert read / 1e6 == pytest.approx(mb, abs=0.06)


def test_a_projection_that_the_release_skips_is_not_copied(serve):
    server = serve("deepseek-v3.1", dcp_size=4, dcp_replicate_q_proj=True, release="0.5.22")
    plan = plan_memory(server)
    assert plan.item("replicate_q") == 0
    assert any("skips projections" in note for note in plan.notes)


@pytest.mark.parametrize(("dcp", "mib"), [(4, 152), (8, 304)])
def test_the_workspace_of_the_fused_exchange(serve, dcp, mib):
    server = serve("deepseek-v3.1", "b200x8", dcp_size=dcp, dcp_comm_backend="fi_a2a")
    assert budget.exchange_workspace_bytes(server) == mib * 2**20
    assert budget.exchange_workspace_bytes(server.with_flags(dcp_comm_backend="a2a")) == 0


def test_symmetric_memory_takes_its_pool(serve):
    server = serve("deepseek-v3.1", enable_symm_mem=True)
    assert budget.symmetric_bytes(server) == 4 * GIB
    fewer = serve("deepseek-v3.1", enable_symm_mem=True, env={"SGLANG_SYMM_MEM_PREALLOC_GB_SIZE": "1"})
    assert budget.symmetric_bytes(fewer) == GIB


def test_max_total_tokens_caps_rows(serve):
    plan = plan_memory(serve("deepseek-v3.1", dcp_size=4, max_total_tokens=64_000))
    assert (plan.rows_per_rank, plan.logical_tokens) == (64_000, 256_000)
    assert any("rows of each rank" in note for note in plan.notes)


def test_what_does_not_fit_is_said(serve):
    plan = plan_memory(serve("deepseek-v3.1", "h100x8", dcp_size=4))
    assert not plan.fits
    assert (plan.rows_per_rank, plan.max_context_tokens) == (0, 0)
    assert plan.notes[0].startswith("It does not fit: weights of 79.5 GiB")


def test_copies_outside_the_budget_can_be_too_much(serve):
    crowded = {"dcp_size": 8, "dcp_replicate_q_proj": True, "mem_fraction_static": 0.98}
    plan = plan_memory(serve("deepseek-v3.1", **crowded))
    assert not plan.fits
    assert plan.item("slack") < 0
    assert any("allocated after the KV cache" in note for note in plan.notes)


def test_a_short_slack_is_a_warning_not_a_verdict(serve):
    plan = plan_memory(serve("deepseek-v3.1", dcp_size=4, mem_fraction_static=0.98))
    assert plan.fits
    assert plan.item("slack") < 0
    assert any("may run out" in note for note in plan.notes)


def test_attention_replicas_have_a_cache_each(serve):
    plan = plan_memory(serve("deepseek-v3.1", "b200x8", dp_size=2, enable_dp_attention=True, dcp_size=4))
    assert plan.replicas == 2
    assert plan.concurrent_requests(4096) == plan.logical_tokens // 4096 * 2


def test_calibration_moves_the_budget_not_the_shape(serve):
    server = serve("deepseek-v3.1", dcp_size=4)
    plan = plan_memory(server, measured=Measured(500_000))
    assert plan.logical_tokens == 2_000_000
    assert plan_memory(server, measured=Measured(500_000, 4)).logical_tokens == 2_000_000
    with pytest.raises(InputError, match="differs in --dcp-size only"):
        plan_memory(server, measured=Measured(500_000, 3))
    with pytest.raises(InputError, match="start-up log"):
        Measured(0)


def test_missing_facts_are_named_not_guessed(serve):
    no_layers = {"model.num_attention_layers": Unknown("config.json has no layers")}
    assert plan_memory(serve("deepseek-v3.1", facts=no_layers)) == Unknown("config.json has no layers")
    no_index = plan_memory(serve("kimi-k2.5"))
    assert is_unknown(no_index)
    assert "safetensors index" in no_index.reason
    assert not is_unknown(plan_memory(serve("kimi-k2.5"), checkpoint_bytes=600 * 10**9))
    uneven = plan_memory(serve("deepseek-v3.1", dcp_size=3))
    assert is_unknown(uneven)
    assert "groups of 3" in uneven.reason


def test_impossible_memory_is_an_error(serve):
    with pytest.raises(InputError, match="does not exist"):
        plan_memory(serve("deepseek-v3.1", facts={"hardware.memory_gib": -1.0}))


@pytest.mark.parametrize("context", [0, -5])
def test_a_context_is_positive(serve, context):
    with pytest.raises(InputError, match="at least one"):
        plan_memory(serve("deepseek-v3.1")).concurrent_requests(context)


@pytest.mark.parametrize(
    ("model", "gib", "tp"),
    [("llama-3.1-70b", 131.4, 1), ("qwen3-235b-a22b", 437.7, 1), ("deepseek-v3.1", 625, 1), ("gpt-oss-120b", 60.8, 1)],
)
def test_weights_against_published_sizes(serve, model, gib, tp):
    weights = weights_of(serve(model, tp_size=tp))
    assert weights.bytes_per_gpu / GIB == pytest.approx(gib, rel=0.04)


def test_weights_are_shared_out_but_for_what_every_rank_repeats(serve):
    one, eight = (weights_of(serve("deepseek-v3.1", tp_size=tp)).bytes_per_gpu for tp in (1, 8))
    assert one / 8 < eight < one / 8 * 1.05


def test_the_checkpoint_index_replaces_the_count(serve, tmp_path):
    assert checkpoint_size(tmp_path) is None
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": 700 * 10**9}, "weight_map": {}}), encoding="utf-8")
    size = checkpoint_size(tmp_path)
    weights = weights_of(serve("deepseek-v3.1"), size)
    assert weights.measured
    assert weights.bytes_per_gpu == pytest.approx(700e9 / 8 * 671 / 685, rel=0.05), "draft layers stay on disk"
    index.write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be read"):
        checkpoint_size(tmp_path)


def test_states_of_recurrent_layers_take_their_share(serve):
    plan = plan_memory(serve("qwen3-next-80b-a3b", mamba_full_memory_ratio=0.9))
    budget_bytes = plan.item("states") + plan.kv_budget_bytes
    assert plan.item("states") / budget_bytes == pytest.approx(0.9 / 1.9, rel=1e-6)
