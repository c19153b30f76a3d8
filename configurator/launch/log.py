"""What a server's log or a traceback tells besides the error: the command that was run, and SGLang's version."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

from configurator.core.configuration import Configuration
from configurator.core.flag import FlagTable, FlagValue
from configurator.launch.command import Command, command_from
from configurator.launch.parse import parse

_VERSION = re.compile(
    r"\bsglang(?:==|:v?|-|/|\s+v?|(?:\s+|_)version['\"]?\s*[:=]?\s*['\"]?v?)(\d+\.\d+\.\d+(?:\.?(?:post|rc)\d+)?)\b",
    re.IGNORECASE,
)
_COMMAND = re.compile(r"sglang\.launch_server\b|\bsglang serve\b")
_BEFORE = re.compile(r"(?:\S*/)?(?:python[\d.]*\s|sglang serve\b|(?:\S*/)?env\s)")
_DUMP = re.compile(r"\bServerArgs\(")
_FIELD = re.compile(
    r"(\w+)=('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|None|True|False|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?=[,)])"
)
_MAX_LINES = 40
_MAX_DUMP = 60_000


def release_in(text: str) -> str | None:
    """Return the version of SGLang that *text* names first, or ``None``."""
    match = _VERSION.search(text)
    return match[1] if match else None


def command_in(text: str, table: FlagTable, modelled: Collection[str]) -> Command | None:
    """Return the command a log comes from, or ``None`` where it shows none.

    A command line that stands in it wins. Otherwise the arguments are taken from the ``ServerArgs(...)`` that the server
    prints when it starts: the model and the flags of *modelled* that differ from their default. What the server had
    filled in by then is among them.
    """
    for lines in _command_lines(text):
        command = parse(lines, table)
        prose = any(problem.kind == "positional" for problem in command.problems)
        if any(occurrence.spelling for occurrence in command.occurrences) and not prose:
            return command
    match = _DUMP.search(text)
    return None if match is None else _from_dump(text[match.end() : match.end() + _MAX_DUMP], table, modelled)


def _command_lines(text: str) -> Iterator[str]:
    """Yield each place where a launch command stands, with the lines it continues on, without what a logger puts before."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        found = _COMMAND.search(line)
        if found is None:
            continue
        begin = next((m.start() for m in _BEFORE.finditer(line) if m.start() <= found.start() < m.end() + 80), None)
        if begin is None:
            continue
        end = at
        while end < min(len(lines) - 1, at + _MAX_LINES) and lines[end].rstrip().endswith("\\"):
            end += 1
        yield "\n".join([line[begin:], *lines[at + 1 : end + 1]])


def _from_dump(text: str, table: FlagTable, modelled: Collection[str]) -> Command | None:
    flags: dict[str, FlagValue] = {}
    for name, literal in _FIELD.findall(text):
        spec = table.get(name)
        if spec is None or name in flags or (name != "model_path" and name not in modelled):
            continue
        value: FlagValue = ast.literal_eval(literal)
        known = spec.choices is None or value in spec.choices
        if value is not None and value != spec.default and known and (value is not False or spec.action == "boolean"):
            flags[name] = value
    return command_from(Configuration(flags), table) if "model_path" in flags else None
