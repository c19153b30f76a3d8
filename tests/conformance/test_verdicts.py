"""Public reports: what people ran, and what must be said of it before it is run.

``data/verdicts.jsonl`` holds one JSON object a line: the command with its release, machine and model, the verdicts that
will do (``want``), what one finding must do (``any_effect``) and be called (``slug``), and the report (``source``).
"""

from __future__ import annotations

import json

import pytest

from configurator import check
from tests.conformance.corpus import DATA, models

CASES = [json.loads(line) for line in (DATA / "verdicts.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_a_report_gets_its_verdict(case):
    result = check(
        case["argv"],
        release=case["release"],
        hardware=case["hardware"],
        model=models()[case["model"]],
        env=case.get("env"),
    )
    found = [(f.rule.slug, f.rule.effect.value, f.certainty) for f in result.findings]
    assert result.verdict in case["want"], found
    if "slug" in case or "any_effect" in case:
        assert any(
            slug == case.get("slug", slug) and effect in case.get("any_effect", [effect]) for slug, effect, _ in found
        ), found


def test_the_reports_are_all_there():
    assert len({case["id"] for case in CASES}) == len(CASES) >= 173
