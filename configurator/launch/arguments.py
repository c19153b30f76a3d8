"""Reading server arguments as the release's argument parser (argparse of Python 3.11 and 3.12) would, without stopping.

argparse leaves at the first error; here everything is read, so that one paste shows all that is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from configurator.core.flag import FlagSpec, FlagTable, FlagValue, Scalar
from configurator.launch import complaints
from configurator.launch.hints import TableIndex, index_of
from configurator.launch.launcher import takes_positional_model
from configurator.launch.problem import MAX_PROBLEMS, FlagHistory, Problem
from configurator.launch.values import convert
from configurator.launch.word import Role

_NEGATIVE_NUMBER = re.compile(r"(?:-\d+|-\d*\.\d+)\n?")  # argparse's own lets a line end pass
_NO_LIVE: frozenset[int] = frozenset()


class Occurrence(NamedTuple):
    """One place where a flag of the release is given.

    Attributes:
        spec: The flag.
        at: Index of the flag's word, or of the model path where that stands without a flag.
        end: Index after its last value.
        spelling: Option string as written, abbreviations included; empty for a bare model path.
        explicit: Whether the value is in the same word, after an equals sign.
    """

    spec: FlagSpec
    at: int
    end: int
    spelling: str
    explicit: bool


@dataclass(slots=True)
class Reading:
    """What the server arguments say. Filled while reading; see :class:`configurator.launch.command.Command`."""

    roles: list[Role]
    flags: dict[str, FlagValue] = field(default_factory=dict)
    references: dict[str, str] = field(default_factory=dict)
    occurrences: list[Occurrence] = field(default_factory=list)
    unknown: list[tuple[int, int]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


class _Option(NamedTuple):
    spec: FlagSpec | None
    spelling: str  # the full option string; for an abbreviation what it stands for
    value: str | None
    candidates: tuple[str, ...] = ()


def read(
    values: Sequence[str],
    table: FlagTable,
    *,
    live: Collection[int] = _NO_LIVE,
    serve: bool = False,
    history: FlagHistory | None = None,
) -> Reading:
    """Read server arguments.

    Args:
        values: The words after the launcher.
        table: The flags of the release.
        live: Indices of words that contain a reference, whose value is not known.
        serve: Whether ``sglang serve`` reads them, which takes a bare model path first and its own ``--model-type``.
        history: Says what became of a flag in other releases.

    Returns:
        Roles of the words, typed values, and everything argparse would refuse.
    """
    return _Reader(values, table, live, history).read(serve=serve)


class _Reader:
    def __init__(
        self, values: Sequence[str], table: FlagTable, live: Collection[int], history: FlagHistory | None
    ) -> None:
        self.values = values
        self.table = table
        self.index: TableIndex = index_of(table)
        self.live = live
        self.complain = complaints.Complaints(table, self.index, history)
        self.reading = Reading(["value"] * len(values))
        self.stop = values.index("--") if "--" in values else len(values)
        self.given: dict[str, list[str]] = {}

    def read(self, *, serve: bool) -> Reading:
        reading, values, end = self.reading, self.values, len(self.values)
        at = self._model_of_serve() if serve else 0
        while at < end:
            word = values[at]
            option = self._classify(word) if at < self.stop and word[:1] == "-" else None
            if option is None:
                at = self._stray(at)
            elif serve and option.spec is None and word.partition("=")[0] == "--model-type":
                after = at + (1 if "=" in word else 2)
                reading.roles[at] = "unknown"
                at = min(after, end)
            elif option.spec is None or option.spec.action in ("other", "help"):
                at = self._not_modelled(at, option)
            else:
                at = self._known(at, option, option.spec)
        for dest, words in self.given.items():
            if len(words) > 1:
                reading.problems.append(self.complain.repeated(self.table[dest], words))
        return reading

    def _classify(self, word: str) -> _Option | None:
        """Tell which option *word* (which starts with a dash) is; ``None`` for a value, as argparse decides it."""
        spellings = self.index.spellings
        spec = spellings.get(word)
        if spec is not None:
            return _Option(spec, word, None)
        if len(word) == 1:
            return None
        name, equals, value = word.partition("=")
        if equals and (spec := spellings.get(name)) is not None:
            return _Option(spec, name, value)
        if name.startswith("--"):
            found = self.index.completions(name)
            if len(found) == 1:
                return _Option(spellings[found[0]], found[0], value if equals else None)
            if found:
                return _Option(None, name, value if equals else None, tuple(found))
        elif (spec := spellings.get(word[:2])) is not None:
            return _Option(spec, word[:2], word[2:])
        if _NEGATIVE_NUMBER.fullmatch(word) or " " in word:
            return None
        return _Option(None, name, value if equals else None)

    def _values_from(self, at: int, most: int) -> int:
        """Return the index after the values that start at *at*, at most *most* of them."""
        end = min(len(self.values), at + most, self.stop if self.stop >= at else len(self.values))
        while at < end:
            word = self.values[at]
            if word[:1] == "-" and self._classify(word) is not None:
                break
            at += 1
        return at

    def _known(self, at: int, option: _Option, spec: FlagSpec) -> int:
        """Read a flag of the release with its values."""
        reading, roles = self.reading, self.reading.roles
        roles[at] = "flag"
        written = self.values[at].partition("=")[0] if option.value is not None else self.values[at]
        if spec.action in ("true", "false", "boolean") or spec.nargs == "0":
            if option.value is not None:
                self._bad(spec, self.complain.switch_with_value(spec, self.values[at], option.value))
            else:
                negative = spec.action == "boolean" and option.spelling not in spec.spellings
                self._store(spec, spec.action != "false" and not negative, written)
            reading.occurrences.append(Occurrence(spec, at, at + 1, written, option.value is not None))
            return at + 1
        if option.value is not None:
            end, texts = at + 1, [option.value]
            is_live = at in self.live
        else:
            end = self._values_from(at + 1, _most(spec.nargs))
            texts = list(self.values[at + 1 : end])
            is_live = bool(self.live) and any(i in self.live for i in range(at + 1, end))
        reading.occurrences.append(Occurrence(spec, at, end, written, option.value is not None))
        fewest = _fewest(spec.nargs)
        if len(texts) < fewest:
            following = self.values[end] if end < len(self.values) else None
            self._bad(spec, self.complain.missing_value(spec, self.values[at], following))
        elif is_live:
            self._forget(spec)
            reading.references[spec.dest] = " ".join(texts)
            self.given.setdefault(spec.dest, []).append(texts[0])
        else:
            self._convert(spec, texts, written)
        return end

    def _convert(self, spec: FlagSpec, texts: list[str], written: str) -> None:
        """Store the typed value of *texts*, or complain."""
        converted: list[Scalar] = []
        for text in texts:
            if "\0" in text:
                self._bad(spec, self.complain.nul(spec, text))
                return
            try:
                value = convert(spec, text)
            except ValueError:
                self._bad(spec, self.complain.wrong_type(spec, written, text))
                return
            if spec.choices is not None and value not in spec.choices:
                self._bad(spec, self.complain.no_choice(spec, written, text))
                return
            if complaints.has_typographic_quotes(text):
                self.reading.problems.append(self.complain.typographic(spec, text))
            converted.append(value)
        if spec.nargs in (None, "?"):
            self._store(spec, converted[0] if converted else "", texts[0] if texts else written)
        else:
            self._store(spec, tuple(converted), " ".join(texts))

    def _store(self, spec: FlagSpec, value: FlagValue, word: str) -> None:
        dest = spec.dest
        if spec.action == "append":
            before = self.reading.flags.get(dest, ())
            added = value if isinstance(value, tuple) else (value,)
            self.reading.flags[dest] = (before if isinstance(before, tuple) else (before,)) + added
            return
        self.reading.references.pop(dest, None)
        self.reading.flags[dest] = value
        if dest in self.given:
            self.given[dest].append(word)
        else:
            self.given[dest] = [word]

    def _forget(self, spec: FlagSpec) -> None:
        self.reading.flags.pop(spec.dest, None)
        self.reading.references.pop(spec.dest, None)

    def _bad(self, spec: FlagSpec, problem: Problem) -> None:
        self._forget(spec)
        self.reading.problems.append(problem)

    def _not_modelled(self, at: int, option: _Option) -> int:
        """Keep a flag that is unknown, ambiguous or read by nobody, with the words that follow it."""
        reading, word, spec = self.reading, self.values[at], option.spec
        most = len(self.values) if spec is None else _most(spec.nargs)
        end = at + 1 if option.value is not None else self._values_from(at + 1, most)
        reading.roles[at] = "unknown"
        for value_at in range(at + 1, end):
            reading.roles[value_at] = "extra"
        reading.unknown.append((at, end))
        if len(reading.problems) > MAX_PROBLEMS:  # those are counted, not read
            reading.problems.append(Problem("unknown-flag", None, word, "", refuses=True))
        elif option.candidates:
            reading.problems.append(self.complain.ambiguous(word, option.candidates))
        elif spec is None:
            reading.problems.append(self.complain.unknown_flag(word))
        elif spec.action == "help":
            help_ = self.complain.help_flag(word) if option.value is None else None
            reading.problems.append(help_ or self.complain.switch_with_value(spec, word, option.value or ""))
        return end

    def _stray(self, at: int) -> int:
        """Keep words that stand where a flag should."""
        end = at + 1
        if at >= self.stop:
            end = len(self.values)
        else:
            while end < self.stop and not (self.values[end][:1] == "-" and self._classify(self.values[end])):
                end += 1
        for stray in range(at, end):
            self.reading.roles[stray] = "extra"
        words = self.values[at:end]
        if len(words) == 1 and at in self.live and words[0][:1] == "$":
            self.reading.problems.append(self.complain.reference_word(words[0]))
        else:
            self.reading.problems.append(self.complain.positional(words))
        self.reading.unknown.append((at, end))
        return end

    def _model_of_serve(self) -> int:
        """Read the bare model path of ``sglang serve MODEL``; return where the flags start."""
        at = 0
        while at < self.stop:  # its own selector is taken out before the model path is looked for
            word = self.values[at]
            if word == "--model-type":
                at += 2
            elif word.startswith("--model-type="):
                at += 1
            else:
                break
        spec = self.table.get("model_path")
        word = self.values[at] if at < len(self.values) else "-"
        if spec is None or word[:1] == "-" or not takes_positional_model(self.table.release):
            return 0
        for before in range(at):
            self.reading.roles[before] = "unknown" if self.values[before][:1] == "-" else "extra"
        self.reading.roles[at] = "flag"
        self.reading.occurrences.append(Occurrence(spec, at, at + 1, "", explicit=False))
        if at in self.live:
            self.reading.references["model_path"] = word
            self.given["model_path"] = [word]
        else:
            self._convert(spec, [word], word)
        return at + 1


def _most(nargs: str | None) -> int:
    if nargs is None or nargs == "?":
        return 1
    return int(nargs) if nargs.isdigit() else 1 << 30


def _fewest(nargs: str | None) -> int:
    if nargs is None or nargs == "+":
        return 1
    return int(nargs) if nargs.isdigit() else 0
