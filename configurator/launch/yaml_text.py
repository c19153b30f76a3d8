"""Writing YAML: mappings and lists in blocks, every text that could be read as anything else in double quotes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from configurator.core.errors import InputError

YamlValue = str | int | float | bool | None | Sequence["YamlValue"] | Mapping[str, "YamlValue"]

_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*")
_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"))
_NAMED = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def scalar(value: str | float | None) -> str:
    """Return *value* as a YAML scalar; a text is quoted unless it can be nothing but a text.

    Raises:
        InputError: If a text contains half a surrogate pair, which YAML cannot hold.
    """
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if not isinstance(value, str):
        return repr(value)
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return '"' + "".join(_character(c) for c in value) + '"'


def _character(char: str) -> str:
    if char in _NAMED:
        return _NAMED[char]
    code = ord(char)
    if 0xD800 <= code < 0xE000:
        raise InputError(
            "A value contains half a surrogate pair (a broken character), which YAML cannot hold.", part="value"
        )
    if char.isprintable() and code not in (0xFEFF, 0xFFFE, 0xFFFF):
        return char
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def dump(value: Mapping[str, YamlValue]) -> str:
    """Return a mapping as a YAML document in block style, ending in a line end."""
    return "\n".join(_mapping(value, "")) + "\n"


def _mapping(value: Mapping[str, YamlValue], indent: str) -> list[str]:
    lines: list[str] = []
    for key, item in value.items():
        head = f"{indent}{scalar(key)}:"
        if isinstance(item, Mapping) and item:
            lines += [head, *_mapping(item, f"{indent}  ")]
        elif isinstance(item, Sequence) and not isinstance(item, str) and item:
            lines += [head, *_list(item, f"{indent}  ")]
        else:
            lines.append(f"{head} {_leaf(item)}")
    return lines


def _list(value: Sequence[YamlValue], indent: str) -> list[str]:
    lines: list[str] = []
    for item in value:
        if isinstance(item, Mapping) and item:
            inner = _mapping(item, f"{indent}  ")
            lines += [f"{indent}- {inner[0].lstrip()}", *inner[1:]]
        else:
            lines.append(f"{indent}- {_leaf(item)}")
    return lines


def _leaf(item: YamlValue) -> str:
    if isinstance(item, Mapping):
        return "{}"
    if isinstance(item, Sequence) and not isinstance(item, str):
        return f"[{', '.join(_leaf(part) for part in item)}]"
    return scalar(item)
