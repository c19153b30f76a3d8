"""Reading shell text: words, comments, operators. A reader, never an interpreter: nothing here is expanded or run.

References ``$NAME`` and ``${NAME}`` stay references. Everything else a shell would act on inside a word (command
substitution, globs, braces) is text. Each character is looked at a bounded number of times.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from configurator.launch.word import Piece, Word, pieces_value, quote_pieces

_BLANKS = re.compile(r"[ \t]+")
_CONTINUATION = re.compile(r"\\\r?\n")
_BROKEN_CONTINUATION = re.compile(r"\\[ \t]+(#[^\n]*)?(?:\r?\n|\Z)")
_NEWLINE = re.compile(r"\r?\n")
_COMMENT = re.compile(r"#[^\n]*")
_REDIRECTION = re.compile(r"[0-9]*(?:<<<|<<-?|<>|<&|>>|>\||>&|<|>)|&>>?")
_OPERATOR = re.compile(r"&&|\|\||\|&|;;|[;&|()]")
_PLAIN = re.compile(r"[A-Za-z0-9@%+=:,./_-]+")
_UNQUOTED = re.compile(r"[^ \t\n\r\v\f'\"\\$`;&|()<>]+")
_SAFE = re.compile(r"[\w@%+=:,./^\]-]+")  # what may be repeated unquoted; no glob, brace, tilde or history character
_REFERENCE = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})", re.ASCII)
_DOUBLE_TEXT = re.compile(r'[^"\\$`]+')
_TILDE = re.compile(r"~(?=[/ \t\r\n;&|)]|\Z)")
_OTHER_DOLLAR = re.compile(r"\$(?:[0-9@*#?$!-]|(?=\{))")
_SUBSTITUTION_PART = re.compile(r"[^'\"\\()]+")
_BRACED_PART = re.compile(r"[^'\"\\{}]+")
_ANSI = re.compile(
    r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|c(.)|(.))", re.DOTALL
)
_ANSI_NAMES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "E": "\x1b"}


class Operator(NamedTuple):
    """A control operator or a line end between commands; ``text`` is ``"\\n"`` for a line end."""

    text: str
    at: int


class Comment(NamedTuple):
    """A comment with its hash sign."""

    text: str


class Redirection(NamedTuple):
    """A redirection operator; the word after it is its target."""

    text: str
    gap: str


class Fault(NamedTuple):
    """Something wrong with the text itself, at character ``at``.

    ``kind`` is ``unclosed`` (what opened is in ``what``), ``substitution`` or ``continuation``.
    """

    kind: str
    what: str
    at: int


Item = Word | Operator | Comment | Redirection


class _UnclosedError(Exception):
    def __init__(self, what: str, at: int) -> None:
        super().__init__(what)
        self.what = what
        self.at = at


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
        if match := _BLANKS.match(text, pos):
            gap += match.group()
        elif match := _CONTINUATION.match(text, pos):
            gap += "\\\n"
        elif match := _BROKEN_CONTINUATION.match(text, pos):
            if not match.group().endswith("\n") and not match.group(1):
                break  # a backslash at the very end continues nothing
            gap += "\\\n"
            faults.append(Fault("continuation", match.group(1) or "", pos))
        elif match := _NEWLINE.match(text, pos):
            items.append(Operator("\n", pos))
            gap = ""
        elif text[pos] == "#":
            match = _COMMENT.match(text, pos)
            items.append(Comment(match.group().rstrip() if match else "#"))
            gap = ""
        elif match := _REDIRECTION.match(text, pos):
            items.append(Redirection(match.group(), gap))
            gap = ""
        elif match := _OPERATOR.match(text, pos):
            items.append(Operator(match.group(), pos))
            gap = ""
        elif text[pos] in "\r\v\f":
            gap += " "
            pos += 1
            continue
        else:
            try:
                word, pos = _word(text, pos, gap, faults)
            except _UnclosedError as unclosed:
                faults.append(Fault("unclosed", unclosed.what, unclosed.at))
                return items, faults
            items.append(word)
            gap = ""
            continue
        pos = match.end() if match else pos + 1
    return items, faults


def _word(text: str, start: int, gap: str, faults: list[Fault]) -> tuple[Word, int]:
    """Read the word that starts at *start*; return it and where it ends."""
    match = _PLAIN.match(text, start)
    if match and (match.end() == len(text) or text[match.end()] in " \t\n;"):
        return Word(match.group(), match.group(), gap), match.end()
    pieces: list[Piece] = []
    safe = True
    pos, end = start, len(text)
    if match := _TILDE.match(text, pos):  # a home directory is the one expansion people mean as a path
        pieces.append((True, "HOME"))
        safe, pos = False, match.end()
    while pos < end:
        char = text[pos]
        if char == "'":
            close = text.find("'", pos + 1)
            if close < 0:
                raise _UnclosedError("single quote", pos)
            pieces.append((False, text[pos + 1 : close]))
            pos = close + 1
        elif char == '"':
            pos, kept = _double_quoted(text, pos, pieces, faults)
            safe = safe and kept
        elif char == "\\":
            if match := _CONTINUATION.match(text, pos) or _BROKEN_CONTINUATION.match(text, pos):
                following = text[match.end() : match.end() + 1]
                if match.re is _BROKEN_CONTINUATION or not following or following in " \t\r\n":
                    break  # the word ends here; the continuation belongs to the next gap
                safe, pos = False, match.end()
            else:
                pieces.append((False, text[pos + 1 : pos + 2] or "\\"))
                safe = safe and pos + 1 < end
                pos += 2
        elif char == "$":
            pos, kept = _dollar(text, pos, pieces, faults, quoted=False)
            safe = safe and kept
        elif char == "`":
            pos = _backticks(text, pos, pieces, faults)
            safe = False
        elif match := _UNQUOTED.match(text, pos):
            part = match.group()
            pieces.append((False, part))
            safe = safe and _SAFE.fullmatch(part) is not None
            pos = match.end()
        else:
            break
    pos = min(pos, end)
    raw = text[start:pos] if safe and "\0" not in text[start:pos] else ""
    if any(is_reference for is_reference, _ in pieces):
        merged = _merged(pieces)
        return Word(pieces_value(merged), raw, gap, "value", quote_pieces(merged)), pos
    return Word("".join([part for _, part in pieces]), raw, gap), pos


def _merged(pieces: list[Piece]) -> list[Piece]:
    """Join neighbouring texts, so that the spelling does not depend on how the user quoted."""
    out: list[Piece] = []
    for piece in pieces:
        if not piece[1]:
            continue
        if out and not piece[0] and not out[-1][0]:
            out[-1] = (False, out[-1][1] + piece[1])
        else:
            out.append(piece)
    return out


def _double_quoted(text: str, start: int, pieces: list[Piece], faults: list[Fault]) -> tuple[int, bool]:
    """Read a double-quoted part; return where it ends and whether the user's spelling of it is safe to repeat."""
    pos, end, safe = start + 1, len(text), True
    pieces.append((False, ""))
    while pos < end:
        char = text[pos]
        if char == '"':
            return pos + 1, safe
        if char == "\\":
            following = text[pos + 1 : pos + 2]
            if following == "\n" or text.startswith("\r\n", pos + 1):
                pos += 2 if following == "\n" else 3
            elif following and following in '$`"\\':
                pieces.append((False, following))
                pos += 2
            else:
                pieces.append((False, "\\"))
                pos += 1
        elif char == "$":
            pos, kept = _dollar(text, pos, pieces, faults, quoted=True)
            safe = safe and kept
        elif char == "`":
            pos = _backticks(text, pos, pieces, faults)
            safe = False
        elif match := _DOUBLE_TEXT.match(text, pos):
            pieces.append((False, match.group()))
            safe = safe and "!" not in match.group()
            pos = match.end()
    raise _UnclosedError("double quote", start)


def _dollar(text: str, pos: int, pieces: list[Piece], faults: list[Fault], *, quoted: bool) -> tuple[int, bool]:
    """Read what a dollar sign starts: a reference, or something that stays text."""
    if match := _REFERENCE.match(text, pos):
        pieces.append((True, match.group(1) or match.group(2)))
        return match.end(), True
    following = text[pos + 1 : pos + 2]
    if following == "(":
        end = _balanced(text, pos + 1, "(", ")", _SUBSTITUTION_PART, "$(")
        pieces.append((False, text[pos:end]))
        faults.append(Fault("substitution", text[pos:end], pos))
        return end, False
    if following == "'" and not quoted:
        return _ansi_quoted(text, pos, pieces), False
    if following == '"' and not quoted:
        end, _ = _double_quoted(text, pos + 1, pieces, faults)
        return end, False
    if match := _OTHER_DOLLAR.match(text, pos):
        end = match.end()
        if following == "{":
            end = _balanced(text, pos + 1, "{", "}", _BRACED_PART, "${")
        pieces.append((False, text[pos:end]))
        faults.append(Fault("substitution", text[pos:end], pos))
        return end, False
    pieces.append((False, "$"))
    return pos + 1, False


def _balanced(text: str, start: int, opener: str, closer: str, plain: re.Pattern[str], what: str) -> int:
    """Return where the bracket that opens at *start* closes; quotes inside are respected, nesting is only counted."""
    pos, end, depth = start, len(text), 0
    while pos < end:
        char = text[pos]
        if char == "'":
            pos = text.find("'", pos + 1)
            if pos < 0:
                break
        elif char == '"':
            pos += 1
            while pos < end and text[pos] != '"':
                pos += 2 if text[pos] == "\\" else 1
        elif char == "\\":
            pos += 1
        elif char == opener:
            depth += 1
        elif char == closer:
            depth -= 1
            if depth == 0:
                return pos + 1
        elif match := plain.match(text, pos):
            pos = match.end() - 1
        pos += 1
    raise _UnclosedError(what, start - 1)


def _backticks(text: str, start: int, pieces: list[Piece], faults: list[Fault]) -> int:
    """Read a command substitution in backticks as text."""
    pos, end = start + 1, len(text)
    while pos < end and text[pos] != "`":
        pos += 2 if text[pos] == "\\" else 1
    if pos >= end:
        raise _UnclosedError("backtick", start)
    pieces.append((False, text[start : pos + 1]))
    faults.append(Fault("substitution", text[start : pos + 1], start))
    return pos + 1


def _ansi_quoted(text: str, start: int, pieces: list[Piece]) -> int:
    """Read bash's ``$'...'`` quoting."""
    pos, end = start + 2, len(text)
    while pos < end and text[pos] != "'":
        pos += 2 if text[pos] == "\\" else 1
    if pos >= end:
        raise _UnclosedError("single quote", start + 1)
    pieces.append((False, _ANSI.sub(_ansi_character, text[start + 2 : pos])))
    return pos + 1


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
