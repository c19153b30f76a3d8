"""Environment variables a command gives its server: assignments, export lines, ``env``, a container's ``-e``."""

from __future__ import annotations

from collections.abc import Sequence

from configurator.launch.word import Word, assignment

_CONTAINER_OPTIONS = ("-e", "--env")
_PASS_ON = ("env", "sudo")


def environment(words: Sequence[Word]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the variables that reach the server, and those whose value contains a reference.

    Args:
        words: What stands before the server arguments, with roles.

    Returns:
        Known values by name, and texts with references by name; the later of two assignments holds.
    """
    known: dict[str, str] = {}
    unknown: dict[str, str] = {}
    passing_on = exporting = False
    previous = ""
    for word in words:
        if word.role == "setup":
            exporting = word.value == "export" or (exporting and "\n" not in word.gap)
        counts = word.role == "env" or (word.role == "setup" and exporting)
        if word.role == "launcher":
            counts = passing_on or previous in _CONTAINER_OPTIONS
            passing_on = word.value in _PASS_ON or (passing_on and assignment(word) is not None)
        previous = word.value
        if word.role == "launcher" and previous.startswith("--env="):
            found = assignment(word._replace(value=previous[6:], raw=""))
        else:
            found = assignment(word) if counts else None
        if found is None:
            continue
        known.pop(found[0], None)
        unknown.pop(found[0], None)
        (unknown if word.live else known)[found[0]] = found[1]
    return known, unknown
