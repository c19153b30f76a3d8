"""Changing flags of a command in place: what the user wrote stays as it was, but for what the change is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from configurator.core.configuration import Change
from configurator.core.errors import InputError
from configurator.core.flag import FlagSpec, FlagTable, FlagValue
from configurator.launch.arguments import Occurrence
from configurator.launch.launcher import container_run
from configurator.launch.values import reads_as_flag, sayable_words
from configurator.launch.word import Word, assignment, is_name

_SIZES = frozenset({"tp", "dp", "pp", "ep", "dcp"})


def edit_arguments(
    words: Sequence[Word],
    occurrences: Sequence[Occurrence],
    unknown: Sequence[tuple[int, int]],
    change: Change,
    table: FlagTable,
) -> list[Word]:
    """Return server arguments with *change* made.

    Args:
        words: The server arguments.
        occurrences: Where flags of the release stand in *words*.
        unknown: Where words stand that belong to no flag of the release.
        change: What to set and unset; an entry of ``unset`` that is no flag's ``dest`` names an unknown word.
        table: The flags of the release.

    Raises:
        InputError: If a flag to be set is none of the release.
    """
    pieces: dict[int, list[Word]] = {}  # new words in the place of those that start there
    dropped: dict[int, int] = {}  # start and end of what goes or is replaced
    added: list[tuple[int | None, FlagSpec, FlagValue]] = []
    for dest, value in change.set.items():
        spec = table.get(dest)
        if spec is None:
            msg = f"{dest}: SGLang {table.release} has no such flag, so it cannot be set; choose a release that has it."
            raise InputError(msg, part=dest)
        given = [o for o in occurrences if o.spec.dest == dest]
        for occurrence in given if _means_absent(spec, value) else given[:-1]:
            dropped[occurrence.at] = occurrence.end
        if _means_absent(spec, value):
            continue
        if given:
            last = given[-1]
            dropped[last.at] = last.end
            pieces[last.at] = _replacement(words, last, value)
        else:
            added.append((_related(dest, occurrences), spec, value))
    gone = {o.at: o.end for o in occurrences if o.spec.dest in change.unset}
    gone |= {at: end for at, end in unknown if _is_named(words[at].value, change.unset)}
    dropped |= gone
    for at in gone:
        pieces.pop(at, None)
    return _rebuilt(words, dropped, pieces, added)


def _is_named(word: str, names: frozenset[str]) -> bool:
    """Tell whether an unknown word is meant by one of *names*; a flag is named without the value in the same word."""
    return word in names or (word.startswith("-") and word.partition("=")[0] in names)


def _rebuilt(
    words: Sequence[Word],
    dropped: Mapping[int, int],
    pieces: Mapping[int, list[Word]],
    added: Sequence[tuple[int | None, FlagSpec, FlagValue]],
) -> list[Word]:
    """Put the arguments together again: replacements in place, new flags after related ones or at the end."""
    out: list[Word] = []
    owed = ""  # the line end of a flag that went, for the next word of its line
    at = 0
    stop = next((at for at, word in enumerate(words) if word.value == "--"), len(words))  # what follows is no flag
    while at < len(words):
        if at == stop:
            _append(out, words, stop, added)
        end = dropped.get(at, at + 1)
        kept = pieces.get(at, []) if at in dropped else [words[at]]
        if not kept and not owed and ("\n" in words[at].gap or not words[at].gap):
            owed = words[at].gap or "\0"
        for word in kept:
            if owed:
                gap = word.gap if "\n" in word.gap else owed.replace("\0", "")
                out.append(word._replace(gap=gap))
                owed = ""
            else:
                out.append(word)
        for anchor, spec, value in added:
            if anchor is not None and at <= anchor < end:
                out.extend(new_flag(spec, value, gap=_gap_after(words, anchor, end)))
        at = end
    if stop == len(words):
        _append(out, words, stop, added)
    return out


def _append(
    out: list[Word], words: Sequence[Word], end: int, added: Sequence[tuple[int | None, FlagSpec, FlagValue]]
) -> None:
    """Append the new flags that are related to none, at *end* of the flags."""
    for anchor, spec, value in added:
        if anchor is None:
            out.extend(new_flag(spec, value, gap=_gap_after(words, end - 1, end) if out else " "))


def _gap_after(words: Sequence[Word], anchor: int, end: int) -> str:
    """Return the gap for a flag put at *end*: a line of its own where the user gives each flag one."""
    lines = [word.gap for word in words[: anchor + 1] if "\n" in word.gap]
    following = words[end].gap if end < len(words) else ""
    starts = [word for word in words if word.role in ("flag", "unknown")]
    if "\n" in following:
        return following
    if lines and end >= len(words) and 2 * sum("\n" in word.gap for word in starts) >= len(starts):
        return lines[-1]
    return " "


def _related(dest: str, occurrences: Sequence[Occurrence]) -> int | None:
    """Return the last word of the flag a new one should stand next to, or ``None`` for the end."""
    parts = dest.split("_")
    best, found = 0, None
    for occurrence in occurrences:
        other = occurrence.spec.dest.split("_")
        score = 0
        if other[0] == parts[0] and parts[0] not in ("enable", "disable"):
            score = 3
        elif len(parts) > 1 and other[-2:] == parts[-2:]:
            score = 2
        elif parts[0] in _SIZES and other[0] in _SIZES and parts[-1] == other[-1] == "size":
            score = 1
        if score and score >= best:
            best, found = score, occurrence.end - 1
    return found


def _means_absent(spec: FlagSpec, value: FlagValue) -> bool:
    """Tell whether *value* is what the flag has when it is not given, with no other way to write it."""
    if value is None:
        return spec.type != "nullable_str"
    return (spec.action == "true" and value is False) or (spec.action == "false" and value is True)


def new_flag(spec: FlagSpec, value: FlagValue, gap: str = " ", spelling: str = "") -> list[Word]:
    """Return the words that give *spec* the *value*; empty where absence is the way to say it."""
    if _means_absent(spec, value):
        return []
    name = spelling or spec.primary
    if spec.action in ("true", "false", "boolean") or spec.nargs == "0":
        return [Word(name if spec.action != "boolean" else _polar(spec, name, positive=bool(value)), "", gap, "flag")]
    if spec.action == "append" and isinstance(value, tuple):
        return [word for item in value for word in new_flag(spec, item, gap, name)]
    texts = sayable_words(spec, value)
    if len(texts) == 1 and reads_as_flag(texts[0]):
        return [Word(f"{name}={texts[0]}", "", gap, "flag")]
    return [Word(name, "", gap, "flag"), *(Word(text, "", " ", "value") for text in texts)]


def _polar(spec: FlagSpec, spelling: str, *, positive: bool) -> str:
    """Return *spelling* of a boolean pair, switched to the wanted side if it stands on the other."""
    is_negative = spelling.startswith("--no-") and spelling not in spec.spellings
    if positive != is_negative:
        return spelling
    if positive:
        bare = f"--{spelling[5:]}"
        return bare if bare in spec.spellings else spec.primary
    base = spelling if spelling in spec.spellings else spec.primary
    return f"--no-{base[2:]}"


def _replacement(words: Sequence[Word], occurrence: Occurrence, value: FlagValue) -> list[Word]:
    """Return the words for a new value at a place where the flag is given, in the user's spelling."""
    spec, flag = occurrence.spec, words[occurrence.at]
    if spec.action in ("true", "false", "boolean") or spec.nargs == "0":
        name = (
            occurrence.spelling if spec.action != "boolean" else _polar(spec, occurrence.spelling, positive=bool(value))
        )
        return [flag] if name == flag.value else [Word(name, "", flag.gap, "flag")]
    if spec.action == "append" and isinstance(value, tuple):
        return new_flag(spec, value, flag.gap, occurrence.spelling)
    texts = sayable_words(spec, value)
    if not occurrence.spelling:  # the bare model path of "sglang serve MODEL"
        if reads_as_flag(texts[0]):
            return [Word(f"{spec.primary}={texts[0]}", "", flag.gap, "flag")]
        return [_requoted(flag, texts[0])]
    if len(texts) == 1 and (occurrence.explicit or reads_as_flag(texts[0])):
        joined = f"{occurrence.spelling}={texts[0]}"
        return [flag] if joined == flag.value and not flag.live else [Word(joined, "", flag.gap, "flag")]
    old = words[occurrence.at + 1 : occurrence.end]
    head = flag if flag.value == occurrence.spelling else Word(occurrence.spelling, "", flag.gap, "flag")
    new = [_requoted(old[at], text) if at < len(old) else Word(text) for at, text in enumerate(texts)]
    return [head, *new]


def _requoted(old: Word, text: str) -> Word:
    """Return *old* with another value, inside the same kind of quotes where the value allows it."""
    if old.value == text and not old.live:
        return old
    mark = old.raw[:1]
    forbidden = {"'": "'\0", '"': '"\\$`!\0'}.get(mark)
    quoted = forbidden is not None and len(old.raw) > 1 and old.raw.endswith(mark) and not set(text) & set(forbidden)
    return Word(text, f"{mark}{text}{mark}" if quoted else "", old.gap, old.role)


def edit_environment(words: Sequence[Word], env: Mapping[str, str]) -> list[Word]:
    """Return the words before the server arguments with environment variables set.

    A variable that is set already changes in place; a container gets ``-e``; anything else an assignment in front.

    Raises:
        InputError: If a name cannot be a variable.
    """
    out = list(words)
    for name, value in env.items():
        if not is_name(name) or "\0" in value:
            msg = (
                f"{name}: this cannot be an environment variable; "
                "a name is letters, digits and underscores, a value has no NUL."
            )
            raise InputError(msg, part=name)
        joined = f"{name}={value}"
        places = [at for at, word in enumerate(out) if (found := assignment(word)) and found[0] == name]
        if places:
            if out[places[-1]].value != joined or out[places[-1]].live:
                out[places[-1]] = out[places[-1]]._replace(value=joined, raw="", live="")
            continue
        first = next((at for at, word in enumerate(out) if word.role == "launcher"), len(out))
        inside = container_run([word.value for word in out[first:]])
        if inside is not None:
            at = first + inside
            out[at:at] = [Word("-e", "", " ", "launcher"), Word(joined, "", " ", "launcher")]
        elif first < len(out):
            out.insert(first, Word(joined, "", out[first].gap, "env"))
            out[first + 1] = out[first + 1]._replace(gap=" ")
        else:
            out.append(Word(joined, "", " " if out else "", "env"))
    return out
