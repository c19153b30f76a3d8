"""What is said where a fact is missing: nothing that the user did not give, and no more findings than can apply."""

from __future__ import annotations

import pytest

from configurator.core.missing import has_words, why_missing

from .everything import RESOLUTIONS, RULES

FACTS = sorted(
    {
        key
        for _, item in (*RULES, *RESOLUTIONS)
        for key in item.reads()
        if key.startswith(("model.", "hardware.", "software."))
    }
)


@pytest.mark.parametrize("key", FACTS)
def test_every_fact_that_a_rule_reads_has_words_of_its_own_for_when_it_is_missing(key):
    assert has_words(key)
    text = why_missing(key)
    assert not text.endswith(".")
    assert "_" not in text
    assert "does not tell its" not in text
