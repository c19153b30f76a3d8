"""The whole line in a real browser: paste a broken command, see why, fix it, measure it, copy it."""

import re
import time

import pytest
from playwright.sync_api import expect

expect.set_options(timeout=15_000)

BROKEN = (
    "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3.1 "
    "--dcp-size 4 --dcp-comm-backend ag_rs --dcp-replicate-q-proj"
)

RUNS = re.compile("No rule of SGLang 0.5.19 stands against this command|SGLang 0.5.19 would run this")


@pytest.fixture
def app(page, voila_app):
    """The page, drawn."""
    page.goto(voila_app.url)
    expect(page.get_by_role("status", name="Verdict")).to_be_visible()
    return page


@pytest.fixture
def broken(app):
    """The page with the broken command on release 0.5.19 and eight H100."""
    app.get_by_label("SGLang release").select_option("0.5.19")
    app.get_by_label("Hardware", exact=True).select_option("h100x8")
    load(app, BROKEN)
    expect(verdict(app)).to_contain_text("would refuse this command")
    return app


def verdict(page):
    return page.get_by_role("status", name="Verdict")


def radio(page, flag, value):
    return page.get_by_role("radiogroup", name=flag, exact=True).get_by_role("radio", name=value, exact=True)


def finding(page, code):
    return page.get_by_role("list", name="Findings").get_by_role("listitem").filter(has_text=code)


def load(page, text):
    page.get_by_role("textbox", name="Command or error").fill(text)
    page.get_by_role("button", name="Load").click()


def command_text(page):
    return page.get_by_role("region", name="Launch command").inner_text()


def test_the_refusal_and_what_the_usual_advice_misses(broken):
    expect(verdict(broken)).to_contain_text("needs a2a or fi_a2a")
    refusal = finding(broken, "DCP204")
    expect(refusal).to_contain_text("refuses")
    expect(refusal.get_by_role("button")).to_have_count(2)  # another backend, or no replicated Q: both ways out
    expect(refusal.get_by_role("button", name="Use --dcp-comm-backend a2a")).to_be_visible()
    expect(refusal.get_by_role("button", name="Drop --dcp-replicate-q-proj")).to_be_visible()
    expect(finding(broken, "DCP106")).to_contain_text("--tp-size 1 is not a multiple of --dcp-size 4")
    expect(finding(broken, "ATT303")).to_contain_text("becomes fa3, which has no DCP")
    items = broken.get_by_role("list", name="Findings").get_by_role("listitem").all_inner_texts()
    assert [re.split(r"\s+", item.strip())[0] for item in items[:3]] == ["refuses", "crashes", "crashes"]


def test_repair_everything_in_one_click_and_take_it_back(broken):
    bar = broken.get_by_role("region", name="Repair everything")
    expect(bar).to_contain_text("3 changes")
    bar.get_by_role("button", name=re.compile("other repairs")).click()
    labels = bar.get_by_role("listitem").all_inner_texts()
    assert "Gives up decode context parallelism" in labels[-1]
    assert all("Gives up decode context parallelism" not in label for label in labels[:-1])
    bar.get_by_role("button", name="Apply repair").click()
    expect(verdict(broken)).to_contain_text(RUNS)
    items = broken.get_by_role("list", name="Findings").get_by_role("listitem")
    expect(items.filter(has_text=re.compile("^(refuses|crashes|corrupts)"))).to_have_count(0)
    expect(bar).to_be_hidden()
    expect(radio(broken, "--dcp-size", "4")).to_be_checked()
    text = command_text(broken)
    assert all(part in text for part in ("--dcp-size 4", "--attention-backend flashinfer", "--tp-size 8"))
    broken.get_by_role("button", name="Undo").click()
    expect(verdict(broken)).to_contain_text("would refuse this command")
    broken.get_by_role("button", name="Redo").click()
    expect(verdict(broken)).to_contain_text(RUNS)


def test_a_fix_removes_its_finding_alone(broken):
    finding(broken, "DCP106").get_by_role("button", name="Use --tp-size 8").click()
    expect(finding(broken, "DCP106")).to_have_count(0)
    expect(finding(broken, "DCP204")).to_have_count(1)
    expect(radio(broken, "--tp-size", "8")).to_be_checked()


def test_options_block_and_free_as_others_are_chosen(broken):
    finding(broken, "DCP204").get_by_role("button", name="Drop --dcp-replicate-q-proj").click()
    on = radio(broken, "--dcp-replicate-q-proj", "on")
    expect(on).to_have_attribute("aria-disabled", "true")
    expect(on).to_have_accessible_description(re.compile("Blocked by another choice: .*needs a2a or fi_a2a"))
    radio(broken, "--dcp-comm-backend", "a2a").click()
    expect(on).not_to_have_attribute("aria-disabled", "true")
    radio(broken, "--dcp-comm-backend", "auto").click()
    radio(broken, "--tp-size", "8").click()
    radio(broken, "--dcp-size", "1").click()
    for backend in ("a2a", "fi_a2a"):
        expect(radio(broken, "--dcp-comm-backend", backend)).to_have_attribute("aria-disabled", "true")


def test_a_fact_of_the_machine_blocks_and_the_way_out_names_another(broken):
    option = radio(broken, "--dcp-comm-backend", "fi_a2a")
    expect(option).to_have_attribute("aria-disabled", "true")
    expect(option).to_have_accessible_description(re.compile("Blocked by a fact: "))
    option.click(force=True)  # Playwright holds aria-disabled for unclickable; a reader's click must be answered
    card = broken.get_by_role("dialog", name=re.compile("--dcp-comm-backend fi_a2a"))
    button = card.get_by_role("button", name=re.compile("Choose it and change Hardware to "))
    expect(button).to_be_visible()
    button.click()
    expect(radio(broken, "--dcp-comm-backend", "fi_a2a")).to_be_checked()
    expect(broken.get_by_label("Hardware", exact=True)).not_to_have_value("h100x8")


def test_a_blocked_option_is_freed_with_what_frees_it(broken):
    finding(broken, "DCP204").get_by_role("button", name="Drop --dcp-replicate-q-proj").click()
    on = radio(broken, "--dcp-replicate-q-proj", "on")
    expect(on).to_have_attribute("aria-disabled", "true")
    on.click(force=True)
    button = broken.get_by_role("button", name=re.compile("Choose it and change: .*a2a"))
    button.click()
    expect(on).to_be_checked()
    expect(radio(broken, "--dcp-comm-backend", "a2a")).to_be_checked()


def test_arrow_keys_move_inside_a_group_that_is_one_tab_stop(app):
    group = app.get_by_role("radiogroup", name="--dcp-size", exact=True)
    assert group.locator('[role=radio][tabindex="0"]').count() == 1
    radio(app, "--dcp-size", "4").focus()
    app.keyboard.press("ArrowLeft")
    expect(radio(app, "--dcp-size", "2")).to_be_focused()
    expect(radio(app, "--dcp-size", "2")).to_be_checked()
    app.keyboard.press("End")
    expect(radio(app, "--dcp-size", "16")).to_be_focused()
    expect(radio(app, "--dcp-size", "16")).not_to_be_checked()  # blocked: reached, and left as it was


def test_the_benchmark_checks_then_times_and_says_that_it_is_functional(app):
    app.get_by_role("tab", name="Benchmark").click()
    app.get_by_role("button", name="Run benchmark").click()
    expect(app.get_by_role("progressbar", name="Benchmark progress")).to_be_visible()
    rows = app.get_by_role("table", name="Benchmark results").get_by_role("row")
    expect(rows.filter(has_text="ag_rs")).to_contain_text(re.compile(r"\d\.\d\d"), timeout=30_000)
    expect(app.get_by_role("heading", name="Finished: 4 cases correct")).to_be_visible(timeout=90_000)
    shown = [re.split(r"\s+", row.inner_text().strip()) for row in rows.all()[1:]]
    by_case = {(row[0], row[1]): row for row in shown}
    for case in (("ag_rs", "off"), ("a2a", "off"), ("a2a", "on")):
        assert by_case[case][2] == "0", "no element of a case may be wrong"
        assert float(by_case[case][5]) > 0
    expect(app.get_by_role("note")).to_contain_text("functional: Gloo over loopback, not a prediction of GPUs")
    expect(app.get_by_text("both planted faults")).to_be_visible()


def test_the_benchmark_can_be_cancelled_and_run_again(app):
    app.get_by_role("tab", name="Benchmark").click()
    app.get_by_role("button", name="Run benchmark").click()
    app.get_by_role("button", name="Cancel benchmark").click()
    expect(app.get_by_role("heading", name="The benchmark was cancelled")).to_be_visible()
    expect(app.get_by_role("button", name="Cancel benchmark")).to_be_hidden()
    expect(app.get_by_role("button", name="Run benchmark")).not_to_have_attribute("aria-disabled", "true")


def test_copy_gives_the_command(broken, context):
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    broken.get_by_role("button", name="Apply repair").click()
    expect(verdict(broken)).to_contain_text(RUNS)
    broken.get_by_role("button", name="Copy command").click()
    expect(broken.get_by_text("Copied").first).to_be_visible()
    copied = broken.evaluate("navigator.clipboard.readText()")
    assert copied.split() == command_text(broken).split()
    assert copied.startswith("python -m sglang.launch_server \\\n")


def test_what_cannot_be_read_is_said_and_nothing_is_lost(app):
    before = command_text(app)
    messages = app.get_by_role("log", name="Messages")
    load(app, "make me a sandwich")
    expect(messages).to_contain_text("no SGLang")
    expect(app.get_by_role("textbox", name="Command or error")).to_have_value("make me a sandwich")
    assert command_text(app) == before
    load(app, "python -m sglang.launch_server --model-path m --dcp-size four --dcp-comm-backend 'a2a")
    expect(messages).to_contain_text("--dcp-size")
    load(app, "python -m sglang.launch_server --model-path m --dcp-size 2 --dcp-size 4 --tp-size 8")
    expect(messages).to_contain_text("--dcp-size is given 2 times (2, then 4); the last one wins")
    expect(radio(app, "--dcp-size", "4")).to_be_checked()
    load(app, "{ not a config")
    expect(messages).to_contain_text("config.json")


def test_an_error_message_is_recognised(app):
    load(
        app,
        "Traceback (most recent call last):\nValueError: --dcp-replicate-q-proj only applies to the a2a/fi_a2a DCP backends",
    )
    expect(app.get_by_role("log", name="Messages")).to_contain_text("DCP206")


def test_plain_keys_do_not_reach_the_host(app):
    app.evaluate("document.addEventListener('keydown', (e) => { window.heard = (window.heard || '') + e.key; })")
    app.get_by_role("textbox", name="Command or error").click()
    app.keyboard.type("dd")
    radio(app, "--dcp-size", "2").focus()
    app.keyboard.press("d")
    assert app.evaluate("window.heard || ''") == ""


def test_formats_and_the_refusal_to_write_a_broken_one(broken):
    broken.get_by_label("Format").select_option("docker")
    region = broken.get_by_role("region", name="Launch command")
    expect(region).to_contain_text("would refuse")
    region.get_by_role("button", name="Write it out all the same").click()
    expect(region).to_contain_text("docker run")
    expect(region).to_contain_text("WARNING: refuses DCP204")


def test_other_flags_are_added_kept_and_removed(app):
    app.get_by_role("combobox", name="Add a flag").fill("--mem-fraction-static 0.85")
    app.keyboard.press("Enter")
    expect(app.get_by_role("region", name="Launch command")).to_contain_text("--mem-fraction-static 0.85")
    app.get_by_role("button", name="Remove --mem-fraction-static 0.85").click()
    expect(app.get_by_role("region", name="Launch command")).not_to_contain_text("--mem-fraction-static")
    app.get_by_role("combobox", name="Add a flag").fill("--mem-fraction-statc 0.85")
    app.keyboard.press("Enter")
    expect(app.get_by_role("log", name="Messages")).to_contain_text("--mem-fraction-static")


def test_the_page_scrolls_wherever_the_pointer_is(app):
    app.get_by_role("tab", name="Benchmark").hover()
    app.mouse.wheel(0, 300)
    deadline = time.monotonic() + 5
    while app.evaluate("document.querySelector('#rendered_cells').scrollTop") == 0:
        assert time.monotonic() < deadline, "the page did not scroll"
        app.wait_for_timeout(50)


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_nothing_is_wider_than_the_window(app, width):
    app.set_viewport_size({"width": width, "height": 900})
    app.wait_for_timeout(300)
    inner = app.evaluate("document.querySelector('.dc-app').scrollWidth")
    assert inner <= width
