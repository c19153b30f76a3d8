"""``check``: every finding for one command, or for many."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from math import isfinite
from pathlib import Path
from typing import Any

from configurator.api import SCHEMA, Result, check
from configurator.cli.facts import add_facts, command_of, facts, json_text, print_json
from configurator.core.errors import ConfiguratorError, InputError
from configurator.words import describe_fix, finding_line, verdict_detail
from configurator.workspace import Workspace

EXIT = {"ok": 0, "warn": 0, "error": 1, "unknown": 4}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``check``."""
    add_facts(parser)
    parser.add_argument("--batch", metavar="FILE", help="read JSON lines from FILE ('-': standard input), answer each")


def run(options: argparse.Namespace) -> int:
    """Check, print, and return the exit status of the verdict."""
    if options.batch is not None:
        if options.words is not None:
            raise InputError(
                "--batch reads its commands from the file, so none can stand after --; give one of the two."
            )
        return _batch(options.batch, facts(options))
    result = check(command_of(options), **facts(options))
    if options.json:
        print_json(result.to_json())
    else:
        print(text_of(result))
    return EXIT[result.verdict]


def text_of(result: Result) -> str:
    """Return a result as text for a terminal."""
    workspace = result.workspace
    lines = [f"{result.verdict}: {result.sentence}", f"  {verdict_detail(workspace)}", *notes_of(workspace), ""]
    for finding in result.findings:
        lines.append(finding_line(finding))
        lines.append(f"    {finding.rule.because}")
        lines.extend(f"    -> {describe_fix(change, workspace)}" for change in workspace.fixes(finding))
    lines.append(asked_of(workspace))
    return "\n".join(lines)


def notes_of(workspace: Workspace) -> list[str]:
    """Return what to say of the text, and of a model nothing is known of, a line each."""
    notes = [problem.message for problem in workspace.notes]
    if workspace.model.note and not workspace.model.facts:
        notes.append(workspace.model.note)
    return [f"note: {note}" for note in notes]


def asked_of(workspace: Workspace) -> str:
    """Return which release, machine and model the answer is about."""
    assumed = ", assumed" if workspace.hardware.assumed else ""
    return f"For SGLang {workspace.release.version}, {workspace.hardware.label}{assumed}, {workspace.model.name}."


def _batch(name: str, defaults: dict[str, Any]) -> int:
    with ExitStack() as stack:
        lines: Iterable[str] = sys.stdin
        if name != "-":
            try:
                lines = stack.enter_context(Path(name).open(encoding="utf-8", errors="surrogateescape"))
            except OSError as error:
                raise InputError(f"{name} cannot be read: {error.strerror}.", part=name) from None
        for document in answers(lines, defaults):
            print(json_text(document))
    return 0


def answers(lines: Iterable[str], defaults: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield one JSON document for each line that is not blank, in order; a bad line gives an error object."""
    for number, line in enumerate(lines, start=1):
        line = line.removeprefix("\ufeff") if number == 1 else line  # noqa: PLW2901 - how some editors begin a file
        if line.strip():
            yield _answer(line, number, defaults)


def _answer(line: str, number: int, defaults: dict[str, Any]) -> dict[str, Any]:
    name: Any = None
    try:
        question = json.loads(line, parse_constant=_no_number, parse_float=_number)
        if not isinstance(question, dict):
            raise InputError(f"Line {number} holds no JSON object.")
        name = question.get("id")
        return check(_argv(question, number), **_facts(question, number, defaults), id=name).to_json()
    except ConfiguratorError as error:
        return {"schema": SCHEMA, "id": name, "error": str(error)}
    except (ValueError, RecursionError) as error:
        return {"schema": SCHEMA, "id": name, "error": f"Line {number} is no JSON that can be read: {error}."}


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number that JSON knows")


def _number(digits: str) -> float:
    value = float(digits)
    return value if isfinite(value) else _no_number(digits)


def _argv(question: dict[str, Any], number: int) -> list[str]:
    argv = question.get("argv")
    if not isinstance(argv, list) or not all(isinstance(word, str) for word in argv):
        raise InputError(f"Line {number} needs argv, a list of words.")
    return argv


def _facts(question: dict[str, Any], number: int, defaults: dict[str, Any]) -> dict[str, Any]:
    found = dict(defaults)
    for key in ("release", "hardware"):
        value = question.get(key)
        if value is not None:
            if not isinstance(value, str):
                raise InputError(f"Line {number}: {key} must be text.")
            found[key] = value
    model = question.get("model")
    if model is not None:
        if not isinstance(model, str | dict):
            raise InputError(f"Line {number}: model must be a name, a path, a config object or 'none'.")
        found["model"] = model
    env = question.get("env") or {}
    if not isinstance(env, dict) or not all(isinstance(v, str) for v in env.values()):
        raise InputError(f"Line {number}: env must map names to text.")
    return {**found, "env": env}
