"""The checkout's tracked files, and the wheel built from it."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOT_OURS = {".git", ".venv", "__pycache__", "build", "dist", "node_modules", "test-results"}


def tracked_files():
    """Return the files of the checkout that git tracks; in an unpacked source archive, all files."""
    # Git refuses a checkout of another user, as in a container; whose it is does not matter for reading.
    done = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode == 0 and done.stdout:
        return [path for name in done.stdout.split("\0") if name and (path := ROOT / name).is_file()]
    return [path for path in ROOT.rglob("*") if path.is_file() and not NOT_OURS & set(path.relative_to(ROOT).parts)]


def texts(*suffixes):
    """Return (name, text) of each tracked text file, of these suffixes only where any are given."""
    found = []
    for path in tracked_files():
        data = path.read_bytes()
        if (not suffixes or path.suffix in suffixes) and b"\0" not in data:
            found.append((path.relative_to(ROOT).as_posix(), data.decode("utf-8")))
    return found


def build(target, folder):
    """Build the project's *target* ("wheel" or "sdist") into *folder*, without a network; return the archive."""
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (archive,) = folder.iterdir()
    return archive


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """The wheel."""
    return build("wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def wheel_names(wheel):
    """The names in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())
