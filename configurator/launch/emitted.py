"""What all output formats share: files, nodes, comments, and the references a command contains."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from configurator.core.configuration import Change
from configurator.core.errors import InputError
from configurator.core.flag import FlagTable
from configurator.launch.command import Command
from configurator.launch.launcher import container_run
from configurator.launch.shell_word import pieces_of
from configurator.launch.word import Word, assignment

MAX_NODES = 256
RENDEZVOUS_PORT = 5000
_LINES = re.compile(r"[\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class EmittedFile:
    """One file to run or apply.

    Attributes:
        name: A file name for it.
        node_rank: The node it is for; ``None`` if it serves all nodes.
        text: What is in it.
    """

    name: str
    node_rank: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Target:
    """Where a command runs, as far as output formats need it.

    Attributes:
        image: Container image; by default the one SGLang publishes for the release (CUDA only).
        platform: ``cuda``, ``hip``, ``xpu``, ``npu`` or ``cpu``.
        gpus_per_node: GPUs of one node; by default the ranks of the command over its nodes.
        name: Name of services and jobs.
    """

    image: str | None = None
    platform: str = "cuda"
    gpus_per_node: int | None = None
    name: str = "sglang"

    def image_for(self, release: str) -> str:
        """Return the container image.

        Raises:
            InputError: If none is named and the platform has no image we know by name.
        """
        if self.image:
            return self.image
        if self.platform not in ("cuda", "cpu"):
            msg = f"SGLang's images for {self.platform} are named by its build; name the image you use."
            raise InputError(msg, part="image")
        return f"lmsysorg/sglang:v{release}"

    def gpus_for(self, command: Command) -> int:
        """Return GPUs per node: as told, else tensor times pipeline ranks over the nodes, at least one."""
        if self.platform == "cpu":
            return 0
        if self.gpus_per_node is not None:
            return self.gpus_per_node
        ranks = _count(command, "tp_size") * _count(command, "pp_size")
        return max(1, -(-ranks // nodes_of(command)))


def _count(command: Command, dest: str) -> int:
    value = command.configuration.flags.get(dest, 1)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 1


def nodes_of(command: Command) -> int:
    """Return how many nodes the command is for.

    Raises:
        InputError: If there are more than :data:`MAX_NODES`.
    """
    nodes = _count(command, "nnodes")
    if nodes > MAX_NODES:
        msg = f"--nnodes {nodes}: files for at most {MAX_NODES} nodes are written; check the number."
        raise InputError(msg, part="nnodes")
    return nodes


def node_commands(command: Command, table: FlagTable) -> list[tuple[int | None, Command]]:
    """Return the command of each node with its rank; a rank that is a reference serves all nodes with one command."""
    nodes = nodes_of(command)
    if nodes == 1:
        return [(0, command)]
    if "dist_init_addr" not in command.configuration and "dist_init_addr" not in command.references:
        pieces = [(True, "MASTER_ADDR"), (False, f":{RENDEZVOUS_PORT}")]
        command = command.with_reference("dist_init_addr", pieces, table)
    if "node_rank" in command.references:
        return [(None, command)]
    return [(rank, command.apply(Change(set={"node_rank": rank}), table)) for rank in range(nodes)]


def comment_lines(lines: Sequence[str]) -> list[str]:
    """Return *lines* as comments, whatever is in them."""
    out: list[str] = []
    for line in lines:
        out.extend(f"# {_CONTROL.sub('?', part)}".rstrip() for part in _LINES.split(line))
    return out


def assigned_before(command: Command) -> list[Word]:
    """Return the assignments on lines of their own before the command: the later one of a name, in order."""
    words = [word for word in command.words[: command.start] if word.role == "setup" and assignment(word)]
    return list({word.value.partition("=")[0]: word for word in words}.values())


def variables_of(command: Command, *, given: bool = True) -> list[str]:
    """Return the names of the variables the words of *command* refer to, sorted, but for ``HOME``.

    Args:
        command: The command.
        given: Whether lines before the command that set variables go with it, so that those need not be set.
    """
    words = [word for word in command.words if word.live]
    names = {text for word in words for is_reference, text in pieces_of(word) if is_reference}
    own = {word.value.partition("=")[0] for word in assigned_before(command)} if given else set()
    return sorted(names - own - {"HOME"})


def program_words(command: Command) -> list[Word]:
    """Return launcher and server arguments; a container, ``env`` or prompt in front of the program is left away."""
    launcher = [word for word in command.words[: command.start] if word.role == "launcher"]
    values = [word.value for word in launcher]
    begin = 0
    if container_run(values) is not None or values[:1] == ["env"]:
        begin = next((at for at, value in enumerate(values) if _starts_program(values, at, value)), 0)
    return [*launcher[begin:], *command.words[command.start : command.end]]


def _starts_program(values: Sequence[str], at: int, value: str) -> bool:
    name = value.rpartition("/")[2]
    return name.startswith("python") or (name == "sglang" and values[at + 1 : at + 2] == ["serve"])
