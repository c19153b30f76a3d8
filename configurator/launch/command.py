"""A launch command: every word as it was written, and what it configures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from configurator.core.configuration import Change, Configuration
from configurator.core.flag import FlagTable
from configurator.launch import render as layout
from configurator.launch.arguments import Occurrence, Reading, read
from configurator.launch.edit import edit_arguments, edit_environment, new_flag
from configurator.launch.environment import environment
from configurator.launch.problem import FlagHistory, Problem, limited
from configurator.launch.render import DiffOp, Style
from configurator.launch.word import Piece, Word, pieces_value, quote_pieces

PYTHON_LAUNCHER = ("python", "-m", "sglang.launch_server")
SERVE_LAUNCHER = ("sglang", "serve")


@dataclass(frozen=True)
class Command:
    """A launch command, immutable and lossless.

    Attributes:
        words: All words in order; server arguments are those from ``start`` to ``end``.
        configuration: Typed values of the flags given, and the environment.
        references: Flags (``env.NAME`` for variables) whose value contains a ``$NAME`` reference and is not known.
        problems: What argparse would refuse, and notes.
        left_out: Parts of the text that are no part of this command, verbatim.
        start: Index of the first server argument.
        end: Index after the last one.
        serve: Whether ``sglang serve`` starts it.
    """

    words: tuple[Word, ...]
    configuration: Configuration
    references: Mapping[str, str] = field(default_factory=dict, hash=False)
    problems: tuple[Problem, ...] = ()
    left_out: tuple[str, ...] = ()
    start: int = 0
    end: int = 0
    serve: bool = False
    text_problems: tuple[Problem, ...] = field(default=(), repr=False)
    occurrences: tuple[Occurrence, ...] = field(default=(), repr=False, compare=False)
    unknown: tuple[tuple[int, int], ...] = field(default=(), repr=False, compare=False)
    history: FlagHistory | None = field(default=None, repr=False, compare=False)

    @property
    def launcher(self) -> tuple[str, ...]:
        """The words that start the server, without assignments; empty for bare server arguments."""
        return tuple(word.value for word in self.words[: self.start] if word.role == "launcher")

    @property
    def is_launch(self) -> bool:
        """Whether this is an SGLang command at all."""
        return not any(problem.kind == "not-a-command" for problem in self.problems)

    @property
    def refused(self) -> bool:
        """Whether the argument parser of the release refuses the command."""
        return any(problem.refuses for problem in self.problems)

    @property
    def kept(self) -> tuple[str, ...]:
        """Words no flag of the release claims, as written, one entry per flag with its values."""
        arguments = self.words[self.start : self.end]
        return tuple(" ".join(word.spelling for word in arguments[at:end]) for at, end in self.unknown)

    @property
    def model_path(self) -> str | None:
        """The model that is served; a reference as ``$NAME``, ``None`` if the command names none."""
        value = self.configuration.flags.get("model_path")
        return value if isinstance(value, str) else self.references.get("model_path")

    def argv(self) -> list[str]:
        """Return the server arguments, references as ``$NAME``.

        A model path that ``sglang serve`` takes bare is given its flag, since the server gets it so.
        """
        values = [word.value for word in self.words[self.start : self.end]]
        bare = next((o.at for o in self.occurrences if not o.spelling), None)
        if bare is not None:
            values.insert(bare, "--model-path")
        return values

    def render(self, style: Style = "one-flag-per-line") -> str:
        """Return the command as text for a POSIX shell; nothing but references is live in it."""
        return layout.render(self.words, style)

    def lines(self) -> list[str]:
        """Return the command flag by flag, without indentation and backslashes."""
        return [text for _, text in layout.logical_lines(self.words)]

    def diff(self, after: Command) -> list[tuple[DiffOp, str]]:
        """Compare with a later state of the command, flag by flag."""
        return layout.diff_lines(self.words, after.words)

    def apply(self, change: Change, table: FlagTable) -> Command:
        """Return the command with *change* made where the flags stand; everything else keeps the user's spelling.

        Args:
            change: Flags to set and unset, by ``dest``, and variables to set. An entry of ``unset`` that is no flag's
                ``dest`` names an unknown word of the command to take out with its values. ``None`` as a value unsets.
            table: The flags of the release.

        Raises:
            InputError: If a flag to be set is none of the release, or a variable's name is none.
        """
        before = self.words[: self.start]
        arguments: Sequence[Word] = self.words[self.start : self.end]
        if change.set or change.unset:
            arguments = edit_arguments(arguments, self.occurrences, self.unknown, change, table)
        if change.env:
            before = tuple(edit_environment(before, change.env))
        if arguments and not before and arguments[0].gap:
            arguments = [arguments[0]._replace(gap=""), *arguments[1:]]
        elif arguments and before and not arguments[0].gap:
            arguments = [arguments[0]._replace(gap=" "), *arguments[1:]]
        frame = Frame(before, self.words[self.end :], self.serve, self.text_problems, self.left_out, self.history)
        return build(frame, arguments, table)

    def with_reference(self, dest: str, pieces: Sequence[Piece], table: FlagTable) -> Command:
        """Return the command with a flag of one value set to text with references, such as ``$MASTER_ADDR:5000``.

        Raises:
            InputError: If the flag is none of the release.
        """
        placed = self.apply(Change(set={dest: "reference"}), table)
        given = next((o for o in reversed(placed.occurrences) if o.spec.dest == dest), None)
        if given is None:  # the flag takes no value; a reference cannot stand there
            return self
        at = placed.start + given.end - 1
        text = [(False, f"{given.spelling}="), *pieces] if given.explicit else list(pieces)
        word = placed.words[at]._replace(value=pieces_value(text), raw="", live=quote_pieces(text))
        frame = Frame(
            self.words[: self.start],
            self.words[self.end :],
            self.serve,
            self.text_problems,
            self.left_out,
            self.history,
        )
        arguments = [*placed.words[placed.start : at], word, *placed.words[at + 1 : placed.end]]
        return build(frame, arguments, table)

    def launched(self, *, serve: bool = False) -> Command:
        """Return the command with a launcher in front, if it has none."""
        if self.launcher or not self.is_launch:
            return self
        words = SERVE_LAUNCHER if serve else PYTHON_LAUNCHER
        before = self.words[: self.start]
        gap = "" if not before else " " if before[-1].role == "env" else "\n"
        launcher = [Word(word, word, gap if at == 0 else " ", "launcher") for at, word in enumerate(words)]
        arguments = self.words[self.start :]
        if arguments and not arguments[0].gap.strip("\n"):
            arguments = (arguments[0]._replace(gap=" "), *arguments[1:])
        shift = len(launcher)
        return replace(
            self, words=(*before, *launcher, *arguments), start=self.start + shift, end=self.end + shift, serve=serve
        )


class Frame(NamedTuple):
    """What stands around the server arguments of a command.

    Attributes:
        before: Comments, export lines, assignments and launcher, with their roles.
        tail: Pipes, redirections, ``&`` and comments at the end.
        serve: Whether ``sglang serve`` starts it.
        problems: What was wrong with the text the words come from.
        left_out: Parts of that text that are no part of the command.
        history: Says what became of a flag in other releases.
    """

    before: tuple[Word, ...] = ()
    tail: tuple[Word, ...] = ()
    serve: bool = False
    problems: tuple[Problem, ...] = ()
    left_out: tuple[str, ...] = ()
    history: FlagHistory | None = None


def build(frame: Frame, arguments: Sequence[Word], table: FlagTable) -> Command:
    """Read the server arguments of one command and return it; their roles are found here."""
    values = [word.value for word in arguments]
    live = {at for at, word in enumerate(arguments) if word.live}
    reading = read(values, table, live=live, serve=frame.serve, history=frame.history)
    tagged = [
        word if word.role == role else Word(word.value, word.raw, word.gap, role, word.live)
        for word, role in zip(arguments, reading.roles, strict=True)
    ]
    return assemble(frame, tagged, reading)


def assemble(frame: Frame, arguments: Sequence[Word], reading: Reading) -> Command:
    """Put a command together from words that carry their roles, and from what was read of them."""
    env: dict[str, str] = {}
    references = reading.references
    if frame.before:
        env, unknown_env = environment(frame.before)
        if unknown_env:
            references = {**references, **{f"env.{name}": text for name, text in unknown_env.items()}}
    start = len(frame.before)
    return Command(
        words=(*frame.before, *arguments, *frame.tail),
        configuration=Configuration(reading.flags, env),
        references=references,
        problems=limited([*frame.problems, *reading.problems]),
        left_out=frame.left_out,
        start=start,
        end=start + len(arguments),
        serve=frame.serve,
        text_problems=frame.problems,
        occurrences=tuple(reading.occurrences),
        unknown=tuple(reading.unknown),
        history=frame.history,
    )


def command_from(
    configuration: Configuration, table: FlagTable, model_path: str | None = None, *, serve: bool = False
) -> Command:
    """Return a command that says *configuration*: the model first, then the flags in the order of the release.

    Args:
        configuration: Flags and environment; a flag the release does not know is an error, not left out silently.
        table: The flags of the release.
        model_path: The model, where the configuration has none.
        serve: Whether to start with ``sglang serve`` instead of ``python -m sglang.launch_server``.

    Raises:
        InputError: If a flag is none of the release, or a variable's name is none.
    """
    flags = dict(configuration.flags)
    if model_path is not None:
        flags.setdefault("model_path", model_path)
    launcher = SERVE_LAUNCHER if serve else PYTHON_LAUNCHER
    before = [Word(word, word, " " if at else "", "launcher") for at, word in enumerate(launcher)]
    if "model_path" in flags:
        flags = {"model_path": flags["model_path"]} | flags
    arguments: list[Word] = []
    for dest in [*(d for d in ("model_path",) if d in flags), *(d for d in table if d in flags and d != "model_path")]:
        arguments.extend(new_flag(table[dest], flags.pop(dest)))
    command = build(Frame(tuple(edit_environment(before, configuration.env)), serve=serve), arguments, table)
    return command.apply(Change(set=flags), table) if flags else command


def diff_lines(before: Command, after: Command) -> list[tuple[DiffOp, str]]:
    """Compare two commands flag by flag: lines that are the same, taken out, put in."""
    return before.diff(after)
