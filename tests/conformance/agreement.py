"""How far ours agrees with what the real servers did."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tests.conformance.corpus import models
from tools.record_conformance.comparing import Compared, compare
from tools.record_conformance.recorded import Recorded


def compare_all(cases: Iterable[Recorded]) -> list[Compared]:
    """Compare every case."""
    return [compare(case, models()) for case in cases]


def measure(compared: Iterable[Compared]) -> Mapping[str, dict[str, object]]:
    """Return for each release how many cases agree: on the verdict, on the error printed, on the values resolved.

    ``of`` holds how many there are of each kind: every case, the refused ones, the accepted ones.
    """
    found: dict[str, dict[str, object]] = {}
    every = list(compared)
    for release in sorted({one.case.release for one in every}):
        of = [one for one in every if one.case.release == release]
        refused = [one for one in of if one.case.refused]
        accepted = [one for one in of if not one.case.refused]
        found[release] = {
            "verdict": sum(one.verdict for one in of),
            "rule": sum(one.rule for one in refused),
            "resolved": sum(one.verdict and not one.differences for one in accepted),
            "of": {"verdict": len(of), "rule": len(refused), "resolved": len(accepted)},
        }
    return found
