"""The flags of each release, extracted from its own argument parser into ``flags.json``.

``tools/build_flag_table.py`` writes that file. It holds spellings, types, choices and defaults as a CUDA machine sees
them, and no help text of upstream's.
"""

from __future__ import annotations

import json
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from configurator.core.errors import InputError
from configurator.core.flag import FlagSpec, FlagTable, FlagValue

_FILE = Path(__file__).with_name("flags.json")


@lru_cache(maxsize=1)
def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(_FILE.read_text(encoding="utf-8"))
    return document


def known_releases() -> tuple[str, ...]:
    """Return the releases whose flags are known, oldest first."""
    return tuple(_document()["releases"])


@cache
def flag_table(release: str) -> FlagTable:
    """Return the flags of *release*.

    Raises:
        InputError: The release is not among :func:`known_releases`.
    """
    releases = known_releases()
    if release not in releases:
        raise InputError(f"The flags of SGLang {release} are not known.", part=release)
    place = {name: i for i, name in enumerate(releases)}
    at = place[release]
    return FlagTable(
        release,
        (_spec(entry) for entry in _document()["flags"] if place[entry["in"][0]] <= at <= place[entry["in"][1]]),
    )


def _spec(entry: dict[str, Any]) -> FlagSpec:
    action = entry.get("action", "store")
    choices = entry.get("choices")
    replaced = entry.get("replaced") or {}
    main = entry["spellings"][0]
    return FlagSpec(
        dest=entry["dest"],
        spellings=tuple(entry["spellings"]),
        type="bool" if action in ("true", "false", "boolean") else entry.get("type", "str"),
        choices=None if choices is None else tuple(choices),
        default=_default(entry, action),
        nargs="0" if action in ("true", "false", "boolean", "help") else entry.get("nargs"),
        action=action,
        deprecated=None if main not in replaced else f"use {replaced[main]}" if replaced[main] else "no longer needed",
    )


def _default(entry: dict[str, Any], action: str) -> FlagValue:
    value = entry.get("default", False if action == "true" else None)
    if isinstance(value, list):
        return tuple(value)
    if isinstance(value, dict):
        return json.dumps(value, sort_keys=True)
    known: FlagValue = value
    return known


@lru_cache(maxsize=1024)
def flag_history(spelling: str) -> str | None:
    """Return what became of the option *spelling* over the releases, as a phrase, or ``None`` if none has it."""
    having = [release for release in known_releases() if spelling in flag_table(release).spellings]
    if not having:
        return None
    first, last = having[0], having[-1]
    oldest, newest = known_releases()[0], known_releases()[-1]
    parts = []
    if first != oldest:
        parts.append(f"it appears in {first}")
    if last != newest:
        parts.append(f"{last} is the last release with it")
    return " and ".join(parts) or None
