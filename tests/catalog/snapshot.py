"""What each release adds to and takes from the one before it, as text: ``python tests/catalog/snapshot.py`` writes the files.

Run it after a change of flags or rules and read the difference before you commit it: it is what the change means.
"""

from __future__ import annotations

from pathlib import Path

from configurator.catalog import VERSIONS, release
from configurator.core.flag import FlagSpec
from configurator.core.release import Release
from configurator.core.rule import Rule

FOLDER = Path(__file__).with_name("snapshots")


def path(version: str) -> Path:
    """Return the file of *version*."""
    return FOLDER / f"{version}.txt"


def render(version: str) -> str:
    """Return the snapshot of *version*: a line for each flag, rule, resolution and version that comes or goes."""
    now = _lines(release(version))
    at = VERSIONS.index(version)
    before = _lines(release(VERSIONS[at - 1])) if at else frozenset()
    changes = [*(("+", line) for line in now - before), *(("-", line) for line in before - now)]
    changes.sort(key=lambda change: (change[1].split()[:2], change[0] == "+", change[1]))
    return "".join(f"{sign} {line}\n" for sign, line in changes)


def _lines(catalogue: Release) -> frozenset[str]:
    flags = [f"flag {_flag(spec)}" for spec in catalogue.table.values()]
    modelled = [f"modelled {dest}" for dest in catalogue.modelled]
    results = [f"result {name}" for name in catalogue.results]
    rules = [f"rule {_rule(item)}" for item in catalogue.rules.values()]
    resolutions = [
        f"resolution {item.code} {item.slug} sets {', '.join(item.sets)}" for item in catalogue.resolutions.values()
    ]
    software = [f"software {name.partition('.')[2]} {version}" for name, version in catalogue.software.items()]
    return frozenset((*flags, *modelled, *results, *rules, *resolutions, *software))


def _flag(spec: FlagSpec) -> str:
    parts = [spec.dest, "|".join(spec.spellings), spec.type if spec.action == "store" else spec.action]
    if spec.nargs not in (None, "0"):
        parts.append(f"nargs {spec.nargs}")
    if spec.choices is not None:
        parts.append(f"of {','.join(map(str, spec.choices))}")
    if spec.default not in (None, False):
        parts.append(f"default {spec.default}")
    if spec.deprecated:
        parts.append("deprecated")
    return " ".join(parts)


def _rule(rule: Rule) -> str:
    return f"{rule.code} {rule.slug} {rule.effect.value} {rule.stage.value}"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for version in VERSIONS:
        path(version).write_text(render(version), encoding="utf-8")
