"""What SGLang says: flags, rules and resolutions of each release, as data.

Importing this package reads nothing; :func:`release` builds a release when it is first asked for.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module

from configurator.core.errors import InputError
from configurator.core.release import Release

VERSIONS = ("0.5.15", "0.5.16", "0.5.17", "0.5.18", "0.5.19", "0.5.20", "0.5.21", "0.5.22", "0.5.23")
"""Releases whose rules are written down, oldest first. Decode context parallelism appears in 0.5.15."""

NEWEST = VERSIONS[-1]


@lru_cache(maxsize=len(VERSIONS))
def release(version: str) -> Release:
    """Return the catalogue of SGLang *version*.

    Raises:
        InputError: The version is not in :data:`VERSIONS`. It is never replaced by a neighbour silently.
    """
    name = version.strip().removeprefix("v")
    if name not in VERSIONS:
        raise InputError(
            f"SGLang {version} is not a release this catalogue knows ({VERSIONS[0]} to {VERSIONS[-1]}). "
            "Its rules may differ from any of them; choose one of these to compare with.",
            part=version,
        )
    module = import_module(f"configurator.catalog.releases.v{name.replace('.', '_')}")
    found = module.RELEASE
    if not isinstance(found, Release):
        raise TypeError(f"{module.__name__}.RELEASE is no Release")
    return found


@lru_cache(maxsize=512)
def lifetime(slug: str) -> tuple[str, str | None]:
    """Return the first release with the rule or resolution *slug*, and the last, ``None`` where the newest has it.

    Raises:
        InputError: No release has it.
    """
    having = [version for version in VERSIONS if slug in _slugs(version)]
    if not having:
        raise InputError(f"No rule is called {slug}.", part=slug)
    return having[0], None if having[-1] == NEWEST else having[-1]


@lru_cache(maxsize=len(VERSIONS))
def _slugs(version: str) -> frozenset[str]:
    found = release(version)
    return frozenset(item.slug for items in (found.rules, found.resolutions) for item in items.values())
