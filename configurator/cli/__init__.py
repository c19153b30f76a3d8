"""The command line. Each subcommand is a module of this package with ``configure(parser)`` and ``run(options)``.

Only the module of the subcommand that is called gets imported, so ``dcp-configurator --version`` and every subcommand
pay for nothing but themselves.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path
from typing import TYPE_CHECKING

from configurator.core.errors import ConfiguratorError

if TYPE_CHECKING:
    from _typeshed import SupportsWrite

#: Exit statuses that all subcommands share. The others are theirs.
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141


@dataclass(frozen=True, slots=True)
class Command:
    """One subcommand: its name, the line that ``--help`` shows, and the module that implements it."""

    name: str
    summary: str
    module: str


COMMANDS: tuple[Command, ...] = (
    Command("check", "every finding for a launch command", "configurator.cli.check"),
    Command("fix", "repairs of a launch command, cheapest first", "configurator.cli.fix"),
    Command("explain", "a rule, or the rules a pasted error comes from", "configurator.cli.explain"),
    Command("emit", "ready-to-run output, one block for each node", "configurator.cli.emit"),
    Command("capacity", "memory, tokens, longest context, latency, break-even", "configurator.cli.capacity"),
    Command("probe", "what this machine tells of its GPUs", "configurator.cli.probe"),
    Command("bench", "the microbenchmark of the DCP exchange", "configurator.cli.bench"),
    Command("app", "serve the page with Voila", "configurator.cli.app"),
)


class HelpfulParser(argparse.ArgumentParser):
    """A parser that looks names up only for those who ask for help: ``more`` returns lines for its end."""

    more: Callable[[], str] | None = None

    def format_help(self) -> str:
        """Return the help with what ``more`` returns."""
        help_ = super().format_help()
        return help_ if self.more is None else f"{help_}\n{self.more()}\n"

    def _print_message(self, message: str, file: SupportsWrite[str] | None = None) -> None:
        """Write; argparse's own hides that nothing could be written, and then ends as if all were well."""
        if message:
            (sys.stderr if file is None else file).write(message)


class _ShowVersion(argparse.Action):
    """Prints the version of the installed distribution; it is looked up only when asked for."""

    def __init__(self, option_strings: Sequence[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, help="show the version and exit")

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        try:
            version = metadata.version("dcp-configurator")
        except metadata.PackageNotFoundError:
            version = "(not installed: running from a source folder)"
        print(f"dcp-configurator {version}")
        parser.exit()


def build_parser(chosen: str | None = None) -> argparse.ArgumentParser:
    """Returns the parser. Only the ``chosen`` subcommand has its options: filling in the others would import them."""
    parser = HelpfulParser(
        prog="dcp-configurator",
        description="Check, repair, measure and emit SGLang launch commands that use decode context parallelism.",
    )
    parser.add_argument("--version", action=_ShowVersion)
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in COMMANDS:
        subparser = subparsers.add_parser(
            command.name, help=command.summary, description=f"{command.summary[0].upper()}{command.summary[1:]}."
        )
        if command.name == chosen:
            import_module(command.module).configure(subparser)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one subcommand and returns its exit status.

    Everything after the first ``--`` reaches the subcommand untouched as ``options.words``; it is None where there is no
    ``--`` at all. It is cut off here because argparse would read options that belong to SGLang as its own.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    words: list[str] | None = None
    if "--" in given:
        cut = given.index("--")
        given, words = given[:cut], given[cut + 1 :]
    chosen = next((word for word in given if not word.startswith("-")), None)
    name = "dcp-configurator"
    _prepare_streams()
    try:
        try:
            options = _options(given, chosen)
            name = f"dcp-configurator {options.command}"
            options.words = words
            command = next(command for command in COMMANDS if command.name == options.command)
            status = int(import_module(command.module).run(options))
        finally:  # --help and --version leave by an exception
            sys.stdout.flush()
    except ConfiguratorError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return EXIT_USAGE
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:  # whoever read the output has seen enough
        _discard_output()
        return EXIT_BROKEN_PIPE
    except OSError as error:
        _discard_output()
        print(f"{name}: stopped, {error.strerror or error}.", file=sys.stderr)
        return EXIT_USAGE
    return status


def _options(given: Sequence[str], chosen: str | None) -> argparse.Namespace:
    parser = build_parser(chosen)
    options, strange = parser.parse_known_args(given)
    if strange:
        parser.error(
            f"{strange[0]} is no option of {options.command}. What belongs to SGLang goes after --, "
            f"for example: dcp-configurator {options.command} -- --tp-size 8"
        )
    return options


def _prepare_streams() -> None:
    """Make the standard streams take any text; one that is closed becomes an empty one.

    Words of a command may hold bytes that are no UTF-8, and a terminal may know ASCII only.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - stays open as long as the process
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="surrogateescape" if name == "stdin" else "backslashreplace")


def _discard_output() -> None:
    """Send what is still buffered for standard output nowhere, so that Python does not fail again when it ends."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):  # replaced by something that is no file
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
