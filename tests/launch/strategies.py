"""Hypothesis strategies: configurations of a release that a command line can say."""

from __future__ import annotations

import json

from hypothesis import strategies as st

from configurator.core.configuration import Configuration
from configurator.core.flag import FlagSpec

TEXT = st.text(st.characters(exclude_characters="\0"), max_size=12)
AWKWARD = st.sampled_from(
    [
        "", "-", "--", "-x", "-5", "-.5", "-5.", "-\u00b2", "-1e5", "--tp-size", "--tp-size=4", "- x", "a b", "'", '"',
        "$HOME", "${HOME}", "$(touch pwned)", "`touch pwned`", "!!", "~", "*", "a\nb", "\\", "\\\n", "#x", "&&", ";", "|",
        ">f", "{a,b}", "\u201cq\u201d", "\u2014tp", "None", "none", "null", "true", "1", "=", "x=y", "\x1b[31m", "\u2028",
        "\x85", "\r", "%h", "%%", "$$",
    ]
)  # fmt: skip
STRINGS = st.one_of(TEXT, AWKWARD, st.sampled_from(["deepseek-ai/DeepSeek-V3.1", "/models/a b"]))
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True).filter(lambda name: name != "_")


def scalars(spec: FlagSpec):
    """Return values that the parser makes of one word for *spec*."""
    if spec.choices is not None:
        return st.sampled_from(spec.choices)
    if spec.type in ("int", "human_int"):
        return st.one_of(st.integers(-8, 64), st.integers())
    if spec.type == "float":
        return st.floats(allow_nan=False)
    if spec.type == "json":
        leaves = st.one_of(st.none(), st.booleans(), st.integers(), STRINGS)
        return st.dictionaries(STRINGS, leaves, max_size=2).map(json.dumps)
    if spec.type == "nullable_str":
        return st.one_of(st.none(), STRINGS.filter(lambda text: text not in ("", "None")))
    return STRINGS


def is_word_of_many(value) -> bool:
    """Tell whether argparse takes *value* among several values of one flag; a word like ``-x`` it never does."""
    return not (isinstance(value, str) and value.startswith("-")) and value != float("-inf")


def values(spec: FlagSpec):
    """Return everything the parser can make of *spec* where it is given."""
    if spec.action in ("true", "false"):
        return st.just(spec.action == "true")
    if spec.action == "boolean":
        return st.booleans()
    one = scalars(spec)
    if spec.nargs in ("+", "*") or (spec.nargs or "").isdigit():
        fewest = 0 if spec.nargs == "*" else 1
        return st.lists(one.filter(is_word_of_many), min_size=fewest, max_size=3).map(tuple)
    return one


@st.composite
def configurations(draw, table, max_flags=6):
    """Return a configuration of *table* with a few flags and variables."""
    specs = [spec for spec in table.values() if spec.action not in ("help", "other")]
    chosen = draw(st.lists(st.sampled_from(specs), max_size=max_flags, unique_by=lambda s: s.dest))
    flags = {spec.dest: draw(values(spec)) for spec in chosen}
    return Configuration(flags, draw(st.dictionaries(NAMES, STRINGS, max_size=2)))
