"""Hardware snapshots as JSON and back, with every value checked against the type its field declares.

An Unknown is written as ``{"unknown": "the reason"}``. A reader accepts additional keys, and refuses another schema,
a missing or mistyped field, and anything that is no JSON.
"""

from __future__ import annotations

import dataclasses
import json
import math
import types
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal, Union, get_args, get_origin, get_type_hints

from configurator.core.errors import InputError
from configurator.core.unknown import Unknown
from configurator.hardware.snapshot import HardwareSnapshot

SCHEMA = 1
KIND = "hardware-snapshot"
_MAX_BYTES = 4 * 2**20
_REMEDY = "Take a new one with: dcp-configurator probe --json"


def encode(snapshot: HardwareSnapshot) -> dict[str, object]:
    """Return *snapshot* as a JSON document."""
    return {"schema": SCHEMA, "kind": KIND, **_plain_fields(snapshot)}


def decode(document: object, *, part: str = "snapshot") -> HardwareSnapshot:
    """Return the snapshot in *document*.

    Args:
        document: Parsed JSON.
        part: What messages call it.

    Raises:
        InputError: It is no snapshot, of another schema, or a field is missing or of the wrong type.
    """
    if not isinstance(document, Mapping) or document.get("kind") != KIND:
        raise InputError(f'{part} is no hardware snapshot: it lacks "kind": "{KIND}". {_REMEDY}.', part=part)
    if document.get("schema") != SCHEMA or isinstance(document.get("schema"), bool):
        raise InputError(
            f"{part} has schema {document.get('schema')!r}; this version reads schema {SCHEMA}. {_REMEDY}.", part=part
        )
    value = _read_class(HardwareSnapshot, document, part)
    if not isinstance(value, HardwareSnapshot):  # only for the type checker
        raise TypeError
    return value


def write(snapshot: HardwareSnapshot, path: str | Path) -> None:
    """Write *snapshot* to *path*.

    Raises:
        InputError: The file cannot be written.
    """
    text = json.dumps(encode(snapshot), indent=1, ensure_ascii=False, allow_nan=False)
    try:
        Path(path).write_text(text + "\n", encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be written: {error}. Choose another place.", part=str(path)) from None


def read(path: str | Path) -> HardwareSnapshot:
    """Return the snapshot in the file *path*.

    Raises:
        InputError: The file cannot be read, is no JSON, or is no snapshot of this schema.
    """
    part = str(path)
    try:
        if Path(path).stat().st_size > _MAX_BYTES:
            raise InputError(f"{part} is larger than any snapshot ({_MAX_BYTES // 2**20} MiB). {_REMEDY}.", part=part)
        document = json.loads(Path(path).read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise InputError(f"{part} cannot be read: {error.strerror or error}. {_REMEDY}.", part=part) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{part} is no JSON, or cut off: {error}. {_REMEDY}.", part=part) from None
    return decode(document, part=part)


def _plain_fields(value: object) -> dict[str, object]:
    return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}  # type: ignore[arg-type]


def _plain(value: object) -> object:
    if isinstance(value, Unknown):
        return {"unknown": value.reason}
    if dataclasses.is_dataclass(value):
        return _plain_fields(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return value


@cache
def _hints(cls: type) -> dict[str, object]:
    return get_type_hints(cls)


def _read_class(cls: type, document: Mapping[str, object], part: str) -> object:
    values: dict[str, object] = {}
    for field in dataclasses.fields(cls):
        if field.name in document:
            values[field.name] = _read(_hints(cls)[field.name], document[field.name], f"{part}, {field.name}")
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise InputError(f'{part} has no "{field.name}". {_REMEDY}.', part=field.name)
    return cls(**values)


def _read(hint: object, value: object, part: str) -> object:
    options = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    for option in options:
        matched, result = _read_as(option, value, part)
        if matched:
            return result
    raise InputError(f"{part} is {value!r:.60}, which is not of the kind that belongs there. {_REMEDY}.", part=part)


def _read_as(option: object, value: object, part: str) -> tuple[bool, object]:  # noqa: C901  # one branch a type
    origin = get_origin(option)
    if origin is Literal:
        return value in get_args(option), value
    if origin is tuple:
        if not isinstance(value, list):
            return False, None
        return True, tuple(_read(get_args(option)[0], item, f"{part}[{i}]") for i, item in enumerate(value))
    if origin is Mapping:
        if not isinstance(value, Mapping):
            return False, None
        return True, {str(key): _read(get_args(option)[1], item, f"{part}.{key}") for key, item in value.items()}
    if option is Unknown:
        reason = value.get("unknown") if isinstance(value, Mapping) and len(value) == 1 else None
        return isinstance(reason, str), Unknown(reason) if isinstance(reason, str) else None
    if isinstance(option, type) and dataclasses.is_dataclass(option):
        if not isinstance(value, Mapping) or set(value) == {"unknown"}:
            return False, None
        return True, _read_class(option, value, part)
    if option is type(None):
        return value is None, None
    if option is float:
        number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
        return number, value
    if option is int:
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0, value
    return isinstance(option, type) and isinstance(value, option), value
