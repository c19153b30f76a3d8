"""Gets a release of SGLang and an isolated environment that its argument handling runs in; no GPU, no CUDA packages.

Both are kept in a cache folder: the releases by version, the environment by what is pinned in ``requirements.txt`` and
by the Python that made it. A second run finds them there and starts nothing.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import platformdirs

#: Names the cache folder; without it, the user's own is used.
VARIABLE = "DCP_UPSTREAM_CACHE"

REQUIREMENTS = Path(__file__).with_name("requirements.txt")

# Written last, so that what an interrupted run left behind is not taken for complete.
_COMPLETE = ".complete"
_PROBE = "import torch, transformers; torch.zeros(1)"


class EnvironmentFailed(Exception):  # noqa: N818 - says what happened
    """A release or the environment could not be had; the message says what to do."""


@dataclass(frozen=True)
class Environment:
    """What a release's argument handling runs in.

    Attributes:
        release: Version of SGLang.
        python: Interpreter of the isolated environment.
        wheel: Folder of the unpacked release; it holds ``sglang``.
    """

    release: str
    python: Path
    wheel: Path


def default_cache() -> Path:
    """Return the folder that ``DCP_UPSTREAM_CACHE`` names, else one in the user's cache folder."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else platformdirs.user_cache_path("dcp-configurator") / "upstream"


def ensure(release: str, cache: Path | None = None) -> Environment:
    """Return the environment of *release*; what *cache* lacks of it is downloaded and built first.

    Args:
        release: Version of SGLang, as in ``pip install sglang==VERSION``.
        cache: Folder that keeps releases and environments; :func:`default_cache` without it. About 2.3 GB.

    Raises:
        EnvironmentFailed: Something could not be downloaded, built or imported.
    """
    folder = cache or default_cache()
    return Environment(release, python=ensure_python(folder), wheel=ensure_wheel(release, folder))


def ensure_wheel(release: str, cache: Path) -> Path:
    """Return the folder with the unpacked wheel of *release*.

    Raises:
        EnvironmentFailed: The wheel could not be downloaded.
    """
    folder = cache / "wheels" / release
    with _once(folder) as missing:
        if missing:
            downloads = folder.with_name(f"{release}.download")
            command = ["download", "--no-deps", "--only-binary=:all:", "--dest", str(downloads), f"sglang=={release}"]
            _pip(Path(sys.executable), command, f"SGLang {release} could not be downloaded")
            for wheel in downloads.glob("*.whl"):
                with zipfile.ZipFile(wheel) as archive:
                    archive.extractall(folder)
            shutil.rmtree(downloads)
    return folder


def ensure_python(cache: Path) -> Path:
    """Return the interpreter of the isolated environment.

    Raises:
        EnvironmentFailed: A pinned package could not be had, or torch or transformers do not import.
    """
    version = "{}.{}".format(*sys.version_info)
    pins = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:12]
    folder = cache / "environments" / f"{version}-{pins}"
    python = folder / "bin" / "python"
    with _once(folder) as missing:
        if missing:
            _run([sys.executable, "-m", "venv", str(folder)], "the environment could not be made")
            # Every package is pinned, so none needs its dependencies looked up. That also keeps the CUDA libraries
            # away, which torch from an index of GPU builds would bring along.
            command = ["install", "--no-deps", "--only-binary=:all:", "--requirement", str(REQUIREMENTS)]
            _pip(python, command, "the pinned packages could not be installed")
            _run(
                [str(python), "-I", "-c", _PROBE],
                "torch or transformers do not import. Argument handling needs torch's CPU build: point pip at an index"
                " or folder that has it (PIP_EXTRA_INDEX_URL, PIP_FIND_LINKS)",
            )
    return python


@contextmanager
def _once(folder: Path) -> Iterator[bool]:
    """Give whether *folder* is still to be filled, one process at a time; without an error it is complete afterwards."""
    if (folder / _COMPLETE).exists():
        yield False
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / _COMPLETE).exists():
            yield False
            return
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        print(f"filling {folder} ...", file=sys.stderr, flush=True)
        yield True
        (folder / _COMPLETE).touch()


def _pip(python: Path, arguments: list[str], failure: str) -> None:
    _run([str(python), "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments], failure)


def _run(command: list[str], failure: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise EnvironmentFailed(f"For the real SGLang: {failure}. What was said last: {done.stderr.strip()[-1500:]}")
