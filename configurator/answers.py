"""Answers of the Python functions: values that also read as the JSON of the command line."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from configurator.core.configuration import Change
from configurator.core.engine import Finding, Report, Verdict
from configurator.core.flag import FlagTable
from configurator.core.rule import Choose, Resolution, Rule, Set, SetEnv, Source, Unset
from configurator.core.unknown import is_unknown
from configurator.launch.command import Command
from configurator.words import describe_fix, verdict_sentence
from configurator.workspace import Workspace

SCHEMA = 1
Json = dict[str, Any]


@dataclass(frozen=True, repr=False)
class Result:
    """The answer to :func:`check`.

    ``result.findings`` are what stands against the command, and ``result.fixes(finding)`` the ways out of each.

    Attributes:
        workspace: The command with its release, machine and model.
        id: What the caller called the question, or ``None``.
    """

    workspace: Workspace
    id: str | None = None

    def __repr__(self) -> str:
        """Return the verdict in one line; everything else is an attribute."""
        count = len(self.findings)
        return f"<Result {self.verdict}: {self.sentence} ({count} finding{'' if count == 1 else 's'})>"

    @property
    def report(self) -> Report:
        """The engine's report."""
        return self.workspace.report

    @property
    def verdict(self) -> Verdict:
        """``ok``, ``warn``, ``error`` or ``unknown``."""
        return self.report.verdict

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, in order of harm."""
        return self.report.findings

    def fixes(self, finding: Finding) -> tuple[FindingFix, ...]:
        """Return the changes that remove *finding* and add none as bad, the mildest first.

        Args:
            finding: One of :attr:`findings`.
        """
        return finding_fixes(self.workspace, finding)

    @property
    def resolved(self) -> Json:
        """What the server makes of each modelled flag; what cannot be decided is left out."""
        return {dest: value for dest, value in self.report.resolved.items() if not is_unknown(value)}

    @property
    def command(self) -> str:
        """The command as shell text."""
        return self.workspace.command.render()

    @cached_property
    def sentence(self) -> str:
        """The verdict in one plain sentence."""
        return verdict_sentence(self.workspace)

    def to_json(self) -> Json:
        """Return the document of ``check --json``."""
        workspace = self.workspace
        return {
            "schema": SCHEMA,
            "id": self.id,
            "release": workspace.release.version,
            "hardware": workspace.hardware.name,
            "model": workspace.model.name,
            "verdict": self.verdict,
            "findings": [finding_json(workspace, finding) for finding in self.findings],
            "resolved": self.resolved,
            "decided_by": dict(self.report.decided_by),
            "notes": [problem.message for problem in workspace.notes],
            "command": one_line(workspace.command),
        }


@dataclass(frozen=True, repr=False)
class FindingFix:
    """A way out of one finding.

    Attributes:
        change: What to change.
        label: The change as an instruction, ``Use --dcp-comm-backend a2a``.
        command: The command after it, a flag a line.
        line: The command after it on one line, with a launcher.
        spelled: The change with flags as the release spells them, as in JSON.
    """

    change: Change
    label: str
    command: str
    line: str
    spelled: Json

    def __repr__(self) -> str:
        """Return the instruction."""
        return f"<FindingFix {self.label}>"

    def to_json(self) -> Json:
        """Return one entry of ``fixes`` of a finding of ``check --json``."""
        return {**self.spelled, "label": self.label, "command": self.line}


@dataclass(frozen=True, repr=False)
class Repaired:
    """One repair.

    Attributes:
        change: What to change.
        cost: Weighted cost; cheaper changes are milder.
        verdict: The verdict after it.
        command: The command after it, a flag a line.
        diff: The difference, a flag a line.
        line: The command after it on one line, with a launcher.
        spelled: The change with flags as the release spells them, as in JSON.
        label: The change as an instruction.
    """

    change: Change
    cost: float
    verdict: Verdict
    command: str
    diff: str
    line: str
    spelled: Json
    label: str

    def __repr__(self) -> str:
        """Return the instruction with its price and what comes of it."""
        return f"<Repaired {self.label} (cost {self.cost:g}, then {self.verdict})>"

    def to_json(self) -> Json:
        """Return one entry of ``fix --json``."""
        return {
            **self.spelled,
            "label": self.label,
            "cost": self.cost,
            "diff": self.diff,
            "command": self.line,
            "verdict": self.verdict,
        }


@dataclass(frozen=True)
class Span:
    """From which release to which a rule is stated in the words of one code; ``until`` is ``None`` for the newest."""

    code: str
    since: str
    until: str | None

    def __str__(self) -> str:
        """Return it in words: ``DCP204 from 0.5.17 to 0.5.19``."""
        return f"{self.code} from {self.since}{f' to {self.until}' if self.until else ' on'}"


@dataclass(frozen=True, repr=False)
class Explained:
    """A rule, and the line of a pasted text that it was recognised by.

    Attributes:
        rule: The rule, or a resolution.
        since: First release that has it: in the words of this code, or, where it was asked for by name, in any.
        until: Last release that has it; ``None`` for the newest.
        line: The line of the text, from 1.
        text: What stands there.
        others: Other codes that state the same rule in other releases.
    """

    rule: Rule | Resolution
    since: str
    until: str | None
    line: int | None = None
    text: str | None = None
    others: tuple[Span, ...] = ()

    def __repr__(self) -> str:
        """Return code, name and span."""
        return f"<Explained {self.rule.slug}: {Span(self.rule.code, self.since, self.until)}>"

    def to_json(self) -> Json:
        """Return one entry of ``explain --json``."""
        rule = self.rule
        found = {"line": self.line, "text": self.text} if self.line is not None else None
        return {
            "code": rule.code,
            "slug": rule.slug,
            "effect": rule.effect.value if isinstance(rule, Rule) else None,
            "stage": rule.stage.value if isinstance(rule, Rule) else None,
            "since": self.since,
            "until": self.until,
            "because": rule.because,
            "fixes": [_fix_json(fix) for fix in rule.fixes] if isinstance(rule, Rule) else [],
            "source": source_json(rule.source),
            "match": found,
            "others": [{"code": other.code, "since": other.since, "until": other.until} for other in self.others],
        }


def finding_fixes(workspace: Workspace, finding: Finding) -> tuple[FindingFix, ...]:
    """Return the ways out of *finding* with their commands, the mildest first."""
    return tuple(
        FindingFix(
            change,
            describe_fix(change, workspace),
            (after := workspace.apply(change)).command.render(),
            one_line(after.command),
            change_json(change, workspace.table),
        )
        for change in workspace.fixes(finding)
    )


def finding_json(workspace: Workspace, finding: Finding) -> Json:
    """Return one finding as ``check --json`` prints it."""
    rule, table = finding.rule, workspace.table
    return {
        "code": rule.code,
        "slug": rule.slug,
        "effect": rule.effect.value,
        "stage": rule.stage.value,
        "certainty": finding.certainty,
        "message": finding.message,
        "because": rule.because,
        "reason": finding.reason or None,
        "flags": [table[dest].primary for dest in sorted(rule.flags()) if dest in table],
        "fixes": [fix.to_json() for fix in finding_fixes(workspace, finding)],
        "source": source_json(rule.source),
    }


def source_json(source: Source) -> Json:
    """Return where SGLang says so."""
    return {
        "release": source.release,
        "path": source.path,
        "symbol": source.symbol,
        "line": source.line,
        "url": source.url,
        "basis": source.basis.value,
    }


def one_line(command: Command) -> str:
    """Return a command for JSON: on one line and with a launcher, so that any shell, or ``shlex``, takes it as it is."""
    return command.launched().render("single-line")


def change_json(change: Change, table: FlagTable | None = None) -> Json:
    """Return a change with flags as they are written."""

    def spell(dest: str) -> str:
        if table is None:
            return "--" + dest.replace("_", "-")
        return table[dest].primary if dest in table else dest  # a word of the command that is no flag stays as it is

    document: Json = {
        "set": {spell(d): v for d, v in change.set.items()},
        "unset": sorted(spell(d) for d in change.unset),
    }
    return {**document, "env": dict(change.env)} if change.env else document


def _fix_json(fix: Set | Unset | Choose | SetEnv) -> Json:
    match fix:
        case Set(dest, value):
            return change_json(Change({dest: value}))
        case Unset(dest):
            return change_json(Change(unset=frozenset({dest})))
        case Choose(dest):
            return {"choose": "--" + dest.replace("_", "-")}
        case SetEnv(name, value):
            return change_json(Change(env={name: value}))


def diff_text(before: Workspace, after: Workspace) -> str:
    """Return the difference of two commands, a flag a line, ``-`` and ``+`` in front."""
    sign = {"same": " ", "del": "-", "ins": "+"}
    return "\n".join(f"{sign[op]} {line}" for op, line in before.command.diff(after.command))
