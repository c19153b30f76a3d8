"""Predicates: every operator, three truth values, what they read, how they read aloud."""

from __future__ import annotations

import dataclasses
import pickle
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from configurator.core.expr import (
    ALWAYS,
    NEVER,
    And,
    Compare,
    Constant,
    Derived,
    Given,
    In,
    Not,
    Or,
    Term,
    environment,
    flag,
    hardware,
    model,
    resolved,
    software,
    spell,
)
from configurator.core.unknown import Unknown, is_unknown

T, F, U = True, False, Unknown("nobody looked")
TRUTHS = (T, F, U)
A, B, C = Term("model.a"), Term("model.b"), Term("model.c")
P, Q, R = A.holds(), B.holds(), C.holds()


def env(a=None, b=None, c=None, **more):
    return {"model.a": a, "model.b": b, "model.c": c, **more}


def kind(truth):
    """Two truths are the same truth where both are unknown, whatever the reason."""
    return "unknown" if is_unknown(truth) else truth


# --- Kleene's strong logic ------------------------------------------------------------------------------------------

AND = {(T, T): T, (T, F): F, (F, T): F, (F, F): F, (T, U): U, (U, T): U, (F, U): F, (U, F): F, (U, U): U}
OR = {(T, T): T, (T, F): T, (F, T): T, (F, F): F, (T, U): T, (U, T): T, (F, U): U, (U, F): U, (U, U): U}


@pytest.mark.parametrize(("a", "b"), list(product(TRUTHS, TRUTHS)), ids=str)
def test_truth_tables(a, b):
    assert (P & Q).evaluate(env(a, b)) == AND[a, b]
    assert (P | Q).evaluate(env(a, b)) == OR[a, b]


@pytest.mark.parametrize(("a", "negated"), [(T, F), (F, T), (U, U)], ids=str)
def test_negation(a, negated):
    assert (~P).evaluate(env(a)) == negated
    assert Not(Not(P)).evaluate(env(a)) == a


def test_double_negation_with_the_operator_is_the_expression_itself():
    assert ~~P is P


def test_constants_decide_whatever_the_environment():
    assert ALWAYS.evaluate({}) is True
    assert NEVER.evaluate({}) is False
    assert (NEVER & P).evaluate(env(U)) is False
    assert (ALWAYS | P).evaluate(env(U)) is True


def test_the_unknown_that_comes_out_is_one_that_went_in():
    first, second = Unknown("first"), Unknown("second")
    for both in (P & Q, P | Q):
        assert both.evaluate(env(first, second)) in (first, second)
        assert both.evaluate(env(first, second)).reason in {"first", "second"}


def test_a_decided_conjunction_asks_no_further():
    late = Derived("late", lambda _: pytest.fail("asked although the first child decides"), (B,))
    assert (P & late.holds()).evaluate(env(F, 1)) is False
    assert (P | late.holds()).evaluate(env(T, 1)) is True


def leaves():
    return st.sampled_from([P, Q, R, ALWAYS, NEVER])


def trees():
    return st.recursive(
        leaves(),
        lambda t: st.one_of(st.builds(And, st.tuples(t, t)), st.builds(Or, st.tuples(t, t)), st.builds(Not, t)),
    )


truths = st.sampled_from(TRUTHS)
quick = settings(max_examples=80, deadline=None)


@quick
@given(trees(), trees(), truths, truths, truths)
def test_de_morgan(x, y, a, b, c):
    at = env(a, b, c)
    assert kind((~(x & y)).evaluate(at)) == kind((~x | ~y).evaluate(at))
    assert kind((~(x | y)).evaluate(at)) == kind((~x & ~y).evaluate(at))


@quick
@given(trees(), trees(), trees(), truths, truths, truths)
def test_kleene_laws(x, y, z, a, b, c):
    at = env(a, b, c)

    def same(left, right):
        assert kind(left.evaluate(at)) == kind(right.evaluate(at))

    same(x & y, y & x)
    same(x | y, y | x)
    same(x & (y & z), (x & y) & z)
    same(x | (y | z), (x | y) | z)
    same(x & (y | z), (x & y) | (x & z))
    same(x | (y & z), (x | y) & (x | z))
    same(x & x, x)
    same(x | x, x)
    same(x & (x | y), x)
    same(x | (x & y), x)
    same(x & ALWAYS, x)
    same(x | NEVER, x)
    same(x & NEVER, NEVER)
    same(x | ALWAYS, ALWAYS)
    same(Not(Not(x)), x)
    # Kleene's law, weaker than the excluded middle: a contradiction is never truer than a tautology.
    rank = {False: 0, "unknown": 1, True: 2}
    assert rank[kind((x & ~x).evaluate(at))] <= rank[kind((y | ~y).evaluate(at))]


def test_the_excluded_middle_does_not_hold_for_an_unknown():
    assert is_unknown((P | ~P).evaluate(env(U)))
    assert is_unknown((P & ~P).evaluate(env(U)))


@quick
@given(trees(), truths, truths, truths)
def test_learning_a_fact_never_overturns_what_was_decided(x, a, b, c):
    before = x.evaluate(env(a, b, c))
    for learnt in product(*((v,) if v is not U else (T, F) for v in (a, b, c))):
        after = x.evaluate(env(*learnt))
        assert not is_unknown(after)
        if not is_unknown(before):
            assert after is before


@quick
@given(trees(), truths, truths, truths)
def test_a_value_that_is_not_read_changes_nothing(x, a, b, c):
    at = env(a, b, c)
    for key in set(at) - x.reads():
        for other in TRUTHS:
            assert x.evaluate({**at, key: other}) == x.evaluate(at)


@quick
@given(trees())
def test_trees_are_values(x):
    copy = pickle.loads(pickle.dumps(x))  # noqa: S301 - our own bytes
    assert copy == x
    assert hash(copy) == hash(x)
    assert isinstance(x.describe(), str)
    assert x.describe()


# --- comparisons ----------------------------------------------------------------------------------------------------

COMPARISONS = [
    (A.equals(4), 4, True), (A.equals(4), 4.0, True), (A.equals(4), 5, False), (A.equals(4), "4", False),
    (A.equals("a2a"), "a2a", True), (A.equals("a2a"), "A2A", False), (A.equals(None), None, True),
    (A.equals(True), True, True), (A.equals(True), 1, False), (A.equals(1), True, False), (A.equals(0), False, False),
    (A.equals(False), False, True), (A.equals(False), None, False), (A.equals(False), 0, False),
    (A.differs(4), 4, False), (A.differs(4), 5, True), (A.differs(4), None, True), (A.differs(True), 1, True),
    (A.differs(1), True, True), (A.differs(None), None, False),
    (A.holds(), True, True), (A.holds(), False, False), (A.holds(), None, False), (A.holds(), 1, False),
    (A.holds(), "yes", False),
    (A.is_set(), None, False), (A.is_set(), 0, True), (A.is_set(), False, True), (A.is_set(), "", True),
    (A.is_unset(), None, True), (A.is_unset(), 0, False), (A.is_unset(), False, False),
    (A.at_least(2), 2, True), (A.at_least(2), 3, True), (A.at_least(2), 1, False), (A.at_least(2), None, False),
    (A.at_least(1), True, False), (A.at_least(2), "3", False), (A.at_least(0.5), 0.5, True),
    (A.less_than(2), 1, True), (A.less_than(2), 2, False), (A.less_than(2), None, False), (A.less_than(2), -3, True),
    (A.less_than(2), False, False), (A.less_than(2), "1", False),
    (A.more_than(2), 3, True), (A.more_than(2), 2, False), (A.more_than(2), None, False), (A.more_than(0), True, False),
    (A.is_in(1, 2), 1, True), (A.is_in(1, 2), 3, False), (A.is_in(1, 2), True, False), (A.is_in(True), 1, False),
    (A.is_in(True), True, True), (A.is_in(0), False, False), (A.is_in(False), 0, False), (A.is_in(None, 1), None, True),
    (A.is_in("a", "b"), "b", True), (A.is_in("a"), None, False), (A.is_in(), 1, False), (A.is_in((1, 2)), (1, 2), True),
]  # fmt: skip


@pytest.mark.parametrize(
    ("expr", "value", "truth"), COMPARISONS, ids=lambda v: v.describe() if hasattr(v, "describe") else repr(v)
)
def test_comparison_with_a_constant(expr, value, truth):
    assert expr.evaluate(env(value)) is truth
    assert (~expr).evaluate(env(value)) is (not truth)


@pytest.mark.parametrize("expr", list(dict.fromkeys(expr for expr, _, _ in COMPARISONS)), ids=lambda e: e.describe())
def test_every_comparison_passes_an_unknown_on(expr):
    assert expr.evaluate(env(U)) is U
    assert (~expr).evaluate(env(U)) is U


scalars = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(["a", "b", ""]), st.floats(-2, 2))


@quick
@given(scalars, st.lists(scalars, max_size=4))
def test_membership_is_equality_with_one_of_the_values(value, values):
    assert A.is_in(*values).evaluate(env(value)) is any(A.equals(v).evaluate(env(value)) for v in values)


@quick
@given(scalars, scalars)
def test_comparisons_agree_with_each_other(value, other):
    at = env(value, other)
    assert A.differs(B).evaluate(at) is not A.equals(B).evaluate(at)
    assert A.equals(B).evaluate(at) is A.equals(other).evaluate(at) is B.equals(A).evaluate(at)
    below, above = A.less_than(B).evaluate(at), A.at_least(B).evaluate(at)
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in (value, other))
    assert (below != above) if numbers else (below is above is False)
    assert A.more_than(B).evaluate(at) is B.less_than(A).evaluate(at)


@pytest.mark.parametrize(("a", "b", "truth"), [(2, 8, T), (3, 8, F), (8, 2, F), (4, 0, T), (0, 8, F), (0, 0, F), (-2, 8, T),
                                               (None, 8, F), (2, None, F), (T, 8, F), (U, 8, U), (2, U, U), (U, U, U)])  # fmt: skip
def test_divides(a, b, truth):
    assert A.divides(B).evaluate(env(a, b)) == truth


@pytest.mark.parametrize(
    "make", [Term.equals, Term.differs, Term.at_least, Term.less_than, Term.more_than, Term.divides]
)
def test_two_terms_are_both_read_and_an_unknown_on_either_side_passes_on(make):
    both = make(A, B)
    assert both.reads() == {"model.a", "model.b"}
    assert both.evaluate(env(U, 2)) is U
    assert both.evaluate(env(2, U)) is U


# --- derived terms, given flags -------------------------------------------------------------------------------------

TOTAL = Derived("ranks of one replica", lambda a, b: a * b, (A, B))


def test_a_derived_term_is_computed_and_reads_what_it_is_made_of():
    assert TOTAL.equals(6).evaluate(env(2, 3)) is True
    assert TOTAL.reads() == {"model.a", "model.b"}
    assert TOTAL.less_than(C).reads() == {"model.a", "model.b", "model.c"}
    assert TOTAL.describe() == "ranks of one replica"


@pytest.mark.parametrize(("a", "b"), [(U, 2), (2, U), (U, U)])
def test_a_derived_term_is_not_computed_from_an_unknown(a, b):
    never = Derived("never", lambda *_: pytest.fail("called with an unknown"), (A, B))
    assert never.equals(1).evaluate(env(a, b)) is U


@pytest.mark.parametrize(("given_", "truth"), [(True, T), (False, F), (U, U)])
def test_given(given_, truth):
    assert Given("dcp_size").evaluate({"given.dcp_size": given_}) == truth
    assert (
        Given("dcp_size").evaluate({"given.dcp_size": given_, "given.tp_size": not truth if truth is not U else T})
        == truth
    )


def test_derived_terms_nest():
    twice = Derived("twice that", lambda n: 2 * n, (TOTAL,))
    assert twice.reads() == {"model.a", "model.b"}
    assert twice.equals(12).evaluate(env(2, 3)) is True
    assert twice.equals(12).evaluate(env(U, 3)) is U


def test_a_derived_term_may_do_without_what_is_unknown():
    first = Derived("first", lambda a, b: b if a is None else a, (A, B), takes_unknown=True)
    assert first.equals("x").evaluate(env("x", U)) is True
    assert first.equals("x").evaluate(env(None, U)) is U
    assert first.equals("x").evaluate(env(U, "x")) is U
    assert first.reads() == {"model.a", "model.b"}


SOME = Unknown("one or the other", has_value=True)


def test_an_unknown_that_has_a_value_is_set_and_otherwise_unknown():
    assert A.is_set().evaluate(env(SOME)) is True
    assert A.is_unset().evaluate(env(SOME)) is False
    for other in (A.equals(1), A.differs(1), A.is_in(None, 1), A.at_least(1), A.holds(), A.equals(B)):
        assert other.evaluate(env(SOME, 1)) is SOME


def test_a_derived_term_may_itself_find_that_it_is_unknown():
    shy = Derived("shy", lambda _: U, (A,))
    assert shy.equals(1).evaluate(env(1)) is U
    assert shy.divides(B).evaluate(env(1, 8)) is U


# --- what is read ---------------------------------------------------------------------------------------------------


def test_reads_are_the_union_of_the_parts():
    tree = (flag.dcp_size.more_than(1) & ~resolved.x.is_in(1)) | (model.y.is_set() & environment.NAME.is_unset())
    assert tree.reads() == {"asked.dcp_size", "resolved.x", "model.y", "env.NAME"}
    assert (ALWAYS & NEVER).reads() == frozenset()
    assert Given("dcp_size").reads() == {"asked.dcp_size"}


def test_name_spaces_make_terms():
    assert flag.dcp_size == Term("asked.dcp_size")
    assert resolved.dcp_size == Term("resolved.dcp_size")
    assert hardware.sm == Term("hardware.sm")
    assert software.flashinfer == Term("software.flashinfer")
    assert Term("env.SGLANG_X") == environment.SGLANG_X
    with pytest.raises(AttributeError):
        _ = flag.__wrapped__


# --- in words -------------------------------------------------------------------------------------------------------

WORDS = [
    (flag.dcp_size.at_least(2), "--dcp-size at least 2"),
    (flag.dcp_size.more_than(1), "--dcp-size more than 1"),
    (flag.dcp_size.less_than(2), "--dcp-size less than 2"),
    (flag.dcp_comm_backend.equals("a2a"), "--dcp-comm-backend is a2a"),
    (flag.dcp_comm_backend.differs("a2a"), "--dcp-comm-backend is not a2a"),
    (resolved.attention_backend.is_set(), "--attention-backend set"),
    (resolved.attention_backend.is_unset(), "--attention-backend unset"),
    (flag.enable_dp_attention.holds(), "--enable-dp-attention on"),
    (flag.enable_dp_attention.equals(False), "--enable-dp-attention off"),
    (flag.enable_dp_attention.differs(True), "--enable-dp-attention off"),
    (flag.enable_dp_attention.differs(False), "--enable-dp-attention on"),
    (flag.dcp_comm_backend.is_in("a2a", "fi_a2a"), "--dcp-comm-backend one of a2a, fi_a2a"),
    (flag.dcp_replicate_q_proj.is_in(None, True), "--dcp-replicate-q-proj one of unset, on"),
    (flag.speculative_eagle_topk.is_in(None, 1), "--speculative-eagle-topk one of unset, 1"),
    (flag.dcp_size.divides(flag.tp_size), "--dcp-size divides --tp-size"),
    (flag.dcp_size.divides(TOTAL), "--dcp-size divides ranks of one replica"),
    (hardware.gpus_per_node.less_than(TOTAL), "hardware gpus per node less than ranks of one replica"),
    (environment.SGLANG_X.is_set(), "SGLANG_X set"),
    (Given("tp_size"), "--tp-size given"),
    (~Given("tp_size"), "not (--tp-size given)"),
    (ALWAYS, "always"),
    (NEVER, "never"),
    (P & Q & R, "model a on and model b on and model c on"),
    (P & (Q & R), "model a on and model b on and model c on"),
    (P & (Q | R), "model a on and (model b on or model c on)"),
    ((P & Q) | R, "(model a on and model b on) or model c on"),
    (~(P & Q), "not (model a on and model b on)"),
]  # fmt: skip


@pytest.mark.parametrize(("expr", "words"), WORDS, ids=[words for _, words in WORDS])
def test_describe(expr, words):
    assert expr.describe() == words


@pytest.mark.parametrize(("key", "spelled"), [("asked.dcp_size", "--dcp-size"), ("resolved.dcp_size", "--dcp-size"),
                                              ("model.num_heads", "model num heads"), ("env.NCCL_DEBUG", "NCCL_DEBUG"),
                                              ("some_width", "some width"), ("GPUs needed", "GPUs needed")])  # fmt: skip
def test_spell(key, spelled):
    assert spell(key) == spelled


# --- values, not functions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value", [A, TOTAL, P, A.is_in(1), Given("x"), ALWAYS, Not(P), P & Q, P | Q], ids=lambda v: type(v).__name__
)
def test_expressions_cannot_be_changed(value):
    name = dataclasses.fields(value)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, name, "other")


def test_equality_is_of_the_expression_not_of_its_truth():
    assert A.equals(1) == Compare(A, "is", 1)
    assert A.equals(1) != A.equals(2)
    assert A.is_in(1, 2) == In(A, (1, 2))
    assert Constant(truth=True) == ALWAYS
    assert And((P, Q)) == P & Q
    assert (P & Q) != (Q & P)
