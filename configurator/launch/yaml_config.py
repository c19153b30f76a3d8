"""Writing the YAML file SGLang reads with ``--config``, and the command line for what the file cannot hold."""

from __future__ import annotations

from collections.abc import Sequence

from configurator.core.configuration import Change
from configurator.core.flag import FlagSpec, FlagTable, FlagValue
from configurator.launch.command import Command
from configurator.launch.emitted import EmittedFile, Target, comment_lines, node_commands
from configurator.launch.values import value_words
from configurator.launch.yaml_text import YamlValue, dump


def yaml_config(command: Command, table: FlagTable, header: Sequence[str], target: Target) -> list[EmittedFile]:
    """Return a config file per node; its comment gives the command that reads it.

    SGLang's reader turns each entry back into ``--key value``. It takes switches that turn on and flags with values;
    on/off pairs, references, unknown flags and values that begin with a dash stay on the command line.

    Source: sglang/srt/utils/server_args_config_parser.py, ``ConfigArgumentMerger`` (0.5.23).
    """
    del target
    nodes = node_commands(command, table)
    files = []
    for rank, node in nodes:
        entries: dict[str, YamlValue] = {}
        moved = []
        for dest, value in node.configuration.flags.items():
            spec = table[dest]
            if dest != "config" and _holds(spec, value):
                entries[spec.primary[2:]] = _entry(spec, value)
                moved.append(dest)
        name = f"sglang-node{rank}.yaml" if len(nodes) > 1 else "sglang.yaml"
        rest = node.apply(Change(unset=frozenset(moved)), table).apply(Change(set={"config": name}), table)
        notes = [*header, "Start with:", *rest.render().split("\n")]
        text = "\n".join([*comment_lines(notes), dump(entries) if entries else "{}\n"])
        files.append(EmittedFile(name, rank, text))
    return files


def _holds(spec: FlagSpec, value: FlagValue) -> bool:
    """Tell whether SGLang's reader can carry *value* from a file to the argument parser."""
    if spec.action == "true":
        return value is True
    if spec.action != "store" or spec.nargs == "0" or value is None:
        return False
    if isinstance(value, float) and value != value:  # noqa: PLR0124 - NaN has no portable YAML spelling
        return False
    words = value_words(spec, value)
    return bool(words) and not any(word.startswith("-") or word == "" for word in words)


def _entry(spec: FlagSpec, value: FlagValue) -> YamlValue:
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, float):
        return value_words(spec, value)[0]  # as text: YAML readers disagree about exponents
    return value
