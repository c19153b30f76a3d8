"""``emit`` and ``probe``: ready-to-run text, and what this machine tells of itself."""

from __future__ import annotations

import pytest

from configurator.hardware.codec import decode
from configurator.launch.emit import FORMATS

from .conftest import BAD, GOOD, ON_H200
from .shapes import EMIT, fits


@pytest.mark.parametrize("form", FORMATS)
def test_every_format(form, run):
    ran = run("emit", "--json", "--format", form, *ON_H200, "--", *GOOD.split())
    fits(ran.json, EMIT)
    assert ran.code == 0
    assert ran.json["format"] == form
    (file,) = ran.json["files"]
    assert "deepseek-ai/DeepSeek-V3.1" in file["text"]
    assert run("emit", "--format", form, *ON_H200, "--", *GOOD.split()).out == file["text"] + "\n"


def test_one_block_for_each_node(run):
    command = GOOD.replace("--tp-size 8", "--tp-size 16 --nnodes 2")
    files = run("emit", "--json", *ON_H200, "--", *command.split()).json["files"]
    assert [file["node_rank"] for file in files] == [0, 1]
    text = run("emit", *ON_H200, "--", *command.split()).out
    assert text.count("#!/usr/bin/env bash") == 2


def test_a_broken_command_is_not_emitted(run):
    for more in ((), ("--json",)):
        ran = run("emit", *more, *ON_H200, "--", *BAD.split())
        assert ran.code == 1
        if more:
            assert (ran.json["files"], ran.json["format"]) == ([], "shell")
            assert ran.json["error"] in ran.err
        else:
            assert ran.out == ""
        assert "This command is not emitted: refuses DCP" in ran.err
        assert "Repair it first (fix), or ask for it all the same (force)." in ran.err


@pytest.mark.parametrize("form", FORMATS)
def test_forced_it_carries_a_warning(form, run):
    ran = run("emit", "--force", "--format", form, *ON_H200, "--", *BAD.split())
    assert ran.code == 0
    warnings = [line for line in ran.out.splitlines() if line.startswith("# WARNING: refuses DCP")]
    assert len(warnings) == 1
    assert "checked by dcp-configurator: error" in ran.out


def test_the_platform_comes_from_the_hardware(run):
    ran = run("emit", "--format", "slurm", "--hardware", "cpu", "--force", "--", "--model-path", "m")
    assert "gpus-per-node" not in ran.out


@pytest.mark.parametrize(
    ("arguments", "tells"),
    [
        (
            ["--format", "toml", "--", *GOOD.split()],
            "toml: there is no such output format; choose one of shell, docker",
        ),
        (["--format", "toml", "--", "--tp-size", "eight"], "toml: there is no such output format"),
        (["--format", "docker", "--hardware", "mi300x8", "--force", "--", *GOOD.split()], "name the image you use"),
        (["--", "--model-path", "m", "--nnodes", "999", "--tp-size", "999"], "at most 256 nodes"),
        (["--force", "--", "--model-path", "a\0b"], "NUL"),
        (["--", "ls"], "This is no SGLang command"),
    ],
)
def test_usage(arguments, tells, run):
    ran = run("emit", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert tells in ran.err


def test_probe(run):
    ran = run("probe", "--json")
    assert ran.code == 0
    assert ran.json["schema"] == 1
    assert decode(ran.json, part="probe").name == "local"
    assert run("probe").code == 0
