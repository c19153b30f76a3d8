"""What is found of a command in a file that is no shell text: a manifest, a config file or a service unit."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from configurator.launch.problem import Problem, shown
from configurator.launch.script import is_shell_with_text
from configurator.launch.word import Piece, Word, is_name, pieces_value, quote_pieces


class Found(NamedTuple):
    """A command in a file.

    Attributes:
        words: The words the program is started with, references live; empty where ``text`` holds them.
        env: Assignments that come with it.
        text: Shell text that a shell is given with ``-c``, where that is how the command is started.
        problems: What to say about the file.
    """

    words: tuple[Word, ...]
    env: tuple[Word, ...] = ()
    text: str = ""
    problems: tuple[Problem, ...] = ()


def word_of(pieces: Sequence[Piece], gap: str = " ") -> Word:
    """Return a word made of text and references."""
    if not any(is_reference for is_reference, _ in pieces):
        return Word("".join(text for _, text in pieces), "", gap)
    merged = [piece for piece in pieces if piece[1]]
    return Word(pieces_value(merged), "", gap, "value", quote_pieces(merged))


def assignment_of(name: str, pieces: Sequence[Piece]) -> Word | None:
    """Return an environment assignment, ``None`` where *name* cannot be a variable's."""
    return word_of([(False, f"{name}="), *pieces])._replace(role="env") if is_name(name) else None


def found_in(
    words: Sequence[Sequence[Piece]], env: Mapping[str, Sequence[Piece]], problems: Sequence[Problem] = ()
) -> Found:
    """Return a command from its words and variables, each as text and references.

    A shell with ``-c`` is looked into: its text is returned instead of the words.
    """
    assigned = tuple(word for name, pieces in env.items() if (word := assignment_of(name, pieces)) is not None)
    made = [word_of(pieces) for pieces in words]
    if made and made[0].value == "/usr/bin/env" and not made[0].live:
        made = made[1:]  # how a service finds its program
    inside = is_shell_with_text([word.value for word in made])
    if inside is not None:
        text = "".join(f"${{{text}}}" if is_reference else text for is_reference, text in words[inside])
        return Found((), assigned, text, tuple(problems))
    # One flag a line, as people write them.
    laid = [word._replace(gap=" \\\n  ") if at and word.value[:2] == "--" else word for at, word in enumerate(made)]
    return Found(tuple(laid), assigned, "", tuple(problems))


def pieces_by(pattern: re.Pattern[str], text: str) -> list[Piece]:
    """Split *text* at what *pattern* finds: its group 1 is text that stands for itself, its group 2 a variable's name."""
    out: list[Piece] = []
    at = 0
    for match in pattern.finditer(text):
        out.append((False, text[at : match.start()]))
        out.append((True, match[2]) if match[2] else (False, match[1]))
        at = match.end()
    out.append((False, text[at:]))
    return [piece for piece in out if piece[1]]


def read_from(what: str) -> Problem:
    """Say that only the command of a file is read."""
    message = f"The command and its variables are read from {what}; what else stands there is no part of the command."
    return Problem("left-out", None, what, message)


def several(count: int, what: str) -> Problem:
    """Say that a file holds more than one command."""
    message = f"{what} holds {count} different SGLang commands; the first is read. Paste another by itself to check it."
    return Problem("left-out", None, shown(what), message)
