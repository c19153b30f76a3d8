"""The wheel and the source archive: what is in them, and that an installed copy works by itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from email.parser import Parser

import pytest

from tests.packaging.conftest import ROOT, build, tracked_files

COMMAND = (
    "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3.1 --tp-size 8 --dcp-size 4 "
    "--dcp-comm-backend ag_rs --dcp-replicate-q-proj"
)


def test_every_file_of_the_package_is_in_the_wheel(wheel_names):
    package = {
        path.relative_to(ROOT).as_posix() for path in tracked_files() if path.is_relative_to(ROOT / "configurator")
    }
    assert package
    assert package - wheel_names == set()


def test_nothing_else_is_in_the_wheel(wheel_names):
    outside = {name for name in wheel_names if not name.startswith(("configurator/", "dcp_configurator-"))}
    assert outside == set()
    assert not [name for name in wheel_names if "__pycache__" in name or name.endswith(".pyc")]


@pytest.mark.parametrize(
    "name",
    [
        "configurator/py.typed",
        "configurator/catalog/flags.json",
        "configurator/hardware/presets/h200x8.json",
        "configurator/models/catalogue/deepseek-v3.1.json",
        "configurator/ui/option_group.js",
        "configurator/ui/option_group.css",
        "configurator/ui/theme.css",
        "configurator/voila/configurator.ipynb",
        "configurator/voila/share/voila/templates/dcp_configurator/index.html.j2",
        "configurator/voila/share/voila/templates/dcp_configurator/conf.json",
        "configurator/voila/share/voila/templates/dcp_configurator/static/page.js",
        "configurator/voila/share/voila/templates/dcp_configurator/static/page.css",
    ],
)
def test_what_an_installed_copy_reads_is_in_the_wheel(wheel_names, name):
    assert name in wheel_names


def test_the_page_in_the_wheel_is_the_checkouts(wheel):
    with zipfile.ZipFile(wheel) as archive:
        assert (
            archive.read("configurator/voila/configurator.ipynb")
            == (ROOT / "notebooks/configurator.ipynb").read_bytes()
        )


def test_the_wheels_metadata(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("/METADATA")]
        head = Parser().parsestr(archive.read(name).decode())
        (entry_points,) = [name for name in archive.namelist() if name.endswith("/entry_points.txt")]
        scripts = archive.read(entry_points).decode()
    assert head["Name"] == "dcp-configurator"
    assert head["License-Expression"] == "Apache-2.0"
    assert head["License-File"] == "LICENSE"
    assert head["Requires-Python"] == ">=3.11"
    assert set(head.get_all("Provides-Extra")) == {"app", "bench"}
    assert head.get_payload().startswith("# DCP configurator")
    assert "dcp-configurator = configurator.cli:main" in scripts


def test_the_source_archive_holds_what_the_tests_and_docs_need(tmp_path):
    with tarfile.open(build("sdist", tmp_path)) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    tracked = {path.relative_to(ROOT).as_posix() for path in tracked_files()}
    wanted = {
        name
        for name in tracked
        if name.startswith(("configurator/", "notebooks/", "tests/", "tools/", "docs/"))
        or name in {"Makefile", "constraints.txt", "environment.yml", "CHANGELOG.md", "CONTRIBUTING.md", "README.md", "LICENSE"}
    }  # fmt: skip
    assert wanted - names == set()


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """An environment with nothing but the wheel; call it with arguments to run its ``dcp-configurator``."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    python = folder / "venv" / "bin" / "python"
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(python), "install", "--disable-pip-version-check", "--quiet",
         "--no-deps", "--no-index", str(wheel)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def run(*words):
        return subprocess.run(
            [folder / "venv" / "bin" / "dcp-configurator", *words],
            cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    run.python = python
    run.env = env
    run.folder = folder
    return run


def test_an_installed_copy_checks_a_command(installed):
    done = installed("check", "--json", "--hardware", "h200x8", "--", COMMAND)
    assert done.returncode == 1, done.stderr
    assert done.stderr == ""
    answer = json.loads(done.stdout)
    assert answer["verdict"] == "error"
    assert answer["findings"][0]["slug"] == "replicate-q-needs-a2a"


def test_an_installed_copy_knows_its_models_machines_and_version(installed):
    done = installed("check", "--json", "--model", "kimi-k2", "--hardware", "gb200-nvl72", "--", "--tp-size 8")
    answer = json.loads(done.stdout)
    assert (answer["model"], answer["hardware"]) == ("kimi-k2", "gb200-nvl72")
    assert installed("--version").stdout == "dcp-configurator 0.1.0\n"


def test_an_installed_copy_probes_without_the_binding_and_says_so(installed):
    done = installed("probe", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["problems"]


def test_an_installed_copy_without_the_pages_packages_says_what_to_install(installed):
    done = installed("app", "--port", "0")
    assert done.returncode == 2
    assert "pip install 'dcp-configurator[app,bench]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_installed_copy_finds_its_own_page(installed):
    code = "from configurator.voila.serve import find_notebook; print(find_notebook())"
    done = subprocess.run(
        [installed.python, "-c", code],
        cwd=installed.folder,
        env=installed.env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip().endswith("site-packages/configurator/voila/configurator.ipynb")
    assert done.stdout.startswith(str(installed.folder))
