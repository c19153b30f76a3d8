"""The third truth value."""

from __future__ import annotations

import pytest

from configurator.core.unknown import UNKNOWN, Unknown, is_unknown


def test_an_unknown_is_neither_true_nor_false():
    for use in (bool, lambda u: not u, lambda u: u and True, lambda u: 1 if u else 0):
        with pytest.raises(TypeError, match="no GPU is visible"):
            use(Unknown("no GPU is visible"))


@pytest.mark.parametrize("value", [None, False, True, 0, "", "unknown", (), object()])
def test_nothing_else_is_unknown(value):
    assert not is_unknown(value)
    assert value != UNKNOWN


def test_an_unknown_is_unknown():
    assert is_unknown(UNKNOWN)
    assert is_unknown(Unknown("why"))


def test_unknowns_are_equal_by_their_reason():
    assert Unknown("a") == Unknown("a")
    assert Unknown("a") != Unknown("b")
    assert len({Unknown("a"), Unknown("a"), Unknown("b")}) == 2


def test_one_may_know_that_there_is_a_value():
    assert not UNKNOWN.has_value
    given = Unknown("$N is known to the shell only", has_value=True)
    assert given.has_value
    assert given != Unknown("$N is known to the shell only")
    assert is_unknown(given)
    with pytest.raises(TypeError):
        bool(given)


def test_it_shows_its_reason():
    assert repr(Unknown("no GPU")) == "Unknown('no GPU')"
    assert Unknown("no GPU").reason == "no GPU"
