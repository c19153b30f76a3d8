"""Reading a systemd unit: the words of ``ExecStart`` and the variables of ``Environment``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from configurator.launch.foreign import Found, found_in, pieces_by, read_from
from configurator.launch.word import Piece

_START = re.compile(r"^[ \t]*ExecStart[ \t]*=", re.MULTILINE)
_SETTING = re.compile(r"[ \t]*([A-Za-z]+)[ \t]*=[ \t]*(.*)", re.DOTALL)
_PREFIXES = re.compile(r"\A[@\-:+!|]+")
_PART = re.compile(r"[^\s'\"\\]+")
_QUOTED = {'"': re.compile(r'[^"\\]+'), "'": re.compile(r"[^'\\]+")}
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|([0-7]{3})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_NAMED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "s": " "}
_FILLED_IN = re.compile(r"\$(?:(\$)|\{?([A-Za-z_]\w*)\}?)", re.ASCII)
_SPECIFIER = "%%"
_LINE_END = re.compile(r"\r?\n")


def read_unit(text: str) -> Found | None:
    """Return the command of a unit, or ``None`` if *text* is none.

    Source: systemd.service(5), Command lines; systemd.syntax(7), Quoting.
    """
    if "ExecStart" not in text or not _START.search(text):
        return None
    start = ""
    env: dict[str, list[Piece]] = {}
    for name, value in _settings(text):
        if name == "ExecStart":
            start = value  # the last one holds, as an empty one resets the list
        elif name == "Environment":
            for word in _words(value):
                key, equals, content = word.replace(_SPECIFIER, "%").partition("=")
                if equals:
                    env[key] = [(False, content)]
    words = list(_words(_PREFIXES.sub("", start.strip())))
    if not words:
        return None
    pieces = [pieces_by(_FILLED_IN, word.replace(_SPECIFIER, "%")) for word in words]
    return found_in(pieces, env, [read_from("a systemd unit")])


def _settings(text: str) -> Iterator[tuple[str, str]]:
    """Yield the settings in order; a backslash at the end of a line continues it, comment lines between are skipped."""
    held: list[str] = []
    for line in _LINE_END.split(text):
        if line.lstrip().startswith(("#", ";")):
            continue
        if line.endswith("\\"):
            held.append(line[:-1])
            continue
        held.append(line)
        if match := _SETTING.fullmatch(" ".join(held)):
            yield match[1], match[2]
        held = []
    if held and (match := _SETTING.fullmatch(" ".join(held))):
        yield match[1], match[2]


def _words(line: str) -> Iterator[str]:
    """Yield the words of a line; quotes are taken off and escapes resolved. A quote that never closes ends the last."""
    at, end = 0, len(line)
    while at < end:
        if line[at].isspace():
            at += 1
            continue
        word: list[str] = []
        quote = ""
        while at < end and (quote or not line[at].isspace()):
            char = line[at]
            if match := (_QUOTED[quote] if quote else _PART).match(line, at):
                word.append(match.group())
                at = match.end()
            elif char == "\\" and (match := _ESCAPE.match(line, at)):
                word.append(_unescaped(match))
                at = match.end()
            elif char in "'\"" and quote in ("", char):
                quote = "" if quote else char
                at += 1
            else:
                word.append(char)
                at += 1
        yield "".join(word)


def _unescaped(match: re.Match[str]) -> str:
    byte, octal, short, long, name = match.groups()
    if name is not None:
        return _NAMED.get(name, name if name in "\\'\"" else match.group())
    code = int(octal, 8) if octal else int(byte or short or long, 16)
    return chr(code) if code < 0xD800 or 0xDFFF < code < 0x110000 else match.group()
