"""All rules and resolutions of all releases, as lists to parametrise tests with."""

from __future__ import annotations

import shlex

import pytest

from configurator.catalog import VERSIONS, release
from configurator.core.expr import NEVER
from configurator.core.rule import Example, Stage
from configurator.workspace import Workspace

RELEASES = {version: release(version) for version in VERSIONS}

RULES = [(version, rule) for version, r in RELEASES.items() for rule in r.rules.values()]
RESOLUTIONS = [(version, item) for version, r in RELEASES.items() for item in r.resolutions.values()]
DISTINCT_RULES = list({id(rule): (version, rule) for version, rule in RULES}.values())
"""Each rule once, with the newest release that has it: for what does not depend on the release."""
DISTINCT = DISTINCT_RULES + list({id(item): (version, item) for version, item in RESOLUTIONS}.values())


def each(items):
    """Return a decorator that runs a test for each (version, rule) of *items*."""
    named = [pytest.param(version, item, id=f"{version}-{item.code}-{item.slug}") for version, item in items]
    return pytest.mark.parametrize(("version", "rule"), named)


REFUSED_BEFORE = {"PDD605": "the parser takes no transfer backend beyond those that the check takes"}
"""Rules that no command gets to, though they would hold of one, and what stands before them."""


def beyond_commands(rule):
    """Tell whether no command shows what *rule* is about: it is there so that its error is recognised and explained.

    Either nothing in a command tells of it (the other server of a pair, a model's own code), or it takes other software
    than the release pins.
    """
    return (
        (rule.when == NEVER and rule.stage is not Stage.CLI)
        or any(key.startswith("software.") for key in rule.reads())
        or rule.code in REFUSED_BEFORE
    )


def has_examples(rule):
    """Tell whether *rule* comes with a command that it rejects and one that it accepts."""
    return rule.example is not None and rule.accept is not None


def ask(version: str, example: Example) -> Workspace:
    """Return the workspace of an example on a release."""
    return Workspace.start(
        shlex.split(example.argv), release=version, hardware=example.hardware, model=example.model, env=example.env
    )


def found(workspace: Workspace, code: str):
    """Return the findings of the rule *code*."""
    return [finding for finding in workspace.report.findings if finding.rule.code == code]
