"""The frame around the widgets, in a real browser: it covers the start, says good-bye, and says when nothing answers."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.voila.running import ROOT, RunningApp, wait_until

FRAME = ROOT / "tests" / "browser" / "frame.ipynb"


@pytest.fixture(scope="module")
def frame(tmp_path_factory):
    app = RunningApp(tmp_path_factory.mktemp("frame"), "--notebook", str(FRAME), "--no-preheat")
    yield app
    assert app.stop() == []


@pytest.fixture
def opened(page, frame):
    """The small notebook, drawn."""
    page.goto(frame.url)
    expect(page.get_by_role("button", name="Count")).to_be_visible(timeout=60_000)
    return page


def kernel_of(page, frame):
    pid = int(page.locator("#kernel-pid").inner_text())
    return next(process for process in frame.kernels() if process.pid == pid)


def test_the_page_answers_and_its_cover_is_gone(opened):
    opened.get_by_role("button", name="Count").click()
    expect(opened.get_by_text("1 clicks")).to_be_visible()
    expect(opened.locator("#loading")).to_be_hidden()
    expect(opened.get_by_text("Only for readers of the notebook.")).to_have_count(0)
    assert opened.title() == "DCP configurator"


@pytest.mark.parametrize(("scheme", "dark"), [("light", False), ("dark", True)])
def test_the_theme_is_the_visitors(context, frame, scheme, dark):
    page = context.new_page()
    page.emulate_media(color_scheme=scheme)
    page.goto(frame.url)
    # Whatever the palette: text is lighter than its ground in the dark, and darker in the light.
    channel = "([r, g, b]) => 0.299 * r + 0.587 * g + 0.114 * b"
    text, ground = page.evaluate(
        f"""() => ["color", "backgroundColor"].map((name) =>
            ({channel})(getComputedStyle(document.body)[name].match(/[0-9.]+/g).map(Number)))"""
    )
    assert (text > ground) is dark


def test_a_closed_page_ends_its_kernel(opened, frame):
    kernel = kernel_of(opened, frame)
    opened.close(run_before_unload=True)
    assert wait_until(lambda: not kernel.is_running(), 15)


def test_a_kernel_that_died_is_told_and_a_reload_begins_anew(opened, frame, problems):
    problems.allow("WebSocket|Failed to load resource|Kernel|kernel")
    kernel = kernel_of(opened, frame)
    kernel.kill()
    notice = opened.get_by_role("alert")
    expect(notice).to_contain_text("no longer answers", timeout=20_000)
    notice.get_by_role("button", name="Reload").click()
    expect(opened.get_by_role("button", name="Count")).to_be_visible(timeout=60_000)
    assert kernel_of(opened, frame).pid != kernel.pid
    expect(notice).to_be_hidden()


def test_a_server_that_is_gone_is_told(page, tmp_path, problems):
    problems.allow("WebSocket|Failed to load resource|Failed to fetch|Kernel|kernel|NetworkError|network error")
    app = RunningApp(tmp_path, "--notebook", str(FRAME), "--no-preheat")
    try:
        page.goto(app.url)
        expect(page.get_by_role("button", name="Count")).to_be_visible(timeout=60_000)
    finally:
        app.stop()
    expect(page.get_by_role("alert")).to_contain_text("cannot be reached", timeout=30_000)
