"""What several subcommands share: the facts they take, the command they read, the JSON they print."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from configurator.cli import HelpfulParser
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
    if isinstance(parser, HelpfulParser):
        parser.usage = f"{parser.prog} [options] [-- COMMAND...]"
        parser.more = _names


def _names() -> str:
    """Return how a command is given, and the names that the facts can have."""
    from configurator.catalog import VERSIONS  # noqa: PLC0415 - looked up only for those who ask for help
    from configurator.hardware import PRESET_NAMES  # noqa: PLC0415
    from configurator.models import list_models  # noqa: PLC0415

    lists = {
        "releases": VERSIONS,
        "presets of --hardware": PRESET_NAMES,
        "models of --model": [sheet.facts.name for sheet in list_models()],
    }
    command = (
        "COMMAND: the words of an SGLang launch command, where every byte is data, or one quoted string as pasted; "
        "without -- it is read from standard input."
    )
    paragraphs = [command, *(f"{title}: {', '.join(names)}" for title, names in lists.items())]
    return "\n".join(textwrap.fill(text, 100, subsequent_indent="  ", break_on_hyphens=False) for text in paragraphs)


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
    """Print one JSON document on one line for pipes, indented for people."""
    print(json_text(document, indent=2 if sys.stdout.isatty() else None))


def json_text(document: object, indent: int | None = None) -> str:
    """Return *document* as JSON, ASCII throughout, so that no terminal, locale or stray byte can make it anything else.

    JSON has no infinity and no NaN: a value of a command that is one (``--mem-fraction-static inf``) becomes text.
    """
    try:
        return json.dumps(document, indent=indent, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(document), indent=indent, allow_nan=False)


def _finite(value: object) -> object:
    """Return *value* with each number that JSON cannot write as text."""
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value
