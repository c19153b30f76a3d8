"""The sentences about a pasted text as such: quotes, continuations, what was joined and what was left out."""

from __future__ import annotations

from collections.abc import Sequence

from configurator.launch.problem import Problem, shown
from configurator.launch.shell_word import Fault

_MAX_FAULTS = 5
_MAX_LEFT = 3
_SEEN = 400
_LONG = 40
_SGLANG = ("sglang.launch_server", "sglang serve")


def fault_problems(text: str, faults: Sequence[Fault]) -> list[Problem]:
    """Say what is wrong with *text*, and where; only the first few faults of a kind that is no error."""
    unclosed = [fault for fault in faults if fault.kind == "unclosed"]
    others = [fault for fault in faults if fault.kind != "unclosed"][:_MAX_FAULTS]
    return [_fault_problem(text, fault) for fault in (*unclosed, *others)]


def _fault_problem(text: str, fault: Fault) -> Problem:
    line = text.count("\n", 0, fault.at) + 1
    column = fault.at - text.rfind("\n", 0, fault.at)
    where = f"line {line}, column {column}"
    if fault.kind == "unclosed":
        before = shown(_words_up_to(text, fault.at))
        message = (
            f"The {fault.what} that opens at {where} ({before}) is never closed, so a shell would wait for more "
            "instead of running anything; close it. What stands before that word is read, the rest is not."
        )
        return Problem("quote", None, shown(text[fault.at : fault.at + 60]), message, refuses=True)
    if fault.kind == "substitution":
        message = (
            f"{shown(fault.what)} at {where}: a shell would put something in its place; here it is kept as text and "
            "never run. Write the value, or a plain $NAME."
        )
        return Problem("substitution", None, shown(fault.what), message)
    message = (
        f"There is something after the backslash at {where}, so a shell would not continue the line; "
        "it is read as continued, and written without what follows the backslash."
    )
    return Problem("joined", None, "\\", message)


def _words_up_to(text: str, at: int) -> str:
    """Return the word that the quote at *at* stands in, up to it, with the word before: whole words where they are short."""
    words = text[: at + 1].split()[-2:] if at < _SEEN else text[at + 1 - _SEEN : at + 1].split()[-2:]
    return " ".join(word if len(word) <= _LONG else f"...{word[-_LONG:]}" for word in words)


def left_problem(left: Sequence[str]) -> Problem:
    """Say what of a text is no part of the command."""
    listed = "; ".join(shown(text) for text in left[:_MAX_LEFT])
    more = f" and {len(left) - _MAX_LEFT} more" if len(left) > _MAX_LEFT else ""
    message = f"Left out, since it is no part of the SGLang command: {listed}{more}."
    if any(name in text for text in left for name in _SGLANG):
        message += " There is a second SGLang command among it; paste that by itself to check it."
    return Problem("left-out", None, shown(left[0]), message)


def wrapper_problem(wrapper: str) -> Problem:
    """Say that only what a shell runs inside something else is read."""
    message = (
        f"The command stands inside a shell that {shown(wrapper)} starts; what is inside is read and written, with its "
        "variables, and what starts the shell is left out."
    )
    return Problem("left-out", None, shown(wrapper), message)


def joined_problem(count: int) -> Problem:
    """Say that lines were joined although the text has no backslash there."""
    lines = "1 line of the text begins" if count == 1 else f"{count} lines of the text begin"
    message = (
        f"{lines} with a flag, but the line before does not end in a backslash, so a shell would end the command "
        "there; they are joined here."
    )
    return Problem("joined", None, "", message)


def shell_variable_problem(name: str, word: str) -> Problem:
    """Say that a variable set on a line of its own never reaches the server."""
    message = (
        f"{name} is set on a line of its own without export, so the server would not see it; write "
        f"'export {name}=...', or put it in front of the command on the same line."
    )
    return Problem("left-out", None, shown(word), message)


def here_document_problem() -> Problem:
    """Say that a here-document is left out."""
    message = "A here-document after the command is left out: the server reads nothing from it."
    return Problem("left-out", None, "<<", message)
