"""``probe``: what this machine tells of its GPUs."""

from __future__ import annotations

import argparse

from configurator.api import probe
from configurator.cli.facts import add_json, print_json


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``probe``."""
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Print the snapshot; what is not known is said with its reason."""
    snapshot = probe()
    if options.json:
        print_json(snapshot.to_json())
    else:
        print(snapshot.describe())
    return 0
