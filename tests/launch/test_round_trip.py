"""What is written reads back as what was meant: ``parse(emit(c)) == c`` over the flags of every release."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from configurator.catalog import VERSIONS
from configurator.catalog.flag_table import flag_table
from configurator.core.configuration import Configuration
from configurator.core.errors import InputError
from configurator.launch.command import command_from
from configurator.launch.emit import emit
from configurator.launch.parse import parse

from .strategies import configurations, values

TABLES = {version: flag_table(version) for version in VERSIONS}
NEWEST = TABLES[VERSIONS[-1]]
MANY = next(spec.dest for spec in NEWEST.values() if spec.nargs == "+")
quick = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.parametrize("version", VERSIONS)
@quick
@given(data=st.data())
def test_command_text_reads_back(version, data):
    table = TABLES[version]
    wanted = data.draw(configurations(table))
    command = command_from(wanted, table, serve=data.draw(st.booleans()))
    assert command.configuration == wanted
    for style in ("one-flag-per-line", "as-written", "single-line"):
        again = parse(command.render(style), table)
        assert again.configuration == wanted, style
        assert not again.refused, style


@quick
@given(wanted=configurations(NEWEST))
def test_emitted_script_reads_back(wanted):
    wanted = Configuration({k: v for k, v in wanted.flags.items() if k not in ("nnodes", "node_rank")}, wanted.env)
    (file,) = emit(command_from(wanted, NEWEST), NEWEST, "shell", header=["first", "second\nthird"])
    assert parse(file.text, NEWEST).configuration == wanted


@quick
@given(wanted=configurations(NEWEST))
def test_argv_reads_back(wanted):
    argv = command_from(wanted, NEWEST).argv()
    if not argv:
        return
    again = parse(argv, NEWEST)
    assert again.configuration.flags == wanted.flags
    assert not again.refused


@pytest.mark.parametrize("version", VERSIONS)
def test_every_flag_of_every_release_reads_back(version):
    """Each flag by itself, with one value of its type: no flag is left to chance."""
    table = TABLES[version]
    for spec in table.values():
        if spec.action in ("help", "other"):
            continue
        sample = {"int": 3, "float": 0.5, "json": '{"a": 1}', "human_int": 65536}.get(spec.type, "word")
        value = spec.choices[-1] if spec.choices else sample
        if spec.action in ("true", "false", "boolean"):
            value = spec.action != "false"
        elif spec.nargs in ("+", "*"):
            value = (value, value)
        wanted = Configuration({spec.dest: value})
        text = command_from(wanted, table).render()
        assert parse(text, table).configuration == wanted, text


@quick
@given(data=st.data())
def test_changing_flags_gives_the_configuration_with_the_change(data):
    """However the command looked before, after a change it says exactly the changed configuration."""
    before = data.draw(configurations(NEWEST))
    after = data.draw(configurations(NEWEST))
    command = command_from(before, NEWEST)
    from configurator.core.configuration import Change

    gone = frozenset(before.flags) - frozenset(after.flags)
    changed = command.apply(Change(after.flags, gone, after.env), NEWEST)
    assert changed.configuration == Configuration(after.flags, {**before.env, **after.env})
    assert parse(changed.render(), NEWEST).configuration == changed.configuration


@pytest.mark.parametrize(
    ("dest", "value"),
    [("lora_paths", ("a", "-x")), ("served_model_name", "a\0b"), (MANY, ()), ("host", ("a", "b"))],
)
def test_what_no_command_line_can_say_is_refused_not_bent(dest, value):
    with pytest.raises(InputError, match=NEWEST[dest].primary) as refused:
        command_from(Configuration({dest: value}), NEWEST)
    assert refused.value.part == dest


def test_a_flag_of_another_release_is_refused_by_name():
    with pytest.raises(InputError, match=r"dcp_comm_backend.*0\.5\.15"):
        command_from(Configuration({"dcp_comm_backend": "a2a"}), TABLES["0.5.15"])


def test_the_strategy_reaches_every_kind_of_flag():
    """The round trips above mean something only if every action, type and arity is drawn."""
    kinds = {(s.action, s.type, s.nargs) for s in NEWEST.values() if s.action != "help"}
    assert len(kinds) > 10
    for spec in NEWEST.values():
        if spec.action != "help":
            values(spec).validate()
