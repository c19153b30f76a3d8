"""Reading shell text: words, comments, operators. A reader, never an interpreter: nothing here is expanded or run.

References ``$NAME`` and ``${NAME}`` stay references. Everything else a shell would act on inside a word (command
substitution, globs, braces) is text. Each character is looked at a bounded number of times.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from configurator.launch.shell_word import (
    BROKEN_CONTINUATION,
    CONTINUATION,
    PLAIN,
    Fault,
    UnclosedError,
    WordReader,
)
from configurator.launch.word import Word

_BLANKS = re.compile(r"[ \t\r\v\f]+")
_NEWLINE = re.compile(r"\r?\n")
_COMMENT = re.compile(r"#[^\n]*")
_REDIRECTION = re.compile(r"[0-9]*(?:<<<|<<-?|<>|<&|>>|>\||>&|<|>)|&>>?")
_OPERATOR = re.compile(r"&&|\|\||\|&|;;|[;&|()]")
_PLAIN_END = " \t\n;"


class Operator(NamedTuple):
    """A control operator or a line end between commands, at character ``at``; ``text`` of a line end is a newline."""

    text: str
    at: int


class Comment(NamedTuple):
    """A comment with its hash sign."""

    text: str


class Redirection(NamedTuple):
    """A redirection operator; the word after it is its target."""

    text: str


Item = Word | Operator | Comment | Redirection


def scan(text: str) -> tuple[list[Item], list[Fault]]:
    """Split *text* as a shell would, without acting on any of it.

    Returns:
        The words, comments, operators and redirections in order, and what is wrong with the text. Reading stops
        before a word whose quote never closes.
    """
    items: list[Item] = []
    faults: list[Fault] = []
    pos, end, gap = 0, len(text), ""
    while pos < end:
        plain = PLAIN.match(text, pos)
        if plain and (plain.end() == end or text[plain.end()] in _PLAIN_END):
            items.append(Word(plain.group(), plain.group(), gap))
            pos, gap = plain.end(), ""
            continue
        after, blank = _gap(text, pos, faults)
        if after > pos:
            pos, gap = after, gap + blank
            continue
        item, after = _mark(text, pos)
        if item is None:
            try:
                item, after = WordReader(text, pos, faults).read(gap)
            except UnclosedError as unclosed:
                faults.append(Fault("unclosed", unclosed.what, unclosed.at))
                break
        items.append(item)
        pos, gap = after, ""
    return items, faults


def _gap(text: str, pos: int, faults: list[Fault]) -> tuple[int, str]:
    """Read blanks or a line continuation; return where they end and how to write them."""
    if match := _BLANKS.match(text, pos):
        blank = match.group()
        return match.end(), blank if blank.isascii() and "\r" not in blank else " "
    if match := CONTINUATION.match(text, pos):
        return match.end(), "\\\n"
    if match := BROKEN_CONTINUATION.match(text, pos):
        if match.group().endswith("\n") or match.group(1):  # a backslash at the very end continues nothing
            faults.append(Fault("continuation", match.group(1) or "", pos))
        return match.end(), "\\\n"
    return pos, ""


def _mark(text: str, pos: int) -> tuple[Item | None, int]:
    """Read a line end, comment, redirection or operator; return it and where it ends, or ``None``."""
    if match := _NEWLINE.match(text, pos):
        return Operator("\n", pos), match.end()
    if match := _COMMENT.match(text, pos):
        return Comment(match.group().rstrip()), match.end()
    if match := _REDIRECTION.match(text, pos):
        return Redirection(match.group()), match.end()
    if match := _OPERATOR.match(text, pos):
        return Operator(match.group(), pos), match.end()
    return None, pos
