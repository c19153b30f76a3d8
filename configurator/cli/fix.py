"""``fix``: repairs of a command, cheapest first."""

from __future__ import annotations

import argparse

from configurator.api import SCHEMA, check, repaired
from configurator.cli.check import asked_of, notes_of
from configurator.cli.facts import add_facts, command_of, facts, print_json
from configurator.words import describe_change


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``fix``."""
    add_facts(parser)


def run(options: argparse.Namespace) -> int:
    """Print the repairs; return 1 where something is broken and nothing helps."""
    result = check(command_of(options), **facts(options))
    found = repaired(result.workspace)
    if options.json:
        print_json({"schema": SCHEMA, "repairs": [repair.to_json() for repair in found]})
    elif result.verdict != "error":
        sure = " for sure" if result.verdict == "unknown" else ""
        print(f"{result.verdict}: nothing here{sure} breaks, so there is nothing to repair. {result.sentence}")
        print("\n".join([*notes_of(result.workspace), asked_of(result.workspace)]))
    elif not found:
        print("\n".join([f"error: {result.sentence}", *notes_of(result.workspace)]))
        print("No change of flags repairs this command on this release, machine and model.")
    else:
        print("\n".join([f"error: {result.sentence}", *notes_of(result.workspace), ""]))
        for number, repair in enumerate(found, start=1):
            print(f"{number}. {describe_change(repair.change, result.workspace.table)} (then: {repair.verdict})")
        print(f"\n{found[0].diff}\n\n{found[0].command}")
    return 1 if result.verdict == "error" and not found else 0
