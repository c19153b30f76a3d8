"""Writes constraints.txt: the exact version of every package that the Makefile installs.

What to pin is the closure of what pyproject.toml asks for, as it stands in the environment that runs this script. Two
things cannot be read off one machine and are kept by hand below: what pip builds the package with, and the CUDA
libraries that torch asks for on Linux where the wheel is not the CPU build.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent

#: What every environment has before anything is asked for.
INSTALLER = "pip"

#: The libraries of the CUDA build of torch, which a machine with the CPU build does not have. Source: the metadata of
#: torch 2.13.0 and of cuda-toolkit 13.0.3.0, resolved by pip on Linux x86-64.
TORCH_CUDA_PINS: dict[str, str] = {
    "cuda-bindings": "13.5.0",
    "cuda-pathfinder": "1.9.1",
    "cuda-toolkit": "13.0.3.0",
    "nvidia-cublas": "13.1.1.3",
    "nvidia-cuda-cupti": "13.0.85",
    "nvidia-cuda-nvrtc": "13.0.88",
    "nvidia-cuda-runtime": "13.0.96",
    "nvidia-cudnn-cu13": "9.20.0.48",
    "nvidia-cufft": "12.0.0.61",
    "nvidia-cufile": "1.15.1.6",
    "nvidia-curand": "10.4.0.35",
    "nvidia-cusolver": "12.0.4.66",
    "nvidia-cusparse": "12.6.3.3",
    "nvidia-cusparselt-cu13": "0.8.1",
    "nvidia-nccl-cu13": "2.29.7",
    "nvidia-nvjitlink": "13.5.37",
    "nvidia-nvshmem-cu13": "3.4.5",
    "nvidia-nvtx": "13.0.85",
    "triton": "3.7.1",
}

HEADER = """\
# Every version that `make app`, `make test` and `make lint` install. Written by tools/pin_constraints.py (`make pins`).
# torch has no local suffix on purpose: pip then takes the CUDA build, the CPU build or your own wheel, whichever the
# machine offers.
"""


def wanted(pyproject: Path = ROOT / "pyproject.toml") -> list[Requirement]:
    """Returns everything that pyproject.toml asks for: dependencies, all extras and all groups."""
    table = tomllib.loads(pyproject.read_text(encoding="utf-8"))
    lines: list[str] = list(table["project"]["dependencies"])
    for extra in table["project"]["optional-dependencies"].values():
        lines += extra
    for group in table["dependency-groups"].values():
        lines += [entry for entry in group if isinstance(entry, str)]
    return [Requirement(line) for line in lines]


def closure(requirements: list[Requirement]) -> dict[str, str]:
    """Returns name -> installed version of the requirements and of all that they need in turn on this machine.

    Raises:
        metadata.PackageNotFoundError: A needed package is not installed here.
    """
    pins: dict[str, str] = {}
    todo = list(requirements)
    seen: set[tuple[str, str]] = set()
    while todo:
        requirement = todo.pop()
        name = canonicalize_name(requirement.name)
        installed = metadata.distribution(name)
        pins[name] = str(Version(installed.version).public)
        for extra in {"", *requirement.extras}:
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            for line in installed.requires or ():
                needed = Requirement(line)
                on_this_machine = needed.marker is None or needed.marker.evaluate({"extra": extra})
                # Torch's CUDA libraries are in the table above: they are absent beside a CPU build.
                if on_this_machine and canonicalize_name(needed.name) not in TORCH_CUDA_PINS:
                    todo.append(needed)
    return pins


def render(pins: dict[str, str]) -> str:
    """Returns the text of constraints.txt for the given pins."""
    lines = [f"{name}=={version}" for name, version in pins.items()]
    lines += [f'{name}=={version} ; platform_system == "Linux"' for name, version in TORCH_CUDA_PINS.items()]
    return HEADER + "\n".join(sorted(lines)) + "\n"


def read_pins(path: Path = ROOT / "constraints.txt") -> dict[str, str]:
    """Returns name -> version from a constraints file."""
    pins: dict[str, str] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        if match := re.match(r"([A-Za-z0-9._-]+)==([^\s;]+)", line):
            pins[canonicalize_name(match[1])] = match[2]
    return pins


def main() -> int:
    """Writes the file, or with ``--check`` says whether it is up to date; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 if constraints.txt is out of date")
    options = parser.parse_args()
    text = render(closure([*wanted(), Requirement(INSTALLER)]))
    target = ROOT / "constraints.txt"
    if options.check:
        current = target.read_text(encoding="utf-8")
        if current != text:
            print(
                "constraints.txt differs from what is installed here; write it anew with `make pins`.", file=sys.stderr
            )
        return int(current != text)
    target.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
