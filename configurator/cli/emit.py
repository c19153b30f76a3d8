"""``emit``: ready-to-run text, one block for each node."""

from __future__ import annotations

import argparse
import io
import sys

from configurator.api import SCHEMA, BrokenCommandError, emit
from configurator.cli.facts import add_facts, command_of, facts, print_json
from configurator.core.errors import InputError
from configurator.launch.emit import FORMATS


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``emit``."""
    add_facts(parser)
    parser.add_argument(
        "--format", default="shell", metavar="FORMAT", help=f"one of {', '.join(FORMATS)}; default: shell"
    )
    parser.add_argument("--force", action="store_true", help="emit a broken command too, with the reasons in a comment")


def run(options: argparse.Namespace) -> int:
    """Print the files; return 1 where the command is broken and ``--force`` is not given."""
    if options.format not in FORMATS:
        raise InputError(
            f"{options.format}: there is no such output format; choose one of {', '.join(FORMATS)}.", part="--format"
        )
    try:
        files = emit(command_of(options), format=options.format, force=options.force, **facts(options))
    except BrokenCommandError as error:
        print(f"dcp-configurator emit: {error}", file=sys.stderr)
        if options.json:
            print_json({"schema": SCHEMA, "format": options.format, "files": [], "error": str(error)})
        return 1
    if options.json:
        found = [{"name": f.name, "node_rank": f.node_rank, "text": f.text} for f in files]
        print_json({"schema": SCHEMA, "format": options.format, "files": found})
    else:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="surrogateescape")  # a script holds the very bytes that were given
        print("\n".join(file.text for file in files))
    return 0
