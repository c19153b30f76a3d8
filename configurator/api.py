"""The Python functions: check, fix, explain, emit, capacity, parse, probe. Each returns a value that also reads as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from configurator.answers import SCHEMA, Explained, Json, Repaired, Result, change_json, diff_text, one_line
from configurator.arguments import the_facts, the_text, the_words
from configurator.core.configuration import Configuration
from configurator.core.errors import InputError
from configurator.core.unknown import is_unknown
from configurator.explaining import command_of_log, explain, explain_error
from configurator.hardware import HardwareSnapshot
from configurator.launch.command import Command
from configurator.launch.emit import FORMATS
from configurator.launch.emit import emit as emit_files
from configurator.launch.emitted import EmittedFile, Target
from configurator.launch.parse import parse as parse_command
from configurator.planner.report import CapacityReport
from configurator.words import describe_change
from configurator.workspace import Workspace, release_named

__all__ = [
    "SCHEMA",
    "BrokenCommandError",
    "CapacityReport",
    "Explained",
    "Json",
    "Repaired",
    "Result",
    "check",
    "command_of_log",
    "emit",
    "explain",
    "explain_error",
    "fix",
    "one_line",
    "parse",
    "probe",
    "repaired",
]

Words = str | Sequence[str]


class BrokenCommandError(InputError):
    """The command would be refused, crash or give wrong output, so it is not emitted."""


def check(
    command: Words,
    *,
    release: str | None = None,
    hardware: str | HardwareSnapshot | None = None,
    model: str | Mapping[str, object] | None = None,
    env: Mapping[str, str] | None = None,
    id: str | None = None,  # noqa: A002 - the key of the batch format
) -> Result:
    """Return everything the catalogue has to say about *command*.

    Args:
        command: Pasted shell text, or argv words; the launcher's words may be missing from the latter.
        release: SGLang version, or ``installed`` for the one in this Python; the newest known by default.
        hardware: Preset, snapshot file, ``local`` or a snapshot; ``h200x8``, assumed, by default.
        model: Fact sheet, repository, folder or contents of ``config.json``; by default what ``--model-path`` names.
        env: Environment variables that come with the command.
        id: Handed back in the JSON.

    Raises:
        TypeError: An argument has a type that cannot be meant.
        InputError: The text is no SGLang command or ends inside a quote, or a release, machine or model is not known.
    """
    facts = the_facts({"release": release, "hardware": hardware, "model": model, "env": env})
    workspace = Workspace.start(the_words(command), **facts)
    unreadable = next((p for p in workspace.notes if p.refuses and p.kind in ("quote", "not-a-command")), None)
    if unreadable is not None:
        raise InputError(unreadable.message, part=unreadable.word)
    return Result(workspace, id)


def fix(command: Words, **facts: Any) -> tuple[Repaired, ...]:
    """Return the repairs of *command*, cheapest first; empty where nothing is broken or nothing helps.

    Takes the keyword arguments of :func:`check`, and raises what it raises.
    """
    return repaired(check(command, **facts).workspace)


def repaired(workspace: Workspace) -> tuple[Repaired, ...]:
    """Return the repairs of a workspace with their commands."""
    found = []
    for repair in workspace.repairs():
        after = workspace.apply(repair.change)
        found.append(
            Repaired(
                repair.change,
                repair.cost,
                repair.verdict,
                after.command.render(),
                diff_text(workspace, after),
                one_line(after.command),
                change_json(repair.change, workspace.table),
                describe_change(repair.change, workspace.table),
            )
        )
    return tuple(found)


def parse(command: Words, *, release: str | None = None) -> Command:
    """Return *command* as read for *release*: typed flags, kept words, problems. Never raises on its contents."""
    release = the_facts({"release": release})["release"]
    return parse_command(the_words(command), release_named(release).table)


def emit(
    configuration: Configuration | Command | Workspace | Words,
    *,
    format: str = "shell",  # noqa: A002 - the name on the command line
    force: bool = False,
    **facts: Any,
) -> tuple[EmittedFile, ...]:
    """Return ready-to-run text, one file for each node.

    Args:
        configuration: What to emit: a command in any form, or a configuration.
        format: ``shell`` or another of :data:`configurator.launch.emit.FORMATS`.
        force: Emit what would be refused, crash or corrupt too, with the reasons in a comment.
        facts: The keyword arguments of :func:`check`.

    Raises:
        BrokenCommandError: The verdict is ``error`` and *force* is not set.
        InputError: The format is not known, or cannot hold a value of the command.
    """
    if the_text(format, "format", f"one of {', '.join(FORMATS)}") not in FORMATS:
        raise InputError(
            f"{format}: there is no such output format; choose one of {', '.join(FORMATS)}.", part="format"
        )
    workspace = _workspace_of(configuration, facts)
    report = workspace.report
    broken = [f"{f.rule.effect.value} {f.rule.code}: {f.message}" for f in report.findings if f.breaks]
    if broken and not force:
        raise BrokenCommandError(
            f"This command is not emitted: {broken[0]} Repair it first (fix), or ask for it all the same (force).",
            part=broken[0],
        )
    header = [
        f"SGLang {workspace.release.version}, {workspace.hardware.label}, {workspace.model.name}",
        f"checked by dcp-configurator: {report.verdict}",
        *(f"WARNING: {line}" for line in broken),
    ]
    platform = workspace.hardware.platform
    gpus = workspace.hardware.gpus_per_node
    target = Target(
        platform="cuda" if is_unknown(platform) else platform, gpus_per_node=gpus if isinstance(gpus, int) else None
    )
    return tuple(emit_files(workspace.command, workspace.table, format, header=header, target=target))


def _workspace_of(source: Configuration | Command | Workspace | Words, facts: Mapping[str, Any]) -> Workspace:
    if isinstance(source, Workspace):
        if facts:
            raise TypeError(
                f"A workspace has its facts already, so {', '.join(sorted(facts))} cannot be given with it; "
                "take with_release, with_hardware or with_model of the workspace."
            )
        return source
    if isinstance(source, Configuration):
        from configurator.launch.command import command_from  # noqa: PLC0415

        table = release_named(the_facts(facts).get("release")).table
        source = command_from(source, table)
    if isinstance(source, Command):
        source = source.render()
    return check(source, **facts).workspace


def capacity(
    command: Workspace | Words,
    *,
    context: int | None = None,
    batch: int | None = None,
    weights_gib: float | None = None,
    measured_rows: int | None = None,
    measured_dcp_size: int = 1,
    **facts: Any,
) -> CapacityReport:
    """Return what fits and what a decode step costs: modelled figures, each with its basis.

    A command that does not run is planned as its first repair, and the report says so.

    Args:
        command: A command in any form, or a workspace.
        context: Context of each request, in tokens.
        batch: Requests of a decode step.
        weights_gib: Size of the checkpoint's weights; by default from its safetensors index, where it is here, or counted.
        measured_rows: Rows of one rank that a real start gave (``max_total_num_tokens`` of its log).
        measured_dcp_size: DCP size of that start.
        facts: The keyword arguments of :func:`check`.

    Raises:
        InputError: A number makes no sense, or :func:`check` raises it.
    """
    from configurator.planner.deployment import GIB  # noqa: PLC0415 - only those who plan pay for it
    from configurator.planner.memory import Measured  # noqa: PLC0415
    from configurator.planner.report import plan  # noqa: PLC0415
    from configurator.planner.weights import checkpoint_size  # noqa: PLC0415

    written = command if isinstance(command, Workspace) else check(command, **facts).workspace
    planned, changes, repair_change, notes = written, "", None, []
    if written.report.verdict == "error":
        repair = next(iter(written.repairs()), None)
        if repair is None:
            notes.append(
                "The command does not run and nothing repairs it; the figures are those of the flags as written."
            )
        else:
            repair_change = repair.change
            planned, changes = written.apply(repair_change), describe_change(repair_change, written.table)
            notes.append(f"The command as written does not run; the figures are those of its repair: {changes}.")
    if weights_gib is not None and not 0 < weights_gib < 1_000_000:
        raise InputError(
            f"Weights of {weights_gib:g} GiB were given; no checkpoint has that size.", part=str(weights_gib)
        )
    path = planned.command.model_path
    return plan(
        planned.case,
        planned.report.resolved,
        hardware=planned.hardware.name,
        model=planned.model.name,
        command=one_line(planned.command),
        computed_for="written" if planned is written else "repaired",
        changes=changes,
        repair=repair_change,
        written=written.configuration,
        notes=notes,
        batch_size=batch,
        context_tokens=context,
        checkpoint_bytes=int(weights_gib * GIB) if weights_gib else checkpoint_size(path) if path else None,
        measured=None if measured_rows is None else Measured(measured_rows, measured_dcp_size),
    )


def probe() -> HardwareSnapshot:
    """Return what this machine tells of its GPUs; what it does not tell is Unknown, with the reason."""
    from configurator.hardware.nvml import probe as probe_nvml  # noqa: PLC0415 - pynvml is loaded on demand

    return probe_nvml()
