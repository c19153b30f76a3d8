"""The command line. Each subcommand is a module of this package with ``configure(parser)`` and ``run(options)``.

Only the module of the subcommand that is called gets imported, so ``dcp-configurator --version`` and every subcommand
pay for nothing but themselves.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module, metadata

from configurator.core.errors import ConfiguratorError

#: Exit statuses that all subcommands share. The others are theirs.
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


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
    Command("probe", "what this machine tells of its GPUs", "configurator.cli.probe"),
    Command("bench", "the microbenchmark of the DCP exchange", "configurator.cli.bench"),
    Command("app", "serve the page with Voila", "configurator.cli.app"),
)


class _ShowVersion(argparse.Action):
    """Prints the version of the installed distribution; it is looked up only when asked for."""

    def __init__(self, option_strings: Sequence[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, help="show the version and exit")

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        try:
            version = metadata.version("dcp-configurator")
        except metadata.PackageNotFoundError:
            version = "(not installed: running from a source folder)"
        parser.exit(message=f"dcp-configurator {version}\n")


def build_parser(chosen: str | None = None) -> argparse.ArgumentParser:
    """Returns the parser. Only the ``chosen`` subcommand has its options: filling in the others would import them."""
    parser = argparse.ArgumentParser(
        prog="dcp-configurator",
        description="Check, repair, measure and emit SGLang launch commands that use decode context parallelism.",
    )
    parser.add_argument("--version", action=_ShowVersion)
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in COMMANDS:
        subparser = subparsers.add_parser(
            command.name, help=command.summary, description=command.summary.capitalize() + "."
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
    options = build_parser(chosen).parse_args(given)
    options.words = words
    command = next(command for command in COMMANDS if command.name == options.command)
    try:
        return int(import_module(command.module).run(options))
    except ConfiguratorError as error:
        print(f"dcp-configurator {command.name}: {error}", file=sys.stderr)
        return EXIT_USAGE
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
