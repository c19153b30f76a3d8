"""What may have been meant where a command line is wrong: changes to try, the nearest first. Nothing is tested here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from configurator.core.availability import Choice
from configurator.core.configuration import Change
from configurator.core.engine import Case, engine_for
from configurator.core.flag import FlagSpec, FlagTable, FlagValue
from configurator.core.repair import step_cost
from configurator.launch.command import Command
from configurator.launch.parse import parse
from configurator.launch.problem import Problem

_MOST = 24
_OFF = frozenset({"false", "0", "no", "off"})


class Corrections(NamedTuple):
    """Changes that may answer a problem.

    Attributes:
        meant: What the words themselves say was meant, the nearest first.
        others: Other values by cost, then leaving it out.
    """

    meant: tuple[Change, ...]
    others: tuple[Change, ...]


def corrections(command: Command, problem: Problem, case: Case) -> Corrections:
    """Return changes that may answer *problem* of *command*; whether they do is for the caller to test.

    Args:
        command: The command.
        problem: One of its problems that is about a flag or a word.
        case: The question it is part of: its release has the flags, its facts rank the values.
    """
    spec = case.release.table.get(problem.dest or "")
    if spec is None:
        meant, others = _of_word(command, problem, case.release.table)
    elif problem.kind == "repeated":
        meant, others = _given(command, spec, case.release.table), []
    elif spec.takes_value:
        meant = _as_suggested(problem, spec, case.release.table)
        others = [*_values(spec, case), Change(unset=frozenset({spec.dest}))]
    else:
        meant, others = _of_switch(problem, spec)
    first = _once(meant)
    return Corrections(tuple(first), tuple(change for change in _once(others) if change not in first))


def unknown_words(command: Command) -> Change:
    """Return the change that takes out every word no flag of the release claims."""
    given = {occurrence.spec.dest for occurrence in command.occurrences}
    arguments = command.words[command.start : command.end]
    names = {_name(arguments[at].value) for at, _ in command.unknown}
    return Change(unset=frozenset(names - given - {""}))


def _name(word: str) -> str:
    """Return what names *word* in a change: a flag without the value in the same word, any other word whole."""
    return word.partition("=")[0] if word.startswith("-") else word


def _once(changes: Iterable[Change]) -> list[Change]:
    return list(dict.fromkeys(changes))[:_MOST]


def _given(command: Command, spec: FlagSpec, table: FlagTable) -> list[Change]:
    """Return the values a repeated flag is given, the last one first: that is the one the server takes."""
    found: list[FlagValue] = []
    if spec.dest in command.configuration.flags:
        found.append(command.configuration.flags[spec.dest])
    arguments = command.words[command.start : command.end]
    for occurrence in reversed([o for o in command.occurrences if o.spec.dest == spec.dest]):
        words = arguments[occurrence.at : occurrence.end]
        if occurrence.spelling and not any(word.live for word in words):
            found += parse([word.value for word in words], table).configuration.flags.values()
    return [Change({spec.dest: value}) for value in found]


def _as_suggested(problem: Problem, spec: FlagSpec, table: FlagTable) -> list[Change]:
    if problem.suggestion is None:
        return []
    read = parse([f"{spec.primary}={problem.suggestion}"], table)
    return [] if read.refused else [Change(read.configuration.flags)]


def _values(spec: FlagSpec, case: Case) -> Iterator[Change]:
    """Yield the values to choose from, the mildest change first."""
    modelled = case.release.modelled.get(spec.dest)
    if modelled is None or not modelled.values:
        yield from (Change({spec.dest: choice}) for choice in spec.choices or ())
        return
    engine = engine_for(case.release)
    offered: list[Choice] = [v for v in modelled.values if spec.choices is None or v in spec.choices]
    for value in sorted(offered, key=lambda v: step_cost(engine, case, spec.dest, v)):
        if value is None or isinstance(value, bool | int | float | str | tuple):
            yield Change({spec.dest: value})


def _of_switch(problem: Problem, spec: FlagSpec) -> tuple[list[Change], list[Change]]:
    """Return what a switch with a value can have meant: on, or off."""
    on = Change({spec.dest: spec.action != "false"})
    absent = Change(unset=frozenset({spec.dest}))
    off = Change({spec.dest: False}) if spec.action == "boolean" else absent
    asked_off = problem.word.partition("=")[2].strip().lower() in _OFF
    return ([off], [on, absent]) if asked_off else ([on], [off, absent])


def _of_word(command: Command, problem: Problem, table: FlagTable) -> tuple[list[Change], list[Change]]:
    """Return the flags that a word the release does not know can stand for, with its values; then without it."""
    name = _name(problem.word)
    if not name or any(occurrence.spec.dest == name for occurrence in command.occurrences):
        return [], []  # a stray word spelled like a flag's own name: a change cannot tell the two apart
    arguments = command.words[command.start : command.end]
    runs = [arguments[at:end] for at, end in command.unknown if arguments[at].value == problem.word]
    words = runs[-1] if runs else ()
    out = Change(unset=frozenset({name}))
    meant: list[Change] = []
    if words and not any(word.live for word in words):
        values = [word.value for word in words[1:]]
        explicit = problem.word[len(name) :]  # an equals sign and the value, or nothing
        wanted = table.completions(name) if problem.kind == "ambiguous" else (problem.suggestion,)
        for spelling in wanted:
            if spelling is None or spelling not in table.spellings:
                continue
            read = parse([f"{spelling}{explicit}", *values], table)
            if not read.refused and read.configuration.flags:
                meant.append(Change(read.configuration.flags, out.unset))
    return meant, [out]
