"""Whole runs in real processes over Gloo: every backend right, and timed, on 2, 3 and 4 ranks."""

from __future__ import annotations

import pytest

from .conftest import run_to_end, tiny, tiny_gqa

pytestmark = pytest.mark.multirank

RUNS = [
    pytest.param(tiny(dtype="bf16", raw_collectives="quick"), id="mla, 2 ranks, bf16, bare collectives"),
    pytest.param(tiny(dcp_size=3), id="mla, 3 ranks, fp32"),
    pytest.param(tiny(tp_size=4, dcp_size=2, dtype="fp8", ragged=True), id="mla, 2 groups of 2 ranks, fp8, ragged"),
    pytest.param(tiny_gqa(3, num_kv_heads=3, dtype="fp16"), id="gqa, 3 ranks, fp16"),
]


@pytest.mark.parametrize("problem", RUNS)
def test_every_backend_is_right_and_timed(problem):
    events = run_to_end(problem)
    assert events[-1]["event"] == "done", events[-1]
    document = events[-1]["document"]
    expected = [("all_reduce", False)]
    if problem.attention_kind == "mla":
        expected = [("ag_rs", False), ("a2a", False), ("a2a", True)]
    assert [(c["backend"], c["replicate_q"]) for c in document["cases"]] == expected
    for row in (*document["cases"], *document["reference"]):
        assert row["wrong"] == 0
        assert row["checked"] > 0
        assert row["n"] >= 10
        assert 0 < row["min_us"] <= row["p50_us"] <= row["p90_us"] <= row["max_us"]
    assert document["selftest"]["caught"] is True
    assert document["selftest"]["clean"] is True
    assert [row["backend"] for row in document["reference"]] == ["tp_only"]
    assert document["label"] == "functional"
    assert document["environment"]["transport"] == "gloo"
    _check_order(events)
    if problem.raw_collectives != "off":
        _check_collectives(document)


def _check_order(events):
    """Nothing is shown that was not checked first, and a first row comes before the rounds."""
    names = [event["event"] for event in events]
    assert names.index("started") < names.index("selftest") < names.index("case")
    first = events[names.index("case")]
    assert first["provisional"]
    assert first["checked"] > 0
    planned = events[names.index("started")]["planned"]
    last_words = [e for e in events if e["event"] == "case" and not e["provisional"]]
    assert len(last_words) == len(planned)
    done = [e["done"] for e in events if e["event"] == "progress"]
    assert done == sorted(done)
    assert names.count("done") == 1


def _check_collectives(document):
    rows = document["collectives"]
    assert {row["collective"] for row in rows} == {"all_gather", "reduce_scatter", "all_to_all", "all_reduce"}
    for row in rows:
        for way in filter(None, (row["out_of_place"], row["in_place"])):
            assert way["wrong"] == 0
            assert way["n"] >= 10
            assert way["algbw_gbps"] == pytest.approx(row["size_bytes"] / way["time_us"] / 1e3)
    exchanges = [s for case in document["cases"] for s in case["stages"] if s["payload_bytes"]]
    assert exchanges
    assert all(stage["wire_us"] > 0 for stage in exchanges)
    assert len(document["fits"]) <= 4
