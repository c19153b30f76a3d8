"""Values of flags: text to typed value as the release's parser converts it, and back."""

from __future__ import annotations

import json
import re
from decimal import Decimal

from configurator.core.errors import InputError
from configurator.core.flag import FlagSpec, FlagValue, Scalar
from configurator.launch.problem import shown

_SUFFIXED = re.compile(r"(\d+(?:\.\d+)?)(Ki|Mi|Gi|Ti|k|M|G|T)")
_FACTORS = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_NEGATIVE_NUMBER = re.compile(r"-[0-9]+|-[0-9]*\.[0-9]+")  # what every version of argparse takes for a number
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


def reads_as_flag(text: str) -> bool:
    """Tell whether argparse may take *text* for a flag where it stands as a word of its own."""
    return text[:1] == "-" and len(text) > 1 and _NEGATIVE_NUMBER.fullmatch(text) is None


def sayable_words(spec: FlagSpec, value: FlagValue) -> list[str]:
    """Return :func:`value_words`, but only if a command line can say them.

    Raises:
        InputError: A value contains a NUL, there are too many or too few values for the flag, or one of several values
            would be taken for a flag.
    """
    words = value_words(spec, value)
    name = spec.primary
    if any("\0" in word for word in words):
        message = f"{name}: its value contains a NUL character, which no program can be given; take it out."
        raise InputError(message, part=spec.dest)
    if spec.nargs in (None, "?") and len(words) > 1:
        raise InputError(f"{name} takes one value, not {len(words)}; give one.", part=spec.dest)
    if not words and spec.nargs not in ("?", "*"):
        raise InputError(f"{name} needs a value; give one, or leave the flag out.", part=spec.dest)
    if len(words) > 1 and (dashed := next((word for word in words if reads_as_flag(word)), None)) is not None:
        raise InputError(
            f"{name}: {shown(dashed)} begins with a dash, so the server would take it for a flag of its own; a value like "
            "that can be given only alone.",
            part=spec.dest,
        )
    return words


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
    if isinstance(value, float) and value < 0 and "e" in repr(value):
        return format(
            Decimal(repr(value)), "f"
        )  # argparse takes -1e+16 for a flag, and -10000000000000000 for a number
    return value if isinstance(value, str) else repr(value)
