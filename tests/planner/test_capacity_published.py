"""What published runs measured, beside what the model says. Run with ``-s`` to see both."""

import pytest

from configurator.planner.cell import cell_of
from configurator.planner.memory import Measured, gain, plan_memory, rows_in

from .beside import beside

DSA = {"page_size": 64, "dsa_prefill_backend": "trtllm", "dsa_decode_backend": "trtllm", "kv_cache_dtype": "fp8_e4m3"}
SCALED = {**DSA, "dsa_prefill_backend": "flashmla_sparse", "dsa_decode_backend": "flashmla_kv"}


def tokens_from(server, rows_at_1):
    """Logical tokens with the KV budget of *rows_at_1* rows at DCP 1."""
    budget = rows_at_1 * cell_of(server.with_flags(dcp_size=1)).budgeted
    cell = cell_of(server)
    return rows_in(budget, cell, server.page_size) * cell.tokens_per_row


@pytest.mark.parametrize(("dcp", "published"), [(2, 1.98), (4, 3.96), (8, 7.85)])
def test_dense_mla_gains_on_eight_b200(serve, dcp, published):
    ours = gain(serve("deepseek-v3.1", "b200x8", dcp_size=dcp))
    assert ours == dcp
    assert abs(beside(f"MLA, DCP {dcp}", ours, published)) <= 0.02


@pytest.mark.parametrize(("draft", "ours_is"), [(None, 4_332_672), ("EAGLE", 4_276_992)])
def test_glm_5_2_with_dcp_2(serve, draft, ours_is):
    server = serve("glm-5.2-nvfp4", "b200x8", tp_size=4, dcp_size=2, speculative_algorithm=draft, **DSA)
    ours = tokens_from(server, 2_292_288)
    assert ours == ours_is
    assert abs(beside(f"GLM-5.2, DCP 2, draft {draft}", ours, 4_252_416)) <= 0.02


def test_glm_5_2_where_every_layer_kept_index_keys(serve):
    server = serve("glm-5.2-nvfp4", "b200x8", tp_size=4, dcp_size=2, release="0.5.17", **DSA)
    assert tokens_from(server, 2_292_288) == 3_864_064


@pytest.mark.parametrize(
    ("layout", "release", "ours_is", "within"),
    [(SCALED, "0.5.17", 838_144, 0.12), (DSA, "0.5.17", 792_064, 0.05), (SCALED, "0.5.18", 1_293_824, None)],
)
def test_glm_5_3_on_eight_h100_with_dcp_8(serve, layout, release, ours_is, within):
    server = serve("glm-5.2", "h100x8", release=release, dcp_size=8, speculative_algorithm="EAGLE", **layout)
    ours = tokens_from(server, 235_456)
    off = beside(f"GLM-5.3, DCP 8, {release}", ours, 756_224)
    assert ours == ours_is
    if within is not None:
        assert abs(off) <= within


def test_the_gain_of_sparse_attention_is_capped_by_what_is_replicated(serve):
    with_draft = {"dcp_size": 8, "speculative_algorithm": "EAGLE"}
    assert gain(serve("glm-5.2", "b200x8", **with_draft, **DSA)) == pytest.approx(5.3, abs=0.05)
    assert gain(serve("glm-5.2", "b200x8", release="0.5.17", **with_draft, **DSA)) == pytest.approx(3.4, abs=0.05)


def test_kimi_k3_gains_all_of_dcp_per_byte(serve):
    ours, published = gain(serve("kimi-k3", dcp_size=8)), 19.752 / 34.28 / (1.933 / 25.12)
    assert abs(beside("Kimi-K3, DCP 8, per GiB (another engine)", ours, published)) <= 0.07


@pytest.mark.parametrize(("model", "flags", "actual", "from_rows"), [
    ("deepseek-v3.1", {"dcp_size": 8}, 7.85, 1_000_000),
    ("glm-5.2-nvfp4", {"dcp_size": 2, "tp_size": 4, **DSA}, 4_252_416 / 2_292_288, 2_292_288),
])  # fmt: skip
def test_published_runs_lie_in_the_band_after_calibration(serve, model, flags, actual, from_rows):
    server = serve(model, "b200x8", **flags)
    memory = plan_memory(server, measured=Measured(from_rows))
    low, high = memory.error_band
    assert low <= actual * from_rows / memory.logical_tokens <= high
