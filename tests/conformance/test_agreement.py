"""The catalogue against what real servers did: the number of agreeing cases never falls.

``data/agreed.json`` holds, for each release, how many cases agreed when it was last raised
(``python -m tests.conformance --raise``). A case that disagrees is listed nowhere as allowed: only the count is kept.
"""

from __future__ import annotations

import json

import pytest

from configurator import catalog
from tests.conformance.agreement import compare_all, measure
from tests.conformance.corpus import DATA, corpus, models


@pytest.fixture(scope="module")
def measured():
    return measure(compare_all(corpus()))


AGREED = json.loads((DATA / "agreed.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("release", catalog.VERSIONS)
def test_agreement_does_not_fall(measured, release):
    fallen = {
        name: f"{measured[release][name]} of {total}, was {AGREED[release][name]}"
        for name, total in measured[release]["of"].items()
        if measured[release][name] < AGREED[release][name]
    }
    assert not fallen, f"see python -m tests.conformance --release {release}"


def test_every_release_is_recorded():
    assert {case.release for case in corpus()} == set(catalog.VERSIONS) == set(AGREED)


def test_cases_are_distinct_and_name_known_models():
    cases = corpus()
    assert len({case.id for case in cases}) == len(cases) >= 2617
    assert {case.model for case in cases} <= {*models(), "none", "dummy"}


def test_every_refusal_names_a_rule_of_its_release():
    named = {(case.release, case.rule) for case in corpus() if case.refused}
    unknown = [
        (release, slug)
        for release, slug in sorted(named)
        if slug not in {rule.slug for rule in catalog.release(release).rules.values()}
    ]
    assert not unknown
