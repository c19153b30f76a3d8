"""The machine to launch on: presets, saved snapshots, and a probe of this one.

The names below are loaded when first used, so that importing the package costs next to nothing and reads no file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from configurator.hardware.load import default_hardware, load_hardware
    from configurator.hardware.nvml import probe
    from configurator.hardware.presets import DEFAULT_PRESET, PRESET_NAMES, list_presets
    from configurator.hardware.snapshot import FabricInfo, GpuInfo, HardwareSnapshot, LinkInfo

_HOME = {
    "default_hardware": "load",
    "load_hardware": "load",
    "probe": "nvml",
    "DEFAULT_PRESET": "presets",
    "PRESET_NAMES": "presets",
    "list_presets": "presets",
    "FabricInfo": "snapshot",
    "GpuInfo": "snapshot",
    "HardwareSnapshot": "snapshot",
    "LinkInfo": "snapshot",
}

__all__ = [
    "DEFAULT_PRESET",
    "PRESET_NAMES",
    "FabricInfo",
    "GpuInfo",
    "HardwareSnapshot",
    "LinkInfo",
    "default_hardware",
    "list_presets",
    "load_hardware",
    "probe",
]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    return getattr(import_module(f"configurator.hardware.{_HOME[name]}"), name)
