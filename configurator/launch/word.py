"""The words of a command: what the server sees of each, how the user spelled it, and how a shell may safely see it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

Role = Literal["comment", "setup", "env", "launcher", "flag", "value", "unknown", "extra", "tail"]
"""``setup``: an export line before the command. ``unknown``: a flag the release does not know, ``extra``: a word that
belongs to no known flag. ``tail``: pipes, redirections and ``&``, which are the shell's."""

Piece = tuple[bool, str]
"""Part of a word: a reference (``True``, the variable's name) or text (``False``)."""

_UNSAFE = re.compile(r"[^\w@%+=:,./-]", re.ASCII).search  # the set of shlex.quote
_ASSIGNMENT_HEAD = re.compile(r"(?:--?[A-Za-z0-9][\w-]*|[A-Za-z_]\w*)=", re.ASCII).match
_IN_DOUBLE_QUOTES = re.compile(r'([\\"$`])')
_NEEDS_BRACES = re.compile(r"[\w\[]", re.ASCII).match
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class Word(NamedTuple):
    """One word of a command, lossless: joining ``gap`` and the spelling of all words gives the text back.

    Attributes:
        value: What the program sees; a reference stands as ``$NAME`` in it.
        raw: The user's own spelling where it is safe to repeat, else empty: then the word is quoted afresh.
        gap: The blanks, line continuation or line end before the word.
        role: What the word is for.
        live: A safe spelling of a word that contains references; empty when the word is plain data.
    """

    value: str
    raw: str = ""
    gap: str = " "
    role: Role = "value"
    live: str = ""

    @property
    def spelling(self) -> str:
        """How the word is written where the user's spelling is kept."""
        return self.raw or self.live or quote(self.value)

    @property
    def safe(self) -> str:
        """How we write the word when the layout is ours."""
        if self.role in ("tail", "comment"):
            return self.raw
        return self.live or quote(self.value)


def quote(text: str) -> str:
    """Return *text* as one word for a POSIX shell, with nothing in it live.

    Quotes as :func:`shlex.quote` does, except that ``--flag=`` and ``NAME=`` stay outside the quotes. A NUL cannot
    be passed to any program and is dropped; :func:`configurator.launch.parse.parse` refuses it before.
    """
    if not text:
        return "''"
    if _UNSAFE(text) is None:
        return text
    head = _ASSIGNMENT_HEAD(text)
    start = head.end() if head else 0
    body = text[start:].replace("\0", "")
    if _UNSAFE(body) is None:
        return text[:start] + body if start else body or "''"
    return text[:start] + "'" + body.replace("'", "'\"'\"'") + "'"


def quote_pieces(pieces: Sequence[Piece]) -> str:
    """Return a word made of text and references: references live inside double quotes, everything else escaped.

    A text with ``!`` is put into single quotes of its own: an interactive shell expands it inside double quotes.
    """
    head = ""
    pieces = list(pieces)
    if pieces and not pieces[0][0] and (match := _ASSIGNMENT_HEAD(pieces[0][1])):
        head = match.group()
        pieces[0] = (False, pieces[0][1][match.end() :])
    out = [head]
    open_ = False
    for at, (is_reference, text) in enumerate(pieces):
        if not text:
            continue
        if not is_reference and "!" in text:
            out.append('"' if open_ else "")
            open_ = False
            out.append("'" + text.replace("\0", "").replace("'", "'\"'\"'") + "'")
            continue
        if not open_:
            out.append('"')
            open_ = True
        if is_reference:
            after = pieces[at + 1] if at + 1 < len(pieces) else (False, "")
            braces = not after[0] and _NEEDS_BRACES(after[1])
            out.append(f"${{{text}}}" if braces else f"${text}")
        else:
            out.append(_IN_DOUBLE_QUOTES.sub(r"\\\1", text.replace("\0", "")))
    if open_:
        out.append('"')
    return "".join(out)


def pieces_value(pieces: Sequence[Piece]) -> str:
    """Return the text shown for a word made of *pieces*; a reference is shown as ``$NAME`` or ``${NAME}``."""
    out: list[str] = []
    for at, (is_reference, text) in enumerate(pieces):
        if not is_reference:
            out.append(text)
            continue
        after = pieces[at + 1] if at + 1 < len(pieces) else (False, "")
        out.append(f"${{{text}}}" if not after[0] and _NEEDS_BRACES(after[1]) else f"${text}")
    return "".join(out)


def assignment(word: Word) -> tuple[str, str] | None:
    """Return name and value if *word* is an environment assignment ``NAME=value``, else ``None``."""
    name, equals, value = word.value.partition("=")
    if equals and _NAME.fullmatch(name) and (not word.raw or word.raw.startswith(f"{name}=")):
        return name, value
    return None


def is_name(text: str) -> bool:
    """Tell whether *text* can name an environment variable in a shell."""
    return _NAME.fullmatch(text) is not None
