"""``explain``: a rule by code or name, and the rules a pasted error comes from."""

from __future__ import annotations

import pytest

from configurator import catalog

from .shapes import EXPLAIN, fits

NEWEST = catalog.release(catalog.NEWEST)
EVERYTHING = {
    item.code: item
    for version in catalog.VERSIONS
    for items in (catalog.release(version).rules, catalog.release(version).resolutions)
    for item in items.values()
}
SIGNED = [rule for rule in NEWEST.rules.values() if rule.upstream_signature and not rule.code.startswith("REL")]


def test_every_code_of_every_release_is_explained(run):
    for code, item in EVERYTHING.items():
        ran = run("explain", "--json", code)
        fits(ran.json, EXPLAIN)
        assert ran.code == 0
        (rule,) = ran.json["rules"]
        assert (rule["code"], rule["slug"]) == (code, item.slug)
        assert rule["since"] in catalog.VERSIONS
        assert rule["until"] is None or rule["until"] in catalog.VERSIONS
        assert rule["match"] is None


@pytest.mark.parametrize("item", [*NEWEST.rules.values(), *NEWEST.resolutions.values()], ids=lambda item: item.slug)
def test_every_slug_is_explained_in_words(item, run):
    ran = run("explain", item.slug)
    assert ran.code == 0
    assert ran.out.startswith(f"{item.code} {item.slug}: ")
    assert f"source: {item.source.path}" in ran.out
    assert "'set'" not in ran.out


def test_case_and_blanks_do_not_matter(run):
    assert run("explain", " dcp101 ").out == run("explain", "DCP101").out


@pytest.mark.parametrize(
    ("name", "near"), [("replicate-q-need-a2a", "replicate-q-needs-a2a"), ("DCP999", ""), ("", ""), ("\x1b[31m", "")]
)
def test_an_unknown_name_gives_the_nearest(name, near, run):
    ran = run("explain", name)
    assert (ran.code, ran.out) == (1, "")
    assert "No rule is called" in ran.err
    assert near in ran.err
    ran = run("explain", "--json", name)
    assert ran.code == 1
    assert ran.json == {"schema": 1, "rules": [], "command": None, "release": None}


@pytest.mark.parametrize("rule", SIGNED, ids=lambda rule: rule.code)
def test_the_message_of_each_rule_is_recognised_in_a_traceback(rule, run):
    said = f"AssertionError: {rule.upstream_signature} and so on"
    log = f'Traceback (most recent call last):\n  File "x.py", line 1, in f\n    g()\n{said}\n'
    ran = run("explain", "--json", "--error", "-", stdin=log)
    fits(ran.json, EXPLAIN)
    assert ran.code == 0
    found = {item["slug"]: item["match"] for item in ran.json["rules"]}
    assert rule.slug in found
    assert found[rule.slug] == {"line": 4, "text": said}


def test_the_command_and_the_release_of_a_log(run):
    log = f"sglang==0.5.23\n+ python3 -m sglang.launch_server --model-path m --tp-size 8\n{SIGNED[0].upstream_signature}\n"
    ran = run("explain", "--json", "--error", "-", stdin=log)
    fits(ran.json, EXPLAIN)
    assert ran.json["command"] == "python3 -m sglang.launch_server --model-path m --tp-size 8"
    assert ran.json["release"] == "0.5.23"
    assert "The text comes from this command, SGLang 0.5.23:" in run("explain", "--error", "-", stdin=log).out


def test_an_error_from_a_file(run, tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"\xff\xfe\x00 noise\n" + SIGNED[0].upstream_signature.upper().encode() + b"\n")
    ran = run("explain", "--error", path)
    assert ran.code == 0
    assert SIGNED[0].slug in ran.out
    assert "found in line 2" in ran.out


@pytest.mark.parametrize(
    "text", ["", "\n", "all is well", "x" * 3_000_000, "\0" * 1000, "Traceback (most recent call last):\nKeyError: 'x'"]
)
def test_what_is_not_recognised(text, run):
    ran = run("explain", "--error", "-", stdin=text)
    assert (ran.code, ran.out) == (1, "")
    assert "No rule's message occurs in this text." in ran.err


@pytest.mark.parametrize(
    ("arguments", "tells"),
    [
        ([], "Name a rule, or give a text with --error."),
        (["DCP101", "--error", "-"], "Name a rule, or give a text with --error."),
        (["--error", "/nonexistent"], "/nonexistent cannot be read"),
        (["--error", "/"], "/ cannot be read"),
        (["--error"], "expected one argument"),
        (["DCP101", "DCP102"], "is no option of explain"),
    ],
)
def test_usage(arguments, tells, run):
    ran = run("explain", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert tells in ran.err
