"""The planner views in plain Python: what they would draw, when, and what their messages do."""

import json
import re
from pathlib import Path

import pytest

from configurator.ui.capacity_view import CapacityView
from configurator.ui.latency_view import LatencyView
from configurator.ui.planning import Planning
from configurator.ui.rank_map import RankMapView
from configurator.ui.store import Store
from configurator.workspace import Workspace

LAUNCH = "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3.1 "
GOOD = LAUNCH + "--tp-size 8 --dcp-size 4 --attention-backend flashinfer"
BROKEN = LAUNCH + "--tp-size 8 --dcp-size 4 --dcp-comm-backend ag_rs --dcp-replicate-q-proj"
VIEWS = (CapacityView, LatencyView, RankMapView)


class Page:
    def __init__(self, command, **facts):
        self.store = Store(Workspace.start(command, **{"hardware": "h200x8", **facts}))
        self.planning = Planning(self.store)
        self.capacity, self.latency, self.ranks = self.views = [view(self.store, self.planning) for view in VIEWS]

    def begin(self):
        for view in self.views:
            view.begin()
        return self

    def refresh(self):
        for view in self.views:
            view.refresh()


@pytest.fixture
def page():
    pages = []

    def make(command=GOOD, **facts):
        pages.append(Page(command, **facts))
        return pages[-1]

    yield make
    for made in pages:
        for view in made.views:
            view.close()


def send(view, **message):
    """What a browser's message does."""
    view._receive(view, message, [])


def test_nothing_is_drawn_until_its_tab_is_open(page):
    at = page()
    at.refresh()
    assert [view.data for view in at.views] == [{}, {}, {}]
    at.capacity.begin()
    assert at.capacity.data["known"]
    assert at.latency.data == {}
    at.capacity.end()
    before = at.capacity.data
    at.store.choose("dcp_size", 8)
    at.refresh()
    assert at.capacity.data is before
    at.capacity.begin()
    assert at.capacity.data != before


@pytest.mark.parametrize(("flags", "facts"), [
    ("--dcp-size 4 --attention-backend flashinfer", {}), ("--dcp-size 4 --attention-backend flashinfer", {"hardware": "h100x8"}),
    ("", {"hardware": "cpu"}), ("--dcp-size 8", {"hardware": "b200x8", "model": "glm-5.2-nvfp4"}),
    ("", {"model": "gpt-oss-120b"}), ("", {"hardware": "max1550x8", "model": "qwen3-8b"}),
    ("--dcp-size 8", {"hardware": "gb200-nvl72"}), ("", {"model": "kimi-k3"}), ("", {"model": "none"}),
])  # fmt: skip
def test_everything_drawn_is_json_that_a_browser_can_read(page, flags, facts):
    at = page(f"{LAUNCH} --tp-size 8 {flags}", **facts).begin()
    send(at.capacity, do="goal", goal="most_requests")
    for view in at.views:
        json.dumps(view.data, allow_nan=False)
        assert view.data["sentence" if "sentence" in view.data else "detail"]
    json.dumps(at.capacity.advice, allow_nan=False)
    assert not at.store.messages


def test_the_items_of_a_gpu_add_up_and_show_their_basis(page):
    data = page().begin().capacity.data
    assert sum(item["gib"] for item in data["items"]) == pytest.approx(data["total"], abs=0.05)
    assert {item["basis"] for item in data["items"]} <= {"measured", "modelled", "assumed"}
    assert all(item["how"] for item in data["items"])
    chosen = [point for point in data["curve"] if point["chosen"]]
    assert [point["dcp"] for point in chosen] == [4]
    assert all(point["low"] < point["tokens"] < point["high"] for point in data["curve"])


def test_a_command_that_does_not_run_is_drawn_as_its_repair_and_says_so(page):
    at = page(BROKEN).begin()
    for view in at.views:
        assert view.data["provenance"].startswith("Computed for the repaired command, `--tp-size 8 --dcp-size 4")
        assert "the written one does not run" in view.data["provenance"]
    assert at.capacity.data["known"]
    at.store.load(GOOD)
    at.refresh()
    assert [view.data["provenance"] for view in at.views] == ["", "", ""]


def test_one_report_serves_all_views(page, monkeypatch):
    from configurator import api

    calls, real = [], api.capacity
    monkeypatch.setattr(api, "capacity", lambda *args, **kwargs: calls.append(args) or real(*args, **kwargs))
    at = page(BROKEN).begin()
    assert len(calls) == 1
    at.refresh()
    assert len(calls) == 1
    at.store.choose("dcp_size", 8)
    at.refresh()
    assert len(calls) == 2


def test_lines_of_latency(page):
    data = page(BROKEN).begin().latency.data
    assert [line["key"] for line in data["lines"]] == ["tp", "ag_rs", "a2a", "a2a+q"]
    assert [line["chosen"] for line in data["lines"]] == [False, False, False, True]
    assert [line["even_text"] for line in data["lines"]] == ["", "190,000", "120,000", "89,000"]
    assert [c["step"] for c in data["collectives"]] == ["exchange"]
    assert data["valid"]


def test_every_line_has_a_style():
    folder = Path(__file__).parents[2] / "configurator" / "ui"
    css = (folder / "plots.css").read_text(encoding="utf-8")
    for key in ("tp", "ag_rs", "a2a", "a2a-q", "fi_a2a", "fi_a2a-q", "gqa"):
        assert re.search(rf"\.l-{re.escape(key)}[ ,)]", css), key


def test_every_item_has_a_style(page):
    folder = Path(__file__).parents[2] / "configurator" / "ui"
    css = (folder / "capacity_view.css").read_text(encoding="utf-8")
    commands = (GOOD, BROKEN, GOOD + " --enable-symm-mem --speculative-algorithm EAGLE")
    names = {item["name"] for command in commands for item in page(command).begin().capacity.data["items"]}
    names |= {"workspace", "states"}
    for name in names:
        assert f".k-{name} " in css, name


def test_where_the_model_is_not_valid_it_is_said(page):
    at = page().begin()
    send(at.latency, do="ask", batch="1")
    assert at.latency.data["valid"] is False
    assert "not valid here: tiny batches" in at.latency.data["basis"]


def test_context_and_batch_are_asked_once_for_all_views(page):
    at = page().begin()
    send(at.latency, do="ask", context="131,072")
    send(at.capacity, do="ask", batch="16")
    assert at.capacity.data["asked"] == at.latency.data["asked"] == {"context": 131_072, "batch": 16}
    send(at.latency, do="ask", context="")
    assert at.latency.data["asked"] == {"context": 32_768, "batch": 16}


@pytest.mark.parametrize("message", [
    {"do": "ask", "context": "-5"}, {"do": "ask", "batch": "many"}, {"do": "ask", "batch": "0"},
    {"do": "calibrate", "rows": "", "dcp": "1"}, {"do": "calibrate", "rows": "1000", "dcp": "3"},
    {"do": "calibrate", "rows": "-1", "dcp": "1"},
])  # fmt: skip
def test_nonsense_is_answered_in_words_and_changes_nothing(page, message):
    at = page().begin()
    before = at.capacity.data
    send(at.capacity, **message)
    assert at.store.messages[0]["text"]
    assert "fault is this program's" not in at.store.messages[0]["text"]
    assert at.capacity.data == before


def test_calibration_holds_while_only_dcp_changes(page):
    at = page().begin()
    send(at.capacity, do="calibrate", rows="600,000", dcp="1")
    assert at.capacity.data["measured"] == {"rows": 600_000, "dcp": 1}
    assert at.capacity.data["curve"][0]["tokens"] == 600_000
    at.store.choose("dcp_size", 8)
    at.refresh()
    assert next(p for p in at.capacity.data["curve"] if p["chosen"])["tokens"] == 4_800_000
    at.store.choose("kv_cache_dtype", "fp8_e4m3")
    at.refresh()
    assert at.capacity.data["measured"] is None, "it was measured with another cache"
    at.store.undo()
    at.refresh()
    assert at.capacity.data["measured"]
    send(at.capacity, do="uncalibrate")
    assert at.capacity.data["measured"] is None


def test_advice_is_loaded_with_a_click(page):
    at = page(BROKEN).begin()
    assert at.capacity.advice == {}
    send(at.capacity, do="goal", goal="longest_context")
    first = at.capacity.advice["items"][0]
    assert first["shape"].startswith("TP 8, DCP 8")
    send(at.capacity, do="use", label=first["label"])
    assert at.store.workspace.configuration.flags["dcp_size"] == 8
    assert at.store.workspace.report.verdict != "error"
    at.refresh()
    assert at.capacity.advice["items"][0]["label"] == "", "it is the command now"
    at.store.undo()
    assert at.store.workspace.configuration.flags["dcp_size"] == 4


def test_advice_of_another_command_is_not_loaded(page):
    at = page().begin()
    send(at.capacity, do="goal", goal="most_requests")
    before = at.store.workspace
    send(at.capacity, do="use", label="Use --dcp-size 1000")
    assert at.store.workspace is before
    assert "changed meanwhile" in at.store.messages[0]["text"]


def test_a_goal_asked_for_twice_is_put_away(page):
    at = page().begin()
    send(at.capacity, do="goal", goal="most_requests")
    assert at.capacity.data["goal"] == "most_requests"
    send(at.capacity, do="goal", goal="most_requests")
    assert (at.capacity.data["goal"], at.capacity.advice) == ("", {})


def test_owners_of_positions(page):
    data = page().begin().ranks.data
    assert [owner["rank"] for owner in data["owners"][:6]] == [0, 1, 2, 3, 0, 1]
    assert data["owners"][9] == {"rank": 1, "slot": 13, "row": 3, "page": 3, "offset": 0}
    (node,) = data["nodes"]
    assert [group["title"] for group in node["groups"]] == ["TP ranks 0\u20133", "TP ranks 4\u20137"]
    assert "2 groups hold it 2 times" in data["detail"]
    assert "NVSwitch, 18 links of NVLink 4, 450 GB/s" in data["link"]


def test_groups_across_nodes_say_what_they_cross(page):
    across = page(LAUNCH + "--tp-size 16 --nnodes 2 --dcp-size 16 --attention-backend flashinfer").begin().ranks.data
    assert len(across["nodes"]) == 2
    assert "over the network" in across["link"]
    assert across["nodes"][0]["groups"][0]["title"].endswith("8 of its 16 ranks")


def test_without_dcp_there_is_no_owner(page):
    data = page(LAUNCH + "--tp-size 8").begin().ranks.data
    assert data["dcp"] == 1
    assert data["detail"].startswith("Without DCP")


def test_an_unchanged_view_sends_nothing(page):
    at = page().begin()
    sent = []
    for view in at.views:
        view.observe(lambda change: sent.append(change.owner), "data")
    at.store.choose("disaggregation_mode", "null")
    at.refresh()
    assert sent == []
