"""What pyproject.toml asks for, what constraints.txt pins, what is installed, and what environment.yml says."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib import metadata

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.packaging.conftest import ROOT
from tools.pin_constraints import TORCH_CUDA_PINS, closure, read_pins, wanted

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
PINS = read_pins()


@pytest.mark.parametrize("requirement", wanted(), ids=str)
def test_what_pyproject_asks_for_is_pinned_within_its_bounds(requirement):
    assert requirement.specifier.contains(PINS[canonicalize_name(requirement.name)])


def test_all_that_is_needed_is_pinned_at_the_version_installed_here():
    installed = closure([*wanted(), Requirement("pip")])
    assert {name: PINS.get(name) for name in installed} == installed


def test_nothing_is_pinned_that_nothing_needs():
    assert set(PINS) - set(closure([*wanted(), Requirement("pip")])) == set(TORCH_CUDA_PINS)


def test_pins_are_exact_single_and_sorted():
    lines = [line for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines() if line[:1] != "#"]
    names = [Requirement(line).name for line in lines]
    assert lines == sorted(lines)
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"==[^*,]+", str(Requirement(line).specifier)) for line in lines)


def test_torch_has_no_local_suffix():
    assert PINS["torch"] == "2.13.0"
    assert Version(metadata.version("torch")).public == "2.13.0"


def test_voila_alone_would_lack_a_kernel_so_one_is_asked_for():
    app = {Requirement(line).name for line in PROJECT["project"]["optional-dependencies"]["app"]}
    assert {"anywidget", "ipykernel", "ipywidgets", "voila"} <= app


def test_the_core_needs_neither_torch_nor_a_notebook():
    names = {Requirement(line).name for line in PROJECT["project"]["dependencies"]}
    assert names == {"nvidia-ml-py", "ruamel.yaml"}


def test_the_python_of_this_run_is_one_the_project_names():
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert SpecifierSet(PROJECT["project"]["requires-python"]).contains(here)
    lowest = min(re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"])), key=Version)
    assert PROJECT["project"]["requires-python"] == f">={lowest}"
    assert PROJECT["tool"]["ruff"]["target-version"] == f"py{lowest.replace('.', '')}"
    assert PROJECT["tool"]["mypy"]["python_version"] == lowest


def test_the_version_is_the_changelogs():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## \[(.+?)\]", changelog, re.MULTILINE)
    assert versions[0] == "Unreleased"
    assert PROJECT["project"]["version"] in versions or len(versions) == 1  # the first release is not out yet


def conda_packages():
    return [entry for entry in ENVIRONMENT["dependencies"] if isinstance(entry, str)]


def pip_lines():
    (section,) = [entry["pip"] for entry in ENVIRONMENT["dependencies"] if isinstance(entry, dict)]
    return section


def test_conda_brings_python_and_pip_and_nothing_else():
    names = {re.split(r"[=<> ]", entry)[0]: entry for entry in conda_packages()}
    assert set(names) == {"python", "pip"}
    python = names["python"].removeprefix("python=")
    assert SpecifierSet(PROJECT["project"]["requires-python"]).contains(python)
    assert SpecifierSet(names["pip"].removeprefix("pip")).contains(PINS["pip"])


def test_conda_takes_versions_from_the_constraints_and_the_packages_of_make_app():
    assert "--constraint constraints.txt" in pip_lines()
    (editable,) = [line for line in pip_lines() if line.startswith("--editable ")]
    extras = set(Requirement(f"x{editable.removeprefix('--editable .')}").extras)
    assert extras == {"app", "bench"}
    assert extras <= set(PROJECT["project"]["optional-dependencies"])
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "--editable '.[app,bench]'" in makefile


def test_a_version_in_environment_yml_is_the_pinned_one():
    stated = [line for line in pip_lines() if not line.startswith("-")]
    for line in stated:
        requirement = Requirement(line)
        assert str(requirement.specifier) == f"=={PINS[canonicalize_name(requirement.name)]}"


def test_pip_reads_the_pip_section(tmp_path):
    # Conda hands pip the section as a requirements file in the folder of environment.yml.
    path = ROOT / f".{tmp_path.name}.requirements.txt"
    path.write_text("\n".join(pip_lines()), encoding="utf-8")
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--dry-run", "--no-deps", "--no-index",
             "--no-build-isolation", "--requirement", str(path)],
            cwd=ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
    finally:
        path.unlink()
    assert done.returncode == 0, done.stderr
    assert f"dcp-configurator-{PROJECT['project']['version']}" in done.stdout
