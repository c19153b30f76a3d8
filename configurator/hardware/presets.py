"""Machines to configure for without having one: published figures, each with its source."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import cast

from configurator.core.errors import InputError
from configurator.core.unknown import Unknown
from configurator.hardware import codec
from configurator.hardware.snapshot import HardwareSnapshot

PRESET_NAMES = (
    "cpu",
    "a100x8",
    "h100x8",
    "h200x8",
    "h20x8",
    "b200x8",
    "b300x8",
    "gb200-nvl72",
    "gb300-nvl72",
    "rtxpro6000x8",
    "mi300x8",
    "mi355x8",
    "max1550x8",
    "arc-b60x4",
    "ascend910bx8",
)
"""The presets, in the order in which pickers show them."""

DEFAULT_PRESET = "h200x8"
"""Assumed where nothing is given and no GPU is here: the fp8 weights of DeepSeek-V3.1 fit it."""

_FOLDER = Path(__file__).parent / "presets"
_SCHEMA = 1


@cache
def preset(name: str) -> HardwareSnapshot:
    """Return the preset called *name*.

    Raises:
        InputError: There is none of that name.
    """
    if name not in PRESET_NAMES:
        raise InputError(f"No hardware preset {name!r}. There are: {', '.join(PRESET_NAMES)}.", part=name)
    document = json.loads((_FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    if document["schema"] != _SCHEMA:
        raise InputError(f"The preset {name} has schema {document['schema']}, not {_SCHEMA}.", part=name)
    sources: dict[str, str] = {}
    values = cast("dict[str, object]", _unwrap(document, sources, ""))
    return codec.decode({**values, "kind": codec.KIND, "assumed": True, "sources": sources}, part=f"preset {name}")


def list_presets() -> tuple[HardwareSnapshot, ...]:
    """Return every preset, in the order of :data:`PRESET_NAMES`. Reads the files on first use."""
    return tuple(preset(name) for name in PRESET_NAMES)


def published_rates(gpu_name: str) -> tuple[float | Unknown | None, float | Unknown | None]:
    """Return the dense bf16 and fp8 rates, in TFLOP/s, of the preset whose GPU has exactly this name."""
    for known in list_presets():
        if known.gpu_name == gpu_name:
            return known.bf16_tflops, known.fp8_tflops
    reason = f"no published rate is on file for {gpu_name}"
    return Unknown(reason), Unknown(reason)


def _unwrap(value: object, sources: dict[str, str], where: str) -> object:
    """Return *value* with each ``{"value", "source"}`` replaced by its value, its source noted under its path."""
    if not isinstance(value, Mapping):
        return value
    if "value" in value:
        sources[where] = str(value["source"])
        return value["value"]
    if "unknown" in value:
        return value
    return {key: _unwrap(item, sources, f"{where}.{key}".lstrip(".")) for key, item in value.items()}
