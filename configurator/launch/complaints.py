"""The sentences about arguments: what you asked, what holds here, why, what to do."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from configurator.core.flag import FlagSpec, FlagTable
from configurator.launch.hints import TableIndex, dashes_for, nearest_choice, nearest_number
from configurator.launch.problem import FlagHistory, Problem, shown
from configurator.launch.values import type_words

_MAX_HINTS = 8
_MAX_CHOICES = 12
_MAX_SHOWN_WORDS = 6
_TYPOGRAPHIC = ("\u201c", "\u201d", "\u2018", "\u2019", "\u201e", "\u201a")


def has_typographic_quotes(text: str) -> bool:
    """Tell whether *text* begins or ends with a quote as word processors write it."""
    return text[:1] in _TYPOGRAPHIC or text[-1:] in _TYPOGRAPHIC


class Complaints:
    """Writes the problems of one command; the number of nearest-word searches is bounded."""

    def __init__(self, table: FlagTable, index: TableIndex, history: FlagHistory | None) -> None:
        """Write about flags of *table*; *history* adds what became of unknown ones."""
        self.release = table.release
        self.index = index
        self.history = history
        self.hints_left = _MAX_HINTS

    def _may_hint(self) -> bool:
        self.hints_left -= 1
        return self.hints_left >= 0

    def unknown_flag(self, word: str) -> Problem:
        """A word that looks like a flag and is none of the release."""
        name = word.partition("=")[0]
        suggestion = told = None
        if self._may_hint():
            suggestion = self.index.nearest(name)
            told = self.history(name) if self.history is not None else None
        parts = [f"{shown(name)}: SGLang {self.release} has no such flag and refuses to start with it"]
        parts.append(f"{told}" if told else "")
        parts.append(f"did you mean {suggestion}?" if suggestion else "take it out, or choose a release that has it.")
        return Problem("unknown-flag", None, word, "; ".join(filter(None, parts)), suggestion, refuses=True)

    def ambiguous(self, word: str, candidates: Sequence[str]) -> Problem:
        """An abbreviation that several flags share."""
        listed = ", ".join(islice(candidates, _MAX_SHOWN_WORDS))
        more = "" if len(candidates) <= _MAX_SHOWN_WORDS else f" and {len(candidates) - _MAX_SHOWN_WORDS} more"
        message = (
            f"{shown(word)} is short for several flags of SGLang {self.release} ({listed}{more}), and it refuses "
            "to guess; write the one you mean in full."
        )
        return Problem("ambiguous", None, word, message, candidates[0], refuses=True)

    def missing_value(self, spec: FlagSpec, word: str, following: str | None) -> Problem:
        """A flag without the value it needs."""
        where = "nothing follows it" if following is None else f"{shown(following)} follows it, which is a flag itself"
        message = f"{shown(word)} needs {type_words(spec)} after it, but {where}; give one or take the flag out."
        return Problem("missing-value", spec.dest, word, message, refuses=True)

    def switch_with_value(self, spec: FlagSpec, word: str, value: str) -> Problem:
        """A switch with ``=value``."""
        name = word.partition("=")[0]
        off = f"{spec.negative} turns it off." if spec.negative else "leave it out to turn it off."
        given = shown(value) or "empty"
        message = f"{shown(word)}: {name} is a switch and takes no value ({given}); write {name} alone, {off}"
        return Problem("unexpected-value", spec.dest, word, message, name, refuses=True)

    def wrong_type(self, spec: FlagSpec, written: str, text: str) -> Problem:
        """A value of another type than the parser reads."""
        hint = ""
        if text[:2] in ("$(", "${") or "`" in text:
            hint = " A shell would put something in its place; here it is text. Write the value, or a plain $NAME."
        suggestion = nearest_number(text) if spec.type == "int" else None
        ask = f"did you mean {suggestion}?" if suggestion is not None else "give one."
        message = (
            f"{written} {shown(text) or '(empty)'}: this flag takes {type_words(spec)}, so SGLang {self.release} "
            f"refuses to start; {ask}{hint}"
        )
        return Problem("type", spec.dest, text, message, suggestion, refuses=True)

    def no_choice(self, spec: FlagSpec, written: str, text: str) -> Problem:
        """A value that is none of the flag's choices."""
        choices = spec.choices or ()
        suggestion = nearest_choice(text, choices) if self._may_hint() else None
        listed = ", ".join(str(choice) for choice in islice(choices, _MAX_CHOICES))
        more = "" if len(choices) <= _MAX_CHOICES else f" and {len(choices) - _MAX_CHOICES} more"
        ask = f"did you mean {suggestion}?" if suggestion else "take one of these."
        message = (
            f"{written} {shown(text) or '(empty)'}: SGLang {self.release} takes {listed}{more} here and "
            f"refuses anything else; {ask}"
        )
        return Problem("choice", spec.dest, text, message, suggestion, refuses=True)

    def typographic(self, spec: FlagSpec, text: str) -> Problem:
        """A value in quotes that no shell takes for quotes."""
        message = (
            f"The value of {spec.primary} stands in typographic quotes ({shown(text)}); no shell knows them, so the server "
            "gets them as part of the value. Write straight quotes."
        )
        return Problem("quote", spec.dest, text, message)

    def nul(self, spec: FlagSpec, text: str) -> Problem:
        """A value with a NUL character, which no operating system passes to a program."""
        message = f"The value of {spec.primary} contains a NUL character; no program can be given one. Take it out."
        return Problem("type", spec.dest, shown(text), message, refuses=True)

    def positional(self, words: Sequence[str]) -> Problem:
        """Words that stand where a flag should."""
        listed = " ".join(shown(word, 40) or "''" for word in islice(words, _MAX_SHOWN_WORDS))
        more = "" if len(words) <= _MAX_SHOWN_WORDS else f" and {len(words) - _MAX_SHOWN_WORDS} more words"
        suggestion = None
        if dashes_for(words[0]):
            suggestion = self.index.nearest(words[0]) if self._may_hint() else None
            why = "it begins with a dash that is not a hyphen, as chats and word processors make of two hyphens"
            todo = f"write {suggestion}." if suggestion else "write it with two hyphens."
        elif has_typographic_quotes(words[0]):
            why, todo = "its quotes are typographic ones, which no shell knows", "write straight quotes."
        else:
            why = "it belongs to no flag, and the server takes nothing but flags"
            todo = "put the flag it belongs to before it, or take it out."
        message = f"{listed}{more}: SGLang {self.release} refuses this, since {why}; {todo}"
        return Problem("positional", None, words[0], message, suggestion, refuses=True)

    def reference_word(self, word: str) -> Problem:
        """A variable that stands where flags do: it may hold flags nobody can see here."""
        message = (
            f"{shown(word)} may hold more flags; they cannot be seen here, so nothing is said about them. "
            "It is kept as it is."
        )
        return Problem("left-out", None, word, message)

    def help_flag(self, word: str) -> Problem:
        """``--help`` among the arguments."""
        message = f"{shown(word)} prints SGLang's help and ends, so no server starts. Take it out to launch one."
        return Problem("left-out", None, word, message)

    def repeated(self, spec: FlagSpec, words: Sequence[str]) -> Problem:
        """A flag that is given several times."""
        listed = ", then ".join(shown(word, 40) or "''" for word in words[-_MAX_SHOWN_WORDS:])
        message = f"{spec.primary} is given {len(words)} times ({listed}); the last one wins, the others do nothing."
        return Problem("repeated", spec.dest, words[-1], message)
