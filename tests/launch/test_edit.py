"""Changing flags in place: everything the change is not about stays as the user wrote it, and the diff shows no more."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from configurator.catalog import NEWEST
from configurator.catalog.flag_table import flag_table
from configurator.core.configuration import Change
from configurator.core.errors import InputError
from configurator.launch.command import command_from, diff_lines
from configurator.launch.parse import parse

from .strategies import configurations

TABLE = flag_table(NEWEST)
TEXT = (
    "# mine\nA=1 python -m sglang.launch_server \\\n    --model-path 'm' \\\n    --tp=8 \\\n    --frob x \\\n"
    "    --dcp-size  4 \\\n    --trust-remote-code"
)


def changed(command, **flags):
    return command.apply(Change(flags), TABLE)


def difference(before, after):
    return [(op, line) for op, line in diff_lines(before, after) if op != "same"]


@pytest.fixture
def command():
    return parse(TEXT, TABLE)


def test_a_new_value_goes_where_the_flag_stands_in_its_own_spelling(command):
    after = changed(command, tp_size=16)
    assert after.render("as-written") == TEXT.replace("--tp=8", "--tp=16")
    assert difference(command, after) == [("del", "--tp=8"), ("ins", "--tp=16")]


def test_the_same_value_changes_not_a_letter(command):
    after = changed(command, tp_size=8, dcp_size=4, trust_remote_code=True, model_path="m")
    assert after.render("as-written") == TEXT
    assert difference(command, after) == []


def test_a_new_flag_stands_next_to_its_kin_on_a_line_of_its_own(command):
    after = changed(command, dcp_comm_backend="a2a")
    assert after.render("as-written") == TEXT.replace(
        "--dcp-size  4 \\\n", "--dcp-size  4 \\\n    --dcp-comm-backend a2a \\\n"
    )
    assert difference(command, after) == [("ins", "--dcp-comm-backend a2a")]


def test_a_flag_that_goes_leaves_no_trace(command):
    after = command.apply(Change(unset=frozenset({"dcp_size"})), TABLE)
    assert after.render("as-written") == TEXT.replace("    --dcp-size  4 \\\n", "")
    assert difference(command, after) == [("del", "--dcp-size  4".replace("  ", " "))]


def test_an_unknown_flag_can_be_taken_out_with_its_value(command):
    after = command.apply(Change(unset=frozenset({"--frob"})), TABLE)
    assert difference(command, after) == [("del", "--frob x")]
    assert not after.refused


def test_a_switch_is_turned_off_by_taking_it_out(command):
    assert difference(command, changed(command, trust_remote_code=False)) == [("del", "--trust-remote-code")]


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("--dcp-replicate-q-proj", False, "--no-dcp-replicate-q-proj"),
        ("--no-dcp-replicate-q-proj", True, "--dcp-replicate-q-proj"),
        ("--no-dcp-rep", True, "--dcp-replicate-q-proj"),
        ("--tp 8", False, "--tp 8 --no-dcp-replicate-q-proj"),
        ("--tp 8", True, "--tp 8 --dcp-replicate-q-proj"),
    ],
)
def test_a_pair_is_switched(text, value, expected):
    assert changed(parse(text, TABLE), dcp_replicate_q_proj=value).render("single-line") == expected


def test_a_flag_given_twice_is_given_once_after_the_change():
    after = changed(parse("--tp 2 --dcp-size 4 --tp-size=4", TABLE), tp_size=8)
    assert after.render("single-line") == "--dcp-size 4 --tp-size=8"
    assert not after.problems


def test_a_wrong_value_is_replaced():
    after = changed(parse("--tp eight --dcp-size 4", TABLE), tp_size=8)
    assert after.render("single-line") == "--tp 8 --dcp-size 4"
    assert not after.problems


def test_a_missing_value_is_filled_in():
    after = changed(parse("--tp --dcp-size 4", TABLE), tp_size=8)
    assert after.render("single-line") == "--tp 8 --dcp-size 4"


def test_a_reference_is_replaced_by_a_value():
    after = changed(parse("--tp $TP --host $HOST", TABLE), tp_size=8)
    assert after.render("single-line") == '--tp 8 --host "$HOST"'
    assert after.references == {"host": "$HOST"}


@pytest.mark.parametrize(
    ("given", "value", "expected"), [("'m'", "n", "'n'"), ('"m"', "n", '"n"'), ("'m'", "it's", "'it'\"'\"'s'")]
)
def test_the_kind_of_quotes_is_kept_where_the_value_allows(given, value, expected):
    after = changed(parse(f"sglang serve --model-path {given} --tp 8", TABLE), model_path=value)
    assert after.render("as-written") == f"sglang serve --model-path {expected} --tp 8"


def test_the_bare_model_of_serve_is_changed_in_place():
    after = changed(parse("sglang serve m --tp 8", TABLE), model_path="n")
    assert after.render("single-line") == "sglang serve n --tp 8"


def test_values_that_look_like_flags_are_joined():
    after = changed(parse("--host x", TABLE), host="--tp-size")
    assert after.render("single-line") == "--host=--tp-size"
    assert parse(after.render(), TABLE).configuration == after.configuration


def test_new_flags_go_before_a_double_dash():
    after = changed(parse("--tp 8 -- x", TABLE), host="h")
    assert after.render("single-line") == "--tp 8 --host h -- x"


def test_a_variable_is_set_in_place_or_in_front():
    command = parse("A=1 sglang serve m", TABLE)
    assert command.apply(Change(env={"A": "2"}), TABLE).render("single-line") == "A=2 sglang serve m"
    assert command.apply(Change(env={"B": "x y"}), TABLE).render("single-line") == "A=1 B='x y' sglang serve m"
    exported = parse("export A=1\nsglang serve m", TABLE).apply(Change(env={"A": "2"}), TABLE)
    assert exported.render() == "export A=2\nsglang serve m"


def test_a_container_gets_its_variable_inside():
    command = parse("docker run --rm img sglang serve m", TABLE)
    after = command.apply(Change(env={"A": "1"}), TABLE)
    assert after.render("single-line") == "docker run -e A=1 --rm img sglang serve m"
    assert after.configuration.env == {"A": "1"}


@pytest.mark.parametrize("name", ["", "1A", "A-B", "A=B", "A B"])
def test_a_name_that_is_none_is_refused(name, command):
    with pytest.raises(InputError, match="cannot be an environment variable"):
        command.apply(Change(env={name: "x"}), TABLE)


def test_a_flag_the_release_does_not_have_cannot_be_set():
    old = flag_table("0.5.16")
    with pytest.raises(InputError, match=r"SGLang 0\.5\.16 has no such flag") as refused:
        parse("--tp 8", old).apply(Change({"dcp_comm_backend": "a2a"}), old)
    assert refused.value.part == "dcp_comm_backend"


def test_the_command_before_is_untouched(command):
    changed(command, tp_size=2)
    assert command == parse(TEXT, TABLE)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_diff_shows_the_change_and_nothing_else(data):
    """Lines that stay are those of flags whose value stays; what goes and comes belongs to flags of the change."""
    before = data.draw(configurations(TABLE))
    target = data.draw(configurations(TABLE, max_flags=2))
    gone = frozenset(data.draw(st.lists(st.sampled_from(sorted(before.flags)), max_size=2)) if before.flags else [])
    change = Change(target.flags, gone - set(target.flags))
    command = command_from(before, TABLE)
    after = command.apply(change, TABLE)
    touched = {d for d in (*change.set, *change.unset) if before.flags.get(d) != after.configuration.flags.get(d)}
    shown = {line.partition(" ")[0].partition("=")[0].partition("\n")[0] for _, line in difference(command, after)}
    allowed = {spelling for dest in touched for spelling in (TABLE[dest].primary, TABLE[dest].negative)}
    assert shown <= allowed
    assert len(shown) >= len(touched)


def test_reading_a_diff_back_gives_both_commands(command):
    after = command.apply(Change({"tp_size": 4, "host": "x"}, frozenset({"dcp_size"})), TABLE)
    lines = diff_lines(command, after)
    assert [line for op, line in lines if op != "ins"] == command.lines()
    assert [line for op, line in lines if op != "del"] == after.lines()
