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
    before: dict[Role, list[list[str]]] = {"comment": [], "setup": [], "env": []}
    launcher: list[str] = []
    groups: list[tuple[Role, list[str]]] = []
    tail: list[str] = []
    for word in words:
        role, text = word.role, word.safe
        if role in before:
            if role == "setup" and before[role] and "\n" not in word.gap:
                before[role][-1].append(text)
            else:
                before[role].append([text])  # one line per variable, so that a new one changes no other line
        elif role == "tail":
            tail.append(text)
        elif role == "launcher" or (launcher and not groups and not word.value.startswith("-")):
            launcher.append(text)  # or the bare model path of "sglang serve MODEL"
        elif role in ("flag", "unknown") or not groups:
            groups.append((role, [text]))
        else:
            groups[-1][1].append(text)
    started = [(role, parts) for role, lines in before.items() for parts in lines]
    if launcher:
        started.append(("launcher", launcher))
    ended: list[tuple[Role, list[str]]] = [("tail", tail)] if tail else []
    return [(role, " ".join(parts)) for role, parts in (*started, *groups, *ended)]


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
