"""From the words and operators of a pasted text to the one SGLang command in it, and what stands around it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from configurator.launch.launcher import Launcher, find_launcher
from configurator.launch.problem import Problem, shown
from configurator.launch.shell import Comment, Fault, Item, Operator, Redirection, scan
from configurator.launch.word import Word, assignment

# Programs people send a log through. Any other program behind a pipe is left out: it is not this tool's to run.
_LOG_FILTERS = frozenset(
    "tee cat grep egrep fgrep head tail less more ts uniq nl cut tr logger systemd-cat rotatelogs".split()
)
_PROMPT = re.compile(r"[$%\u276f\u279c]|\S*@\S*[$#%]")
_FENCE = re.compile(r"\s*```[^\n`]*\n(.*?)\n?[ \t]*(?:```\s*)?\Z", re.DOTALL)
_SHELLS = frozenset(("bash", "sh", "zsh", "dash", "ksh"))
_SHELL_COMMAND = re.compile(r"-[a-z]*c")
_MAX_FAULTS = 5
_MAX_LEFT = 3
_PIPES = ("|", "|&")


class Script(NamedTuple):
    """A pasted text, sorted.

    Attributes:
        preamble: Comments and export lines before the command, each on a line of its own.
        words: The words of the command.
        tail: Redirections, pipes into log filters, ``&``, comments after.
        launcher: Where the server arguments start; ``None`` if there is no SGLang command.
        left_out: Other commands, verbatim.
        problems: What is wrong with the text, and what was left out or joined.
        inside: The text a shell is told to run with ``-c``, where there is no SGLang command outside it.
    """

    preamble: tuple[Word, ...]
    words: Sequence[Word]
    tail: tuple[Word, ...]
    launcher: Launcher | None
    left_out: tuple[str, ...]
    problems: list[Problem]
    inside: str | None = None


@dataclass(slots=True)
class _Simple:
    """One simple command of a shell, the operator after it, and where its text lies."""

    begin: int
    words: list[Word] = field(default_factory=list)
    redirections: list[Word] = field(default_factory=list)
    operator: str = ""
    end: int = 0
    launcher: Launcher | None = None
    looked: bool = False

    def find(self) -> Launcher | None:
        """Find the launcher among the words, once."""
        if not self.looked:
            self.looked = True
            self.launcher = find_launcher([word.value for word in self.words])
        return self.launcher


def read_script(text: str) -> Script:
    """Sort a pasted text into the SGLang command and the rest; never raises."""
    text = text.removeprefix("\ufeff")
    if text.lstrip().startswith("```") and (match := _FENCE.match(text)):
        text = match.group(1)
    items, faults = scan(text)
    reader = _ScriptReader(text, items)
    target = reader.target()
    problems = _fault_problems(text, faults)
    if target is None:
        inside = next((_inside(simple) for simple in reader.simples if _inside(simple)), None)
        return Script((), [], (), None, (text,) if inside else (), problems, inside)
    preamble = reader.preamble(target)
    tail = reader.tail(target)
    unclosed = next((fault.at for fault in faults if fault.kind == "unclosed"), None)
    left = reader.left_out(len(text) if unclosed is None else unclosed)
    problems += reader.problems
    if left:
        problems.append(_left_problem(left))
    command = reader.simples[target]
    return Script(preamble, command.words, tail, command.find(), left, problems)


class _ScriptReader:
    def __init__(self, text: str, items: Sequence[Item]) -> None:
        self.text = text
        self.simples: list[_Simple] = []
        self.comments: list[tuple[int, str]] = []  # before which command, and the comment
        self.problems: list[Problem] = []
        self.used: set[int] = set()
        self._split(items)

    def _split(self, items: Sequence[Item]) -> None:
        """Split at operators; a line that begins with a flag goes on with the command before it."""
        current = _Simple(0)
        line_ended = redirected = False
        joined = 0
        redirection = Redirection("", "")
        for item in items:
            if isinstance(item, Word):
                if redirected:
                    current.redirections.append(_redirection_word(redirection, item))
                    redirected = False
                    continue
                if line_ended:
                    line_ended = False
                    if item.value[:1] == "-" and len(item.value) > 1 and current.find() is not None:
                        item = Word(item.value, item.raw, f" \\\n{item.gap or '  '}", "value", item.live)
                        joined += 1
                    else:
                        current = self._close(current, "\n", current.end)
                if not current.words:
                    item = _unprompted(item)
                    if item is None:
                        continue
                current.words.append(item)
            elif isinstance(item, Redirection):
                if line_ended:
                    line_ended = False
                    current = self._close(current, "\n", current.end)
                redirection, redirected = item, True
            elif isinstance(item, Comment):
                self.comments.append((len(self.simples) + (1 if line_ended else 0), item.text.replace("\0", "")))
            elif item.text == "\n":
                if current.words and not line_ended:
                    line_ended, current.end = True, item.at
                redirected = False
            else:
                line_ended = redirected = False
                current = self._close(current, item.text, item.at)
        self._close(current, "", current.end if line_ended else len(self.text))
        if joined:
            message = (
                f"{joined} line{'s' if joined > 1 else ''} of the text begin{'' if joined > 1 else 's'} with a flag, but the line "
                "before does not end in a backslash, so a shell would end the command there; they are joined here."
            )
            self.problems.append(Problem("joined", None, "", message))

    def _close(self, simple: _Simple, operator: str, at: int) -> _Simple:
        simple.operator, simple.end = operator, at
        if simple.words or simple.redirections:
            self.simples.append(simple)
        elif self.simples and operator and not self.simples[-1].operator:
            self.simples[-1].operator = operator
        return _Simple(at + len(operator))

    def target(self) -> int | None:
        """Return which command starts SGLang: the first with a launcher, else the first of bare flags."""
        bare = None
        for at, simple in enumerate(self.simples):
            launcher = simple.find()
            if launcher is None:
                continue
            if launcher.end > launcher.env:
                return at
            if bare is None:
                bare = at
        return bare

    def preamble(self, target: int) -> tuple[Word, ...]:
        """Return comments and export lines before the command, and note variables that never reach the server."""
        out: list[Word] = []
        used_names = {
            name for word in self.simples[target].words if word.live for name in re.findall(r"\w+", word.value)
        }
        comments = [text for at, text in self.comments if at <= target]
        out.extend(Word(text, text, "\n", "comment") for text in comments)
        for at, simple in enumerate(self.simples[:target]):
            words = simple.words
            exported = bool(words) and words[0].value == "export"
            assigned = words[1:] if exported else words
            if simple.redirections or simple.operator in (*_PIPES, "||", "&", "(", ")"):
                continue
            if not assigned or not all(assignment(word) for word in assigned):
                continue
            self.used.add(at)
            out.extend(Word(w.value, w.raw, " " if i else "\n", "setup", w.live) for i, w in enumerate(words))
            if not exported:
                self._note_shell_variables(assigned, used_names)
        if out:
            out[0] = out[0]._replace(gap="")
        self.used.add(target)
        return tuple(out)

    def _note_shell_variables(self, assigned: Sequence[Word], used_names: set[str]) -> None:
        for word in assigned:
            name = word.value.partition("=")[0]
            if name not in used_names:
                message = (
                    f"{name} is set on a line of its own without export, so the server would not see it; write 'export {name}=...', "
                    "or put it in front of the command on the same line."
                )
                self.problems.append(Problem("left-out", None, shown(word.value), message))

    def tail(self, target: int) -> tuple[Word, ...]:
        """Return redirections, pipes into log filters, ``&`` and comments that follow the command."""
        simple = self.simples[target]
        out = self._redirections(simple)
        at = target
        while simple.operator in _PIPES and at + 1 < len(self.simples):
            following = self.simples[at + 1]
            program = following.words[0].value.rpartition("/")[2] if following.words else ""
            if program not in _LOG_FILTERS:
                break
            out.append(Word(simple.operator, simple.operator, " ", "tail"))
            out.extend(Word(w.value, w.spelling, " ", "tail") for w in following.words)
            out.extend(self._redirections(following))
            at, simple = at + 1, following
            self.used.add(at)
        if simple.operator == "&":
            out.append(Word("&", "&", " ", "tail"))
        after = [text for before, text in self.comments if before > target]
        out.extend(Word(text, text, "\n", "comment") for text in after)
        return tuple(out)

    def _redirections(self, simple: _Simple) -> list[Word]:
        kept = [word for word in simple.redirections if not word.raw.startswith(("<<", "0<<"))]
        if len(kept) < len(simple.redirections):
            message = "A here-document after the command is left out: the server reads nothing from it."
            self.problems.append(Problem("left-out", None, "<<", message))
        return kept

    def left_out(self, read_to: int) -> tuple[str, ...]:
        """Return the texts of the commands that are no part of the SGLang command, and what could not be read."""
        texts = [
            self.text[s.begin : min(s.end, read_to)].strip() for at, s in enumerate(self.simples) if at not in self.used
        ]
        texts.append(self.text[read_to:].strip())
        return tuple(text for text in texts if text)


def _redirection_word(redirection: Redirection, target: Word) -> Word:
    gap = "" if "\n" in target.gap else target.gap
    text = f"{redirection.text}{gap}{target.spelling}"
    return Word(text, text, " ", "tail")


def _unprompted(word: Word) -> Word | None:
    """Take a shell prompt or a notebook's ``!`` off the first word of a command."""
    value = word.value
    if _PROMPT.fullmatch(value):
        return None
    if value[:1] == "!":
        return Word(value[1:], "", word.gap, "value") if len(value) > 1 and not word.live else None
    return word


def _inside(simple: _Simple) -> str | None:
    """Return the text a shell is told to run with ``-c``, if it speaks of SGLang."""
    words = simple.words
    for at in range(1, len(words) - 1):
        if _SHELL_COMMAND.fullmatch(words[at].value) and words[at - 1].value.rpartition("/")[2] in _SHELLS:
            return words[at + 1].value if "sglang" in words[at + 1].value else None
    return None


def _left_problem(left: Sequence[str]) -> Problem:
    listed = "; ".join(shown(text) for text in left[:_MAX_LEFT])
    more = f" and {len(left) - _MAX_LEFT} more" if len(left) > _MAX_LEFT else ""
    message = f"Left out, since it is no part of the SGLang command: {listed}{more}."
    if any("sglang.launch_server" in text or "sglang serve" in text for text in left):
        message += " There is a second SGLang command among it; paste that by itself to check it."
    return Problem("left-out", None, shown(left[0]), message)


def _fault_problems(text: str, faults: Sequence[Fault]) -> list[Problem]:
    out: list[Problem] = []
    unclosed = [fault for fault in faults if fault.kind == "unclosed"]
    for fault in [*unclosed, *(f for f in faults if f.kind != "unclosed")][: _MAX_FAULTS + len(unclosed)]:
        line = text.count("\n", 0, fault.at) + 1
        column = fault.at - text.rfind("\n", 0, fault.at)
        where = f"line {line}, column {column}"
        if fault.kind == "unclosed":
            before = shown(text[max(0, fault.at - 24) : fault.at + 1].strip())
            message = (
                f"The {fault.what} that opens at {where} ({before}) is never closed, so a shell would wait for more; "
                "what stands before that word is read. Close it."
            )
            out.append(Problem("quote", None, shown(text[fault.at : fault.at + 60]), message, refuses=True))
        elif fault.kind == "substitution":
            message = (
                f"{shown(fault.what)} at {where}: a shell would put something in its place; here it is kept as text and never run. "
                "Write the value, or a plain $NAME."
            )
            out.append(Problem("substitution", None, shown(fault.what), message))
        else:
            message = f"There is something after the backslash at {where}, so a shell would not continue the line; it is read as continued."
            out.append(Problem("joined", None, "\\", message))
    return out
