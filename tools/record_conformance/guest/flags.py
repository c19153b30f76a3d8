"""Describe every option of the release's own argument parser, without its help text."""

from __future__ import annotations

import argparse
import re
from typing import Any

_FLAG = re.compile(r"--[a-z0-9][a-z0-9-]*(?:=[a-z0-9_]+)?")


def plain(value: Any) -> Any:
    """Turn a default, constant or choice into JSON; an enum member becomes its value."""
    if isinstance(value, (bool, int, float, str, type(None))) and type(value) in (bool, int, float, str, type(None)):
        return value
    if hasattr(value, "value"):
        return plain(value.value)
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return sorted(plain(item) for item in value)
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return {"repr": repr(value)}


def describe(action: argparse.Action) -> dict[str, Any]:
    """Return the facts of one option: names, type, choices, default, and what it was deprecated for."""
    new_flag = getattr(action, "new_flag", None)
    text = getattr(action, "error_message", None) or (action.help if isinstance(action.help, str) else "") or ""
    says_deprecated = re.match(r"\W*(deprecated|removed|note: .* is deprecated)", text, re.IGNORECASE) is not None
    mentioned = [flag for flag in _FLAG.findall(text) if flag not in action.option_strings]
    const = getattr(action, "const_value", None)
    return {
        "class": type(action).__name__,
        "dest": action.dest,
        "spellings": list(action.option_strings),
        "nargs": action.nargs,
        "const": plain(const if const is not None else action.const),
        "suppressed": action.default is argparse.SUPPRESS,
        "default": None if action.default is argparse.SUPPRESS else plain(action.default),
        "type": getattr(action.type, "__name__", repr(action.type)) if action.type is not None else None,
        "choices": None if action.choices is None else plain(list(action.choices)),
        "ordered": not isinstance(action.choices, (set, frozenset)),
        "required": action.required,
        "error": getattr(action, "error_message", None) is not None,
        "deprecated": says_deprecated or new_flag is not None or "deprecat" in type(action).__name__.lower(),
        "new_flag": new_flag,
        "mentioned": mentioned[:4] if says_deprecated else [],
    }


def describe_all(add_cli_args: Any) -> list[dict[str, Any]]:
    """Build the release's parser and describe its options in the order it declares them."""
    parser = argparse.ArgumentParser(prog="sglang serve")
    add_cli_args(parser)
    return [describe(action) for action in parser._actions]  # noqa: SLF001 - argparse offers no other way
