"""Reading one word of shell text with its quotes, escapes and references."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from configurator.launch.word import Piece, Word, pieces_value, quote_pieces

CONTINUATION = re.compile(r"\\\r?\n")
BROKEN_CONTINUATION = re.compile(r"\\[ \t]+(#[^\n]*)?(?:\r?\n|\Z)")
PLAIN = re.compile(r"[A-Za-z0-9@%+=:,./_-]+")

_UNQUOTED = re.compile(r"[^ \t\n\r\v\f'\"\\$`;&|()<>]+")
_SAFE = re.compile(r"[\w@%+=:,./^\]-]+")  # what may be repeated unquoted; no glob, brace, tilde or history character
_REFERENCE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})", re.ASCII)
_DOUBLE_TEXT = re.compile(r'[^"\\$`]+')
_TILDE = re.compile(r"~(?=[/ \t\r\n;&|)]|\Z)")
_OTHER_DOLLAR = re.compile(r"\$(?:[0-9@*#?$!-]|(?=\{))")
_BRACKET_PART = re.compile(r"[^'\"\\(){}]+")
_ANSI = re.compile(
    r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|c(.)|(.))", re.DOTALL
)
_ANSI_NAMES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "E": "\x1b"}


class Fault(NamedTuple):
    """Something wrong with the text at character ``at``; ``what`` opened, was kept as text, or is in the way."""

    kind: Literal["unclosed", "substitution", "continuation"]
    what: str
    at: int


class UnclosedError(Exception):
    """A quote or bracket that opens at character ``at`` and never closes."""

    def __init__(self, what: str, at: int) -> None:
        """Keep what opened (in words), and where."""
        super().__init__(what)
        self.what = what
        self.at = at


class WordReader:
    """Reads the word that starts at one place of a text."""

    def __init__(self, text: str, start: int, faults: list[Fault]) -> None:
        """Read from *start*; what stays text although a shell would act on it is added to *faults*."""
        self.text = text
        self.start = self.pos = start
        self.faults = faults
        self.pieces: list[Piece] = []
        self.safe = True  # whether the user's own spelling may be repeated

    def read(self, gap: str) -> tuple[Word, int]:
        """Return the word and where it ends.

        Raises:
            UnclosedError: If a quote in it never closes.
        """
        text, end = self.text, len(self.text)
        if match := _TILDE.match(text, self.pos):  # a home directory is the one expansion people mean as a path
            self._put(match.end(), reference="HOME", safe=False)
        while self.pos < end and self._part(text[self.pos]):
            pass
        raw = text[self.start : self.pos] if self.safe and "\0" not in text[self.start : self.pos] else ""
        if any(is_reference for is_reference, _ in self.pieces):
            merged = _merged(self.pieces)
            return Word(pieces_value(merged), raw, gap, "value", quote_pieces(merged)), self.pos
        return Word("".join([part for _, part in self.pieces]), raw, gap), self.pos

    def _put(self, end: int, text: str = "", *, reference: str = "", safe: bool = True) -> None:
        self.pieces.append((True, reference) if reference else (False, text))
        self.safe = self.safe and safe
        self.pos = end

    def _part(self, char: str) -> bool:
        """Read one part of the word; ``False`` if the word ends before *char*."""
        if char == "'":
            close = self.text.find("'", self.pos + 1)
            if close < 0:
                raise UnclosedError("single quote", self.pos)
            self._put(close + 1, self.text[self.pos + 1 : close])
        elif char == '"':
            self._double_quoted(self.pos)
        elif char == "\\":
            return self._escape()
        elif char == "$":
            self._dollar(quoted=False)
        elif char == "`":
            self._backticks()
        elif match := _UNQUOTED.match(self.text, self.pos):
            part = match.group()
            self._put(match.end(), part, safe=_SAFE.fullmatch(part) is not None)
        else:
            return False
        return True

    def _escape(self) -> bool:
        """Read a backslash; ``False`` if it continues the line and the word ends there."""
        text, pos = self.text, self.pos
        if BROKEN_CONTINUATION.match(text, pos):
            return False
        if match := CONTINUATION.match(text, pos):
            if text[match.end() : match.end() + 1] in ("", " ", "\t", "\r", "\n"):
                return False  # the continuation belongs to the next gap
            self._put(match.end(), safe=False)
            return True
        self._put(min(pos + 2, len(text)), text[pos + 1 : pos + 2] or "\\", safe=pos + 1 < len(text))
        return True

    def _double_quoted(self, start: int) -> None:
        """Read a double-quoted part whose quote is at *start*."""
        text, end = self.text, len(self.text)
        self._put(start + 1)
        while self.pos < end:
            char = text[self.pos]
            if char == '"':
                self.pos += 1
                return
            if char == "\\":
                following = text[self.pos + 1 : self.pos + 2]
                if match := CONTINUATION.match(text, self.pos):
                    self.pos = match.end()
                elif following and following in '$`"\\':
                    self._put(self.pos + 2, following)
                else:
                    self._put(self.pos + 1, "\\")
            elif char == "$":
                self._dollar(quoted=True)
            elif char == "`":
                self._backticks()
            elif match := _DOUBLE_TEXT.match(text, self.pos):
                self._put(match.end(), match.group(), safe="!" not in match.group())
        raise UnclosedError("double quote", start)

    def _dollar(self, *, quoted: bool) -> None:
        """Read what a dollar sign starts: a reference, or something that stays text."""
        text, pos = self.text, self.pos
        following = text[pos + 1 : pos + 2]
        if match := _REFERENCE.match(text, pos):
            self._put(match.end(), reference=match.group(1) or match.group(2))
        elif following == "(":
            self._substitution(_balanced(text, pos + 1))
        elif following == "'" and not quoted:
            close = _ansi_end(text, pos + 2)
            self._put(close + 1, _ANSI.sub(_ansi_character, text[pos + 2 : close]), safe=False)
        elif following == '"' and not quoted:
            self.safe = False
            self._double_quoted(pos + 1)
        elif match := _OTHER_DOLLAR.match(text, pos):
            self._substitution(_balanced(text, pos + 1) if following == "{" else match.end())
        else:
            self._put(pos + 1, "$", safe=False)

    def _backticks(self) -> None:
        """Read a command substitution in backticks as text."""
        pos, end = self.pos + 1, len(self.text)
        while pos < end and self.text[pos] != "`":
            pos += 2 if self.text[pos] == "\\" else 1
        if pos >= end:
            raise UnclosedError("backtick", self.pos)
        self._substitution(pos + 1)

    def _substitution(self, end: int) -> None:
        what = self.text[self.pos : end]
        self.faults.append(Fault("substitution", what, self.pos))
        self._put(end, what, safe=False)


def pieces_of(word: Word) -> list[Piece]:
    """Return text and references of *word*, for formats that spell references in their own way."""
    if not word.live:
        return [(False, word.value)]
    reader = WordReader(word.live, 0, [])
    reader.read("")
    return _merged(reader.pieces)


def _merged(pieces: list[Piece]) -> list[Piece]:
    """Join neighbouring texts, so that the spelling does not depend on how the user quoted."""
    out: list[Piece] = []
    texts: list[str] = []
    for piece in pieces:
        if not piece[0]:
            texts.append(piece[1])
            continue
        if joined := "".join(texts):
            out.append((False, joined))
        texts = []
        out.append(piece)
    if joined := "".join(texts):
        out.append((False, joined))
    return out


def _balanced(text: str, start: int) -> int:
    """Return where the bracket at *start* closes; quotes inside are respected, nesting is only counted."""
    opener = text[start]
    closer = ")" if opener == "(" else "}"
    pos, depth = start, 0
    while 0 <= pos < len(text):
        char = text[pos]
        if char == opener:
            depth += 1
        elif char == closer:
            depth -= 1
            if depth == 0:
                return pos + 1
        pos = _past(text, pos)
    raise UnclosedError(f"${opener}", start - 1)


def _past(text: str, pos: int) -> int:
    """Return where the quoted text, escape or plain text at *pos* inside a bracket ends; -1 if it does not."""
    char = text[pos]
    if char == "'":
        return text.find("'", pos + 1) + 1 or -1
    if char == '"':
        pos += 1
        while pos < len(text) and text[pos] != '"':
            pos += 2 if text[pos] == "\\" else 1
        return pos + 1
    if char == "\\":
        return pos + 2
    match = _BRACKET_PART.match(text, pos)
    return match.end() if match else pos + 1


def _ansi_end(text: str, pos: int) -> int:
    """Return where the quote closes that bash's ``$'`` opened before *pos*."""
    start = pos
    while pos < len(text) and text[pos] != "'":
        pos += 2 if text[pos] == "\\" else 1
    if pos >= len(text):
        raise UnclosedError("single quote", start - 1)
    return pos


def _ansi_character(match: re.Match[str]) -> str:
    octal, byte, short, long, control, name = match.groups()
    if octal:
        return chr(int(octal, 8) & 0xFF)
    for digits in (byte, short, long):
        if digits:
            code = int(digits, 16)
            return chr(code) if code < 0xD800 or 0xDFFF < code < 0x110000 else match.group()
    if control:
        return chr(ord(control) & 0x1F)
    return _ANSI_NAMES.get(name, name if name in "\\'\"?" else match.group())
