"""The check must be able to fail: a merge that is wrong in a known way is found, reported, and never timed."""

from __future__ import annotations

import math

import pytest
import torch

from configurator.bench import inputs, measure, merge, program, rank
from configurator.bench.backends import A2A, AG_RS, ALL_REDUCE_GQA, Case

from .conftest import tiny, tiny_gqa
from .one_process import run, session

CASES = [
    pytest.param(tiny(), Case(AG_RS), id="ag_rs"),
    pytest.param(tiny(), Case(A2A), id="a2a"),
    pytest.param(tiny(dcp_size=3), Case(A2A, replicate_q=True), id="a2a, 3 ranks, replicated Q"),
    pytest.param(tiny_gqa(2), Case(ALL_REDUCE_GQA), id="all_reduce"),
]


def wrong_elements(problem, case, **faults):
    found = session(problem)
    weights = inputs.make_weights(problem, 0, found.device)
    states = measure.states_for(found, inputs.ragged_lengths(problem), weights, inputs.PEAKY_GAIN)
    oracle = measure.Oracle(found)
    return oracle.agreement(program.build(case), measure.with_own_tensors(states, **faults)).wrong


@pytest.mark.parametrize(("problem", "case"), CASES)
def test_a_right_merge_has_no_wrong_element(problem, case):
    assert wrong_elements(problem, case) == 0


@pytest.mark.parametrize(("problem", "case"), CASES)
def test_a_wrong_logarithm_base_is_found(problem, case):
    other = "e" if problem.lse_base == "2" else "2"
    assert wrong_elements(problem, case, merge_base=other) > 50


@pytest.mark.parametrize(("problem", "case"), CASES[:3])
def test_nan_in_an_empty_shard_is_found(problem, case):
    """The last request has one token: with a weight of 0 for its empty shards, 0 times NaN is still NaN."""
    per_request = problem.num_heads * problem.output_dim
    assert wrong_elements(problem, case, nan_in_empty=True) == per_request


def test_the_gqa_path_clears_nan_of_empty_shards():
    assert wrong_elements(tiny_gqa(2), Case(ALL_REDUCE_GQA), nan_in_empty=True) == 0


@pytest.mark.parametrize("problem", [tiny(), tiny(dcp_size=4), tiny(lse_base="e"), tiny_gqa(2)])
def test_the_selftest_catches_both_faults(problem):
    found = session(problem)
    result = measure.selftest(found, inputs.make_weights(problem, 0, found.device))
    assert result["caught"] is True
    assert result["clean"] is True


def test_one_rank_has_nothing_to_merge_wrongly():
    problem = tiny(dcp_size=1)
    found = session(problem)
    assert measure.selftest(found, inputs.make_weights(problem, 0, found.device))["caught"] is None


def test_a_wrong_backend_is_reported_and_never_timed(monkeypatch):
    def lossy(partial_out, lses, rank_in_group, base):
        return right(partial_out, lses, rank_in_group, base) * 1.01

    right = merge.correct_partial
    monkeypatch.setattr(merge, "correct_partial", lossy)
    events = run(tiny())
    document = events[-1]["document"]
    wrong, fine = (next(c for c in document["cases"] if c["backend"] == name) for name in ("ag_rs", "a2a"))
    assert wrong["wrong"] > 0
    assert (wrong["n"], wrong["p50_us"], wrong["samples_us"], wrong["stages"]) == (0, None, [], [])
    assert (fine["wrong"], fine["n"] >= 10) == (0, True)
    assert document["status"] == "wrong"
    assert document["verdict"]["fastest"] != "ag_rs"
    assert [e["p50_us"] for e in events if e["event"] == "case" and e["backend"] == "ag_rs"] == [None]


def test_a_result_that_is_nan_is_wrong_and_still_json(monkeypatch):
    monkeypatch.setattr(merge, "finish_reduce_scatter", lambda reduced, _: torch.full_like(reduced, math.nan))
    row = next(c for c in run(tiny())[-1]["document"]["cases"] if c["backend"] == "ag_rs")
    assert row["wrong"] > 0
    assert row["max_rel_err_row"] is None


def test_a_check_that_finds_nothing_stops_the_run(monkeypatch):
    monkeypatch.setattr(measure, "compare", lambda result, *_: measure.Agreement(0, result.numel(), 0.0, 0.0))
    with pytest.raises(rank.SelfTestError, match="nothing was timed"):
        run(tiny())


def test_queries_gathered_in_the_wrong_order_are_found(monkeypatch):
    """Both ranks would attend with the same wrong heads, and the outputs alone would agree with the reference."""

    def swapped(self, collective, sent, received):
        whole(self, collective, sent, received)
        if len(sent) == 2 and sent[0].dim() == 3 and received[0].shape[-1] == 40:
            for tensor in received:
                tensor.copy_(torch.cat(tensor.chunk(2)[::-1]))

    from configurator.bench.fabric import LocalFabric

    whole = LocalFabric.run
    monkeypatch.setattr(LocalFabric, "run", swapped)
    assert wrong_elements(tiny(), Case(AG_RS)) > 0


def test_every_row_has_at_least_ten_samples_in_equal_rounds():
    events = run(tiny(time_budget_s=0.01))
    shown = [event["n"] for event in events if event["event"] in ("case", "reference")]
    assert min(shown) >= 10
    document = events[-1]["document"]
    rows = [*document["cases"], *document["reference"]]
    assert [row["backend"] for row in rows] == ["ag_rs", "a2a", "a2a", "tp_only"]
    assert all(row["n"] >= 10 and row["n"] == len(row["samples_us"]) for row in rows)
    assert len({tuple(row["round_lengths"]) for row in rows}) == 1
    assert all(stage["n"] >= 10 for row in rows for stage in row["stages"])


def test_rows_shown_between_the_rounds_keep_ten_samples(monkeypatch):
    """A round may be two steps; what has been shown from ten is not replaced by less."""
    monkeypatch.setattr(rank, "SHOW_EVERY_S", 0.0)
    shown = [e["n"] for e in run(tiny(time_budget_s=0.01)) if e["event"] == "case"]
    assert len(shown) > 3 * 2
    assert min(shown) >= 10
