"""``--help``: how a command is given, and every name that can be given with it."""

from __future__ import annotations

import pytest

from configurator import catalog
from configurator.cli import COMMANDS
from configurator.hardware import PRESET_NAMES
from configurator.launch.emit import FORMATS
from configurator.models import list_models


@pytest.mark.parametrize("name", ["check", "fix", "emit", "capacity"])
def test_help_names_what_can_be_given(name, run):
    ran = run(name, "--help")
    assert ran.code == 0
    assert ran.out.startswith(f"usage: dcp-configurator {name} [options] [-- COMMAND...]")
    assert "standard input" in ran.out
    words = set(ran.out.replace(",", " ").split())
    assert words >= {*catalog.VERSIONS, *PRESET_NAMES, *(sheet.facts.name for sheet in list_models())}


def test_help_of_emit_names_the_formats(run):
    assert set(FORMATS) <= set(run("emit", "--help").out.replace(",", " ").replace(";", " ").split())


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_the_summary_keeps_its_capitals(command, run):
    said = command.summary[0].upper() + command.summary[1:]
    assert said in " ".join(run(command.name, "--help").out.split())
