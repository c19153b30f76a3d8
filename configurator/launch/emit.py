"""Writing what people run: one file per node, in the format they run it with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from configurator.core.errors import InputError
from configurator.core.flag import FlagTable
from configurator.launch.command import Command
from configurator.launch.containers import compose, docker
from configurator.launch.emitted import EmittedFile, Target, comment_lines, node_commands, variables_of
from configurator.launch.kubernetes import kubernetes
from configurator.launch.services import slurm, systemd
from configurator.launch.yaml_config import yaml_config


def emit(
    command: Command,
    table: FlagTable,
    format: str = "shell",  # noqa: A002 - the contract's name
    *,
    header: Sequence[str] = (),
    target: Target | None = None,
) -> list[EmittedFile]:
    """Return *command* ready to run.

    Args:
        command: What to run. Bare server arguments get a launcher.
        table: The flags of the release; per-node flags are spelled by it.
        format: One of :data:`FORMATS`.
        header: Lines for a comment at the top; anything in them stays a comment.
        target: What the command alone does not say: image, GPUs per node, platform.

    Returns:
        One file per node where the format needs one; a format that describes all nodes at once returns one.

    Raises:
        InputError: If the format is unknown, the command is none, or the format cannot hold a value of it.
    """
    write = FORMATS.get(format)
    if write is None:
        msg = f"{format}: there is no such output format; choose one of {', '.join(FORMATS)}."
        raise InputError(msg, part="format")
    if not command.is_launch:
        raise InputError("There is no SGLang command to write; give a launch command or its arguments.", part="command")
    if any("\0" in word.value for word in command.words):
        raise InputError("A word of the command contains a NUL character; no program can be given one.", part="command")
    return write(command.launched(), table, header, target or Target())


def _shell(command: Command, table: FlagTable, header: Sequence[str], target: Target) -> list[EmittedFile]:
    """Return a shell script per node."""
    del target
    nodes = node_commands(command, table)
    files = []
    for rank, node in nodes:
        notes = list(header)
        if len(nodes) > 1:
            notes.append(f"Node {rank} of {len(nodes)}: run this on machine {rank}, and the others on theirs.")
        notes.extend(_variable_notes(node, command))
        lines = ["#!/usr/bin/env bash", *comment_lines(notes), node.render()]
        name = f"launch-node{rank}.sh" if len(nodes) > 1 else "launch.sh"
        files.append(EmittedFile(name, rank, "\n".join(lines) + "\n"))
    return files


def _variable_notes(node: Command, command: Command) -> list[str]:
    """Say which variables a script expects, and what the one we put in stands for."""
    names = variables_of(node)
    if not names:
        return []
    notes = [f"Set these variables first: {', '.join(names)}."]
    if "MASTER_ADDR" in names and "MASTER_ADDR" not in variables_of(command):
        notes.append("MASTER_ADDR is the address of node 0, the same on all nodes.")
    return notes


Writer = Callable[[Command, FlagTable, Sequence[str], Target], list[EmittedFile]]

FORMATS: Mapping[str, Writer] = {
    "shell": _shell,
    "docker": docker,
    "compose": compose,
    "kubernetes": kubernetes,
    "slurm": slurm,
    "systemd": systemd,
    "yaml": yaml_config,
}
"""Output formats by name."""
