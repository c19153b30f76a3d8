"""The Python functions: each says what the command line says, as values."""

from __future__ import annotations

import shlex

import pytest

import configurator
from configurator import Configuration, catalog, check, emit, explain, fix, parse, probe
from configurator.api import BrokenCommandError, explain_error
from configurator.core.errors import InputError
from configurator.hardware import HardwareSnapshot, load_hardware
from configurator.workspace import Workspace

GOOD = (
    "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3.1 --tp-size 8 --dcp-size 4 "
    "--attention-backend flashinfer"
)
BAD = (
    "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3.1 --tp-size 8 --dcp-size 4 "
    "--dcp-comm-backend ag_rs --dcp-replicate-q-proj"
)


def test_the_example_of_the_contract():
    result = configurator.check(BAD)
    assert result.verdict == "error"
    assert result.findings[0].rule.slug == "replicate-q-needs-a2a"
    assert result.sentence.startswith(f"SGLang {catalog.NEWEST} would refuse this command at start: ")


def test_a_result_reads_as_values_and_as_json():
    result = check(GOOD, id="mine")
    document = result.to_json()
    assert document["id"] == result.id == "mine"
    assert document["verdict"] == result.verdict
    assert document["resolved"] == result.resolved
    assert [f["code"] for f in document["findings"]] == [f.rule.code for f in result.findings]
    assert shlex.split(document["command"]) == shlex.split(GOOD)
    assert parse(result.command).configuration == parse(GOOD).configuration


def test_words_and_text_say_the_same():
    assert check(GOOD.split()).to_json() == check(GOOD).to_json()


def test_the_same_question_gives_the_same_answer():
    assert check(BAD).to_json() == check(BAD).to_json()


def test_unknown_values_are_left_out_of_resolved():
    result = check("--model-path me/unknown --tp-size $TP --dcp-size 4")
    assert "tp_size" not in result.resolved
    assert result.verdict == "unknown"


def test_hardware_by_name_or_as_a_snapshot():
    snapshot = load_hardware("mi300x8")
    assert isinstance(snapshot, HardwareSnapshot)
    assert check(GOOD, hardware=snapshot).to_json() == check(GOOD, hardware="mi300x8").to_json()


def test_the_default_hardware_is_assumed():
    assert check(GOOD).workspace.hardware.assumed
    assert check(GOOD).workspace.hardware.name == "h200x8"


def test_variables_given_apart_are_part_of_the_command():
    result = check(GOOD, env={"SGLANG_X": "a b"})
    assert result.workspace.configuration.env == {"SGLANG_X": "a b"}
    assert result.command.startswith("SGLANG_X='a b' ")
    assert check(f"SGLANG_X=1 {GOOD}", env={"SGLANG_X": "2"}).workspace.configuration.env == {"SGLANG_X": "2"}


@pytest.mark.parametrize(
    ("command", "facts", "tells"),
    [
        ("", {}, "There is no command"),
        ([], {}, "There is no command"),
        ("ls", {}, "no SGLang command"),
        (
            f"{GOOD} --host '0.0.0.0",
            {},
            r"The single quote that opens at line 1, column 134 \(--host '\) is never closed",
        ),
        ("'", {}, "is never closed"),
        (f"{GOOD} --host {'x' * 70_000}", {}, "no launch command has more than 65,536"),
        (GOOD, {"release": "1.0"}, "is not a release this catalogue knows"),
        (GOOD, {"hardware": "h100"}, "Near it: h100x8"),
        (GOOD, {"model": "deepseek-v33"}, "Near it: deepseek-v3"),
        (GOOD, {"model": {"hello": 1}}, 'neither "architectures" nor "model_type"'),
        (GOOD, {"env": {"A B": "1"}}, "cannot be an environment variable"),
    ],
)
def test_what_cannot_be_asked(command, facts, tells):
    with pytest.raises(InputError, match=tells):
        check(command, **facts)


def test_more_problems_than_are_listed_are_still_a_verdict():
    assert check([*GOOD.split(), *(f"--frob{n}" for n in range(150))]).verdict == "error"


def test_repairs_are_ranked_and_work():
    repairs = fix(BAD)
    assert repairs
    assert [r.cost for r in repairs] == sorted(r.cost for r in repairs)
    for repair in repairs:
        assert check(repair.command).verdict == repair.verdict != "error"
        assert check(repair.line).to_json()["findings"] == check(repair.command).to_json()["findings"]
        assert repair.to_json()["command"] == repair.line
        assert "\n" not in repair.line


def test_nothing_to_repair():
    assert fix(GOOD) == ()


def test_a_repair_spells_flags_as_the_release_does():
    (first, *_) = fix(BAD)
    assert first.to_json()["set"]["--dcp-comm-backend"] == "a2a"


def test_explain_by_code_and_by_name():
    by_name = explain("replicate-q-needs-a2a")
    assert by_name.rule.slug == "replicate-q-needs-a2a"
    assert explain(by_name.rule.code.lower()).rule == by_name.rule
    assert by_name.since == "0.5.17"
    assert by_name.until is None


def test_explain_takes_the_newest_release_that_has_the_name():
    newest = catalog.release(catalog.NEWEST)
    for rule in newest.rules.values():
        assert explain(rule.slug).rule is rule


def test_explain_a_name_that_is_none():
    with pytest.raises(InputError, match=r"Near it: .*replicate-q-needs-a2a"):
        explain("replicate-q-needs-a2")


def test_an_error_is_matched_loosely_and_once():
    rule = next(
        r for r in catalog.release(catalog.NEWEST).rules.values() if r.upstream_signature and r.code.startswith("DCP")
    )
    words = rule.upstream_signature.upper().split()
    log = "\n".join(["noise", "   ".join(words), "more", "  ".join(words)])
    found = [e for e in explain_error(log) if e.rule.slug == rule.slug]
    assert [(e.line, e.text) for e in found] == [(2, "   ".join(words))]


def test_parse_reads_for_a_release_and_never_raises_on_contents():
    assert parse("--dcp-comm-backend a2a", release="0.5.23").configuration == Configuration({"dcp_comm_backend": "a2a"})
    assert parse("--dcp-comm-backend a2a", release="0.5.15").refused
    assert not parse("what is this").is_launch


def test_emit_takes_a_command_in_any_form():
    wanted = emit(GOOD)
    assert emit(GOOD.split()) == wanted
    assert emit(parse(GOOD)) == wanted
    assert emit(Workspace.start(GOOD)) == wanted
    (file,) = emit(parse(GOOD).configuration)
    assert parse(file.text).configuration == parse(GOOD).configuration


def test_emit_of_a_command_keeps_what_is_no_flag():
    (file,) = emit(parse(f"export A=$B\n{GOOD} --api-key '$x' 2>&1 | tee log"), force=True)
    assert 'export A="$B"' in file.text
    assert "--api-key '$x'" in file.text
    assert "| tee log" in file.text


def test_emit_of_words_keeps_dollars_as_data():
    (file,) = emit([*GOOD.split(), "--api-key", "$x"])
    assert "--api-key '$x'" in file.text
    (file,) = emit(parse([*GOOD.split(), "--api-key", "$x"]))
    assert "--api-key '$x'" in file.text


def test_emit_a_configuration_of_another_release():
    (file,) = emit(Configuration({"model_path": "m", "tp_size": 8}), release="0.5.16", force=True)
    assert "SGLang 0.5.16" in file.text
    with pytest.raises(InputError, match=r"0\.5\.16 has no such flag"):
        emit(Configuration({"model_path": "m", "dcp_comm_backend": "a2a"}), release="0.5.16")


def test_emit_refuses_what_breaks_and_says_why():
    with pytest.raises(BrokenCommandError, match=r"not emitted: refuses DCP.* Repair it first"):
        emit(BAD)
    (file,) = emit(BAD, force=True)
    assert "# WARNING: refuses DCP" in file.text


def test_emit_for_a_platform_whose_image_is_not_known():
    with pytest.raises(InputError, match="name the image you use"):
        emit(GOOD, format="docker", hardware="mi300x8", force=True)


def test_probe_gives_a_snapshot():
    assert isinstance(probe(), HardwareSnapshot)
    assert not probe().assumed


def test_configuration_is_a_value():
    a = Configuration({"tp_size": 8}, {"A": "1"})
    assert a == Configuration({"tp_size": 8}, {"A": "1"})
    assert hash(a) == hash(Configuration({"tp_size": 8}, {"A": "1"}))
    assert dict(a) == {"tp_size": 8}


def test_explain_by_code_gives_the_words_and_the_releases_of_that_code():
    older, newer = explain("DCP204"), explain("DCP206")
    assert older.rule.slug == newer.rule.slug
    assert older.rule.because != newer.rule.because
    assert (older.since, older.until) == ("0.5.17", "0.5.19")
    assert (newer.since, newer.until) == ("0.5.20", None)
    assert [str(other) for other in older.others] == ["DCP206 from 0.5.20 on"]
    assert older.to_json()["others"] == [{"code": "DCP206", "since": "0.5.20", "until": None}]
    assert [str(other) for other in explain(older.rule.slug).others] == ["DCP204 from 0.5.17 to 0.5.19"]


def test_every_code_has_a_span_of_its_own():
    for version in catalog.VERSIONS:
        for code in catalog.release(version).rules:
            found = explain(code)
            assert found.rule.code == code
            last = found.until or catalog.NEWEST
            assert code in catalog.release(found.since).rules
            assert code in catalog.release(last).rules
            before = catalog.VERSIONS.index(found.since) - 1
            assert before < 0 or code not in catalog.release(catalog.VERSIONS[before]).rules


def test_an_error_is_explained_in_the_words_of_the_release_that_the_log_names():
    signature = explain("DCP204").rule.upstream_signature
    for version, code in (("0.5.18", "DCP204"), ("0.5.22", "DCP206")):
        (found,) = explain_error(f"sglang=={version}\nValueError: {signature} ...")
        assert found.rule.code == code


def test_values_are_short_to_look_at():
    result = check(BAD, hardware="h200x8")
    assert repr(result).startswith("<Result error: SGLang ")
    explained = explain("DCP206")
    for value in (result, result.workspace, explained, *fix(BAD), *result.fixes(result.findings[0])):
        assert len(repr(value)) < 600
        assert "\n" not in repr(value)
    assert repr(explained) == "<Explained replicate-q-needs-a2a: DCP206 from 0.5.20 on>"
    assert len(repr(check("--model-path m --host " + "x" * 5000).workspace)) < 600


def test_fixes_of_a_finding_are_those_of_the_document():
    result = check(BAD, hardware="h200x8")
    for finding, document in zip(result.findings, result.to_json()["findings"], strict=True):
        fixes = result.fixes(finding)
        assert [fix.to_json() for fix in fixes] == document["fixes"]
        assert [fix.change for fix in fixes] == list(result.workspace.fixes(finding))
        for way in fixes:
            assert finding.rule.code not in {f.rule.code for f in check(way.command, hardware="h200x8").findings}
