"""Writing batch jobs and services: a Slurm script and systemd units."""

from __future__ import annotations

import re
from collections.abc import Sequence

from configurator.core.errors import InputError
from configurator.core.flag import FlagTable
from configurator.launch.command import Command
from configurator.launch.containers import environment_words, variable_note
from configurator.launch.emitted import (
    RENDEZVOUS_PORT,
    EmittedFile,
    Target,
    comment_lines,
    node_commands,
    nodes_of,
    program_words,
    variables_of,
)
from configurator.launch.render import render
from configurator.launch.shell_word import pieces_of
from configurator.launch.word import Word, quote

_JOB_NAME = re.compile(r"[\w.-]{1,64}", re.ASCII)
_SYSTEMD_PLAIN = re.compile(r"[\w@+=:,./-]+", re.ASCII)
_SYSTEMD_NAMED = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def _checked_name(name: str) -> str:
    if not _JOB_NAME.fullmatch(name):
        msg = f"{name}: a job or unit name is letters, digits, dots, hyphens and underscores; choose another."
        raise InputError(msg, part="name")
    return name


def slurm(command: Command, table: FlagTable, header: Sequence[str], target: Target) -> list[EmittedFile]:
    """Return a batch script for all nodes: one task per node, its rank taken from Slurm."""
    nodes = nodes_of(command)
    ours = "dist_init_addr" not in command.configuration and "dist_init_addr" not in command.references
    if nodes > 1:
        if ours:
            pieces = [(True, "MASTER_ADDR"), (False, f":{RENDEZVOUS_PORT}")]
            command = command.with_reference("dist_init_addr", pieces, table)
        command = command.with_reference("node_rank", [(True, "SLURM_NODEID")], table)
    options = [f"--job-name={_checked_name(target.name)}", f"--nodes={nodes}", "--ntasks-per-node=1", "--exclusive"]
    if target.platform != "cpu":
        options.append(f"--gpus-per-node={target.gpus_for(command)}")
    expected = [name for name in variables_of(command) if name not in ("SLURM_NODEID", "MASTER_ADDR" if ours else "")]
    notes = [*header, *([f"Export these variables before sbatch: {', '.join(expected)}."] if expected else [])]
    lines = [
        "#!/usr/bin/env bash",
        *(f"#SBATCH {option}" for option in options),
        *comment_lines(notes),
        "set -euo pipefail",
    ]
    lines.extend(f"export {word.safe}" for word in environment_words(command))
    if nodes > 1 and ours:
        lines.append('MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)')
        lines.append("export MASTER_ADDR")
    # The task's own shell fills in its rank; the text reaches it as one quoted word.
    inner = f"exec {render(program_words(command))}"
    lines.append(f"srun --kill-on-bad-exit=1 bash -c {quote(inner)}")
    return [EmittedFile("job.slurm", None if nodes > 1 else 0, "\n".join(lines) + "\n")]


def systemd(command: Command, table: FlagTable, header: Sequence[str], target: Target) -> list[EmittedFile]:
    """Return a unit per node. Variables the command refers to are read from an environment file."""
    nodes = node_commands(command, table)
    name = _checked_name(target.name)
    files = []
    for rank, node in nodes:
        words = [systemd_text(word) for word in program_words(node)]
        start = " ".join(["/usr/bin/env", *words])
        unset = [word.value.partition("=")[0] for word in environment_words(node) if word.live]
        notes = [*header, *variable_note(node)]
        if unset:
            notes.append(f"The values of these refer to variables, so set them in /etc/{name}.env: {', '.join(unset)}.")
        lines = [*comment_lines(notes), "[Unit]", "Description=SGLang server"]
        lines += ["Wants=network-online.target", "After=network-online.target", "", "[Service]", "Type=exec"]
        lines.extend(f"Environment={_environment_text(word)}" for word in environment_words(node) if not word.live)
        if variables_of(node) or unset:
            lines.append(f"EnvironmentFile=/etc/{name}.env")
        lines += [f"ExecStart={start}", "Restart=on-failure", "LimitMEMLOCK=infinity", ""]
        lines += ["[Install]", "WantedBy=multi-user.target"]
        file_name = f"{name}-node{rank}.service" if len(nodes) > 1 else f"{name}.service"
        files.append(EmittedFile(file_name, rank, "\n".join(lines) + "\n"))
    return files


def systemd_text(word: Word) -> str:
    """Return *word* as one word of ``ExecStart``: specifiers and dollars doubled, references as ``${NAME}``."""
    parts = [f"${{{text}}}" if is_name else _escaped(text).replace("$", "$$") for is_name, text in pieces_of(word)]
    text = "".join(parts)
    return text if text and _SYSTEMD_PLAIN.fullmatch(text) else f'"{text}"'


def _environment_text(word: Word) -> str:
    return f'"{_escaped(word.value)}"'


def _escaped(text: str) -> str:
    """Return *text* for the inside of a double-quoted systemd word."""
    out = []
    for char in text:
        if char in _SYSTEMD_NAMED:
            out.append(_SYSTEMD_NAMED[char])
        elif ord(char) < 0x20 or ord(char) == 0x7F:
            out.append(f"\\x{ord(char):02x}")
        else:
            out.append("%%" if char == "%" else char)
    return "".join(out)
