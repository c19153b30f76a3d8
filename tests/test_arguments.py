"""What the Python functions are given: the wrong type gets a plain sentence, never an error from inside."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

from configurator import catalog, check, emit, explain, fix, parse
from configurator.api import explain_error
from configurator.core.errors import InputError
from configurator.workspace import Workspace

GOOD = "--model-path deepseek-ai/DeepSeek-V3.1 --tp-size 8 --dcp-size 4 --attention-backend flashinfer"
CALLS = {
    "check": check,
    "fix": fix,
    "emit": emit,
    "parse": parse,
    "explain": explain,
    "explain_error": explain_error,
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("given", [None, 0, 1.5, True, b"", b"--tp-size 8", {"tp_size": 8}, {"--tp-size"}, object()])
def test_what_is_no_command_at_all(name, given):
    with pytest.raises(TypeError, match=r"^(command|name|text) is .*; give "):
        CALLS[name](given)


@pytest.mark.parametrize("name", ["check", "fix", "emit", "parse"])
@pytest.mark.parametrize("given", [[1], ["--tp-size", 8], [None], [b"--tp-size"], ("--tp-size", "8", ["x"])])
def test_a_word_that_is_no_text_is_named(name, given):
    with pytest.raises(
        TypeError, match=r"^Word \d of command is .*, which is no text; every word of a command is text"
    ):
        CALLS[name](given)


@pytest.mark.parametrize(
    ("facts", "tells"),
    [
        ({"release": 1.5}, r"release is 1\.5; give a version as text, such as '0\.5\.23'\."),
        ({"release": True}, "release is True; give"),
        ({"release": ["0.5.23"]}, "release is .* give"),
        ({"hardware": 8}, "hardware is 8; give the name of a preset, a file, or a snapshot"),
        ({"hardware": b"h200x8"}, "hardware is b'h200x8'; give"),
        ({"model": 3}, r"model is 3; give a name, a path, or the contents of a config\.json"),
        ({"model": ["llama"]}, "model is .* give"),
        ({"env": {"A": 1}}, "env has 'A' set to 1; names and values of environment variables are text"),
        ({"env": {1: "A"}}, "env has 1 set to 'A'"),
        ({"env": "A=1"}, "env is 'A=1'; give a mapping of names to text"),
        ({"env": [("A", "1")]}, "env is .* give a mapping"),
    ],
)
@pytest.mark.parametrize("name", ["check", "fix", "emit"])
def test_a_fact_of_the_wrong_type(name, facts, tells):
    with pytest.raises(TypeError, match=tells):
        CALLS[name](GOOD, **facts)


def test_a_long_value_is_told_by_its_type():
    with pytest.raises(TypeError, match="command is a value of type dict; give"):
        check({"x" * 100: 1})


def test_a_path_is_as_good_as_its_text(tmp_path):
    with pytest.raises(InputError, match="neither a file nor a preset"):
        check(GOOD, hardware=tmp_path / "nowhere.json")
    assert check(GOOD, hardware=Path("h200x8")).workspace.hardware.name == "h200x8"


@pytest.mark.parametrize("facts", [{"release": ""}, {"hardware": ""}, {"model": ""}])
def test_an_empty_name_is_no_default(facts):
    with pytest.raises(InputError):
        check(GOOD, **facts)


def test_a_format_that_is_none_is_told_before_the_command_is_looked_at():
    with pytest.raises(InputError, match="bogus: there is no such output format; choose one of shell, docker"):
        emit("--tp-size eight", format="bogus")
    with pytest.raises(TypeError, match="format is None; give one of shell"):
        emit(GOOD, format=None)


def test_facts_beside_a_workspace_are_refused_instead_of_ignored():
    workspace = Workspace.start(GOOD)
    with pytest.raises(TypeError, match="A workspace has its facts already, so release cannot be given with it"):
        emit(workspace, release="0.5.19")


def test_the_installed_release(monkeypatch):
    monkeypatch.setattr(metadata, "version", lambda name: {"sglang": "0.5.19"}[name])
    assert check(GOOD, release="installed").workspace.release.version == "0.5.19"
    assert parse(GOOD, release="installed").configuration["dcp_size"] == 4
    assert Workspace.start(GOOD).with_release("installed").release.version == "0.5.19"
    assert check(GOOD).workspace.release.version == catalog.NEWEST


def test_no_release_is_installed(monkeypatch):
    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    with pytest.raises(InputError, match="this Python has no sglang; name a release"):
        check(GOOD, release="installed")
