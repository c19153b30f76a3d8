"""The nine releases: found by name, built without contradiction, and what each changed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from configurator import catalog
from configurator.catalog import NEWEST, VERSIONS, release
from configurator.core.errors import InputError
from configurator.core.release import Release

from .snapshot import FOLDER, path, render


def test_versions_are_in_order_without_a_gap():
    assert list(VERSIONS) == [f"0.5.{n}" for n in range(15, 24)]
    assert NEWEST == "0.5.23"


@pytest.mark.parametrize("version", VERSIONS)
def test_each_release_builds_and_says_what_was_read(version):
    found = release(version)
    assert isinstance(found, Release)
    assert found.version == found.table.release == version
    assert f"sglang=={version}" in found.evidence
    assert release(f"v{version}") is found or release(f"v{version}").version == version
    assert release(f" {version} ").version == version


@pytest.mark.parametrize("version", ["0.5.14", "0.5.24", "0.6.0", "", "newest", "0.5.2", "0.5.230", "../0.5.23"])
def test_another_release_is_refused_and_never_replaced_by_a_neighbour(version):
    with pytest.raises(InputError, match=r"is not a release this catalogue knows \(0\.5\.15 to 0\.5\.23\)") as error:
        release(version)
    assert error.value.part == version


@pytest.mark.parametrize("version", VERSIONS)
def test_what_it_changed_is_what_the_snapshot_says(version):
    assert path(version).read_text(encoding="utf-8") == render(version), (
        "flags or rules changed: run `python tests/catalog/snapshot.py`, and read the difference before you commit it"
    )


def test_there_is_no_snapshot_of_a_release_that_is_not_there():
    assert {file.name for file in FOLDER.iterdir()} == {f"{version}.txt" for version in VERSIONS}


def test_importing_the_catalogue_builds_no_release():
    code = "import configurator.catalog, sys; print([m for m in sys.modules if 'releases' in m])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout.strip() == "[]"


def test_asking_for_an_old_release_does_not_build_newer_ones():
    code = (
        "from configurator.catalog import release; import sys; release('0.5.17');"
        "print(sorted(m.rpartition('.')[2] for m in sys.modules if '.releases.v' in m))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout.strip() == "['v0_5_15', 'v0_5_16', 'v0_5_17']"


def test_public_functions_are_documented():
    assert catalog.release.__doc__
    assert catalog.lifetime.__doc__
