"""Fixes and repairs of what the parser refuses or ignores: each keeps the word that a fix gives."""

from __future__ import annotations

import pytest

from configurator.core.configuration import Change
from configurator.words import describe_change, describe_fix
from configurator.workspace import Workspace

DEEPSEEK = "--model-path deepseek-ai/DeepSeek-V3.1"
WRONG = (
    "--tp-size 8 --attention-backend flashinfer --attention-backend flashinfer --dcp-size 4",
    "--dcp-size 2 --dcp-size 4 --tp-size 8",
    "--tp-size 8 --tp-size 8",
    "--tp-size 8 --dcp-size four",
    "--tp-size 8 --dcp-size many",
    "--tp-size 8 --dcp 4",
    "--tp-size eight --dcp-size eight",
    "--tp-size 8 --dcp-sise=4 --attention-backend flashinfer",
    "--tp-size --dcp-size 4",
    "--tp-size 8 --enable-dp-attention=true",
    "--tp-size 8 --kv-cache-dtype FP8 --dcp-size 2 --attention-backend flashmla",
    "--tp-size 8 --page-size 64 --page-size 64 stray --frob",
    "--tp-size 4 --kv-cache-dtype=fp4 --kv-cache-dtype fp8_e5m2 --kv-cache-dtype auto",
)


def start(arguments, release="0.5.23", hardware="h200x8"):
    return Workspace.start(f"{DEEPSEEK} {arguments}", release=release, hardware=hardware)


def of_the_parser(workspace):
    return [f for f in workspace.report.findings if f.rule.stage.value == "cli"]


def labels(workspace, finding):
    return [describe_fix(change, workspace) for change in workspace.fixes(finding)]


@pytest.mark.parametrize("arguments", WRONG)
@pytest.mark.parametrize(("release", "hardware"), [("0.5.23", "h200x8"), ("0.5.19", "a100x8")])
def test_a_fix_removes_its_finding_and_adds_none_as_bad(arguments, release, hardware):
    workspace = start(arguments, release, hardware)
    held = {f.rule.code for f in workspace.report.findings if f.certain}
    assert of_the_parser(workspace)
    for finding in of_the_parser(workspace):
        found = workspace.fixes(finding)
        assert found, finding.message
        for change in found:
            after = workspace.apply(change).report.findings
            assert finding.message not in {f.message for f in after}, change
            added = [f for f in after if f.certain and f.rule.code not in held]
            assert not [f for f in added if f.breaks or f.rule.effect.rank <= finding.rule.effect.rank], change


@pytest.mark.parametrize(
    "arguments",
    [
        "--tp-size 8 --dcp-size many",
        "--dcp-size 2 --dcp-size 4 --tp-size 8",
        "--tp-size 8 --page-size 64 --page-size 64 a",
    ],
)
def test_repairs_say_the_verdict_of_what_they_leave(arguments):
    workspace = start(arguments)
    assert workspace.repairs()
    for repair in workspace.repairs():
        assert workspace.apply(repair.change).report.verdict == repair.verdict != "error"


@pytest.mark.parametrize(
    ("arguments", "first", "count"),
    [
        ("--attention-backend fa3 --attention-backend triton", "Keep only the last --attention-backend, triton", 2),
        ("--tp-size 8 --tp-size 8", "Keep only the last --tp-size, 8", 1),
        ("--trust-remote-code --trust-remote-code", "Keep only the last --trust-remote-code, on", 1),
    ],
)
def test_of_a_repeated_flag_the_last_is_kept_first(arguments, first, count):
    workspace = start(arguments)
    (finding,) = [f for f in workspace.report.findings if f.rule.slug == "cli-flag-repeated"]
    found = labels(workspace, finding)
    assert (found[0], len(found)) == (first, count)
    after = workspace.apply(workspace.fixes(finding)[0])
    assert after.configuration == workspace.configuration
    assert not [f for f in after.report.findings if f.rule.slug == "cli-flag-repeated"]


def test_what_a_number_in_words_means_comes_with_what_it_needs():
    workspace = start("--tp-size 8 --dcp-size four")
    (finding,) = of_the_parser(workspace)
    assert finding.message.endswith("did you mean 4?")
    assert workspace.fixes(finding)[0] == Change({"dcp_size": 4, "attention_backend": "flashinfer"})
    found = workspace.repairs()
    assert found[0].change == Change({"dcp_size": 4, "attention_backend": "flashinfer"})
    assert found[-1].change.set["dcp_size"] == 1


def test_an_abbreviation_of_several_flags_is_written_in_full():
    workspace = start("--tp-size 8 --dcp 4 --attention-backend flashinfer")
    (finding,) = of_the_parser(workspace)
    assert labels(workspace, finding) == ["Use --dcp-size 4, drop --dcp", "Drop --dcp"]


def test_two_flags_with_the_same_wrong_word_are_told_apart():
    workspace = start("--tp-size eight --max-running-requests eight")
    assert all(workspace.fixes(finding) for finding in of_the_parser(workspace))
    assert workspace.repairs()[0].change.set == {"tp_size": 8, "max_running_requests": 8}


def test_a_stray_word_is_named_as_it_stands():
    workspace = Workspace.start([*DEEPSEEK.split(), "--tp-size", "8", "$(touch x)"], hardware="h200x8")
    (finding,) = of_the_parser(workspace)
    assert labels(workspace, finding) == ["Drop the word $(touch x)"]


def test_a_dropped_word_is_shown_on_one_line():
    table = start("--tp-size 8").table
    assert describe_change(Change(unset=frozenset({"a\nb" + "x" * 200})), table).startswith("Drop the word a\\nbxxx")
    assert len(describe_change(Change(unset=frozenset({"x" * 200})), table)) < 80


def test_hundreds_of_unknown_flags_are_repaired_by_taking_them_out():
    workspace = start("--tp-size 8 " + " ".join(f"--frob{n} {n}" for n in range(400)))
    (repair,) = workspace.repairs()
    assert len(repair.change.unset) == 400
    assert workspace.apply(repair.change).command.argv() == [*DEEPSEEK.split(), "--tp-size", "8"]
