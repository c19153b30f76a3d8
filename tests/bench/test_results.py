"""Rows, verdicts and documents from samples."""

from __future__ import annotations

import json
import math

import pytest

from configurator.bench import results
from configurator.bench.problem import Problem
from configurator.bench.results import Measurement, verdict


def entry(backend, middle, *, rounds=8, **changes):
    samples = tuple(tuple(middle + 0.01 * ((i + j) % 3) for j in range(4)) for i in range(rounds))
    found = {"wrong": 0, "checked": 100, "max_rel_err_row": 0.001, "rounds": samples, **changes}
    return Measurement(backend=backend, **found).to_json(10)


def judge(*entries, oversubscribed=False, label="measured"):
    return verdict(entries, oversubscribed=oversubscribed, label=label)


def test_a_wrong_case_cannot_carry_a_time():
    with pytest.raises(ValueError, match="must not carry a time"):
        entry("a2a", 5.0, wrong=1)


def test_a_row_has_its_samples_and_the_time_of_a_token():
    row = entry("a2a", 5.0)
    assert (row["n"], len(row["samples_us"]), row["round_lengths"]) == (32, 32, [4] * 8)
    assert row["per_token_us"] == pytest.approx(10 * row["p50_us"])


@pytest.mark.parametrize("error", [math.nan, math.inf])
def test_an_error_without_a_size_is_still_json(error):
    row = entry("a2a", 5.0, wrong=1, rounds=0, max_rel_err_row=error)
    assert row["max_rel_err_row"] is None
    json.dumps(row, allow_nan=False)


def test_the_fastest_is_named_with_difference_and_interval():
    found = judge(entry("ag_rs", 9.0), entry("a2a", 5.0))
    assert (found["fastest"], found["shown"]) == ("a2a", True)
    assert found["difference_p50_us"] == pytest.approx(4.0, abs=0.05)
    assert found["ci95_us"][0] <= 4.0 <= found["ci95_us"][1] + 0.05
    assert found["sentence"].startswith("a2a is faster than ag_rs by 4.0 µs")
    assert results.FUNCTIONAL_BANNER not in found["sentence"]


def test_times_from_cpus_carry_their_warning():
    assert results.FUNCTIONAL_BANNER in judge(entry("ag_rs", 9.0), entry("a2a", 5.0), label="functional")["sentence"]


def test_equal_cases_are_said_to_be_equal():
    found = judge(entry("ag_rs", 5.0), entry("a2a", 5.0))
    assert found["shown"] is False
    assert found["sentence"].startswith("No difference shown")


def test_oversubscribed_ranks_are_not_ranked():
    found = judge(entry("ag_rs", 9.0), entry("a2a", 5.0), oversubscribed=True)
    assert (found["fastest"], found["shown"]) == (None, False)
    assert "Not ranked" in found["sentence"]


def test_a_wrong_case_takes_no_part():
    found = judge(entry("ag_rs", 9.0), entry("a2a", 5.0, wrong=3, rounds=0))
    assert found["fastest"] is None


def test_cases_of_different_rounds_are_not_compared():
    assert "not compared" in judge(entry("ag_rs", 9.0), entry("a2a", 5.0, rounds=4))["sentence"]


def test_a_run_that_ended_early_leaves_its_last_rows():
    started = {
        "event": "started",
        "environment": {"device": "cpu"},
        "label": "functional",
        "banner": "x",
        "unavailable": [],
    }
    rows = [{"event": "case", "provisional": True} | entry("a2a", middle) for middle in (7.0, 5.0)]
    found = results.partial_document(Problem(), [started, *rows], extra={"status": "cancelled"})
    assert [round(case["p50_us"]) for case in found["cases"]] == [5]
    assert "event" not in found["cases"][0]
    assert found["status"] == "cancelled"


def test_a_run_that_never_started_leaves_nothing():
    assert results.partial_document(Problem(), [{"event": "progress"}], extra={}) is None
