"""Reading a launch command: argv words, or text as people paste it."""

from __future__ import annotations

from collections.abc import Sequence

from configurator.core.configuration import Configuration
from configurator.core.errors import InputError
from configurator.core.flag import FlagTable
from configurator.launch.arguments import read
from configurator.launch.command import Command, Frame, assemble, build
from configurator.launch.foreign import Found
from configurator.launch.launcher import find_launcher
from configurator.launch.manifest import read_manifest
from configurator.launch.problem import FlagHistory, Problem, shown
from configurator.launch.script import Script, read_script
from configurator.launch.unit import read_unit
from configurator.launch.word import Role, Word

MAX_CHARACTERS = 65_536
"""Longer input is refused as a whole: no launch command is near it, and a part of one is another command."""

_NOT_A_COMMAND = (
    "This is no SGLang command: there is no 'python -m sglang.launch_server' and no 'sglang serve' in it, and it does "
    "not begin with a flag; paste a launch command, or its arguments alone."
)


def parse(source: str | Sequence[str], table: FlagTable, *, history: FlagHistory | None = None) -> Command:
    """Read a launch command. What cannot be understood is kept and named among the problems, never an exception.

    In text, ``$NAME`` and ``${NAME}`` stay references and nothing else is live. In argv words everything is data.

    Args:
        source: Shell text as pasted, or argv words; launcher words are optional in both.
        table: The flags of the release to read it for.
        history: Says what became of a flag in other releases; its words are added to messages about unknown flags.

    Returns:
        The command. A source that holds none gives one without words and a problem of kind ``not-a-command``.

    Raises:
        InputError: If there is nothing at all.
    """
    if isinstance(source, str):
        return _parse_text(source, table, history)
    return _parse_argv(source, table, history)


def _parse_argv(source: Sequence[str], table: FlagTable, history: FlagHistory | None) -> Command:
    values = list(source)
    if not values:
        raise InputError(
            "There is no command: give the words of a launch command, or its arguments alone.", part="command"
        )
    total = sum(map(len, values)) + len(values) - 1
    if total > MAX_CHARACTERS:
        return _too_long(total, " ".join(values))
    launcher = find_launcher(values)
    if launcher is None:
        return _not_a_command(" ".join(values), [])
    start = launcher.end
    arguments = values[start:]
    reading = read(arguments, table, serve=launcher.serve, history=history)
    before = tuple(
        Word(value, "", " " if at else "", "env" if at < launcher.env else "launcher")
        for at, value in enumerate(values[:start])
    )
    words = [Word(value, "", " ", role) for value, role in zip(arguments, reading.roles, strict=True)]
    if words and not before:
        words[0] = words[0]._replace(gap="")
    return assemble(Frame(before, (), launcher.serve, (), (), history), words, reading)


def _too_long(total: int, text: str) -> Command:
    """Return no command for an input nobody launches: a part of it would be another command than the whole."""
    message = (
        f"The input has {total:,} characters, and no launch command has more than {MAX_CHARACTERS:,}, so nothing of it is "
        "read; paste the command alone."
    )
    return _not_a_command(text, [], message)


def _not_a_command(text: str, problems: list[Problem], message: str = _NOT_A_COMMAND) -> Command:
    problems = [*problems, Problem("not-a-command", None, shown(text), message, refuses=True)]
    return Command((), Configuration(), {}, tuple(problems), (text,), text_problems=tuple(problems))


def _parse_text(source: str, table: FlagTable, history: FlagHistory | None) -> Command:
    if not source:
        raise InputError("There is no command: paste a launch command, or its arguments alone.", part="command")
    if len(source) > MAX_CHARACTERS:
        return _too_long(len(source), source)
    source = source.removeprefix("\ufeff")
    script = _script_of(source, table)
    problems = list(script.problems)
    if script.launcher is None:
        return _not_a_command(source, problems)
    words, launcher = script.words, script.launcher
    first_env = len(script.preamble)
    before = [*script.preamble]
    for at, word in enumerate(words[: launcher.end]):
        role: Role = "env" if at < launcher.env else "launcher"
        gap = word.gap if at else ("\n" if first_env else "")
        before.append(Word(word.value, word.raw, gap, role, word.live))
    arguments = words[launcher.end :]
    if arguments and not launcher.end:
        gap = "\n" if first_env else ""
        arguments = [arguments[0]._replace(gap=gap), *arguments[1:]]
    frame = Frame(tuple(before), script.tail, launcher.serve, tuple(problems), script.left_out, history)
    return build(frame, arguments, table)


def _script_of(source: str, table: FlagTable) -> Script:
    """Sort a text, whatever kind of file it is; its problems are those of the text."""
    found = read_unit(source) or read_manifest(source, table)
    if isinstance(found, Found):
        return _script_from(found)
    script = read_script(source)
    inner = _inner(script.inside, script) if script.inside is not None else None
    if inner is not None:
        return inner._replace(problems=[*script.problems, *inner.problems])
    if isinstance(found, Problem) and script.launcher is None:
        script.problems.append(found)
    return script


def _script_from(found: Found) -> Script:
    """Return what was found in a file as if it had been pasted."""
    problems = list(found.problems)
    around = Script((), found.env, (), None, (), problems)
    if found.text:
        inner = _inner(found.text, around)
        return around if inner is None else inner._replace(problems=[*problems, *inner.problems])
    words = [*found.env, *found.words]
    return around._replace(words=words, launcher=find_launcher([word.value for word in words]))


def _inner(text: str, around: Script) -> Script | None:
    """Read the command a shell is given with ``-c``, with the variables that reach it from *around*.

    Returns:
        ``None`` if that is no SGLang command either.
    """
    script = read_script(text)
    if script.launcher is None:
        return None
    own = {word.value.partition("=")[0] for word in script.preamble if word.role == "setup"}
    passed = [word for word in around.words if word.value.partition("=")[0] not in own]
    launcher = script.launcher
    words = [*passed, *script.words]
    if passed and script.words:
        words[len(passed)] = script.words[0]._replace(gap=" ")
    preamble = (*around.preamble, *script.preamble)
    if around.preamble and script.preamble:
        preamble = (*around.preamble, script.preamble[0]._replace(gap="\n"), *script.preamble[1:])
    return script._replace(
        preamble=preamble,
        words=words,
        launcher=launcher._replace(end=launcher.end + len(passed), env=launcher.env + len(passed)),
        left_out=(*around.left_out, *script.left_out),
    )
