"""What is wrong, or worth saying, about a command as it was written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

ProblemKind = Literal[
    "type",
    "choice",
    "unknown-flag",
    "ambiguous",
    "missing-value",
    "unexpected-value",
    "repeated",
    "not-a-command",
    "quote",
    "left-out",
    "positional",
    "substitution",
    "joined",
]
"""``repeated``, ``left-out``, ``substitution`` and ``joined`` are notes: nothing refuses because of them alone."""

FlagHistory = Callable[[str], str | None]
"""Says of an option string what became of it elsewhere, as a phrase ("it was removed in 0.5.21"), or ``None``."""

MAX_PROBLEMS = 100
"""More are counted, not listed: nobody reads them, and a hostile text could ask for tens of thousands."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing about a command that the user should know.

    Attributes:
        kind: What it is; see :data:`ProblemKind`.
        dest: The flag concerned, where the release knows it.
        word: The word at fault as the server would see it.
        message: What was asked, what holds, why, what to do.
        suggestion: The nearest right word (a flag, a choice), if one is near enough.
        refuses: Whether the argument parser of the release refuses to start because of it.
    """

    kind: ProblemKind
    dest: str | None
    word: str
    message: str
    suggestion: str | None = None
    refuses: bool = False


def shown(text: str, limit: int = 60) -> str:
    """Return *text* fit for a message: one line, no control characters, at most *limit* characters."""
    if len(text) > limit:
        text = f"{text[: limit - 3]}..."
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "replace").decode("ascii") for c in text)


def limited(problems: list[Problem]) -> tuple[Problem, ...]:
    """Return *problems*, those beyond :data:`MAX_PROBLEMS` summed up in a last one that refuses if any of them does."""
    if len(problems) <= MAX_PROBLEMS:
        return tuple(problems)
    rest = problems[MAX_PROBLEMS:]
    refuses = any(problem.refuses for problem in rest)
    summary = Problem(
        "left-out", None, "", f"{len(rest)} more problems of this command are not listed.", refuses=refuses
    )
    return (*problems[:MAX_PROBLEMS], summary)
