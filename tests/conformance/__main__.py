"""Print how far the catalogue agrees with the recorded servers: ``python -m tests.conformance [--groups N] [--ids]``."""

# ruff: noqa: T201 - a command-line report prints

from __future__ import annotations

import argparse
import json
from collections import Counter

from tests.conformance.agreement import Compared, compare_all, measure
from tests.conformance.corpus import DATA, corpus


def groups(compared: list[Compared]) -> Counter[tuple[str, ...]]:
    """Return the kinds of disagreement, with how many cases each has."""
    found: Counter[tuple[str, ...]] = Counter()
    for one in compared:
        for group in groups_of(one):
            found[group] += 1
    return found


def groups_of(one: Compared) -> list[tuple[str, ...]]:
    """Return the kinds of disagreement that one case shows."""
    if not one.verdict or not one.rule:
        server = one.case.rule if one.case.refused else "accepts"
        return [("verdict" if not one.verdict else "rule", f"server {server}", f"ours {one.ours or 'accept'}")]
    return [("resolved", key, f"server {theirs}", f"ours {ours}") for key, theirs, ours in one.differences]


def main() -> None:
    """Print a table by release, then the largest groups of disagreement with an example of each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=25, help="how many groups to show")
    parser.add_argument("--release", help="only this release")
    parser.add_argument("--only", help="only groups whose text contains this; shows every case of them")
    parser.add_argument(
        "--raise", action="store_true", dest="up", help="keep the present numbers as the least to reach"
    )
    options = parser.parse_args()
    cases = [case for case in corpus() if options.release in (None, case.release)]
    compared = compare_all(cases)
    print(f"{'release':8} {'cases':>6} {'verdict':>8} {'rule':>8} {'resolved':>9} {'all':>7}")
    for release in [*sorted({case.release for case in cases}), None]:
        of = [one for one in compared if release in (None, one.case.release)]
        accepted = [one for one in of if not one.case.refused]
        refused = [one for one in of if one.case.refused]
        print(
            f"{release or 'all':8} {len(of):6} {_share(sum(o.verdict for o in of), len(of)):>8} "
            f"{_share(sum(o.rule for o in refused), len(refused)):>8} "
            f"{_share(sum(o.verdict and not o.differences for o in accepted), len(accepted)):>9} "
            f"{_share(sum(o.agrees for o in of), len(of)):>7}"
        )
    if options.up and not options.release:
        _raise(compared)
    found = groups(compared)
    if not options.only:
        print(f"\n{len(found)} groups of disagreement, {sum(found.values())} entries; the largest:")
    for group, number in found.most_common(options.groups):
        text = " | ".join(group)
        if options.only and options.only not in text:
            continue
        having = [one for one in compared if group in groups_of(one)]
        releases = sorted({one.case.release.removeprefix("0.5.") for one in having})
        print(f"{number:5}  {text}   [{', '.join(releases)}]")
        for one in having if options.only else having[:1]:
            print(f"         {one.case} {one.case.where or ''}")


def _raise(compared: list[Compared]) -> None:
    path = DATA / "agreed.json"
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    after = {}
    for release, numbers in measure(compared).items():
        was = before.get(release, {})
        after[release] = {name: max(number, was.get(name, 0)) for name, number in numbers.items() if name != "of"}
    path.write_text(json.dumps(after, indent=1) + "\n", encoding="utf-8")


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}%" if whole else "-"


if __name__ == "__main__":
    main()
