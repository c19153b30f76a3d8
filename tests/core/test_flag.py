"""Flags as data: spellings, twins, abbreviations as argparse finds them."""

from __future__ import annotations

import argparse
import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from configurator.core.flag import FlagSpec, FlagTable

SIZE = FlagSpec(dest="tp_size", spellings=("--tp-size", "--tensor-parallel-size", "--tp"), type="int", default=1)
COPY = FlagSpec(
    dest="dcp_replicate_q_proj", spellings=("--dcp-replicate-q-proj",), type="bool", action="boolean", nargs="0"
)
ON = FlagSpec(dest="enable_x", spellings=("--enable-x",), type="bool", action="true", nargs="0", default=False)
OFF = FlagSpec(dest="radix", spellings=("--disable-radix",), type="bool", action="false", nargs="0")
MANY = FlagSpec(dest="lora_paths", spellings=("--lora-paths",), nargs="*")
MORE = FlagSpec(dest="header", spellings=("--header",), action="append")
HELP = FlagSpec(dest="help", spellings=("-h", "--help"), action="help", nargs="0")
TABLE = FlagTable("0.0.1", [SIZE, COPY, ON, OFF, MANY, MORE, HELP])


def test_a_table_is_a_mapping_by_dest_in_order():
    assert list(TABLE) == ["tp_size", "dcp_replicate_q_proj", "enable_x", "radix", "lora_paths", "header", "help"]
    assert TABLE["tp_size"] is SIZE
    assert len(TABLE) == 7
    assert TABLE.get("none") is None
    assert TABLE.release == "0.0.1"
    with pytest.raises(KeyError):
        TABLE["--tp-size"]


def test_the_first_spelling_is_the_primary_one():
    assert SIZE.primary == "--tp-size"
    assert TABLE.spellings["--tp"] is TABLE.spellings["--tensor-parallel-size"] is SIZE


@pytest.mark.parametrize(("flag", "takes"), [(SIZE, True), (MANY, True), (MORE, True), (COPY, False), (ON, False),
                                             (OFF, False), (HELP, False)], ids=lambda v: getattr(v, "dest", v))  # fmt: skip
def test_whether_a_word_follows(flag, takes):
    assert flag.takes_value is takes


def test_only_boolean_pairs_have_a_negative():
    assert COPY.negative == "--no-dcp-replicate-q-proj"
    assert [flag.negative for flag in TABLE.values() if flag is not COPY] == [None] * 6
    assert TABLE.spellings["--no-dcp-replicate-q-proj"] is COPY
    assert "--no-enable-x" not in TABLE.spellings


def test_every_option_string_is_indexed():
    assert set(TABLE.spellings) == {
        "--tp-size", "--tensor-parallel-size", "--tp", "--dcp-replicate-q-proj", "--no-dcp-replicate-q-proj", "--enable-x",
        "--disable-radix", "--lora-paths", "--header", "-h", "--help",
    }  # fmt: skip


@pytest.mark.parametrize(("prefix", "found"), [
    ("--tp", ("--tp",)),  # exact, though --tp-size begins with it
    ("--tp-", ("--tp-size",)),
    ("--t", ("--tensor-parallel-size", "--tp", "--tp-size")),
    ("--no", ("--no-dcp-replicate-q-proj",)),
    ("--h", ("--header", "--help")),
    ("-h", ("-h",)), ("-t", ()), ("tp", ()), ("--zzz", ()), ("--TP", ()),
])  # fmt: skip
def test_completions(prefix, found):
    assert TABLE.completions(prefix) == found


PARSER = argparse.ArgumentParser(add_help=False, exit_on_error=False)
for _flag in TABLE.values():
    _kind = {
        "boolean": argparse.BooleanOptionalAction,
        "true": "store_true",
        "false": "store_false",
        "help": "store_true",
    }
    PARSER.add_argument(*_flag.spellings, dest=_flag.dest, action=_kind.get(_flag.action, "store"))


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(s for s in TABLE.spellings if s.startswith("--"))), st.integers(3, 30))
def test_completions_agree_with_argparse(spelling, length):
    prefix = spelling[:length]
    # The parser's own look-up, with a value attached so that it can only be an option.
    theirs = tuple(sorted(match[1] for match in PARSER._get_option_tuples(prefix)))
    ours = TABLE.completions(prefix)
    assert ours == ((prefix,) if prefix in TABLE.spellings else theirs)


def test_a_flag_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        SIZE.default = 2
