"""``explain``: one rule, or the rules that a pasted error comes from."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from configurator import catalog
from configurator.api import SCHEMA, Explained, command_of_log, explain, explain_error, one_line
from configurator.cli.facts import add_json, print_json
from configurator.core.configuration import Change
from configurator.core.errors import InputError
from configurator.core.rule import Choose, Fix, Rule, Set, SetEnv, Unset
from configurator.words import describe_change


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``explain``."""
    parser.add_argument("rule", nargs="?", metavar="CODE|SLUG", help="a rule's code or name")
    parser.add_argument("--error", metavar="FILE", help="a file with an error, traceback or log ('-': standard input)")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Print what is known; return 1 where nothing is recognised."""
    if (options.rule is None) == (options.error is None):
        raise InputError("Name a rule, or give a text with --error.")
    command = release = None
    if options.rule is not None:
        try:
            found: tuple[Explained, ...] = (explain(options.rule),)
        except InputError as error:
            print(f"dcp-configurator explain: {error}", file=sys.stderr)
            found = ()
    else:
        text = _text(options.error)
        found = explain_error(text)
        command, release = command_of_log(text)
        if not found:
            print("No rule's message occurs in this text.", file=sys.stderr)
    if options.json:
        rules = [item.to_json() for item in found]
        line = one_line(command) if command is not None else None
        print_json({"schema": SCHEMA, "rules": rules, "command": line, "release": release})
    elif found:
        print("\n\n".join(_shown(item) for item in found))
        if command is not None:
            print(f"\nThe text comes from this command{f', SGLang {release}' if release else ''}:\n{command.render()}")
    return 0 if found else 1


def _text(name: str) -> str:
    if name == "-":
        return sys.stdin.read()
    try:
        return Path(name).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}.", part=name) from None


def _way_out(fix: Fix, item: Explained) -> str:
    """Return one of a rule's ways out in words, flags as the last release that has the rule spells them."""
    table = catalog.release(item.until or catalog.NEWEST).table
    match fix:
        case Set(dest, value):
            return describe_change(Change({dest: value}), table)
        case Unset(dest):
            return describe_change(Change(unset=frozenset({dest})), table)
        case SetEnv(name, value):
            return describe_change(Change(env={name: value}), table)
        case Choose(dest):
            return f"Choose another {table[dest].primary if dest in table else dest}"


def _shown(item: Explained) -> str:
    rule = item.rule
    kind = f"{rule.effect.value} at {rule.stage.value}" if isinstance(rule, Rule) else "fills in a value"
    until = f" to {item.until}" if item.until else " on"
    lines = [f"{rule.code} {rule.slug}: {kind}, from {item.since}{until}", f"  {rule.because}"]
    if item.others:
        lines.append(f"  in other words: {', '.join(map(str, item.others))}")
    if isinstance(rule, Rule):
        lines.append(f"  when: {rule.when.describe()}")
        lines.append(f"  needs: {rule.require.describe()}")
        lines.extend(f"  way out: {_way_out(fix, item)}" for fix in rule.fixes)
    else:
        lines.append(f"  when: {rule.when.describe()}")
    source = rule.source
    lines.append(
        f"  source: {source.path}{f':{source.line}' if source.line else ''} ({source.symbol}, {source.release})"
    )
    if item.line is not None:
        lines.append(f"  found in line {item.line}: {item.text}")
    return "\n".join(lines)
