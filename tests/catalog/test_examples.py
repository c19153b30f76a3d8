"""Every rule on every release that has it: a command it rejects, and the nearest one that it accepts."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace

import pytest

from configurator.catalog import NEWEST
from configurator.catalog.command_line import RULES as PARSER_RULES
from configurator.core.expr import ALWAYS, NEVER
from configurator.core.release import Release
from configurator.core.rule import Example
from configurator.workspace import Workspace

from .everything import DISTINCT_RULES, REFUSED_BEFORE, RELEASES, RULES, ask, beyond_commands, each, found, has_examples

WITH_EXAMPLES = [(version, rule) for version, rule in RULES if has_examples(rule)]


def test_every_rule_has_both_examples_but_for_those_that_no_command_reaches():
    for version, rule in RULES:
        assert (rule.example is None) == (rule.accept is None), (version, rule.code)
        if beyond_commands(rule):
            assert rule.upstream_signature, f"{rule.code} neither holds of a command nor recognises an error"
        else:
            assert has_examples(rule), (version, rule.code)
    assert set(REFUSED_BEFORE) <= {rule.code for _, rule in RULES}


OTHER_SOFTWARE = [
    ("HWR405", "--tp-size 8 --dcp-size 4 --dcp-comm-backend fi_a2a", "deepseek-v3", {"flashinfer_dcp_alltoall": False}),
    (
        "ATT315",
        "--tp-size 8 --dcp-size 4 --decode-attention-backend cutedsl_mla",
        "kimi-k3",
        {"flashinfer_mla_dcp": False},
    ),
    ("ATT316", "--tp-size 8 --dcp-size 4 --decode-attention-backend cutedsl_mla", "kimi-k3", {"flashinfer": "0.6.16"}),
]


@pytest.mark.parametrize(
    ("code", "argv", "model", "installed"), OTHER_SOFTWARE, ids=[code for code, *_ in OTHER_SOFTWARE]
)
def test_other_software_than_the_release_pins_is_seen_where_it_is_known(code, argv, model, installed):
    having = [version for version, release in RELEASES.items() if code in release.rules]
    assert having
    for version in having:
        pinned = ask(version, Example(argv=argv, hardware="b200x8", model=model))
        assert found(pinned, code) == []
        other = replace(pinned, hardware=replace(pinned.hardware, software=installed))
        (finding,) = found(other, code)
        assert finding.certain
        fit_to_read(finding.message)


@each(WITH_EXAMPLES)
def test_the_example_is_rejected_in_words_fit_to_read_and_with_a_way_out(version, rule):
    workspace = ask(version, rule.example)
    hits = found(workspace, rule.code)
    assert len(hits) == 1, "not found, or found twice"
    (finding,) = hits
    assert finding.certain, f"undecided: {finding.reason}"
    fit_to_read(finding.message)
    named = any(dest in workspace.table for dest in rule.flags()) or re.search(
        r"--[a-z]|[A-Z]+_[A-Z_]+", finding.message
    )
    assert named, "nobody can tell which flag it is about"
    fixes = workspace.fixes(finding)
    assert fixes or (rule.effect.breaks and workspace.repairs()), "no way out is shown"
    before = {f.rule.code for f in workspace.report.findings if f.certain}
    for change in fixes:
        after = workspace.apply(change)
        assert not found(after, rule.code), f"{change} does not help"
        assert {f.rule.code for f in after.report.findings if f.breaks} <= before, f"{change} breaks something else"


def fit_to_read(message):
    assert not re.search(r"\bunknown\b(?!-)", message), message
    assert not re.search(r"\{[a-z_.]+\}", message), message
    assert message.endswith((".", "!", "?"))
    assert message == message.strip()
    assert "  " not in message
    assert "\n" not in message
    assert len(message) <= 400


@each(WITH_EXAMPLES)
def test_the_accepted_one_is_accepted(version, rule):
    assert [(f.rule.code, f.certain) for f in found(ask(version, rule.accept), rule.code)] == []


@each([(version, rule) for version, rule in DISTINCT_RULES if has_examples(rule)])
def test_the_accepted_one_is_near(version, rule):
    """A reader sees from the pair what matters: few flags differ, or the machine, or the model."""
    bad, good = rule.example, rule.accept
    flags, others = (ask(version, example).configuration.flags for example in (bad, good))
    different = {
        dest for dest in {*flags, *others} if (dest in flags, flags.get(dest)) != (dest in others, others.get(dest))
    }
    apart = len(different) + (bad.hardware != good.hardware) + (bad.model != good.model)
    apart += len(set(bad.env.items()) ^ set(good.env.items()))
    # What the parser refuses leaves no flag behind, so the words are compared as well.
    assert apart >= 1 or shlex.split(bad.argv) != shlex.split(good.argv)
    assert apart <= 6, sorted(different)


# --- the tests above can fail ---------------------------------------------------------------------------------------


def changed(version, rule) -> Release:
    release = RELEASES[version]
    return replace(release, rules={rule.code: rule})


def on(release: Release, example) -> Workspace:
    workspace = ask(release.version, example)
    return Workspace(release, workspace.hardware, workspace.model, workspace.command)


SAMPLE = {
    (rule.code[:3], rule.effect): rule
    for rule in RELEASES[NEWEST].rules.values()
    if has_examples(rule) and rule.when != NEVER
}


@pytest.mark.parametrize("rule", SAMPLE.values(), ids=[rule.code for rule in SAMPLE.values()])
def test_a_rule_that_never_holds_would_be_noticed_and_one_that_always_does_too(rule):
    assert found(on(changed(NEWEST, replace(rule, when=NEVER)), rule.example), rule.code) == []
    assert found(on(changed(NEWEST, replace(rule, when=ALWAYS, require=NEVER)), rule.accept), rule.code) != []


def test_the_parsers_own_refusals_are_found_on_every_release():
    for version, release in RELEASES.items():
        for rule in PARSER_RULES:
            assert release.rules[rule.code] is rule
            assert found(ask(version, rule.example), rule.code), (version, rule.code)
