"""Machines that do not exist: the real NVML binding over a driver library built from ``fake_nvml.c``."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from configurator.hardware import codec

SOURCE = Path(__file__).with_name("fake_nvml.c")
LIBRARY = "libnvidia-ml.so.1"
PROBE = (
    "import json, sys, configurator.hardware as h; from configurator.hardware.codec import encode; "
    "json.dump(encode(h.probe()), sys.stdout)"
)

H100 = """
count 8
name NVIDIA H100 80GB HBM3
memory_mib 81559
sm 90
mig 0
links 18
link_version 6
link_remote 2
pcie_generation 5
pcie_width 16
clock_sm 1980
clock_sm_max 1980
clock_mem 2619
bus_width 5120
throttle 0
fabric_state 3
"""


def build(folder, *options):
    """Compile the stand-in driver library into *folder*."""
    compiler = next((path for name in ("cc", "gcc", "clang") if (path := shutil.which(name))), None)
    assert compiler, "the hardware tests build a small library: install a C compiler (apt-get install gcc libc6-dev)"
    command = [compiler, "-shared", "-fPIC", "-O1", "-std=c11", "-Wall", "-Wextra", "-Werror", *options]
    done = subprocess.run(
        [*command, "-o", str(folder / LIBRARY), str(SOURCE)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def drivers(tmp_path_factory):
    """Folders to put on the library path, by name: a present driver, one without newer entry points, none at all."""
    return {
        "driver": build(tmp_path_factory.mktemp("driver")),
        "old": build(tmp_path_factory.mktemp("old-driver"), "-DOLD_DRIVER"),
        "none": tmp_path_factory.mktemp("no-driver"),
    }


@pytest.fixture
def machine(drivers, tmp_path):
    """Probe a machine, described as ``fake_nvml.c`` says, in a process of its own; return the snapshot."""

    def probe(scenario="", driver="driver"):
        path = tmp_path / "scenario"
        path.write_bytes(scenario.encode() if isinstance(scenario, str) else scenario)
        done = subprocess.run(
            [sys.executable, "-c", PROBE],
            env={**os.environ, "LD_LIBRARY_PATH": str(drivers[driver]), "FAKE_NVML": str(path)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return codec.decode(json.loads(done.stdout))

    return probe
