"""Splitting a shell text into its simple commands, and joining lines that lost their backslash."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from configurator.launch.launcher import Launcher, find_launcher
from configurator.launch.shell import Comment, Item, Operator, Redirection
from configurator.launch.word import Word

_DESCRIPTOR = re.compile(r"\d+-?|-")
_PROMPT = re.compile(r"[$%\u276f\u279c]|\S*@\S*[$#%]")


@dataclass(slots=True)
class SimpleCommand:
    """One simple command: its words and redirections, the operator after it, and where its text lies."""

    begin: int
    words: list[Word] = field(default_factory=list)
    redirections: list[Word] = field(default_factory=list)
    operator: str = ""
    end: int = 0
    _launcher: Launcher | None = None
    _looked: bool = False

    def launcher(self) -> Launcher | None:
        """Find what starts SGLang among the words, once."""
        if not self._looked:
            self._looked = True
            self._launcher = find_launcher([word.value for word in self.words])
        return self._launcher


class Splitter:
    """Takes the items of a text one by one and sorts them into simple commands.

    Attributes:
        commands: The commands in order.
        comments: Each comment with the index of the command it stands before.
        joined: How many lines that begin with a flag were joined to the command before.
    """

    def __init__(self, end: int) -> None:
        """Start with nothing; *end* is the length of the text."""
        self.commands: list[SimpleCommand] = []
        self.comments: list[tuple[int, str]] = []
        self.joined = 0
        self._end = end
        self._current = SimpleCommand(0)
        self._line_ended = False
        self._redirection: Redirection | None = None

    def add(self, item: Item) -> None:
        """Take the next item."""
        if isinstance(item, Word):
            self._add_word(item)
        elif isinstance(item, Redirection):
            if self._line_ended:
                self._close("\n", self._current.end)
            self._redirection = item
        elif isinstance(item, Comment):
            self.comments.append((len(self.commands) + self._line_ended, item.text.replace("\0", "")))
        else:
            self._add_operator(item)

    def finish(self) -> None:
        """Close the last command."""
        self._close("", self._current.end if self._line_ended else self._end)

    def _add_operator(self, item: Operator) -> None:
        self._redirection = None
        if item.text != "\n":
            self._close(item.text, item.at)
        elif (self._current.words or self._current.redirections) and not self._line_ended:
            self._line_ended, self._current.end = True, item.at

    def _add_word(self, word: Word) -> None:
        if self._redirection is not None:
            self._current.redirections.extend(_redirection_words(self._redirection, word))
            self._redirection = None
            return
        if self._line_ended:
            self._line_ended = False
            if word.value[:1] == "-" and len(word.value) > 1 and self._current.launcher() is not None:
                self._current.words.append(Word(word.value, word.raw, f" \\\n{word.gap or '  '}", "value", word.live))
                self.joined += 1
                return
            self._close("\n", self._current.end)
        first = word if self._current.words else _unprompted(word)
        if first is not None:
            self._current.words.append(first)

    def _close(self, operator: str, at: int) -> None:
        command = self._current
        command.operator, command.end = operator, at
        if command.words or command.redirections:
            self.commands.append(command)
        elif self.commands and operator and not self.commands[-1].operator.strip():
            self.commands[-1].operator = operator
        self._current = SimpleCommand(at + len(operator))
        self._line_ended = False


def _redirection_words(redirection: Redirection, target: Word) -> list[Word]:
    if redirection.text.lstrip("0123456789") in ("<<", "<<-"):
        return [Word("<<", "", " ", "tail")]
    gap = "" if "\n" in target.gap else target.gap
    texts = [f"{redirection.text}{gap}{target.spelling}"]
    if redirection.text in (">&", "1>&") and not _DESCRIPTOR.fullmatch(target.value):
        # bash expands a file name after >& a second time, quotes or not: it would run a $(...) in it (bash 5.2).
        texts = [f">{gap}{target.spelling}", "2>&1"]
    return [Word(text, text, " ", "tail") for text in texts]


def _unprompted(word: Word) -> Word | None:
    """Take a shell prompt or a notebook's ``!`` off the first word of a command."""
    value = word.value
    if _PROMPT.fullmatch(value) and not word.live:
        return None
    if value[:1] == "!":
        return Word(value[1:], "", word.gap) if len(value) > 1 and not word.live else None
    return word
