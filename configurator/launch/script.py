"""From the words and operators of a pasted text to the one SGLang command in it, and what stands around it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from configurator.launch.environment import environment
from configurator.launch.launcher import Launcher
from configurator.launch.problem import Problem
from configurator.launch.script_problems import (
    fault_problems,
    here_document_problem,
    joined_problem,
    left_problem,
    shell_variable_problem,
    wrapper_problem,
)
from configurator.launch.shell import scan
from configurator.launch.shell_word import Fault
from configurator.launch.simple_command import SimpleCommand, Splitter
from configurator.launch.word import Word, assignment

# Programs people send a log through. Any other program behind a pipe is left out: it is not this tool's to run.
_LOG_FILTERS = frozenset(
    ("tee", "cat", "grep", "egrep", "fgrep", "head", "tail", "less", "more", "ts", "uniq", "nl", "cut", "tr", "logger")
)
_FENCE = re.compile(r"\s*```[^\n`]*\n(.*?)\n?[ \t]*(?:```\s*)?\Z", re.DOTALL)
_SHELLS = frozenset(("bash", "sh", "zsh", "dash", "ksh"))
_SHELL_COMMAND = re.compile(r"-[a-z]*c")
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)", re.ASCII)
_PIPES = ("|", "|&")
_NO_ASSIGNMENT_BEFORE = (*_PIPES, "||", "&", "(", ")")


class Script(NamedTuple):
    """A pasted text, sorted.

    Attributes:
        preamble: Comments and export lines before the command, each on a line of its own.
        words: The words of the command.
        tail: Redirections, pipes into log filters, ``&``, comments after.
        launcher: Where the server arguments start; ``None`` if there is no SGLang command.
        left_out: Other commands, verbatim.
        problems: What is wrong with the text, and what was left out or joined.
        inside: The text a shell is told to run with ``-c``, where there is no SGLang command outside it; ``words`` are
            then the assignments that reach it.
    """

    preamble: tuple[Word, ...]
    words: Sequence[Word]
    tail: tuple[Word, ...]
    launcher: Launcher | None
    left_out: tuple[str, ...]
    problems: list[Problem]
    inside: str | None = None


def read_script(text: str) -> Script:
    """Sort a pasted text into the SGLang command and the rest; never raises."""
    text = text.removeprefix("\ufeff")
    if text.lstrip().startswith("```") and (match := _FENCE.match(text)):
        text = match.group(1)
    items, faults = scan(text)
    splitter = Splitter(len(text))
    for item in items:
        splitter.add(item)
    splitter.finish()
    problems = fault_problems(text, faults)
    target = _target(splitter.commands)
    if target is None:
        return _script_inside(splitter, text, faults, problems)
    if splitter.joined:
        problems.append(joined_problem(splitter.joined))
    around = _Around(splitter, target)
    preamble, tail = around.preamble(), around.tail()
    problems += around.problems
    left = _left(splitter, around, text, faults)
    if left:
        problems.append(left_problem(left))
    command = splitter.commands[target]
    left += _hidden(text, faults)
    return Script(preamble, command.words, tail, command.launcher(), tuple(left), problems)


def _target(commands: Sequence[SimpleCommand]) -> int | None:
    """Return which command starts SGLang: the first with a launcher, else the first of bare flags."""
    bare = None
    for at, command in enumerate(commands):
        launcher = command.launcher()
        if launcher is not None and launcher.end > launcher.env:
            return at
        if launcher is not None and bare is None:
            bare = at
    return bare


def _left(splitter: Splitter, around: _Around, text: str, faults: Sequence[Fault]) -> list[str]:
    """Return the commands of *text* that do not go with the SGLang command, verbatim."""
    left = [
        text[c.begin : min(c.end, _unread(text, faults))].strip()
        for at, c in enumerate(splitter.commands)
        if at not in around.used
    ]
    return [part for part in left if part]


def _unread(text: str, faults: Sequence[Fault]) -> int:
    """Return where the part begins that a quote without an end hides."""
    return next((fault.at for fault in faults if fault.kind == "unclosed"), len(text))


def _hidden(text: str, faults: Sequence[Fault]) -> list[str]:
    """Return what a quote without an end hides; the problem about the quote says so already."""
    return [part for part in (text[_unread(text, faults) :].strip(),) if part]


def _script_inside(splitter: Splitter, text: str, faults: Sequence[Fault], problems: list[Problem]) -> Script:
    """Return what stands around a shell that is told to run SGLang with ``-c``: its text is still to be read."""
    for at, command in enumerate(splitter.commands):
        shell, inside = _inside(command)
        if not inside:
            continue
        around = _Around(splitter, at)
        preamble = around.preamble()
        problems = [*problems, *around.problems]
        left = _left(splitter, around, text, faults)
        if left:
            problems.append(left_problem(left))
        left += _hidden(text, faults)
        first = next((i for i, word in enumerate(command.words) if not assignment(word)), 0)
        wrapper = " ".join(word.spelling for word in command.words[first:shell])
        if wrapper:
            problems.append(wrapper_problem(wrapper))
            left.append(wrapper)
        return Script(preamble, _passed_on(command.words[:shell]), (), None, tuple(left), problems, inside)
    return Script((), [], (), None, (), problems)


def _inside(command: SimpleCommand) -> tuple[int, str]:
    """Return where a shell stands that is told to run a text with ``-c``, and the text, if it speaks of SGLang."""
    values = [word.value for word in command.words]
    at = is_shell_with_text(values)
    return (0, "") if at is None else (at - 2, values[at] if "sglang" in values[at] else "")


def is_shell_with_text(values: Sequence[str]) -> int | None:
    """Return where the text stands that the words tell a shell to run with ``-c``, or ``None`` if they do not."""
    for at in range(1, len(values) - 1):
        if _SHELL_COMMAND.fullmatch(values[at]) and values[at - 1].rpartition("/")[2] in _SHELLS:
            return at + 1
    return None


def _passed_on(words: Sequence[Word]) -> list[Word]:
    """Return the assignments among the words in front of a shell that reach what it runs, as words of their own."""
    first = next((at for at, word in enumerate(words) if not assignment(word)), len(words))
    known, unknown = environment(
        [word._replace(role="env" if at < first else "launcher") for at, word in enumerate(words)]
    )
    live = {word.value.partition("=")[0]: word._replace(role="env") for word in words if word.live}
    passed = [Word(f"{name}={value}", "", " ", "env") for name, value in known.items()]
    return [*passed, *(live[name] for name in unknown if name in live)]


class _Around:
    """What stands around the SGLang command and goes with it."""

    def __init__(self, splitter: Splitter, target: int) -> None:
        self.commands = splitter.commands
        self.comments = splitter.comments
        self.target = target
        self.problems: list[Problem] = []
        self.used = {target}

    def preamble(self) -> tuple[Word, ...]:
        """Return comments and export lines before the command, and note variables that never reach the server."""
        names = {
            name for word in self.commands[self.target].words if word.live for name in _VARIABLE.findall(word.value)
        }
        names |= {
            word.value
            for command in self.commands[: self.target]
            for word in command.words[1:]
            if command.words[0].value == "export"
        }
        out = [Word(text, text, "\n", "comment") for at, text in self.comments if at <= self.target]
        for at, command in enumerate(self.commands[: self.target]):
            words = command.words
            exported = bool(words) and words[0].value == "export"
            assigned = words[1:] if exported else words
            if command.redirections or command.operator in _NO_ASSIGNMENT_BEFORE or not assigned:
                continue
            if not all(assignment(word) for word in assigned):
                continue
            self.used.add(at)
            out.extend(Word(w.value, w.raw, " " if i else "\n", "setup", w.live) for i, w in enumerate(words))
            for word in () if exported else assigned:
                name = word.value.partition("=")[0]
                if name not in names:
                    self.problems.append(shell_variable_problem(name, word.value))
        if out:
            out[0] = out[0]._replace(gap="")
        return tuple(out)

    def tail(self) -> tuple[Word, ...]:
        """Return redirections, pipes into log filters, ``&`` and comments that follow the command."""
        at, command = self.target, self.commands[self.target]
        out = self._redirections(command)
        while command.operator in _PIPES and at + 1 < len(self.commands):
            following = self.commands[at + 1]
            program = following.words[0].value.rpartition("/")[2] if following.words else ""
            if program not in _LOG_FILTERS:
                break
            out.append(Word(command.operator, command.operator, " ", "tail"))
            out.extend(Word(w.value, w.spelling, " ", "tail") for w in following.words)
            out.extend(self._redirections(following))
            at, command = at + 1, following
            self.used.add(at)
        if command.operator == "&":
            out.append(Word("&", "&", " ", "tail"))
        out.extend(Word(text, text, "\n", "comment") for before, text in self.comments if before > self.target)
        return tuple(out)

    def _redirections(self, command: SimpleCommand) -> list[Word]:
        kept = [word for word in command.redirections if word.value != "<<"]
        if len(kept) < len(command.redirections):
            self.problems.append(here_document_problem())
        return kept
