"""Words of a command as shell text, in three layouts. Nothing but references is ever live in what comes out."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Literal

from configurator.launch.word import Role, Word

Style = Literal["one-flag-per-line", "as-written", "single-line"]
Line = tuple[Role, str]
"""What a line is (the role of its first word), and its text without indentation and backslash."""

_INDENT = "  "
_MAX_DIFFED = 1500


def logical_lines(words: Sequence[Word]) -> list[Line]:
    """Return the lines of a command: comments, export lines, launcher, one per flag, then pipes and redirections."""
    comments: list[Line] = []
    setup: list[list[str]] = []
    env: list[str] = []
    launcher: list[str] = []
    groups: list[tuple[Role, list[str]]] = []
    tail: list[str] = []
    for word in words:
        role = word.role
        if role == "comment":
            comments.append(("comment", word.raw))
        elif role == "setup":
            if not setup or "\n" in word.gap or word.value == "export":
                setup.append([])
            setup[-1].append(word.safe)
        elif role == "env":
            env.append(word.safe)
        elif role == "launcher":
            launcher.append(word.safe)
        elif role == "tail":
            tail.append(word.safe)
        elif role == "flag" and word.value[:1] != "-" and not groups and launcher:
            launcher.append(word.safe)  # the bare model path of "sglang serve MODEL"
        elif role in ("flag", "unknown") or not groups:
            groups.append((role, [word.safe]))
        else:
            groups[-1][1].append(word.safe)
    lines: list[Line] = [*comments, *(("setup", " ".join(line)) for line in setup)]
    lines.extend(("env", text) for text in env)  # one line each, so that a new one changes no other line
    if launcher:
        lines.append(("launcher", " ".join(launcher)))
    lines.extend((role, " ".join(group)) for role, group in groups)
    if tail:
        lines.append(("tail", " ".join(tail)))
    return lines


def render(words: Sequence[Word], style: Style = "one-flag-per-line") -> str:
    """Return *words* as text for a POSIX shell."""
    if style == "as-written":
        return "".join([word.gap + word.spelling for word in words])
    lines = logical_lines(words)
    if style == "single-line":
        setup = [f"{text};" for role, text in lines if role == "setup"]
        return " ".join([*setup, *(text for role, text in lines if role not in ("comment", "setup"))])
    out: list[str] = []
    command = [line for line in lines if line[0] not in ("comment", "setup")]
    out.extend(text for role, text in lines if role in ("comment", "setup"))
    indent = ""
    for at, (role, text) in enumerate(command):
        more = " \\" if at + 1 < len(command) else ""
        out.append(f"{indent if role not in ('env', 'launcher') else ''}{text}{more}")
        if role == "launcher":
            indent = _INDENT
    return "\n".join(out)


DiffOp = Literal["same", "del", "ins"]


def diff_lines(before: Sequence[Word], after: Sequence[Word]) -> list[tuple[DiffOp, str]]:
    """Compare two commands flag by flag.

    Returns:
        The lines of both in order, each unchanged, taken out or put in; without indentation and backslashes, so that
        a flag added at the end changes no other line.
    """
    old = [text for _, text in logical_lines(before)]
    new = [text for _, text in logical_lines(after)]
    if len(old) + len(new) > _MAX_DIFFED:  # difflib takes quadratic time; a text like this is no launch command
        if old == new:
            return [("same", text) for text in old]
        return [("del", text) for text in old] + [("ins", text) for text in new]
    out: list[tuple[DiffOp, str]] = []
    for tag, old_from, old_to, new_from, new_to in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            out.extend(("same", text) for text in old[old_from:old_to])
            continue
        out.extend(("del", text) for text in old[old_from:old_to])
        out.extend(("ins", text) for text in new[new_from:new_to])
    return out
