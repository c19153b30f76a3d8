"""What the recording tool keeps in its cache, without downloading anything."""

from __future__ import annotations

import zipfile

import pytest

from tools.record_conformance import environment


@pytest.fixture
def pip(monkeypatch):
    """Stands in for the commands that download and install; keeps what was asked of them."""
    asked = []

    def run(command, _failure):
        asked.append(command)
        if "download" in command:
            folder = environment.Path(command[command.index("--dest") + 1])
            folder.mkdir()
            with zipfile.ZipFile(folder / "sglang.whl", "w") as archive:
                archive.writestr("sglang/version.py", "version = 1\n")

    monkeypatch.setattr(environment, "_run", run)
    return asked


def test_a_release_is_downloaded_once_and_nothing_of_what_it_needs(tmp_path, pip):
    found = environment.ensure("0.5.23", tmp_path)
    assert (found.wheel / "sglang" / "version.py").read_text() == "version = 1\n"
    asked = len(pip)
    assert environment.ensure("0.5.23", tmp_path) == found
    assert len(pip) == asked
    installs = [command for command in pip if "download" in command or "install" in command]
    assert len(installs) == 2
    assert all("--no-deps" in command for command in installs)


@pytest.mark.usefixtures("pip")
def test_what_an_interrupted_run_left_is_thrown_away(tmp_path, monkeypatch):
    def interrupted(_command, failure):
        raise environment.EnvironmentFailed(failure)

    (tmp_path / "wheels" / "0.5.23").mkdir(parents=True)
    (tmp_path / "wheels" / "0.5.23" / "half").touch()
    whole = environment._run
    monkeypatch.setattr(environment, "_run", interrupted)
    with pytest.raises(environment.EnvironmentFailed, match=r"0\.5\.23 could not be downloaded"):
        environment.ensure_wheel("0.5.23", tmp_path)
    monkeypatch.setattr(environment, "_run", whole)
    wheel = environment.ensure_wheel("0.5.23", tmp_path)
    assert not (wheel / "half").exists()
    assert (wheel / "sglang").is_dir()


def test_a_failed_command_says_what_to_do_and_what_pip_said():
    with pytest.raises(environment.EnvironmentFailed, match=r"no such thing(?s:.)*went wrong"):
        environment._run(["sh", "-c", "echo went wrong >&2; exit 1"], "no such thing")


def test_the_cache_is_the_users_unless_one_is_named(tmp_path, monkeypatch):
    monkeypatch.delenv(environment.VARIABLE, raising=False)
    assert environment.default_cache().parts[-2:] == ("dcp-configurator", "upstream")
    monkeypatch.setenv(environment.VARIABLE, str(tmp_path))
    assert environment.default_cache() == tmp_path


def test_every_package_is_pinned():
    lines = environment.REQUIREMENTS.read_text(encoding="utf-8").splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(len(line.split("==")) == 2 for line in pins)
    assert not [line for line in pins if line.startswith(("nvidia", "cuda"))]
