"""The merge maths on tensors, against plain softmax over all tokens."""

from __future__ import annotations

import math

import pytest
import torch

from configurator.bench import merge
from configurator.bench.attention import attend
from configurator.bench.oracle import attention_fp64, compare

B, H, D, TOKENS = 3, 6, 8, 11


@pytest.fixture
def shards():
    """Partial outputs ``[c, B, H, D]`` and natural log-sum-exps ``[c, B, H]`` of 3 ranks; the last owns nothing of request 0."""

    def make(ranks=3):
        generator = torch.Generator().manual_seed(5)
        queries = torch.randn(B, H, D, generator=generator) * 3
        keys = torch.randn(B, TOKENS, D, generator=generator)
        values = torch.randn(B, TOKENS, D, generator=generator)
        lengths = [2, TOKENS, TOKENS - 1]
        truth = torch.stack(
            [attention_fp64(queries[b], keys[b, :n], values[b, :n], 1.0) for b, n in enumerate(lengths)]
        )
        outs, lses = [], []
        for rank in range(ranks):
            longest = math.ceil(TOKENS / ranks)
            local_keys, local_values = torch.zeros(B, longest, D), torch.zeros(B, longest, D)
            empty = torch.ones(B, 1, longest, dtype=torch.bool)
            for b, n in enumerate(lengths):
                own = range(rank, n, ranks)
                local_keys[b, : len(own)], local_values[b, : len(own)] = keys[b, list(own)], values[b, list(own)]
                empty[b, :, : len(own)] = False
            out, lse = attend(queries, local_keys, local_values, 1.0, empty)
            outs.append(out)
            lses.append(lse)
        return torch.stack(outs), torch.stack(lses), truth

    return make


def in_base(lses, base):
    return lses / math.log(2) if base == "2" else lses


def test_an_empty_shard_is_zero_and_minus_infinity(shards):
    outs, lses, _ = shards()
    assert torch.equal(outs[2, 0], torch.zeros(H, D))
    assert torch.isneginf(lses[2, 0]).all()
    assert torch.isfinite(lses[:2, 0]).all()


@pytest.mark.parametrize("base", ["e", "2"])
@pytest.mark.parametrize("ranks", [2, 3])
def test_the_sum_of_corrected_partials_is_the_output(shards, base, ranks):
    outs, lses, truth = shards(ranks)
    parts = [merge.correct_partial(outs[r], in_base(lses, base), r, base) for r in range(ranks)]
    assert parts[0].shape == (H, B, D)
    assert parts[0].is_contiguous()
    merged = merge.finish_reduce_scatter(torch.stack(parts).sum(0), torch.float32)
    assert compare(merged, truth, "fp32").wrong == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("ranks", [2, 3])
def test_packing_loses_nothing_and_combines_to_the_output(shards, dtype, ranks):
    outs, lses, truth = shards(ranks)
    packed = [merge.pack(outs[r].to(dtype), lses[r], ranks) for r in range(ranks)]
    assert packed[0].shape == (ranks, B, H // ranks, D + 4 // dtype.itemsize)
    merged = torch.cat(
        [merge.combine_packed(torch.stack([p[owner] for p in packed]), "e") for owner in range(ranks)], 1
    )
    assert merged.dtype == dtype
    name = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16"}[dtype]
    assert compare(merged, truth, name).wrong == 0
    bits = torch.stack([p.view(torch.float32)[..., -1] for p in packed])  # [c, owner, B, h]
    assert torch.equal(bits.transpose(1, 2).reshape(ranks, B, H), lses)


def test_the_layout_of_flashinfers_kernel_combines_to_the_output(shards):
    ranks = 3
    outs, lses, truth = shards(ranks)
    sent = [merge.pack_fi(outs[r], lses[r], ranks) for r in range(ranks)]
    assert sent[0][0].shape == (B, H // ranks, ranks, D)
    assert sent[0][1].shape == (B, H // ranks, ranks, 2)
    merged = []
    for owner in range(ranks):
        outputs = torch.stack([o[:, :, owner] for o, _ in sent], 2)
        stats = torch.stack([s[:, :, owner] for _, s in sent], 2)
        merged.append(merge.combine_fi(outputs, stats, "e"))
    assert compare(torch.cat(merged, 1), truth, "fp32").wrong == 0


def test_the_all_reduce_of_scaled_partials_is_the_output(shards):
    outs, lses, truth = shards()
    outs[2, 0] = math.nan  # the Triton path clears what an empty shard left undefined
    merged = torch.stack([merge.scale_for_all_reduce(outs[r], lses, r) for r in range(3)]).sum(0)
    assert compare(merged, truth, "fp32").wrong == 0


@pytest.mark.parametrize("nothing", [-math.inf, math.inf, math.nan])
def test_shards_without_a_usable_sum_have_no_weight(nothing):
    lses = torch.tensor([[1.0], [nothing]])
    assert merge.merge_weights(lses, "e").tolist() == [[1.0], [0.0]]


def test_a_request_that_is_empty_everywhere_gives_zero_and_not_nan():
    weights = merge.merge_weights(torch.full((3, 2), -math.inf), "2")
    assert torch.equal(weights, torch.zeros(3, 2))


def test_very_large_sums_do_not_overflow():
    weights = merge.merge_weights(torch.tensor([[3e4], [3e4 - 1]]), "2")
    assert weights.flatten().tolist() == pytest.approx([2 / 3, 1 / 3])


def test_heads_that_do_not_divide_are_refused():
    with pytest.raises(ValueError, match="cannot be packed"):
        merge.pack(torch.zeros(1, 5, 8), torch.zeros(1, 5), 2)


class TestCompare:
    def test_the_scale_is_the_rows(self):
        """A long context's outputs are small: an error that drowns in the tensor's scale is large in its row."""
        reference = torch.stack([torch.ones(64), torch.full((64,), 0.02)]).double()
        result = reference.clone()
        result[1, 0] += 0.002
        assert compare(result, reference, "bf16").wrong == 1

    def test_nan_counts_as_wrong_and_is_kept_as_the_largest_error(self):
        result = torch.tensor([[math.nan, 1.0]])
        found = compare(result, torch.ones(1, 2).double(), "fp32")
        assert found.wrong == 1
        assert math.isnan(found.max_abs_error)
        assert math.isnan((found + compare(torch.ones(1, 2), torch.ones(1, 2).double(), "fp32")).max_abs_error)

    def test_shapes_must_agree(self):
        with pytest.raises(ValueError, match="cannot be compared"):
            compare(torch.ones(2), torch.ones(3).double(), "fp32")

    def test_float64_attention_in_chunks_is_plain_softmax(self, monkeypatch):
        monkeypatch.setattr("configurator.bench.oracle.CHUNK_TOKENS", 3)
        q, k, v = torch.randn(2, 4), torch.randn(10, 4), torch.randn(10, 4)
        expected = torch.softmax(q.double() @ k.double().T * 0.5, -1) @ v.double()
        assert torch.allclose(attention_fp64(q, k, v, 0.5), expected)
