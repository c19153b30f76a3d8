"""Server arguments are read as Python's argparse reads them, for every flag of every release."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from configurator.catalog import VERSIONS
from configurator.catalog.flag_table import flag_table
from configurator.launch.parse import parse

from .real_argparse import RefusedError, parser_of, read

NEWEST = VERSIONS[-1]
TABLES = {version: flag_table(version) for version in VERSIONS}
PARSERS = {version: parser_of(table) for version, table in TABLES.items()}

WORDS = st.one_of(
    st.sampled_from(
        ["1", "8", "0", "-1", "-0.5", "1e3", "0x8", " 8", "1_000", "inf", "nan", "true", "false", "None", "auto", ""]
    ),
    st.sampled_from(["fa3", "flashinfer", "ag_rs", "a2a", "{}", '{"a": 1}', "[", "16Ki", "64k", "1.5Mi", "a b", "a=b"]),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=6),
)


@st.composite
def argument(draw, table):
    """One flag with what may follow it: right, wrong, missing, shortened, joined by an equals sign."""
    spec = draw(st.sampled_from(sorted(table.values(), key=lambda s: s.dest)).filter(lambda s: s.action != "help"))
    spelling = draw(st.sampled_from(spec.spellings))
    if spec.action == "boolean" and draw(st.booleans()):
        spelling = f"--no-{spelling[2:]}"
    if draw(st.integers(0, 4)) == 0:
        spelling = spelling[: draw(st.integers(3, len(spelling)))]
    value = draw(st.sampled_from([str(c) for c in spec.choices])) if spec.choices and draw(st.booleans()) else None
    words = [value] if value is not None else draw(st.lists(WORDS, max_size=3))
    if words and draw(st.integers(0, 3)) == 0:
        return [f"{spelling}={words[0]}", *words[1:]]
    return [spelling, *words]


def agree(argv, version):
    command = parse(argv, TABLES[version])
    try:
        theirs = read(PARSERS[version], argv)
    except RefusedError:
        theirs = None
    assert command.refused == (theirs is None), command.problems
    if theirs is None:
        return
    assert repr(sorted(command.configuration.flags.items())) == repr(sorted(theirs.items()))  # repr: nan is not nan


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_random_arguments_are_read_as_argparse_reads_them(data):
    version = data.draw(st.sampled_from(VERSIONS))
    items = data.draw(st.lists(argument(TABLES[version]), min_size=1, max_size=4))
    argv = [word for item in items for word in item]
    agree(argv, version)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_spelling_of_every_flag(version):
    """Each alone, and each shortened by its last letter: right for one, ambiguous for many, another flag for some."""
    for spelling, spec in TABLES[version].spellings.items():
        if spec.action == "help":
            continue
        agree([spelling], version)
        agree([spelling, "8"], version)
        agree([f"{spelling}=8"], version)
        agree([spelling[:-1], "8"], version)


@pytest.mark.parametrize(
    "argv",
    [
        ["--tp", "8"],
        ["--tp=8"],
        ["--tensor-parallel-size", "8"],
        ["--tensor-parallel-si", "8"],
        ["--decode-context-parallel-size=4"],
        ["--dcp", "4"],
        ["--dcp-s", "4"],
        ["--dcp-c", "a2a"],
        ["--no-dcp-replicate-q-proj"],
        ["--no-dcp-rep"],
        ["--dcp-replicate-q-proj=true"],
        ["--tp-size"],
        ["--tp-size", "--dcp-size", "4"],
        ["--tp-size", "-8"],
        ["--tp-size", "-x"],
        ["--tp-size", "-8\n"],
        ["--tp-size", "- 8"],
        ["--mem-fraction-static", "-.5"],
        ["--mem-fraction-static", "-5e-1"],
        ["--numa-node", "1", "2", "4"],
        ["--numa-node", "1", "two"],
        ["--numa-node"],
        ["--lora-paths"],
        ["--lora-paths", "a=b", "--tp", "2"],
        ["--host", ""],
        ["--host="],
        ["--host=a=b"],
        ["--tp", "1", "2"],
        ["8"],
        [""],
        ["-"],
        ["-x"],
        ["---"],
        ["--=8"],
        ["--no-such-flag"],
        ["--tp-size", "9" * 4000],
        ["--tp-size", "9" * 5000],
        ["--tp-size", "٨"],
        ["--kv-cache-dtype", "FP8_E4M3"],
        ["--json-model-override-args", "-{}"],
        ["--disaggregation", "prefill"],
    ],
)
def test_cases_that_are_easy_to_get_wrong(argv):
    agree(argv, NEWEST)
