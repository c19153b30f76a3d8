"""Asks ours what the real server was asked, and compares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from configurator.core.engine import Report, check
from configurator.core.rule import Effect
from configurator.core.unknown import is_unknown
from configurator.hardware import load_hardware
from configurator.workspace import Workspace
from tools.record_conformance.asking import PLACEHOLDERS
from tools.record_conformance.recorded import PLAIN, Recorded, explaining, from_json, kept


@dataclass(frozen=True)
class Compared:
    """One case and what differs.

    Attributes:
        case: The recorded case.
        verdict: Whether both refuse, or neither.
        rule: Whether the first refusing finding is the error that the server printed; true where nothing is refused.
        differences: For accepted cases, each resolved value that differs: key, server's, ours.
        ours: Slug of our first refusing finding.
        message: What the server printed, where it was asked just now.
    """

    case: Recorded
    verdict: bool
    rule: bool
    differences: tuple[tuple[str, object, object], ...]
    ours: str | None
    message: str | None = None

    @property
    def agrees(self) -> bool:
        return self.verdict and self.rule and not self.differences

    def __str__(self) -> str:
        server = f"refuses, {self.case.rule or 'no rule of ours'}" if self.case.refused else "accepts"
        lines = [str(self.case), f"  the server {server}; ours {'refuses, ' + self.ours if self.ours else 'accepts'}"]
        lines += [f"  it says, at {self.case.where}: {self.message}"] if self.message else []
        lines += [f"  {key}: the server {theirs!r}, ours {ours!r}" for key, theirs, ours in self.differences]
        return "\n".join(lines)


def report_of(case: Recorded, models: Mapping[str, Mapping[str, object]]) -> Report:
    """Return our report on *case*; *models* holds the configs by name."""
    model = case.model if case.model in PLACEHOLDERS else models[case.model]
    workspace = Workspace.start(
        list(case.argv), release=case.release, hardware=load_hardware(case.hardware), model=model, env=case.env
    )
    if case.facts:
        asked = workspace.case
        return check(replace(asked, facts={**asked.facts, **case.facts}))
    return workspace.report


def compare(case: Recorded, models: Mapping[str, Mapping[str, object]]) -> Compared:
    """Return what ours says of *case* beside what the server did; *models* holds the configs by name."""
    report = report_of(case, models)
    refusing = [f for f in report.findings if f.certain and f.rule.effect is Effect.REFUSES]
    ours = refusing[0].rule.slug if refusing else None
    verdict = case.refused == bool(refusing)
    rule = not case.refused or ours == case.rule
    differences: list[tuple[str, object, object]] = []
    if case.resolved is not None and not refusing:
        expected = {**{k: v for k, v in PLAIN.items() if k in report.resolved}, **case.resolved}
        for key, theirs in expected.items():
            got = report.resolved.get(key, "absent")
            shown = "unknown" if is_unknown(got) else got
            if shown != theirs or type(shown) is not type(theirs):
                differences.append((key, theirs, shown))
    return Compared(case, verdict, rule, tuple(differences), ours)


def compare_answers(
    cases: Iterable[Mapping[str, Any]], answers: Iterable[Mapping[str, Any]], models: Mapping[str, Mapping[str, object]]
) -> list[Compared]:
    """Return what ours says of each case beside the answer that the server just gave."""
    found = []
    for case, answer in zip(cases, answers, strict=True):
        message = answer.get("message")
        if "error" in answer and not explaining(case["release"], str(message), parser=answer["error"] == "SystemExit"):
            asked = {
                key: value for key, value in case.items() if key in ("release", "hardware", "model", "env", "facts")
            }
            nameless = Recorded(
                id=case.get("id") or "-",
                argv=tuple(case["argv"]),
                where=answer["where"],
                error=answer["error"],
                **asked,
            )
            found.append(replace(compare(nameless, models), message=message))
            continue
        first = compare(from_json(kept(case, answer)), models)
        if not first.rule:
            first = compare(from_json(kept(case, answer, prefer=first.ours)), models)
        found.append(replace(first, message=message))
    return found
