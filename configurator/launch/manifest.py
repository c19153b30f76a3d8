"""Reading YAML: a compose service, a container of a Kubernetes manifest, or the config file of ``--config``.

The file is looked at as data. What is filled in by compose (``${NAME}``) or the kubelet (``$(NAME)``) stays a reference.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from configurator.core.flag import FlagTable
from configurator.launch.foreign import Found, found_in, pieces_by, read_from, several, word_of
from configurator.launch.launcher import find_launcher
from configurator.launch.problem import Problem, shown
from configurator.launch.shell import scan
from configurator.launch.shell_word import pieces_of
from configurator.launch.word import Piece, Word

_FIRST = re.compile(
    r"(?:[ \t]*(?:#[^\n]*|---[^\n]*)?\r?\n)*+"  # blank lines, comments, the start of a document
    r"[ \t]*(?:[\"']?[A-Za-z_][\w./-]*[\"']?[ \t]*:(?=[ \t\r\n]|\Z)|- |\{)"
)
_COMPOSE = re.compile(r"\$(?:(\$)|\{?([A-Za-z_]\w*)\}?)", re.ASCII)
_KUBERNETES = re.compile(r"\$(?:(\$)|\(([A-Za-z_]\w*)\))", re.ASCII)
_MAX_NODES = 20_000  # anchors can make a small file a huge tree
_MAX_BRACKETS = 2_000  # more than any manifest has, and few enough to give up on deep nesting soon
_MODEL_KEYS = ("model_path", "model")


class _Dialect(NamedTuple):
    """Who reads a container's command: what it is called, how variables stand in it, which keys hold its words."""

    name: str
    variable: re.Pattern[str]
    keys: tuple[str, str]


_COMPOSE_FILE = _Dialect("a compose file", _COMPOSE, ("entrypoint", "command"))
_MANIFEST = _Dialect("a Kubernetes manifest", _KUBERNETES, ("command", "args"))


def read_manifest(text: str, table: FlagTable) -> Found | Problem | None:
    """Return the first SGLang command of a YAML text.

    Returns:
        ``None`` if the text is no YAML or holds no command; a problem if it looks like YAML but cannot be read.
    """
    if not _FIRST.match(text) or text.count("[") + text.count("{") > _MAX_BRACKETS:
        return None
    documents = _load(text, "1.2")
    if isinstance(documents, Problem):
        return documents
    nodes = list(islice(_mappings(documents), _MAX_NODES))
    dialect = _MANIFEST if any("apiVersion" in node or "containers" in node for node in nodes) else _COMPOSE_FILE
    found = [command for node in nodes if (command := _container(node, dialect)) is not None]
    if found:
        different = {(command.words, command.text) for command in found}
        return found[0] if len(different) == 1 else _noted(found[0], several(len(different), dialect.name.capitalize()))
    return _config(text, documents, table)


def _load(text: str, version: str) -> list[Any] | Problem:
    from ruamel.yaml import YAML  # noqa: PLC0415 - read only where a text looks like YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError  # noqa: PLC0415

    reader = YAML(typ="safe", pure=True)
    reader.version = version
    reader.allow_duplicate_keys = True
    try:
        return list(reader.load_all(text))
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark is not None else ""
        what = shown(str(error.problem or error.context or "not understood"))
        message = f"The text looks like YAML, but cannot be read as such{where}: {what}. Correct it, or paste the command alone."
        return Problem("left-out", None, "", message)
    except (YAMLError, ValueError, TypeError, RecursionError, OverflowError):
        message = "The text looks like YAML, but cannot be read as such. Paste the command alone."
        return Problem("left-out", None, "", message)


def _mappings(tree: object) -> Iterator[Mapping[str, Any]]:
    """Yield every mapping of a tree in order, each once; what anchors repeat is not repeated."""
    seen: set[int] = set()
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, (dict, list)) or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, dict):
            yield node
            waiting.extend(reversed(node.values()))
        else:
            waiting.extend(reversed(node))


def _container(node: Mapping[str, Any], dialect: _Dialect) -> Found | None:
    """Return the command of a container, or ``None`` if it starts something else."""
    env = _environment(node, dialect)
    words: list[list[Piece]] = []
    for key in dialect.keys:
        part = _words(node.get(key), dialect)
        if part is None:
            return None
        words.extend(_filled_in(pieces, env) for pieces in part)
    if not words:
        return None
    known = {name: pieces for name, pieces in env.items() if pieces}
    found = found_in(words, known, [read_from(dialect.name)])
    if found.text:
        return found if "sglang" in found.text else None
    values = [word.value for word in found.words]
    launcher = find_launcher(values)
    if launcher is None:
        return None
    bare = launcher.end == launcher.env
    ours = "sglang" in str(node.get("image", "")) or any(
        value.startswith(("--model-path", "--model=")) for value in values
    )
    return found if not bare or ours else None


def _words(value: object, dialect: _Dialect) -> list[list[Piece]] | None:
    """Return the words of a list, or of a text split as a shell would; ``None`` for what is neither."""
    if value is None:
        return []
    if isinstance(value, list):
        return [pieces_by(dialect.variable, _scalar(item)) for item in value]
    if not isinstance(value, str):
        return None
    items, _ = scan(value.replace("$$", "\\$"))
    return [pieces_of(item) for item in items if isinstance(item, Word)]


def _environment(node: Mapping[str, Any], dialect: _Dialect) -> dict[str, list[Piece]]:
    """Return the variables of a container by name; one without a value of its own is empty."""
    given = node.get("environment" if dialect is _COMPOSE_FILE else "env")
    pairs: list[tuple[object, object]] = []
    if isinstance(given, dict):
        pairs = list(given.items())
    elif isinstance(given, list):
        for item in given:
            if isinstance(item, dict):
                pairs.append((item.get("name"), item.get("value")))
            elif isinstance(item, str) and "=" in item:
                name, _, value = item.partition("=")
                pairs.append((name, value))
    env: dict[str, list[Piece]] = {}
    for key, content in pairs:
        text = "" if content is None else _scalar(content)
        env[str(key)] = [_own(piece, env) for piece in pieces_by(dialect.variable, text)]
    return env


def _filled_in(pieces: list[Piece], env: Mapping[str, list[Piece]]) -> list[Piece]:
    return [_own(piece, env) for piece in pieces]


def _own(piece: Piece, env: Mapping[str, list[Piece]]) -> Piece:
    """Fill in a reference to a variable that the container itself gives a plain value."""
    value = env.get(piece[1]) if piece[0] else None
    if not value or any(is_reference for is_reference, _ in value):
        return piece
    return (False, "".join(text for _, text in value))


def _scalar(value: object) -> str:
    """Return *value* as the text a container is given."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _noted(found: Found, problem: Problem) -> Found:
    return found._replace(problems=(*found.problems, problem))


def _config(text: str, documents: list[Any], table: FlagTable) -> Found | None:
    """Return the arguments a config file stands for, or ``None`` if it is none.

    Source: sglang/srt/utils/server_args_config_parser.py, ``ConfigArgumentMerger`` (0.5.23), which reads YAML 1.1.
    """
    if len(documents) != 1 or not isinstance(documents[0], dict):
        return None
    known = {spelling.lstrip("-").replace("-", "_"): spec for spelling, spec in table.spellings.items()}
    keys = [str(key).replace("-", "_") for key in documents[0]]
    if not any(key in _MODEL_KEYS for key in keys) and 2 * sum(key in known for key in keys) <= len(keys):
        return None
    if not any(key in known for key in keys):
        return None
    read = _load(text, "1.1")
    if isinstance(read, Problem):
        return None
    words: list[str] = []
    for key, value in read[0].items():
        spec = known.get(str(key).replace("-", "_"))
        name = f"--{key}"
        if isinstance(value, bool):
            switch = spec is not None and spec.action == "true"
            words += ([name] if value else []) if switch else [f"{name}={str(value).lower()}"]
        elif isinstance(value, list) and not (spec is not None and spec.action == "store" and spec.nargs is None):
            words += [name, *(str(item) for item in value)] if value else []
        else:
            words += [name, json.dumps(value, default=str) if isinstance(value, (dict, list)) else str(value)]
    laid = [word_of([(False, word)], " \\\n" if at and word[:2] == "--" else " ") for at, word in enumerate(words)]
    return Found(tuple(laid), problems=(read_from("a config file"),)) if words else None
