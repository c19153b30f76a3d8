"""The planner views drawn in a real browser, each alone: what it shows, what it says to a screen reader, what it sends."""

import json
from pathlib import Path

import pytest

from configurator.ui.capacity_view import CapacityView
from configurator.ui.latency_view import LatencyView
from configurator.ui.planning import Planning
from configurator.ui.rank_map import RankMapView
from configurator.ui.store import Store
from configurator.workspace import Workspace

THEME = (Path(__file__).parents[2] / "configurator" / "ui" / "theme.css").read_text(encoding="utf-8")
LAUNCH = "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3.1 --tp-size 8 "
BROKEN = LAUNCH + "--dcp-size 4 --dcp-comm-backend ag_rs --dcp-replicate-q-proj"
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>view</title><style>%s %s</style>
<div class="dc-app"><div id="view"></div></div><script type="module">
const listeners = {}, traits = %s;
window.sent = [];
window.put = (name, value) => { traits[name] = value; (listeners[`change:${name}`] || []).forEach((f) => f()); };
const model = { get: (name) => traits[name], send: (message) => window.sent.push(message), off() {},
  on: (event, f) => (listeners[event] = listeners[event] || []).push(f) };
const text = %s;
const { default: view } = await import(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
view.render({ model, el: document.getElementById("view"), signal: new AbortController().signal });
window.drawn = true;
</script></html>"""


@pytest.fixture
def drawn(chromium):
    """Draw a view of a command; returns the browser's page and the view."""
    opened, failed = [], []

    def make(kind, command=BROKEN, *, width=1400, goal=None, **facts):
        store = Store(Workspace.start(command, **{"hardware": "h200x8", **facts}))
        view = kind(store, Planning(store))
        view.begin()
        if goal:
            view.do_goal({"goal": goal})
        traits = {"data": view.data} | ({"advice": view.advice} if view.has_trait("advice") else {})
        page = chromium.new_page(viewport={"width": width, "height": 900})
        opened.append((page, view))
        page.on("pageerror", lambda error: failed.append(str(error)))
        page.set_content(PAGE % (THEME, view._css, json.dumps(traits), json.dumps(str(view._esm))))
        page.wait_for_function("window.drawn === true")
        return page, view

    yield make
    for page, view in opened:
        page.close()
        view.close()
    assert failed == []


def test_capacity_reads_as_a_table_and_a_sentence(drawn):
    page, view = drawn(CapacityView)
    assert page.get_by_role("status", name="Capacity in one sentence").inner_text() == view.data["sentence"]
    rows = page.get_by_role("table", name="Memory of one GPU").get_by_role("row")
    assert rows.count() == len(view.data["items"]) + 2
    assert "79.53" in rows.nth(1).inner_text()
    widths = page.locator(".dc-bar > i").evaluate_all("all => all.map((i) => i.getBoundingClientRect().width)")
    whole = page.locator(".dc-bar").bounding_box()["width"]
    assert sum(widths) + len(widths) - 1 == pytest.approx(whole, abs=3)
    assert page.get_by_role("img", name="4: 2,748,792 (this command)").count() == 1
    assert page.get_by_text("Computed for the repaired command").is_visible()


def test_advice_and_calibration_send_what_was_asked(drawn):
    page, view = drawn(CapacityView, goal="longest_context")
    pressed = page.get_by_role("button", name="Longest context", exact=True)
    assert pressed.get_attribute("aria-pressed") == "true"
    label = view.advice["items"][0]["label"]
    page.get_by_role("list", name="Advice").get_by_role("button").first.click()
    page.get_by_text("Calibrate with a measured value").click()
    page.get_by_role("textbox", name="Measured rows of one rank").fill("600,000")
    page.get_by_role("button", name="Calibrate", exact=True).click()
    page.get_by_role("textbox", name="Requests in a step").fill("16")
    page.keyboard.press("Tab")
    assert page.evaluate("window.sent") == [
        {"do": "use", "label": label},
        {"do": "calibrate", "rows": "600,000", "dcp": "1"},
        {"do": "ask", "batch": "16"},
    ]


def test_what_does_not_fit_shows_where_the_gpu_ends(drawn):
    page, _ = drawn(CapacityView, LAUNCH, hardware="h100x8")
    assert page.locator(".dc-limit").count() == 1
    assert page.get_by_text("Nothing to draw").is_visible()


def test_latency_draws_a_line_for_each_case(drawn):
    page, view = drawn(LatencyView)
    assert page.locator(".dc-plot polyline").count() == len(view.data["lines"]) == 4
    assert page.locator(".dc-plot .dot").count() == 3
    assert page.locator(".dc-plot .dot.sel").count() == 1
    assert "89,000" in page.get_by_role("table", name="Break-even").inner_text()
    names = page.locator(".dc-plot .lb").evaluate_all("all => all.map((l) => l.getBoundingClientRect().toJSON())")
    for at, one in enumerate(names):
        for other in names[at + 1 :]:
            apart = one["bottom"] <= other["top"] + 1 or other["bottom"] <= one["top"] + 1
            assert apart or one["right"] <= other["left"] or other["right"] <= one["left"], "two names overlap"


def test_the_slider_lights_the_owner(drawn):
    page, _ = drawn(RankMapView)
    slider = page.get_by_role("slider", name="Token position p")
    said = page.get_by_role("status", name="Owner of the token")
    assert said.inner_text().startswith("Token 9 lies on DCP rank 1 of both groups, GPU 1 and GPU 5")
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert said.inner_text().startswith("Token 10 lies on DCP rank 2")
    assert slider.get_attribute("aria-valuetext") == "position 10, held by DCP rank 2"
    assert page.locator(".dc-gpu.own h4").all_inner_texts() == ["GPU 2\nowner", "GPU 6\nowner"]
    assert page.locator(".dc-cell.hit").count() == 2 + 1, "one in each group, and the legend's"
    assert page.get_by_text("slot 14, row 14 // 4 = 3").is_visible()


@pytest.mark.parametrize("kind", [CapacityView, LatencyView, RankMapView])
def test_nothing_is_wider_than_a_phone(drawn, kind):
    page, _ = drawn(kind, width=360, **({"goal": "most_requests"} if kind is CapacityView else {}))
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("kind", [CapacityView, LatencyView, RankMapView])
def test_a_view_follows_what_it_is_sent(drawn, kind):
    page, view = drawn(kind)
    view.store.load(LAUNCH)
    view.refresh()
    page.evaluate("data => window.put('data', data)", view.data)
    assert page.get_by_text("Computed for the repaired command").count() == 0
