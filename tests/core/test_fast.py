"""The fast interpreter of predicates against the one that defines them, wherever nothing is unknown."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from configurator.core.expr import ALWAYS, NEVER, And, Compare, Derived, Given, In, Not, Or, Term
from configurator.core.fast import compile_fast

KEYS = ("asked.a", "resolved.b", "model.c")
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 9), st.sampled_from(["a", "b", "", "a2a"]), st.floats(-2, 2),
    st.just(("a", "b")),
)  # fmt: skip
terms = st.one_of(
    st.sampled_from([Term(key) for key in KEYS]),
    st.just(Derived("pair", lambda a, b: (a, b), (Term("asked.a"), Term("model.c")))),
    st.just(Derived("same", lambda a: a, (Term("model.c"),))),
)
operators = st.sampled_from(["is", "is not", "at least", "less than", "more than", "divides"])
leaves = st.one_of(
    st.builds(Compare, terms, operators, st.one_of(scalars, terms)),
    st.builds(In, terms, st.lists(scalars, max_size=4).map(tuple)),
    st.sampled_from([ALWAYS, NEVER, Given("a"), Given("z")]),
)
expressions = st.recursive(
    leaves,
    lambda e: st.one_of(
        st.lists(e, max_size=3).map(lambda c: And(tuple(c))), st.lists(e, max_size=3).map(lambda c: Or(tuple(c))), st.builds(Not, e)
    ),
    max_leaves=8,
)  # fmt: skip
environments = st.fixed_dictionaries(
    {**dict.fromkeys(KEYS, scalars), "given.a": st.booleans(), "given.z": st.just(False)}
)


@settings(max_examples=600, deadline=None)
@given(expressions, environments)
def test_it_says_what_the_closures_say(expr, env):
    assert compile_fast(expr)(env) is expr.evaluate(env)


@settings(max_examples=200, deadline=None)
@given(expressions, expressions, environments)
def test_a_rule_is_violated_where_it_concerns_and_is_not_met(when, require, env):
    assert compile_fast(when, require)(env) is (when.evaluate(env) is True and require.evaluate(env) is not True)


def test_what_stands_in_a_value_is_never_run():
    hostile = "'] or __import__('os').abort() or ['"
    term = Term(f"model.{hostile}")
    assert compile_fast(term.equals(hostile))({term.key: hostile}) is True
    assert compile_fast(term.is_in(hostile, "x"))({term.key: "y"}) is False
