"""What the front ends say, in words: verdicts as sentences, changes as button labels, rules' provenance."""

from __future__ import annotations

from configurator.core.configuration import Change
from configurator.core.engine import Finding, show
from configurator.core.flag import FlagTable
from configurator.core.rule import Basis, Effect, Rule, Stage
from configurator.launch.problem import shown
from configurator.workspace import Workspace

_WHEN = {
    Stage.CLI: "at its command line",
    Stage.SERVER_ARGS: "at start",
    Stage.MODEL_ARGS: "at start",
    Stage.INIT: "while the model is loaded",
    Stage.RUNTIME: "at the first requests",
}

_KNOWN = {
    Basis.RECORDED: "Known from the release's own argument handling, run and recorded.",
    Basis.EXECUTED: "Known from the release's own code, executed in parts.",
    Basis.SOURCE: "Known from reading the release's source.",
    Basis.REPORTED: "Known from a public report.",
}


def verdict_sentence(workspace: Workspace) -> str:
    """Return what would happen to the command, in one sentence."""
    release, report = workspace.release.version, workspace.report
    if not workspace.command.is_launch:
        return "This is no SGLang launch command."
    if report.verdict == "ok":
        return f"No rule of SGLang {release} stands against this command."
    if report.verdict == "error":
        first = next(f for f in report.findings if f.breaks)
        return f"SGLang {release} {_happens(first.rule)}: {_lowered(first.message)}"
    if report.verdict == "unknown":
        undecided = next(f for f in report.findings if f.rule.effect.breaks)
        return f"It cannot be decided here whether SGLang {release} runs this: {undecided.reason}."
    certain = [f for f in report.findings if f.certain]
    things = f"{len(certain)} thing{'s' if len(certain) > 1 else ''}"
    return f"SGLang {release} would run this; {things} to know: {_lowered(certain[0].message)}"


def verdict_detail(workspace: Workspace) -> str:
    """Return where the verdict is known from, and how much more there is."""
    report = workspace.report
    if report.verdict == "ok":
        count = len(workspace.release.rules)
        return f"{count} rules of this release were tested, for {workspace.hardware.label} and {workspace.model.name}."
    if report.verdict == "unknown":
        count = sum(f.rule.effect.breaks for f in report.findings)
        those = (
            "1 finding it is not known whether it holds"
            if count == 1
            else f"{count} findings it is not known whether they hold"
        )
        return f"Nothing surely stops it; of {those}."
    breaking = [f for f in report.findings if f.breaks]
    more = (
        f" {len(breaking) - 1} more finding{'s' if len(breaking) > 2 else ''} would stop it later."
        if len(breaking) > 1
        else ""
    )
    first = breaking or [f for f in report.findings if f.certain or f.rule.effect.breaks]
    return known_from(first[0].rule) + more


def known_from(rule: Rule) -> str:
    """Return how the claim of *rule* was established, as a sentence."""
    return _KNOWN[rule.source.basis]


def _happens(rule: Rule) -> str:
    if rule.effect is Effect.REFUSES:
        return f"would refuse this command {_WHEN[rule.stage]}"
    if rule.effect is Effect.CRASHES:
        return f"would start and then crash {_WHEN[rule.stage]}"
    return "would run and give wrong output"


def _lowered(message: str) -> str:
    return message if message[:2].isupper() or not message[:1].isalpha() else message[0].lower() + message[1:]


def effect_title(effect: Effect) -> str:
    """Return what an effect means, for a tooltip."""
    return {
        Effect.REFUSES: "the server does not start",
        Effect.CRASHES: "the server starts and dies later",
        Effect.CORRUPTS: "the server runs and its output is wrong",
        Effect.IGNORES: "the flag is accepted and does nothing",
        Effect.REWRITES: "the server changes a value you gave",
        Effect.SLOWS: "it runs, and costs",
        Effect.UNVERIFIED: "nobody has shown that it works",
    }[effect]


def describe_change(change: Change, table: FlagTable) -> str:
    """Return *change* as a short instruction: ``Use --dcp-comm-backend a2a``."""
    parts = [_set(dest, value, table) for dest, value in change.set.items()]
    parts += [_drop(name, table) for name in sorted(change.unset)]
    parts += [f"run with {name}={value}" for name, value in change.env.items()]
    text = ", ".join(parts)
    return text[:1].upper() + text[1:] if text else "Change nothing"


def _set(dest: str, value: object, table: FlagTable) -> str:
    flag = table.get(dest)
    if flag is not None and (value, flag.action) in ((True, "true"), (True, "boolean"), (False, "false")):
        return f"add {flag.primary}"
    if flag is not None and value is False and flag.action == "boolean":
        return f"use {flag.negative}"
    return f"use {_spell(dest, table)} {show(value)}"


def describe_fix(change: Change, workspace: Workspace) -> str:
    """Return *change* of the command of *workspace* as an instruction; one that keeps a repeated value says so."""
    if len(change) == len(change.set) == 1:
        ((dest, value),) = change.set.items()
        given = sum(occurrence.spec.dest == dest for occurrence in workspace.command.occurrences)
        if given > 1 and workspace.configuration.flags.get(dest, ...) == value:
            return f"Keep only the last {_spell(dest, workspace.table)}, {show(value)}"
    return describe_change(change, workspace.table)


def _drop(name: str, table: FlagTable) -> str:
    if name in table:
        return f"drop {table[name].primary}"
    return f"drop {shown(name)}" if name.startswith("-") else f"drop the word {shown(name)}"


def _spell(dest: str, table: FlagTable) -> str:
    flag = table.get(dest)
    return flag.primary if flag is not None else "--" + dest.replace("_", "-")


def finding_line(finding: Finding) -> str:
    """Return one finding as a line of text, as it begins in lists: effect, code, message."""
    certainty = "" if finding.certain else " (undecided: " + finding.reason + ")"
    return f"{finding.rule.effect.value} {finding.rule.code} {finding.message}{certainty}"
