"""Views in plain Python: what they would draw, and what their messages do. Real drawing is tested in a browser."""

import asyncio
import json

import pytest

from configurator import Configurator
from configurator.core.configuration import Configuration
from configurator.ui.option_group import OptionGroup

BROKEN = (
    "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3.1 "
    "--dcp-size 4 --dcp-comm-backend ag_rs --dcp-replicate-q-proj"
)


@pytest.fixture
def app():
    app = Configurator(BROKEN, release="0.5.19", hardware="h100x8")
    yield app
    app.close()


def views(widget):
    yield widget
    for child in getattr(widget, "children", ()):
        yield from views(child)


def group(app, dest):
    return next(view for view in views(app) if isinstance(view, OptionGroup) and view.dest == dest)


def option(app, dest, label):
    return next(option for option in group(app, dest).data["options"] if option["label"] == label)


def send(view, **message):
    """What a browser's message does."""
    view._receive(view, message, [])


def test_it_can_be_read_and_observed(app):
    heard = []
    app.observe(lambda change: heard.append(change.name), ["command", "report", "configuration"])
    assert app.command.startswith("python -m sglang.launch_server")
    assert isinstance(app.configuration, Configuration)
    assert app.report.verdict == "error"
    send(group(app, "dcp_comm_backend"), do="choose", label="a2a")
    assert app.configuration.flags["dcp_comm_backend"] == "a2a"
    assert "--dcp-comm-backend a2a" in " ".join(app.command.split())
    assert set(heard) == {"command", "report", "configuration"}


def test_everything_drawn_is_json_that_a_browser_can_read(app):
    for view in views(app):
        for name in ("data", "repairs", "emitted", "states", "addable"):
            if view.has_trait(name):
                json.dumps(getattr(view, name), allow_nan=False)


def test_a_blocked_option_says_why_and_is_not_chosen(app):
    send(group(app, "dcp_replicate_q_proj"), do="choose", label="off")
    blocked = option(app, "dcp_replicate_q_proj", "on")
    assert (blocked["state"], blocked["by"]) == ("blocked", "choice")
    assert "a2a" in blocked["reason"]
    before = app.command
    send(group(app, "dcp_replicate_q_proj"), do="choose", label="on")
    assert app.command == before


def test_the_chosen_value_is_never_blocked_but_in_conflict(app):
    for view in views(app):
        if isinstance(view, OptionGroup):
            chosen = [o for o in view.data["options"] if o["chosen"]]
            assert len(chosen) == 1, view.dest
            assert chosen[0]["state"] != "blocked"
    assert option(app, "dcp_comm_backend", "ag_rs")["conflict"]


def test_what_frees_a_blocked_option_is_told_and_done(app):
    send(group(app, "dcp_replicate_q_proj"), do="choose", label="off")
    told = []
    view = group(app, "dcp_replicate_q_proj")
    view.send = told.append
    send(view, do="ask", label="on")
    assert told[0]["answer"] == "on"
    assert "a2a" in told[0]["button"]
    send(view, do="free", label="on", button=told[0]["button"])
    assert app.configuration.flags["dcp_replicate_q_proj"] is True
    assert app.configuration.flags["dcp_comm_backend"] == "a2a"


def test_a_way_out_of_another_state_is_refused_in_words(app):
    send(group(app, "dcp_replicate_q_proj"), do="choose", label="off")
    before = app.command
    send(group(app, "dcp_replicate_q_proj"), do="free", label="on", button="Choose it and change: nothing like this")
    assert app.command == before
    assert "changed meanwhile" in app.store.messages[0]["text"]


def test_repairs_apply_and_stale_ones_are_refused_in_words(app):
    panel = app._command
    first = panel.repairs["repairs"][0]
    send(panel, do="apply", text=first["text"])
    assert app.report.verdict in ("ok", "warn")
    assert app.configuration.flags["dcp_size"] == 4
    send(panel, do="apply", text=first["text"])
    assert "changed meanwhile" in app.store.messages[0]["text"]


def test_each_finding_has_its_own_fixes_that_work(app):
    findings = app._findings.data["items"]
    assert {item["code"] for item in findings} >= {"DCP204", "DCP106", "ATT303"}
    for item in findings:
        for label in item["fixes"]:
            send(app._findings, do="fix", code=item["code"], message=item["message"], label=label)
            assert item["code"] not in {f.rule.code for f in app.report.findings}, label
            app.store.undo()


def test_an_unchanged_view_sends_nothing(app):
    sent = []
    view = group(app, "page_size")
    view.observe(lambda change: sent.append(change.name), "data")
    send(group(app, "dcp_comm_backend"), do="choose", label="a2a")
    assert sent == []


def test_a_change_makes_no_new_widget(app):
    before = set(views(app))
    send(group(app, "dcp_comm_backend"), do="choose", label="a2a")
    app.store.undo()
    assert set(views(app)) == before
    assert {id(view) for view in app._groups.values()} == {id(view) for view in app._controls.children}


def test_another_release_shows_its_own_flags(app):
    send(app._top, do="release", value="0.5.15")
    assert "dcp_replicate_q_proj" not in {view.dest for view in app._controls.children}
    send(app._top, do="release", value="0.5.23")
    assert "dcp_replicate_q_proj" in {view.dest for view in app._controls.children}
    assert "--dcp-replicate-q-proj" in app.command, "what was entered came through the release that does not know it"


@pytest.mark.parametrize(
    "message",
    [
        {"do": "nonsense"},
        {"do": "release", "value": "9.9.9"},
        {"do": "hardware", "value": "abacus"},
        {"do": "model", "value": ""},
    ],
)
def test_a_message_that_makes_no_sense_is_answered_in_words(app, message):
    before = app.command
    send(app._top, **message)
    assert app.command == before
    assert app.store.messages[0]["text"]


def test_formats_are_written_and_a_broken_command_only_on_demand(app):
    panel = app._command
    send(panel, do="format", format="kubernetes")
    assert not panel.emitted["files"]
    assert "refuse" in panel.emitted["refused"]
    send(panel, do="force")
    assert "WARNING: refuses DCP204" in panel.emitted["files"][0]["text"]
    send(panel, do="apply", text=panel.repairs["repairs"][0]["text"])
    assert "WARNING" not in panel.emitted["files"][0]["text"]


def test_rules_are_sent_when_they_are_looked_at(app):
    assert app._rules.data == {}
    app._opened("rules")
    assert app._rules.states["DCP204"] == "holds"
    codes = {rule["code"] for rule in app._rules.data["rules"]}
    assert set(app._rules.states) <= codes


def test_what_the_server_fills_in_is_told_with_its_reason(app):
    send(app._top, do="release", value="0.5.23")
    send(app._command, do="apply", text=app._command.repairs["repairs"][0]["text"])
    items = {item["name"]: item for item in app._resolved.data["items"]}
    assert set(app.report.decided_by) >= {"cuda_graph_prefill_backend"}
    assert len(items) == len(app.report.decided_by)
    assert all(item["because"] and item["code"] for item in items.values())


def test_the_probe_runs_beside_the_page(app):
    async def story():
        send(app._top, do="probe")
        assert app._top.data["probing"]
        await asyncio.gather(*app._top._tasks)

    asyncio.run(story())
    assert not app.store.workspace.hardware.assumed
    app.store.undo()
    assert app.store.workspace.hardware.name == "h100x8"


def test_the_kernel_never_imports_torch():
    import subprocess
    import sys

    code = (
        "import sys; from configurator import Configurator; app = Configurator(); app._opened('rules'); "
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
