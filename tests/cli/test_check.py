"""``check``: the document, the exit status, and every way of giving it a command."""

from __future__ import annotations

import json
import shlex

import pytest

from configurator import catalog
from configurator.hardware import PRESET_NAMES

from .conftest import BAD, GOOD, ON_H200
from .shapes import fits, is_check


def test_a_good_command(run):
    ran = run("check", "--json", *ON_H200, "--", *GOOD.split())
    is_check(ran.json)
    assert ran.code == 0
    assert ran.json["verdict"] in ("ok", "warn")
    assert ran.json["release"] == catalog.NEWEST
    assert ran.json["hardware"] == "h200x8"
    assert ran.json["model"] == "deepseek-v3.1"
    assert ran.json["id"] is None
    assert ran.json["resolved"]["dcp_size"] == 4
    assert ran.json["resolved"]["tp_size"] == 8
    assert shlex.split(ran.json["command"]) == ["python", "-m", "sglang.launch_server", *GOOD.split()]
    assert ran.err == ""


def test_a_command_the_server_refuses(run):
    ran = run("check", "--json", *ON_H200, "--", *BAD.split())
    is_check(ran.json)
    assert ran.code == 1
    assert ran.json["verdict"] == "error"
    first = ran.json["findings"][0]
    assert first["slug"] == "replicate-q-needs-a2a"
    assert (first["effect"], first["stage"], first["certainty"]) == ("refuses", "server_args", "holds")
    assert {"--dcp-replicate-q-proj", "--dcp-comm-backend"} <= set(first["flags"])
    assert first["fixes"][0]["set"] == {"--dcp-comm-backend": "a2a"}
    assert "--dcp-comm-backend a2a" in first["fixes"][0]["command"]


def test_every_fix_removes_its_finding(run):
    findings = run("check", "--json", *ON_H200, "--", *BAD.split()).json["findings"]
    for finding in findings:
        for fix in finding["fixes"]:
            after = run("check", "--json", *ON_H200, "--", *shlex.split(fix["command"])).json
            assert finding["slug"] not in {f["slug"] for f in after["findings"]}, fix


@pytest.mark.parametrize(
    ("argv", "code", "verdict"),
    [
        (GOOD, 0, ("ok", "warn")),
        (BAD, 1, ("error",)),
        ("--model-path me/my-own-model --tp-size 8 --dcp-size 4", 4, ("unknown",)),
    ],
)
def test_exit_status_follows_the_verdict(argv, code, verdict, run):
    for more in ((), ("--json",)):
        ran = run("check", *more, *ON_H200, "--", *argv.split())
        assert ran.code == code
    assert ran.json["verdict"] in verdict


def test_argv_and_one_quoted_string_and_standard_input_say_the_same(run):
    text = f"python -m sglang.launch_server {BAD}"
    asked = [
        run("check", "--json", *ON_H200, "--", *text.split()),
        run("check", "--json", *ON_H200, "--", text),
        run("check", "--json", *ON_H200, stdin=text),
        run("check", "--json", *ON_H200, "--", stdin=text + "\n"),
        run("check", "--json", *ON_H200, stdin=text.replace(" --", " \\\n  --")),
    ]
    assert len({ran.out for ran in asked}) == 1
    assert {ran.code for ran in asked} == {1}


def test_a_dollar_is_data_in_argv_and_a_reference_in_text(run):
    argv = run("check", "--json", *ON_H200, "--", "--model-path", "$MODEL", "--tp-size", "8").json
    text = run("check", "--json", *ON_H200, "--", "--model-path $MODEL --tp-size 8").json
    assert argv["command"].endswith("--model-path '$MODEL' --tp-size 8")
    assert text["command"].endswith('--model-path "$MODEL" --tp-size 8')


def test_a_size_only_the_shell_knows_makes_it_unknown(run):
    ran = run("check", "--json", *ON_H200, "--", GOOD.replace("--tp-size 8", "--tp-size $TP"))
    assert ran.code == 4
    assert any("$TP" in (f["reason"] or "") for f in ran.json["findings"])


def test_text_for_people(run):
    ran = run("check", *ON_H200, "--", *BAD.split())
    lines = ran.out.splitlines()
    assert lines[0].startswith(f"error: SGLang {catalog.NEWEST} would refuse this command at start: ")
    assert any(line.startswith("refuses DCP") for line in lines)
    assert "    -> Use --dcp-comm-backend a2a" in lines
    assert f"For SGLang {catalog.NEWEST}, 8x H200 141 GB, assumed, deepseek-v3.1." in lines


def test_notes_about_the_text_are_shown(run):
    ran = run("check", "--json", *ON_H200, "--", f"cd /opt\nsglang serve {GOOD} --host $(hostname)")
    assert any("Left out" in note for note in ran.json["notes"])
    assert any("never run" in note for note in ran.json["notes"])
    assert "note: Left out" in run("check", *ON_H200, "--", f"cd /opt\nsglang serve {GOOD}").out


@pytest.mark.parametrize("release", catalog.VERSIONS)
def test_every_release(release, run):
    ran = run("check", "--json", "--release", release, *ON_H200, "--", *GOOD.split())
    is_check(ran.json)
    assert ran.json["release"] == release


@pytest.mark.parametrize("hardware", PRESET_NAMES)
def test_every_preset(hardware, run):
    ran = run("check", "--json", "--hardware", hardware, "--", *GOOD.split())
    is_check(ran.json)
    assert ran.json["hardware"] == hardware


def test_hardware_from_a_snapshot_file(run, tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(run("probe", "--json").out, encoding="utf-8")
    ran = run("check", "--json", "--hardware", path, "--", *GOOD.split())
    is_check(ran.json)
    assert ran.json["hardware"] == "mine.json"


def test_model_from_a_config_file_and_from_its_folder(run, tmp_path):
    (tmp_path / "config.json").write_text(
        json.dumps({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 2,
                    "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 1000}),
        encoding="utf-8",
    )  # fmt: skip
    for given in (tmp_path, tmp_path / "config.json"):
        ran = run("check", "--json", "--model", given, *ON_H200, "--", "--model-path", "x", "--tp-size", "8")
        assert ran.json["model"] == tmp_path.name
    ran = run("check", "--json", *ON_H200, "--", "--model-path", tmp_path, "--tp-size", "8")
    assert ran.json["model"] == tmp_path.name


def test_without_hardware_this_machine_or_the_assumed_preset(run):
    from configurator.api import probe

    expected = "local" if probe().gpus else "h200x8"
    assert run("check", "--json", "--", *GOOD.split()).json["hardware"] == expected


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["--release", "0.5.99"], "SGLang 0.5.99 is not a release this catalogue knows (0.5.15 to "),
        (
            ["--release", "installed"],
            "The installed release was asked for, and this Python has no sglang; name a release",
        ),
        (["--hardware", "h100x9"], "Near it: h100x8"),
        (["--hardware", "H2OO"], "Presets: cpu, a100x8"),
        (["--model", "deepseek-v3.7"], "Near it: deepseek-v3."),
        (["--model", "deepseek-ai/DeepSeek-V9"], "Near it: deepseek-v"),
        (["--hardware", "{tmp}/nothing.json"], "neither a file nor a preset"),
        (["--hardware", "{tmp}"], "neither a file nor a preset"),
        (["--hardware", "{tmp}/bad"], "is no JSON"),
        (["--model", "{tmp}"], "holds no config.json"),
        (["--model", "{tmp}/bad"], "is no JSON"),
        (["--model", "{tmp}/empty"], "is no JSON"),
        (["--model", "{tmp}/binary"], "is no JSON"),
        (["--model", "{tmp}/list"], "not an object"),
        (["--model", ""], "The name of the model is empty"),
        (["--model", "a\0b"], "No model"),
        (["--hardware", "a\0b"], "No hardware"),
    ],
)
def test_facts_that_cannot_be_used(options, names, run, tmp_path):
    (tmp_path / "bad").write_text("{", encoding="utf-8")
    (tmp_path / "empty").touch()
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    (tmp_path / "list").write_text("[1]", encoding="utf-8")
    given = [option.replace("{tmp}", str(tmp_path)) for option in options]
    for json_too in ((), ("--json",)):
        ran = run("check", *json_too, *given, "--", "--tp-size", "8")
        assert ran.code == 2
        assert ran.out == ""
        assert names in ran.err
        assert ran.err.startswith("dcp-configurator check: ")
        assert len(ran.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "stdin", "tells"),
    [
        (["--"], "", "The command is empty. Put it after --, or on standard input."),
        ([], "  \n", "The command is empty."),
        (["--", "ls", "-l"], "", "This is no SGLang command"),
        (["--", ""], "", "This is no SGLang command"),
        (["--", "hello world"], "", "This is no SGLang command"),
        (["--tp-size", "8"], "", "--tp-size is no option of check. What belongs to SGLang goes after --"),
        (["--frob", "--", "--tp-size", "8"], "", "--frob is no option of check."),
        (["--batch", "/nonexistent"], "", "/nonexistent cannot be read: No such file"),
        (["--batch", "/"], "", "/ cannot be read: Is a directory"),
        (["--release"], "", "--release: expected one argument"),
        (
            ["--batch", "-", "--", "--tp-size", "8"],
            "{}",
            "--batch reads its commands from the file, so none can stand after",
        ),
        (["--release", "", "--", "--tp-size", "8"], "", "is not a release this catalogue knows"),
        (["--", "--model-path 'm"], "", "is never closed"),
        ([], "--host " + "x" * 70_000, "The input has 70,007 characters"),
    ],
)
def test_usage(arguments, stdin, tells, run):
    ran = run("check", *arguments, stdin=stdin)
    assert ran.code == 2
    assert ran.out == ""
    assert tells in ran.err


def ask(**more):
    return json.dumps({"id": "x", "release": "0.5.23", "hardware": "h200x8", "argv": GOOD.split(), **more})


def test_batch_keeps_order_and_identity(run):
    lines = [ask(id=i, argv=(GOOD if i % 2 else BAD).split()) for i in range(6)]
    ran = run("check", "--batch", "-", stdin="\n".join(lines))
    assert ran.code == 0
    assert [document["id"] for document in ran.lines] == list(range(6))
    for i, document in enumerate(ran.lines):
        is_check(document)
        assert (document["verdict"] == "error") == (i % 2 == 0)


def test_batch_from_a_file_and_its_defaults(run, tmp_path):
    path = tmp_path / "asked.jsonl"
    path.write_text(
        '{"argv": ["--model-path", "m", "--tp-size", "8"]}\n\n' + ask(release="0.5.20", hardware="cpu"),
        encoding="utf-8",
    )
    ran = run("check", "--release", "0.5.18", "--hardware", "mi300x8", "--batch", path)
    first, second = ran.lines
    assert (first["id"], first["release"], first["hardware"]) == (None, "0.5.18", "mi300x8")
    assert (second["id"], second["release"], second["hardware"]) == ("x", "0.5.20", "cpu")


def test_batch_takes_a_model_as_name_config_or_none(run):
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2,
              "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100}  # fmt: skip
    ran = run(
        "check", "--batch", "-", stdin="\n".join([ask(model="qwen3-32b"), ask(model=config), ask(model="none"), ask()])
    )
    assert [document["model"] for document in ran.lines] == ["qwen3-32b", "llama", "none", "deepseek-v3.1"]
    for document in ran.lines:
        is_check(document)


def test_batch_takes_variables(run):
    (document,) = run("check", "--batch", "-", stdin=ask(env={"SGLANG_X": "a b"})).lines
    assert document["command"].startswith("SGLANG_X='a b' python -m sglang.launch_server ")


def test_batch_lines_may_ask_for_the_installed_release(run, monkeypatch):
    from importlib import metadata

    monkeypatch.setattr(metadata, "version", lambda _: "0.5.19")
    assert run("check", "--batch", "-", stdin=ask(release="installed")).lines[0]["release"] == "0.5.19"


def test_a_byte_order_mark_is_no_part_of_the_first_line(run, tmp_path):
    path = tmp_path / "asked.jsonl"
    path.write_text("\ufeff" + ask(id=1) + "\n" + ask(id=2), encoding="utf-8")
    for ran in (run("check", "--batch", path), run("check", "--batch", "-", stdin=path.read_text(encoding="utf-8"))):
        assert [document["id"] for document in ran.lines] == [1, 2]
        assert all(is_check(document) is None for document in ran.lines)


def test_a_value_that_json_has_no_number_for_is_text(run):
    def refuse(word):
        raise AssertionError(word)

    argv = [*GOOD.split(), "--mem-fraction-static", "inf"]
    for ran in (
        run("check", "--json", *ON_H200, "--", *argv),
        run("check", "--batch", "-", stdin=ask(argv=argv)),
        run("fix", "--json", *ON_H200, "--", *argv, "--dcp-comm-backend", "A2A"),
    ):
        document = json.loads(ran.out, parse_constant=refuse)
        if "resolved" in document:
            assert document["resolved"].get("mem_fraction_static", "inf") == "inf"


def test_what_explains_the_answer_comes_before_the_findings(run):
    lines = run("check", *ON_H200, "--", "--model-path", "my/own", "--tp-size", "8", "--dcp-size", "4").out.splitlines()
    assert lines[2].startswith("note: No model 'my/own'")


BAD_LINES = {
    "not a number": '{"id": NaN, "argv": ["--tp-size", "8"]}',
    "endless": '{"id": -Infinity, "argv": ["--tp-size", "8"]}',
    "more than a number holds": '{"id": 1e999, "argv": ["--tp-size", "8"]}',
    "no json": "{",
    "a list": "[1]",
    "a number": "7",
    "null": "null",
    "no argv": '{"id": "b"}',
    "argv is text": ask(argv="--tp-size 8"),
    "argv holds a number": ask(argv=["--tp-size", 8]),
    "argv is empty": ask(argv=[]),
    "no command": ask(argv=["ls"]),
    "unknown release": ask(release="9.9"),
    "release is a number": ask(release=0.5),
    "unknown hardware": ask(hardware="toaster"),
    "hardware is a list": ask(hardware=["h200x8"]),
    "unknown model": ask(model="gpt-9"),
    "model is a number": ask(model=7),
    "model is no config": ask(model={"a": 1}),
    "model holds nonsense": ask(model={"architectures": ["LlamaForCausalLM"], "num_attention_heads": -4}),
    "env is a list": ask(env=["A=1"]),
    "env holds a number": ask(env={"A": 1}),
    "env holds a bad name": ask(env={"A=B": "1"}),
    "deep nesting": "[" * 100_000,
    "a huge number": '{"argv": ' + "9" * 5_000 + "}",
    "bytes that are no text": '{"argv": ["--tp-size", "8"], "id": \udcff}',
}


def test_batch_answers_bad_lines_with_error_objects_and_goes_on(run):
    lines = [text for bad in BAD_LINES.values() for text in (bad, ask(id="good"))]
    ran = run("check", "--batch", "-", stdin="\n".join(lines))
    assert ran.code == 0
    assert len(ran.lines) == len(lines)
    for name, error, good in zip(BAD_LINES, ran.lines[::2], ran.lines[1::2], strict=True):
        fits(error, {"schema": "number", "id": object, "error": "text"})
        assert len(error["error"]) > 15, name
        assert "verdict" not in error, name
        is_check(good)
        assert good["id"] == "good"


def test_batch_errors_name_the_line_and_keep_the_id(run):
    ran = run("check", "--batch", "-", stdin='\n{"id": 5}\n')
    assert ran.lines[0] == {"schema": 1, "id": 5, "error": "Line 2 needs argv, a list of words."}


def test_batch_of_nothing(run):
    ran = run("check", "--batch", "-", stdin="\n\n")
    assert (ran.code, ran.out) == (0, "")
