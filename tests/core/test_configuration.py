"""What was asked for, and changes of it, as values."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from configurator.core.configuration import Change, Configuration

DESTS = st.sampled_from(["tp_size", "dcp_size", "backend", "copy"])
VALUES = st.one_of(st.none(), st.booleans(), st.integers(0, 4), st.sampled_from(["a", "b"]), st.just((1, 2)))
NAMES = st.sampled_from(["NCCL_DEBUG", "SGLANG_X"])
FLAGS = st.dictionaries(DESTS, VALUES)
ENV = st.dictionaries(NAMES, st.sampled_from(["0", "1"]))
configurations = st.builds(Configuration, FLAGS, ENV)
changes = st.builds(Change, FLAGS, st.frozensets(DESTS), ENV)
quick = settings(max_examples=100, deadline=None)


def test_a_configuration_is_a_mapping_of_what_was_given():
    c = Configuration({"tp_size": 8, "copy": None}, {"X": "1"})
    assert dict(c) == {"tp_size": 8, "copy": None}
    assert len(c) == 2
    assert c["tp_size"] == 8
    assert "copy" in c
    assert "dcp_size" not in c


def test_an_explicit_none_is_not_the_same_as_absent():
    assert Configuration({"copy": None}) != Configuration({})


def test_configurations_are_equal_by_value_and_can_be_kept_in_sets():
    one, other = Configuration({"a": 1, "b": (1, 2)}, {"X": "1"}), Configuration({"b": (1, 2), "a": 1}, {"X": "1"})
    assert one == other
    assert hash(one) == hash(other)
    assert one != Configuration({"a": 1, "b": (1, 2)})
    assert len({one, other}) == 1


def test_replace_returns_another_and_leaves_this_one():
    before = Configuration({"tp_size": 8, "copy": True}, {"X": "1"})
    after = before.replace(Change({"tp_size": 4}, frozenset({"copy"}), {"Y": "2"}))
    assert after == Configuration({"tp_size": 4}, {"X": "1", "Y": "2"})
    assert before == Configuration({"tp_size": 8, "copy": True}, {"X": "1"})


def test_unsetting_what_is_not_there_changes_nothing():
    c = Configuration({"tp_size": 8})
    assert c.replace(Change(unset=frozenset({"copy"}))) == c


@quick
@given(configurations)
def test_the_empty_change_is_neutral(c):
    assert c.replace(Change()) == c
    assert not Change()


@quick
@given(configurations, changes, changes)
def test_then_is_one_change_after_the_other(c, first, later):
    assert c.replace(first.then(later)) == c.replace(first).replace(later)


@quick
@given(configurations, changes, changes, changes)
def test_then_is_associative_and_empty_changes_vanish(c, x, y, z):
    assert c.replace(x.then(y).then(z)) == c.replace(x.then(y.then(z)))
    assert c.replace(x.then(Change())) == c.replace(Change().then(x)) == c.replace(x)


@quick
@given(configurations, changes)
def test_a_change_made_twice_is_a_change_made_once(c, change):
    assert c.replace(change).replace(change) == c.replace(change)
    assert c.replace(change.then(change)) == c.replace(change)


def test_a_later_change_wins():
    assert Change({"a": 1}).then(Change({"a": 2})) == Change({"a": 2})
    assert Change({"a": 1}).then(Change(unset=frozenset({"a"}))) == Change(unset=frozenset({"a"}))
    assert Change(unset=frozenset({"a"})).then(Change({"a": 1})) == Change({"a": 1})
    assert Change(env={"X": "1"}).then(Change(env={"X": "2"})) == Change(env={"X": "2"})


def test_length_counts_what_is_changed():
    assert len(Change({"a": 1, "b": 2}, frozenset({"c"}), {"X": "1"})) == 4


@quick
@given(FLAGS, st.frozensets(DESTS), ENV)
def test_equal_changes_have_equal_hashes(set_, unset, env):
    backwards = dict(reversed(set_.items()))
    assert Change(set_, unset, env) == Change(backwards, unset, env)
    assert hash(Change(set_, unset, env)) == hash(Change(backwards, unset, env))
