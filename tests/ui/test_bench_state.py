"""A benchmark's events as the page draws them."""

import pytest

from configurator.ui.bench_state import RunState, drawn

STARTED = {
    "event": "started",
    "environment": {"torch": "2.13.0", "ranks": 2, "transport": "gloo"},
    "planned": [
        {"backend": "ag_rs", "replicate_q": False, "graph": False},
        {"backend": "a2a", "replicate_q": True, "graph": False},
    ],
    "unavailable": [{"backend": "fi_a2a", "reason": "needs SM100"}],
}


def case(
    backend="ag_rs", *, replicate_q=False, event="case", wrong=0, samples=(1000.0, 1100.0, 5000.0), provisional=False
):
    timed = not wrong
    return {
        "event": event, "provisional": provisional, "backend": backend, "replicate_q": replicate_q, "graph": False,
        "wrong": wrong, "checked": 4096, "max_rel_err_row": 0.01, "n": len(samples) if timed else 0,
        "p50_us": 1100.0 if timed else None, "p90_us": None, "p99_us": None, "rel_iqr": 0.1 if timed else None,
        "samples_us": list(samples) if timed else [], "stages": [], "note": "",
    }  # fmt: skip


def after(*events):
    state = RunState()
    for event in events:
        state = state.after(event)
    return state


def test_rows_stand_in_their_order_before_they_are_measured():
    shown = drawn(after(STARTED))
    assert [(r["backend"], r["replicate"]) for r in shown["rows"]] == [("ag_rs", "off"), ("a2a", "on"), ("fi_a2a", "")]
    assert shown["rows"][0]["waiting"]
    assert shown["rows"][2]["unavailable"] == "needs SM100"


def test_a_row_replaces_the_one_before_and_the_reference_leads():
    state = after(STARTED, case(provisional=True, samples=(1.0,)), case(), case("tp_only", event="reference"))
    rows = drawn(state)["rows"]
    assert [r["backend"] for r in rows][:2] == ["TP only", "ag_rs"]
    assert rows[1]["n"] == 3
    assert rows[1]["p50"] == "1.100"


def test_a_wrong_case_has_no_time_and_the_title_says_so():
    done = {"event": "done", "document": {"elapsed_s": 3.2, "verdict": {"sentence": "s"}, "cases": [{}]}}
    shown = drawn(after(STARTED, case(wrong=7), done))
    row = shown["rows"][0]
    assert row["wrong"] == 7
    assert row["p50"] == ""
    assert shown["title"] == "Finished: 1 of 1 cases wrong, 3 s"


@pytest.mark.parametrize(("event", "phase"), [("cancelled", "cancelled"), ("error", "error")])
def test_the_end_of_a_run_is_said_and_its_rows_stay(event, phase):
    shown = drawn(after(STARTED, case(), {"event": event, "message": "It ended.", "document": None}))
    assert (shown["phase"], shown["title"]) == (phase, "It ended.")
    assert shown["rows"][0]["n"] == 3
    assert not shown["can_export"]


def test_waiting_for_another_run_is_active():
    state = after({"event": "queue", "message": "Waiting: process 7 runs a benchmark."})
    assert state.active
    assert drawn(state)["title"] == "Waiting: process 7 runs a benchmark."


def test_the_distribution_counts_every_sample_up_to_its_end():
    samples = [float(x) for x in range(1000, 1200)] + [90_000.0]
    done = {"event": "done", "document": {"verdict": {}, "cases": []}}
    found = drawn(after(STARTED, case(samples=samples), done))["distribution"]["rows"][0]
    assert sum(found["bins"]) + found["beyond"] == len(samples)
    assert found["beyond"] == 2  # the axis ends at the 99th percentile
