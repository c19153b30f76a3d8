"""Conflicts: the few choices one of which must change."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from configurator.core.conflict import conflict, unavoidable
from configurator.core.engine import check, engine_for
from configurator.core.expr import Given, environment, flag, model, resolved, step

from .small import case, resolution, rule
from .strategies import after, cases, every_change


def conflict_of(asked, code="DCP101", fixed=()):
    engine = engine_for(asked.release)
    violated = next(c for c in engine.rules if c.rule.code == code)
    assert code in {f.rule.code for f in check(asked).findings if f.certain}
    return conflict(engine, asked, violated, frozenset(fixed))


def test_what_a_conjunction_reads_is_in_conflict():
    both = rule("DCP101", flag.size.more_than(1) & flag.copy.holds())
    assert conflict_of(case([both], size=8, copy=True)) == {"size", "copy"}


def test_what_makes_no_difference_is_not():
    either = rule("DCP101", flag.copy.holds() & (flag.size.more_than(1) | flag.switch.holds()))
    assert conflict_of(case([either], size=8, copy=True)) == {"size", "copy"}
    assert conflict_of(case([either], switch=True, copy=True)) == {"switch", "copy"}


def test_where_two_choices_are_enough_each_alone_one_of_them_is_named():
    either = rule("DCP101", flag.copy.holds() & (flag.size.more_than(1) | flag.switch.holds()))
    assert conflict_of(case([either], size=8, switch=True, copy=True)) in ({"size", "copy"}, {"switch", "copy"})


def test_fixed_choices_are_left_out():
    both = rule("DCP101", flag.size.more_than(1) & flag.copy.holds())
    asked = case([both], size=8, copy=True)
    assert conflict_of(asked, fixed={"size"}) == {"copy"}
    assert conflict_of(asked, fixed={"size", "copy"}) == frozenset()


def test_a_fact_alone_is_no_conflict_of_choices():
    asked = case(
        [rule("DCP101", model.a.holds() & (flag.size.more_than(0) | flag.size.less_than(1)))], facts={"model.a": True}
    )
    assert conflict_of(asked) == {"size"}  # logic with three values does not see that one of the two always holds
    assert conflict_of(case([rule("DCP101", model.a.holds())], facts={"model.a": True})) == frozenset()


def test_the_choices_behind_a_filled_in_value_are_in_conflict():
    fill = resolution("DCP201", resolved.backend.is_unset() & flag.size.more_than(1), backend="slow")
    asked = case([fill, rule("DCP101", resolved.backend.equals("slow"))], size=8)
    assert conflict_of(asked) == {"backend", "size"}


def test_a_value_that_was_given_does_not_depend_on_what_would_fill_it_in():
    fill = resolution("DCP201", resolved.backend.is_unset() & flag.size.more_than(1), backend="slow")
    asked = case([fill, rule("DCP101", resolved.backend.equals("slow"))], size=8, backend="slow")
    assert conflict_of(asked) == {"backend"}


def test_conflicts_reach_through_steps_given_flags_and_variables():
    made = [
        resolution("DCP201", flag.size.more_than(1), order=1, **{"step.wide": True}),
        resolution("DCP202", step.wide.holds() & Given("copy"), order=2, **{"step.both": True}),
        rule("DCP101", step.both.holds() & environment.SGLANG_X.is_unset()),
    ]
    assert conflict_of(case(made, size=8, copy=False)) == {"size", "copy", "env.SGLANG_X"}


def test_both_cases_of_a_resolution_are_looked_at():
    # Without the group's value the backend is slow or fast, and both are refused: the group makes no difference.
    made = [
        resolution("DCP201", flag.group.more_than(1), order=1, backend="fast"),
        resolution("DCP202", resolved.backend.is_unset(), order=2, backend="slow"),
        rule("DCP101", flag.copy.holds(), require=resolved.backend.equals("new")),
    ]
    assert conflict_of(case(made, copy=True, backend="slow")) == {"copy", "backend"}
    assert conflict_of(case(made, copy=True), fixed={"backend"}) == {"copy"}


def test_a_flag_is_given_some_value_or_filled_in_and_both_are_looked_at():
    made = [
        resolution("DCP202", resolved.backend.is_unset(), backend="slow"),
        rule("DCP101", flag.copy.holds() & resolved.backend.is_set()),
    ]
    assert conflict_of(case(made, copy=True)) == {"copy"}


def test_many_undecided_resolutions_are_still_judged_soundly():
    undecided = [resolution(f"DCP{300 + i}", model.nobody_knows.holds(), order=i, group=i % 2 + 2) for i in range(40)]
    refuses = rule("DCP101", flag.copy.holds() & flag.size.more_than(1), require=resolved.group.equals(1))
    stays = resolution("DCP400", flag.switch.differs(True), order=99, group=2)
    assert conflict_of(case([*undecided, stays, refuses], copy=True, size=2)) == {"copy", "size", "switch"}


def test_what_only_the_shell_knows_is_in_no_conflict():
    either = rule("DCP101", flag.copy.holds() | flag.size.more_than(1))
    from configurator.core.unknown import Unknown

    assert conflict_of(case([either], copy=True, unread={"size": Unknown("$N")})) == {"copy"}


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(cases(), st.data())
def test_nothing_outside_the_conflict_repairs_the_rule(asked, data):
    engine = engine_for(asked.release)
    violated = [c for c in engine.rules if c.rule.code in {f.rule.code for f in check(asked).findings if f.certain}]
    assume(violated)
    compiled = data.draw(st.sampled_from(violated))
    fixed = data.draw(st.frozensets(st.sampled_from(["size", "copy", "backend"])))
    found = conflict(engine, asked, compiled, fixed)
    assert not found & fixed
    assert found <= engine.depends_on(compiled.rule)
    if unavoidable(engine, asked, compiled, fixed):
        assert found == frozenset()
    for change, _ in every_change(
        asked, fixed=frozenset(name for name in found | fixed if not name.startswith("env."))
    ):
        if not any(f"env.{name}" in found for name in change.env):
            then = after(asked, change)
            env, _ = engine.environment(then.configuration, then.facts, then.unread)
            assert compiled.violated(env) is True


@pytest.mark.parametrize(("fixed", "stuck"), [(set(), False), ({"size"}, False), ({"size", "copy"}, True)])
def test_unavoidable(fixed, stuck):
    asked = case([rule("DCP101", flag.size.more_than(1) & flag.copy.holds())], size=8, copy=True)
    engine = engine_for(asked.release)
    assert unavoidable(engine, asked, engine.rules[0], frozenset(fixed)) is stuck


def test_depends_on_follows_what_the_server_fills_in():
    made = [
        resolution("DCP201", flag.size.more_than(1), order=1, backend=resolved.copy),
        resolution("DCP202", flag.switch.holds() & environment.SGLANG_X.is_set(), order=2, copy=True),
        rule("DCP101", resolved.backend.is_set() & model.a.holds()),
    ]
    engine = engine_for(case(made).release)
    assert engine.depends_on(engine.rules[0].rule) == {"backend", "size", "copy", "switch", "env.SGLANG_X"}
