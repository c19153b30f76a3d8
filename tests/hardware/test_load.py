"""The hardware a user names."""

from __future__ import annotations

import subprocess
import sys

import pytest

from configurator.core.errors import InputError
from configurator.hardware import DEFAULT_PRESET, PRESET_NAMES, default_hardware, load_hardware, nvml
from configurator.hardware.presets import preset


@pytest.mark.parametrize("written", ["h100x8", "H100x8", " h100x8 ", "H100X8"])
def test_a_preset_is_found_however_it_is_written(written):
    assert load_hardware(written) is preset("h100x8")


@pytest.mark.parametrize(
    ("written", "near"),
    [("h100", "h100x8"), ("h200x4", "h200x8"), ("gb200", "gb200-nvl72"), ("mi300", "mi300x8"), ("b300-x8", "b300x8")],
)
def test_an_unknown_name_is_answered_with_the_nearest(written, near):
    with pytest.raises(InputError) as refused:
        load_hardware(written)
    message = str(refused.value)
    assert message.startswith(f"No hardware '{written}'")
    assert near in message.split("Near it: ", 1)[1].split(". Presets", 1)[0].split(", ")
    assert refused.value.part == written


def test_a_name_like_nothing_lists_what_there_is():
    with pytest.raises(InputError) as refused:
        load_hardware("zzzzz")
    assert "Near it" not in str(refused.value)
    for name in PRESET_NAMES:
        assert name in str(refused.value)
    assert "probe --json" in str(refused.value)


@pytest.mark.parametrize("name", ["", "x" * 10_000, "a\0b", "~nobody-of-that-name/x", "/", "."])
def test_a_name_no_file_can_have_is_an_error_of_the_user(name):
    with pytest.raises(InputError) as refused:
        load_hardware(name)
    assert len(str(refused.value)) < 700


def test_local_is_this_machine():
    assert load_hardware("local").name == "local"
    assert load_hardware("LOCAL").assumed is False


def test_without_a_name_this_machine_counts_where_it_has_a_gpu(machine, monkeypatch):
    from tests.hardware.conftest import H100

    here = machine(H100)
    monkeypatch.setattr(nvml, "probe", lambda: here)
    assert default_hardware() is here
    assert load_hardware(None) is here


def test_without_a_name_and_a_gpu_the_default_preset_is_assumed(machine, monkeypatch):
    here = machine("count 0\n")
    monkeypatch.setattr(nvml, "probe", lambda: here)
    assert load_hardware(None) is preset(DEFAULT_PRESET)
    assert load_hardware(None).assumed is True
    assert DEFAULT_PRESET == "h200x8"


def test_a_probe_without_the_binding_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    here = nvml.probe()
    assert here.problems == (
        "No GPU is visible: the package nvidia-ml-py is not installed; pip install nvidia-ml-py.",
    )  # fmt: skip


def test_naming_a_preset_loads_no_binding():
    code = (
        "import sys, configurator.hardware as h; h.load_hardware('h100x8'); print('pynvml' in sys.modules)\n"
        "h.load_hardware('local'); print('pynvml' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["False", "True"]
