"""What several subcommands share: the facts they take, the command they read, the JSON they print."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from configurator.core.errors import InputError

RELEASE_HELP = "SGLang release, or 'installed' for the one in this Python; default: the newest known"
HARDWARE_HELP = "preset name, snapshot file, or 'local'; default: this machine where it has a GPU, else h200x8, assumed"
MODEL_HELP = "fact sheet, folder or config.json; default: what --model-path names"


def add_facts(parser: argparse.ArgumentParser) -> None:
    """Add ``--release``, ``--hardware``, ``--model`` and ``--json`` to *parser*."""
    parser.add_argument("--release", metavar="VERSION", help=RELEASE_HELP)
    parser.add_argument("--hardware", metavar="NAME", help=HARDWARE_HELP)
    parser.add_argument("--model", metavar="NAME", help=MODEL_HELP)
    add_json(parser)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add ``--json`` to *parser*."""
    parser.add_argument("--json", action="store_true", help="print one JSON document instead of text")


def facts(options: argparse.Namespace) -> dict[str, Any]:
    """Return the facts that the options name, as keyword arguments of the Python functions."""
    return {
        "release": options.release,
        "hardware": default_hardware() if options.hardware is None else options.hardware,
        "model": options.model,
    }


def default_hardware() -> str | None:
    """Return ``local`` where this machine has a GPU that answers, else ``None`` for the assumed preset."""
    from configurator.api import probe  # noqa: PLC0415 - only commands about a machine pay for the probe

    return "local" if probe().gpus else None


def command_of(options: argparse.Namespace) -> str | Sequence[str]:
    """Return the command to work on: words after ``--``, one quoted string, or standard input.

    Several words are argv, where every byte is data; a single one that holds white space is pasted text.

    Raises:
        InputError: There is nothing to read.
    """
    words = options.words
    if words:
        return words[0] if len(words) == 1 and any(c.isspace() for c in words[0]) else list(words)
    if sys.stdin.isatty():
        raise InputError("No command is given. Put it after --, or on standard input.")
    text = sys.stdin.read()
    if not text.strip():
        raise InputError("The command is empty. Put it after --, or on standard input.")
    return text


def print_json(document: object) -> None:
    """Print one JSON document on one line for pipes, indented for people.

    It is ASCII throughout, so that no terminal, locale or stray byte of a command can make it anything but JSON.
    """
    print(json.dumps(document, indent=2 if sys.stdout.isatty() else None))
