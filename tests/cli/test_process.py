"""The command line as a process: streams that are closed, broken or no text, and never a traceback."""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys

import pytest

from configurator.cli import main

from .conftest import BAD, GOOD, ON_H200
from .shapes import is_check


def test_python_m_configurator_is_the_command(process):
    ran = process("check", "--json", *ON_H200, "--", *BAD.split())
    is_check(ran.json)
    assert ran.code == 1
    assert ran.err == ""


def test_the_installed_script_is_the_same_program(process):
    from pathlib import Path

    script = Path(sys.executable).with_name("dcp-configurator")
    words = [str(script), "check", "--json", *ON_H200, "--", *BAD.split()]
    done = subprocess.run(words, capture_output=True, check=False, text=True, timeout=60, stdin=subprocess.DEVNULL)
    ran = process("check", "--json", *ON_H200, "--", *BAD.split())
    assert (done.returncode, done.stdout) == (ran.code, ran.out)


def test_version_and_help(process):
    from importlib.metadata import version

    for asked in ("--version", "--help"):
        full = process(asked, through=">/dev/full")
        assert (full.code, full.err) == (2, "dcp-configurator: stopped, No space left on device.\n")
    assert process("--version").out == f"dcp-configurator {version('dcp-configurator')}\n"
    ran = process("--help")
    assert ran.code == 0
    for name in ("check", "fix", "explain", "emit", "probe", "bench", "app"):
        assert name in ran.out
        assert process(name, "--help").code == 0


@pytest.mark.parametrize("arguments", [[], ["chekc"], ["--frob"], ["check", "--tp", "8"], ["--", "--tp-size", "8"]])
def test_usage_goes_to_standard_error(arguments, process):
    ran = process(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert "usage: dcp-configurator" in ran.err


@pytest.mark.parametrize(
    ("arguments", "through"),
    [
        (["check", *ON_H200, "--", *BAD.split()], "| true; exit ${PIPESTATUS[0]}"),
        (["check", "--json", *ON_H200, "--", *BAD.split()], "| true; exit ${PIPESTATUS[0]}"),
        (["emit", "--force", *ON_H200, "--", *BAD.split()], "| true; exit ${PIPESTATUS[0]}"),
        (["probe"], "| true; exit ${PIPESTATUS[0]}"),
    ],
)
def test_a_reader_that_leaves_is_no_error(arguments, through, process):
    ran = process(*arguments, through=through)
    assert ran.code in (0, 1, 141)
    assert ran.err == ""


def test_a_batch_whose_reader_leaves(process):
    lines = (json.dumps({"argv": GOOD.split(), "hardware": "h200x8"}) + "\n") * 400
    ran = process("check", "--batch", "-", stdin=lines.encode(), through="| head -n 1; exit ${PIPESTATUS[0]}")
    is_check(ran.lines[0])
    assert len(ran.lines) == 1
    assert ran.code == 141
    assert ran.err == ""


@pytest.mark.parametrize("through", ["<&-", ">&-", "<&- >&-", "<&- >&- 2>&-", "2>&-"])
def test_closed_streams(through, process):
    assert process("check", "--json", *ON_H200, "--", *GOOD.split(), through=through).code == 0
    assert process("check", "--json", *ON_H200, through="<&-").code == 2
    assert process("explain", "--error", "-", through="<&-").code == 1


def test_a_full_disk_is_told(monkeypatch, capsys):
    class Full(io.StringIO):
        def write(self, _text):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(sys, "stdout", Full())
    assert main(["check", "--json", *ON_H200, "--", *GOOD.split()]) == 2
    assert capsys.readouterr().err == "dcp-configurator check: stopped, No space left on device.\n"


@pytest.mark.parametrize(
    "env", [{"PYTHONUTF8": "1"}, {"LC_ALL": "C", "PYTHONUTF8": "0"}, {"PYTHONIOENCODING": "ascii"}]
)
def test_bytes_that_are_no_text(env, process):
    argv = ["--model-path", os.fsdecode(b"m\xff\xfe"), "--host", "\u65e5\u672c", "--tp-size", "8"]
    for arguments in (["check"], ["fix", "--json"], ["emit", "--json"]):
        ran = process(*arguments, *ON_H200, "--", *argv, env=env)
        assert ran.code in (0, 4)
        if "--json" in arguments:
            assert ran.json["schema"] == 1
    assert process("check", stdin=b"sglang serve \xff --tp 8", env=env).code in (0, 4)
    assert process("check", "--batch", "-", stdin=b'{"argv": ["--tp-size", "8"], "id": "\xff"}', env=env).code == 0
    assert process("explain", "--error", "-", stdin=b"\xff\xfe", env=env).code == 1


def test_an_emitted_script_holds_the_very_bytes(process):
    ran = process("emit", *ON_H200, "--", "--model-path", os.fsdecode(b"m\xff"), "--tp-size", "8", text=False)
    assert b"--model-path 'm\xff'" in ran.out


def test_a_batch_file_with_bytes_that_are_no_text(process, tmp_path):
    path = tmp_path / "asked"
    good = json.dumps({"argv": GOOD.split(), "hardware": "h200x8"}).encode()
    path.write_bytes(good + b"\n\xff\xfe\x00\n" + good + b"\n")
    first, bad, last = process("check", "--batch", str(path)).lines
    is_check(first)
    assert "error" in bad
    is_check(last)


def test_progress_is_not_mixed_into_json(process):
    ran = process("check", "--json", "--", "--model-path", "me/unknown", "--tp-size", "8")
    is_check(json.loads(ran.out))
    assert ran.out.count("\n") == 1
