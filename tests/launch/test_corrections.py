"""What may have been meant where a command line is wrong."""

from __future__ import annotations

import pytest

from configurator import catalog
from configurator.core.configuration import Change
from configurator.core.engine import Case
from configurator.launch.corrections import corrections, unknown_words
from configurator.launch.hints import nearest_number
from configurator.launch.parse import parse

RELEASE = catalog.release(catalog.NEWEST)


def read(arguments):
    return parse(arguments, RELEASE.table)


def asked(arguments, kind):
    command = read(arguments)
    (problem, *_) = [p for p in command.problems if p.kind == kind]
    return corrections(command, problem, Case(RELEASE, command.configuration))


def drop(*names):
    return Change(unset=frozenset(names))


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("four", "4"),
        ("Eight", "8"),
        ("4.0", "4"),
        ("4x", "4"),
        ("8 GPUs", "8"),
        ("'4'", "4"),
        ("4,", "4"),
        ("“8”", "8"),
    ],
)
def test_a_number_is_seen_in_what_is_none(text, number):
    assert nearest_number(text) == number


@pytest.mark.parametrize("text", ["", "many", "4.5", "-4", "1e3", "4 of 8", "0x4", "9" * 40, "v4"])
def test_no_number_is_made_up(text):
    assert nearest_number(text) is None


@pytest.mark.parametrize(
    ("arguments", "kind", "meant"),
    [
        ("--dcp-size four", "type", [Change({"dcp_size": 4})]),
        ("--context-length 4k5", "type", []),
        ("--dcp-comm-backend A2A", "choice", [Change({"dcp_comm_backend": "a2a"})]),
        ("--dcp-sise 4", "unknown-flag", [Change({"dcp_size": 4}, frozenset({"--dcp-sise"}))]),
        ("--dcp-sise=4", "unknown-flag", [Change({"dcp_size": 4}, frozenset({"--dcp-sise"}))]),
        (
            "--trust-remote-cdoe",
            "unknown-flag",
            [Change({"trust_remote_code": True}, frozenset({"--trust-remote-cdoe"}))],
        ),
        ("—tp-size 8", "positional", [Change({"tp_size": 8}, frozenset({"—tp-size"}))]),
        ("--dcp 4", "ambiguous", [Change({"dcp_size": 4}, frozenset({"--dcp"}))]),
        ("--dcp=4", "ambiguous", [Change({"dcp_size": 4}, frozenset({"--dcp"}))]),
        ("--dcp a2a", "ambiguous", [Change({"dcp_comm_backend": "a2a"}, frozenset({"--dcp"}))]),
        ("--dcp", "ambiguous", [Change({"dcp_replicate_q_proj": True}, frozenset({"--dcp"}))]),
        ("--enable-dp-attention=true", "unexpected-value", [Change({"enable_dp_attention": True})]),
        ("--enable-dp-attention=false", "unexpected-value", [drop("enable_dp_attention")]),
        ("--tp-size 2 --tp-size 8 --tp-size=4", "repeated", [Change({"tp_size": n}) for n in (4, 8, 2)]),
        ("--tp-size 8 --tp-size 8", "repeated", [Change({"tp_size": 8})]),
    ],
)
def test_what_was_meant(arguments, kind, meant):
    assert list(asked(f"--model-path m {arguments}", kind).meant) == meant


def test_values_are_offered_by_cost_and_giving_dcp_up_comes_last():
    offered = asked("--dcp-size many", "type").others
    assert [c.set.get("dcp_size") for c in offered] == [2, 4, 8, 16, 1, None]
    assert offered[-1] == drop("dcp_size")


def test_a_repeated_flag_offers_only_values_that_were_given():
    assert asked("--tp-size 2 --tp-size 4", "repeated").others == ()


def test_a_value_only_the_shell_knows_is_not_turned_into_text():
    assert asked('--dcp-sise "$N" --tp-size 8', "unknown-flag") == ((), (drop("--dcp-sise"),))
    assert asked('--tp-size "$N" --tp-size 8', "repeated").meant == (Change({"tp_size": 8}),)


def test_a_stray_word_is_taken_out_as_it_is():
    command = read(["--tp-size", "8", "$(touch x)", "a=b"])
    (change,) = asked(["--tp-size", "8", "$(touch x)", "a=b"], "positional").others
    assert change == drop("$(touch x)")
    assert command.apply(change, RELEASE.table).argv() == ["--tp-size", "8"]


def test_a_stray_word_spelled_like_a_given_flag_never_takes_the_flag_out():
    assert asked("--tp-size 8 tp_size", "positional") == ((), ())
    assert unknown_words(read("--tp-size 8 tp_size x --frob=1")) == drop("--frob")


def test_every_unknown_word_goes_at_once():
    command = read("--tp-size 8 --frob 1 --tp-size 4 x=1 --frab=2 --dcp-size 2")
    left = command.apply(unknown_words(command), RELEASE.table).argv()
    assert " ".join(left) == "--tp-size 8 --tp-size 4 --dcp-size 2"
