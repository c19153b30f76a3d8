"""``docs/rules.md`` says what the catalogue says."""

from __future__ import annotations

from configurator import catalog
from tools.render_rule_docs import OUT, SUBJECTS, newest, render


def test_the_document_is_fresh():
    assert OUT.read_text(encoding="utf-8") == render(), "run python tools/render_rule_docs.py"


def test_every_rule_is_in_it_once():
    headings = [line for line in render().splitlines() if line.startswith("### ")]
    assert len(headings) == len(set(headings)) == len(newest())
    codes = {item.code for v in catalog.VERSIONS for item in catalog.release(v).rules.values()}
    assert codes <= set(newest())


def test_every_code_has_a_subject():
    assert {code[:4] for code in newest()} == set(SUBJECTS)
