"""Finished runs kept for comparison: one JSON document a line, appended and never rewritten."""

from __future__ import annotations

import fcntl
import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from configurator.bench.results import SCHEMA
from configurator.core.errors import InputError

FOLDER_VARIABLE = "DCP_CONFIGURATOR_DATA_DIR"
"""Names another folder for saved runs."""
_FILE = "benchmarks.jsonl"


@dataclass(frozen=True, kw_only=True)
class SavedRun:
    """What a list of runs shows of one.

    Attributes:
        id: Unique name.
        started_at: ISO 8601, UTC.
        model: Name of the model whose shapes were used.
        label: ``functional`` or ``measured``.
        device: ``cuda`` or ``cpu``.
        status: ``complete``, ``wrong``, ``cancelled`` or ``died``.
        title: One line for people.
    """

    id: str
    started_at: str
    model: str
    label: str
    device: str
    status: str
    title: str


def folder() -> Path:
    """Return the folder of saved runs; it need not exist yet."""
    given = os.environ.get(FOLDER_VARIABLE)
    if given:
        return Path(given).expanduser()
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "dcp-configurator"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "dcp-configurator"


def append(document: Mapping[str, Any]) -> Path:
    """Keep a run.

    Args:
        document: The JSON of ``bench``.

    Returns:
        The file it was added to.

    Raises:
        InputError: The file cannot be written.
    """
    path = folder() / _FILE
    line = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # two pages may finish at the same moment
            end = file.seek(0, os.SEEK_END)
            if end:
                file.seek(end - 1)
                if file.read(1) != b"\n":  # a writer was ended within its line: that line is lost, this one must not be
                    line = b"\n" + line
            file.write(line)
    except OSError as error:
        raise InputError(
            f"You asked to keep this run - {path} cannot be written ({error.strerror}) - "
            f"set {FOLDER_VARIABLE} to a folder that can be, or save the run with --out.",
            part=str(path),
        ) from None
    return path


def documents() -> Iterator[dict[str, Any]]:
    """Yield the documents kept, oldest first. Lines that cannot be read, and those of a later schema, are passed over.

    Raises:
        InputError: The file is there and cannot be read.
    """
    path = folder() / _FILE
    try:
        with path.open("rb") as file:
            for line in file:
                found = _document(line)
                if found is not None:
                    yield found
    except FileNotFoundError:
        return
    except OSError as error:
        raise InputError(f"Saved runs in {path} cannot be read: {error.strerror}.", part=str(path)) from None


def _document(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    usable = isinstance(found, dict) and found.get("schema") == SCHEMA and isinstance(found.get("id"), str)
    return found if usable else None


def list_runs() -> tuple[SavedRun, ...]:
    """Return what is kept, newest first.

    Raises:
        InputError: As :func:`documents`.
    """
    return tuple(reversed([_summary(document) for document in documents()]))


def load(name: str) -> dict[str, Any]:
    """Return the document of the run called *name*; its first characters do, where no other run begins so.

    Raises:
        InputError: None or several are called so, or :func:`documents`.
    """
    found = {document["id"]: document for document in documents() if document["id"].startswith(name)}
    if len(found) != 1:
        what = "none of that name" if not found else f"{len(found)} of them"
        raise InputError(
            f"You asked for the saved run {name!r} - there is {what} - name one that list_runs shows.", part=name
        )
    return next(iter(found.values()))


def _summary(document: Mapping[str, Any]) -> SavedRun:
    problem, environment = document.get("problem") or {}, document.get("environment") or {}
    started_at = str(document.get("started_at") or "")
    device = str(environment.get("device") or "unknown")
    where = str(environment.get("gpu") or device)
    title = (
        f"{started_at.replace('T', ' ')[:16]}  {problem.get('model')}  tp {problem.get('tp_size')} dcp "
        f"{problem.get('dcp_size')}  B {problem.get('batch_size')}  context {problem.get('context_length')}  "
        f"{problem.get('dtype')}  {where}"
    )
    return SavedRun(
        id=document["id"],
        started_at=started_at,
        model=str(problem.get("model") or "unnamed"),
        label=str(document.get("label") or "functional"),
        device=device,
        status=str(document.get("status") or "complete"),
        title=title,
    )
