"""Finding the hardware a user names: a preset, a snapshot file, or the machine itself."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from configurator.core.errors import InputError
from configurator.hardware import codec
from configurator.hardware.presets import DEFAULT_PRESET, PRESET_NAMES, preset
from configurator.hardware.snapshot import HardwareSnapshot


def load_hardware(source: str | Path | None) -> HardwareSnapshot:
    """Return the hardware called *source*.

    Args:
        source: Preset name (whatever its case), path of a snapshot file, ``local`` for this machine, or ``None`` for
            :func:`default_hardware`.

    Raises:
        InputError: Nothing is called so, or the file is no snapshot.
    """
    if source is None:
        return default_hardware()
    text = str(source).strip()
    if text.casefold() in PRESET_NAMES:
        return preset(text.casefold())
    if text.casefold() == "local":
        from configurator.hardware.nvml import probe  # noqa: PLC0415  # the binding is loaded only to probe

        return probe()
    try:
        is_file = Path(text).expanduser().is_file()
    except (OSError, ValueError, RuntimeError):  # a name no file system takes
        is_file = False
    if is_file:
        path = Path(text).expanduser()
        return dataclasses.replace(codec.read(path), name=path.name)
    raise _no_such_hardware(text)


def default_hardware() -> HardwareSnapshot:
    """Return this machine where it has a usable GPU, else the default preset, marked assumed."""
    here = load_hardware("local")
    return here if here.gpus else preset(DEFAULT_PRESET)


def _no_such_hardware(text: str) -> InputError:
    from difflib import get_close_matches  # noqa: PLC0415  # costs milliseconds, needed for this message only

    near = get_close_matches(text.casefold(), PRESET_NAMES, n=3, cutoff=0.5)
    hint = f" Near it: {', '.join(near)}." if near else ""
    return InputError(
        f"No hardware {text!r:.60}: neither a file nor a preset.{hint} Presets: {', '.join(PRESET_NAMES)}; "
        f'"local" is this machine; a snapshot file comes from: dcp-configurator probe --json.',
        part=text,
    )
