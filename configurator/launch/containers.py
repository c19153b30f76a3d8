"""Writing commands that run in containers: ``docker run`` and a compose service."""

from __future__ import annotations

from collections.abc import Sequence

from configurator.core.flag import FlagTable
from configurator.launch.command import Command
from configurator.launch.emitted import (
    EmittedFile,
    Target,
    assigned_before,
    comment_lines,
    node_commands,
    program_words,
    variables_of,
)
from configurator.launch.launcher import container_run
from configurator.launch.render import render
from configurator.launch.shell_word import pieces_of
from configurator.launch.word import Word
from configurator.launch.yaml_text import YamlValue, dump

_MODEL_CACHE = "/root/.cache/huggingface"


def docker(command: Command, table: FlagTable, header: Sequence[str], target: Target) -> list[EmittedFile]:
    """Return a ``docker run`` script per node; a command that is one already keeps its own options."""
    nodes = node_commands(command, table)
    files = []
    for rank, node in nodes:
        text = node.render() if _runs_container(node) else _docker_run(node, table, target)
        notes = [*header, *([f"Node {rank} of {len(nodes)}."] if len(nodes) > 1 else []), *variable_note(node)]
        name = f"docker-node{rank}.sh" if len(nodes) > 1 else "docker.sh"
        files.append(EmittedFile(name, rank, "\n".join(["#!/usr/bin/env bash", *comment_lines(notes), text]) + "\n"))
    return files


def variable_note(command: Command, *, given: bool = True) -> list[str]:
    """Return a note that names the variables the command refers to and nothing sets, if there are any."""
    names = variables_of(command, given=given)
    return [f"Set these variables first: {', '.join(names)}."] if names else []


def _runs_container(command: Command) -> bool:
    return container_run(command.launcher) is not None


def _gpu_options(target: Target) -> list[str]:
    if target.platform == "hip":
        return ["--device /dev/kfd", "--device /dev/dri", "--group-add video", "--security-opt seccomp=unconfined"]
    return {"cuda": ["--gpus all"], "xpu": ["--device /dev/dri"], "npu": ["--privileged"]}.get(target.platform, [])


def _docker_run(command: Command, table: FlagTable, target: Target) -> str:
    """Return the ``docker run`` line: options, variables, image, then the command, one flag per line."""
    options = [*_gpu_options(target), "--ipc host", "--network host", "--ulimit memlock=-1"]
    options.append(f'-v "$HOME/.cache/huggingface:{_MODEL_CACHE}"')
    options.append("-e HF_TOKEN")
    options.extend(f"-e {word.safe}" for word in environment_words(command) if _exported(command, word))
    lines = ["docker run --rm", *(f"  {option}" for option in options)]
    image = Word(target.image_for(table.release))
    lines.append(f"  {image.safe}")
    before = [word for word in command.words if word.role in ("comment", "setup")]
    setup = [f"{render(before)}\n"] if before else []
    return "".join(setup) + " \\\n".join(
        [*lines, *(f"  {line}" for line in render(program_words(command)).split(" \\\n"))]
    )


def _exported(command: Command, word: Word) -> bool:
    """Tell whether an assignment reaches the server's environment, known or not."""
    name = word.value.partition("=")[0]
    return name in command.configuration.env or f"env.{name}" in command.references


def environment_words(command: Command) -> list[Word]:
    """Return the assignments that go with the command, references included, lines before the command among them."""
    words = [w for w in command.words[: command.start] if w.role == "env"]
    last = {word.value.partition("=")[0]: word for word in (*assigned_before(command), *words)}
    inside = {name: Word(f"{name}={value}") for name, value in command.configuration.env.items() if name not in last}
    return [*last.values(), *inside.values()]


def compose(command: Command, table: FlagTable, header: Sequence[str], target: Target) -> list[EmittedFile]:
    """Return a compose file per node, one service in each."""
    nodes = node_commands(command, table)
    files = []
    for rank, node in nodes:
        service: dict[str, YamlValue] = {
            "image": target.image_for(table.release),
            "command": [compose_text(word) for word in program_words(node)],
            "network_mode": "host",
            "ipc": "host",
            "ulimits": {"memlock": -1},
            "volumes": [f"${{HOME}}/.cache/huggingface:{_MODEL_CACHE}"],
            "environment": ["HF_TOKEN", *(compose_text(word) for word in environment_words(node))],
            "restart": "unless-stopped",
        }
        service |= _compose_devices(target)
        notes = [
            *header,
            *([f"Node {rank} of {len(nodes)}."] if len(nodes) > 1 else []),
            *variable_note(node, given=False),
        ]
        text = "\n".join([*comment_lines(notes), dump({"services": {target.name: service}})])
        name = f"compose-node{rank}.yaml" if len(nodes) > 1 else "compose.yaml"
        files.append(EmittedFile(name, rank, text))
    return files


def _compose_devices(target: Target) -> dict[str, YamlValue]:
    if target.platform == "cuda":
        device: YamlValue = {"driver": "nvidia", "count": "all", "capabilities": ["gpu"]}
        return {"deploy": {"resources": {"reservations": {"devices": [device]}}}}
    if target.platform == "hip":
        return {"devices": ["/dev/kfd", "/dev/dri"], "group_add": ["video"]}
    if target.platform == "xpu":
        return {"devices": ["/dev/dri"]}
    return {"privileged": True} if target.platform == "npu" else {}


def compose_text(word: Word) -> str:
    """Return *word* as compose reads it: references as ``${NAME}``, any other dollar doubled."""
    return "".join(f"${{{text}}}" if is_name else text.replace("$", "$$") for is_name, text in pieces_of(word))
