"""Ask ours what the real server was asked, and compare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from configurator.core.engine import Report, check
from configurator.core.rule import Effect
from configurator.core.unknown import is_unknown
from configurator.hardware import load_hardware
from configurator.workspace import Workspace
from tests.conformance.corpus import DEFAULTS, Recorded, models


@dataclass(frozen=True)
class Compared:
    """One case and what differs.

    Attributes:
        case: The recorded case.
        verdict: Whether both refuse, or neither.
        rule: Whether the first refusing finding is the error that the server printed; true where nothing is refused.
        differences: For accepted cases, each resolved value that differs: key, server's, ours.
        ours: Slug of our first refusing finding.
    """

    case: Recorded
    verdict: bool
    rule: bool
    differences: tuple[tuple[str, object, object], ...]
    ours: str | None

    @property
    def agrees(self) -> bool:
        return self.verdict and self.rule and not self.differences


def compare(case: Recorded) -> Compared:
    """Return what ours says of *case* beside what the server did."""
    report = _report(case)
    refusing = [f for f in report.findings if f.certain and f.rule.effect is Effect.REFUSES]
    ours = refusing[0].rule.slug if refusing else None
    verdict = case.refused == bool(refusing)
    rule = not case.refused or ours == case.rule
    differences: list[tuple[str, object, object]] = []
    if case.resolved is not None and not refusing:
        expected = {**{k: v for k, v in DEFAULTS.items() if k in report.resolved}, **case.resolved}
        for key, theirs in expected.items():
            got = report.resolved.get(key, "absent")
            shown = "unknown" if is_unknown(got) else got
            if shown != theirs or type(shown) is not type(theirs):
                differences.append((key, theirs, shown))
    return Compared(case, verdict, rule, tuple(differences), ours)


def compare_all(cases: Iterable[Recorded]) -> list[Compared]:
    """Compare every case."""
    return [compare(case) for case in cases]


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


def _report(case: Recorded) -> Report:
    model = case.model if case.model in ("none", "dummy") else models()[case.model]
    workspace = Workspace.start(
        list(case.argv), release=case.release, hardware=load_hardware(case.hardware), model=model, env=case.env
    )
    if case.facts:
        asked = workspace.case
        return check(replace(asked, facts={**asked.facts, **case.facts}))
    return workspace.report
