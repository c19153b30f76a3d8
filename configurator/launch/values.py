"""Values of flags: text to typed value as the release's parser converts it, and back."""

from __future__ import annotations

import json
import re
from decimal import Decimal

from configurator.core.flag import FlagSpec, FlagValue, Scalar

_SUFFIXED = re.compile(r"(\d+(?:\.\d+)?)(Ki|Mi|Gi|Ti|k|M|G|T)")
_FACTORS = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_TYPE_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "json": "JSON text",
    "bool": "true or false",
    "human_int": "a whole number, plain or with a suffix such as 64k, 1M or 16Ki",
}


def convert(spec: FlagSpec, text: str) -> Scalar:
    """Return *text* as the value the parser makes of it.

    JSON is checked and kept as text, since spelling and order belong to the user.

    Raises:
        ValueError: If the parser would refuse the text.
    """
    kind = spec.type
    if kind == "int":
        return int(text)
    if kind == "str":
        return text
    if kind == "float":
        return float(text)
    if kind == "json":
        try:
            json.loads(text)
        except RecursionError:
            raise ValueError("nested too deeply") from None
        return text
    if kind == "human_int":
        return _human_int(text)
    if kind == "nullable_str":
        return None if text in ("", "None") else text
    if kind == "bool":
        return bool(text)
    return text


def _human_int(text: str) -> int:
    """Read a count with a decimal or binary suffix (``25.6k``, ``16Ki``); binary suffixes take whole numbers only."""
    match = _SUFFIXED.fullmatch(text.strip())
    if match is None:
        return int(text)
    number, suffix = match.groups()
    if suffix.endswith("i"):
        return int(number) * _FACTORS[suffix]
    return int(Decimal(number) * _FACTORS[suffix])


def type_words(spec: FlagSpec) -> str:
    """Return what kind of value *spec* takes, in words."""
    return _TYPE_WORDS.get(spec.type, "text")


def value_words(spec: FlagSpec, value: FlagValue) -> list[str]:
    """Return the words that follow the flag for *value*; reading them back gives *value*."""
    if isinstance(value, tuple):
        return [_scalar_word(item) for item in value]
    if spec.nargs == "?" and value == "":
        return []
    return [_scalar_word(value)]


def _scalar_word(value: Scalar) -> str:
    if value is None:
        return "None"
    if value is True or value is False:
        return "true" if value else "false"
    return value if isinstance(value, str) else repr(value)
