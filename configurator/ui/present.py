"""What the views draw, as plain dictionaries made from a workspace. No rule is stated here, and no widget is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from configurator import catalog
from configurator.api import Explained, Repaired
from configurator.core.availability import Availability
from configurator.core.configuration import Change
from configurator.core.engine import Finding, engine_for, show
from configurator.core.rule import Choose, Resolution, Rule, Set, SetEnv, Source, Unset
from configurator.core.unknown import is_unknown
from configurator.hardware import list_presets
from configurator.models import find_model, list_models
from configurator.words import describe_change, describe_fix, effect_title, verdict_detail, verdict_sentence
from configurator.workspace import Workspace

Json = dict[str, Any]
_MOST_NOTES = 6


# --- options ----------------------------------------------------------------------------------------------------------


def groups(workspace: Workspace) -> Mapping[str, str]:
    """Return the flags with a control, by heading: dest to its heading, empty where the flag before has the same."""
    headings: dict[str, list[str]] = {}
    for dest, modelled in workspace.release.modelled.items():
        if modelled.shown and dest in workspace.table:
            headings.setdefault(modelled.group, []).append(dest)
    return {dest: heading if at == 0 else "" for heading, dests in headings.items() for at, dest in enumerate(dests)}


def option_group(workspace: Workspace, dest: str, heading: str, found: Sequence[Availability]) -> Json:
    """Return one flag's control: its options with their states, and the one line below them."""
    modelled = workspace.release.modelled[dest]
    return {
        "flag": workspace.table[dest].primary,
        "help": modelled.help,
        "heading": heading,
        "options": [_option(option) for option in found],
        "line": _line(workspace, dest, modelled.help, found),
        "pin": _pin(found),
    }


def _option(option: Availability) -> Json:
    becomes = option.becomes
    return {
        "label": option.label,
        "becomes": "" if becomes is None or is_unknown(becomes) else show(becomes),
        "state": option.state,
        "by": option.blocked_by or "",
        "chosen": option.chosen,
        "conflict": option.conflict,
        "slow": option.slows,
        "reason": option.reason,
    }


def _pin(found: Sequence[Availability]) -> str:
    """Return the label that "auto" stands for now, where it is chosen and could be written out."""
    auto = next((o for o in found if o.chosen and o.becomes is not None and not o.conflict), None)
    if auto is None or is_unknown(auto.becomes):
        return ""
    return next((o.label for o in found if o is not auto and o.choice == auto.becomes and o.state != "blocked"), "")


def _line(workspace: Workspace, dest: str, help_text: str, found: Sequence[Availability]) -> Json:
    """Return the one reason shown without hovering: the chosen value's, else the first blocked or undecided one's."""
    used = workspace.report.resolved.get(dest)
    for option in found:
        if option.chosen and option.conflict:
            return {"kind": "conflict", "text": option.reason}
        if option.chosen and option.state == "undecided":
            return {"kind": "undecided", "label": option.label, "text": f"cannot be decided here: {option.reason}."}
    wish = workspace.configuration.flags.get(dest)
    if wish is not None and used is not None and not is_unknown(used) and used != wish:
        slug = workspace.report.decided_by.get(dest, "")
        return {"kind": "forced", "text": f"The server uses {show(used)} instead" + (f" ({slug})." if slug else ".")}
    for option in found:
        if option.state == "blocked":
            return {"kind": option.blocked_by or "choice", "label": option.label, "text": option.reason}
        if option.state == "undecided":
            return {"kind": "undecided", "label": option.label, "text": f"cannot be decided here: {option.reason}."}
    return {"kind": "help", "text": help_text}


def other_flags(workspace: Workspace) -> Json:
    """Return the flags of the command that have no control, as chips, and the names of all others of the release."""
    shown = groups(workspace)
    chips: list[Json] = []
    for dest, value in workspace.configuration.flags.items():
        if dest not in shown and dest in workspace.table and dest != "model_path":
            flag = workspace.table[dest]
            text = flag.primary if value is True else f"{flag.primary} {show(value)}"
            chips.append({"key": dest, "flag": flag.primary, "text": _short(text)})
    chips.extend(
        {"key": words.split()[0], "flag": words.split()[0], "text": _short(words), "unknown": True}
        for words in workspace.command.kept
    )
    return {"chips": chips}


def addable(workspace: Workspace) -> list[Json]:
    """Return the flags of the release that the page has no control for, for the search box."""
    shown = groups(workspace)
    return [
        {
            "flag": flag.primary,
            "takes": "" if not flag.takes_value else "value",
            "choices": [show(c) for c in flag.choices or ()],
        }
        for dest, flag in workspace.table.items()
        if dest not in shown
    ]


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


# --- top --------------------------------------------------------------------------------------------------------------


def topbar(workspace: Workspace, messages: Sequence[Json]) -> Json:
    """Return the pickers, and what there is to say about the text that was pasted."""
    hardware, model = workspace.hardware, workspace.model
    machines = [{"value": preset.name, "label": preset.label} for preset in list_presets()]
    if hardware.name not in {m["value"] for m in machines}:
        machines.insert(0, {"value": hardware.name, "label": hardware.label})
    models = [{"value": sheet.name, "label": sheet.label} for sheet in list_models()]
    if model.name not in {m["value"] for m in models}:
        models.insert(0, {"value": model.name, "label": _short(model.name)})
    notes = [{"kind": "error" if p.refuses else "note", "text": p.message} for p in workspace.command.problems]
    if len(notes) > _MOST_NOTES:
        notes = [
            *notes[:_MOST_NOTES],
            {"kind": "note", "text": f"{len(notes) - _MOST_NOTES} more are among the findings."},
        ]
    named = workspace.command.model_path
    other = find_model(named) if model.chosen and named else None
    if other is not None and other.name != model.name:
        notes.append(
            {
                "kind": "note",
                "text": f"The facts are those of {model.name}, which was chosen apart; the command names {named}. "
                "Choose it under Model to have its facts.",
            }
        )
    if not model.facts and model.note:
        notes.append({"kind": "note", "text": model.note})
    return {
        "release": workspace.release.version,
        "releases": list(reversed(catalog.VERSIONS)),
        "hardware": hardware.name,
        "machines": machines,
        "assumed": hardware.assumed,
        "model": model.name,
        "models": models,
        "notes": [*messages, *notes],
    }


def explained(item: Explained, workspace: Workspace) -> Json:
    """Return what a recognised error message means, and what to change."""
    rule = item.rule
    ways = [_way(fix, workspace) for fix in rule.fixes] if isinstance(rule, Rule) else []
    effect = rule.effect.value if isinstance(rule, Rule) else "fills"
    return {
        "kind": "found",
        "effect": effect,
        "code": rule.code,
        "text": rule.because,
        "line": item.line,
        "quoted": item.text or "",
        "ways": [way for way in ways if way],
        "span": f"{item.since} to {item.until or catalog.NEWEST}",
    }


def _way(fix: Set | Unset | Choose | SetEnv, workspace: Workspace) -> str:
    table = workspace.table
    match fix:
        case Set(dest, value):
            return describe_change(Change({dest: value}), table)
        case Unset(dest):
            return describe_change(Change(unset=frozenset({dest})), table)
        case SetEnv(name, value):
            return describe_change(Change(env={name: value}), table)
        case Choose(dest):
            return f"Choose another {table[dest].primary}" if dest in table else ""


# --- result -----------------------------------------------------------------------------------------------------------


def verdict(workspace: Workspace) -> Json:
    """Return the verdict in one sentence, and where it is known from."""
    kind = workspace.report.verdict if workspace.command.is_launch else "unknown"
    return {"verdict": kind, "sentence": verdict_sentence(workspace), "detail": verdict_detail(workspace)}


def command(workspace: Workspace) -> Json:
    """Return the command as it stands."""
    return {"text": workspace.command.render(), "lines": _continued(workspace.command.lines())}


def repairs(workspace: Workspace, found: Sequence[Repaired]) -> Json:
    """Return the repairs, the one to show first leading, each with the difference it makes."""
    table = workspace.table
    shown = []
    for repair in found:
        after = workspace.apply(repair.change)
        shown.append(
            {
                "label": describe_change(repair.change, table),
                "changes": len(repair.change),
                "keeps": _keeps(workspace, after),
                "verdict": repair.verdict,
                "diff": _continued_diff(workspace.command.diff(after.command)),
                "text": repair.command,
                "lines": _continued(after.command.lines()),
            }
        )
    return {"verdict": workspace.report.verdict, "repairs": shown}


def _keeps(before: Workspace, after: Workspace) -> str:
    size = after.report.resolved.get("dcp_size")
    if before.report.resolved.get("dcp_size") in (None, 1):
        return ""
    if not isinstance(size, int) or size < 2:
        return "Gives up decode context parallelism."
    kept = ["--dcp-size above 1"]
    if before.configuration.flags.get("dcp_replicate_q_proj") is True:
        if after.configuration.flags.get("dcp_replicate_q_proj") is not True:
            return "Keeps --dcp-size above 1, gives up --dcp-replicate-q-proj."
        kept.append("--dcp-replicate-q-proj")
    return f"Keeps {' and '.join(kept)}."


def _continued(lines: Sequence[str]) -> list[str]:
    last = len(lines) - 1
    return [("  " if at else "") + line + (" \\" if at < last else "") for at, line in enumerate(lines)]


def _continued_diff(diff: Sequence[tuple[str, str]]) -> list[Json]:
    lines = _continued([line for _, line in diff])
    return [{"op": op, "text": line} for (op, _), line in zip(diff, lines, strict=True)]


def findings(workspace: Workspace) -> Json:
    """Return all findings in order of harm, each with its own fixes."""
    report = workspace.report
    return {
        "verdict": report.verdict,
        "items": [finding(workspace, item) for item in report.findings],
        "rules": len(workspace.release.rules),
    }


def finding(workspace: Workspace, item: Finding) -> Json:
    """Return one finding."""
    rule = item.rule
    return {
        "effect": rule.effect.value,
        "title": effect_title(rule.effect),
        "code": rule.code,
        "slug": rule.slug,
        "certain": item.certain,
        "message": item.message,
        "reason": item.reason,
        "because": rule.because,
        "stage": rule.stage.value,
        "since": catalog.lifetime(rule.slug)[0],
        "source": source(rule.source),
        "fixes": [describe_fix(change, workspace) for change in workspace.fixes(item)],
    }


def resolved(workspace: Workspace) -> Json:
    """Return what the server fills in or rewrites, with the reason, by flag."""
    release, report, table = workspace.release, workspace.report, workspace.table
    reasons = {item.slug: item for item in release.resolutions.values()}
    items = []
    for dest, slug in report.decided_by.items():
        value, reason = report.resolved.get(dest), reasons[slug]
        items.append(
            {
                "name": table[dest].primary if dest in table else dest.replace("_", " "),
                "value": show(value),
                "given": show(workspace.configuration.flags[dest]) if dest in workspace.configuration.flags else "",
                "because": reason.because,
                "code": reason.code,
            }
        )
    return {"items": sorted(items, key=lambda item: item["name"].lstrip("-")), "release": release.version}


# --- rules ------------------------------------------------------------------------------------------------------------


def rules(workspace: Workspace) -> Json:
    """Return all rules and resolutions of the release, by code."""
    release = workspace.release
    items: list[Rule | Resolution] = [*release.rules.values(), *release.resolutions.values()]
    return {"release": release.version, "rules": [_rule(item) for item in sorted(items, key=lambda item: item.code)]}


def _rule(item: Rule | Resolution) -> Json:
    since, until = catalog.lifetime(item.slug)
    rule = item if isinstance(item, Rule) else None
    row = {
        "code": item.code,
        "slug": item.slug,
        "effect": rule.effect.value if rule else "fills",
        "because": item.because,
        "stage": rule.stage.value if rule else "",
        "span": f"{since} to {until}" if until else f"since {since}",
        "example": rule.example.argv if rule and rule.example else "",
        "source": source(item.source),
    }
    return row | {"search": " ".join(str(row[key]) for key in ("code", "slug", "effect", "because", "example")).lower()}


def rule_states(workspace: Workspace) -> Json:
    """Return how each rule that concerns the command stands, by code."""
    return dict(engine_for(workspace.release).standing(workspace.case))


def source(where: Source) -> Json:
    """Return where SGLang says so: short for the eye, in full for a tooltip, and a public page where there is one."""
    place = where.path.rsplit("/", 1)[-1] + (f":{where.line}" if where.line else "")
    return {"short": place, "full": f"SGLang {where.release}, {where.path}, {where.symbol}", "url": where.url}
