"""Ways out: fixes, repairs and the change that frees an option, against a search that leaves nothing out."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from configurator.core.availability import AUTO, change_to, options
from configurator.core.configuration import Change
from configurator.core.engine import check, engine_for
from configurator.core.expr import ALWAYS, NEVER, environment, flag, model, resolved
from configurator.core.repair import fixes, repairs, step_cost, way_out
from configurator.core.rule import Choose, Effect, Set, SetEnv, Stage, Unset
from configurator.core.unknown import Unknown

from .small import case, codes, release, resolution, rule
from .strategies import after, cases, every_change

slow = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


def broken(asked):
    return {f.rule.code for f in check(asked).findings if f.breaks}


def changes(found):
    return [repair.change for repair in found]


def unset(*dests):
    return Change(unset=frozenset(dests))


# --- repairs, by example --------------------------------------------------------------------------------------------

DIVIDES = rule(
    "DCP101",
    flag.dcp_size.more_than(1),
    require=flag.dcp_size.divides(flag.size),
    effect=Effect.CRASHES,
    stage=Stage.INIT,
)
COPY_NEEDS = rule("DCP102", flag.copy.holds(), require=resolved.backend.is_in("fast", "new"))
FILL = resolution("DCP201", resolved.backend.is_unset(), backend="slow")


def test_nothing_broken_needs_no_repair():
    assert repairs(case([DIVIDES], size=4, dcp_size=2)) == ()
    assert repairs(case([rule("DCP103", ALWAYS, effect=Effect.SLOWS)])) == ()
    assert repairs(case([rule("DCP103", model.a.holds())])) == ()  # undecided is not broken


def test_the_cheapest_comes_first():
    found = repairs(case([DIVIDES], size=1, dcp_size=4))
    assert changes(found)[0] in (Change({"size": 4}), Change({"size": 8}))
    assert found[0].cost == 1.0


def test_giving_up_dcp_comes_last_and_is_offered_once():
    found = repairs(case([DIVIDES], size=1, dcp_size=4))
    assert changes(found)[-1] == Change({"dcp_size": 1})
    assert found[-1].cost == 100.0
    assert sum(repair.change.set.get("dcp_size") == 1 for repair in found) == 1


def test_of_repairs_that_change_the_same_flags_only_the_cheapest_is_returned():
    found = repairs(case([DIVIDES], size=1, dcp_size=4))
    shapes = [frozenset(repair.change.set) for repair in found]
    assert len(shapes) == len(set(shapes))


def test_several_broken_rules_are_repaired_together():
    found = repairs(case([DIVIDES, COPY_NEEDS, FILL], size=2, dcp_size=4, copy=True))
    assert set(found[0].change.set) == {"size", "backend"}
    assert found[0].cost == 2.0
    assert found[0].verdict == "ok"


def test_a_repair_tells_the_verdict_after_it():
    slows = rule("DCP103", flag.size.at_least(4), effect=Effect.SLOWS)
    perhaps = rule("DCP104", flag.size.at_least(4) & model.a.holds(), effect=Effect.CORRUPTS)
    assert repairs(case([DIVIDES, slows], size=1, dcp_size=4))[0].verdict == "warn"
    assert repairs(case([DIVIDES, perhaps], size=1, dcp_size=4))[0].verdict == "unknown"


def test_facts_are_never_repaired():
    assert repairs(case([rule("DCP101", model.a.holds())], facts={"model.a": True})) == ()


def test_giving_up_dcp_is_no_repair_where_it_is_not_on():
    found = repairs(case([rule("DCP103", flag.copy.holds())], dcp_size=1, copy=True))
    assert all("dcp_size" not in repair.change.set for repair in found)
    assert found


def test_giving_up_dcp_is_not_added_to_a_repair_that_does_without():
    found = repairs(case([rule("DCP103", flag.copy.holds())], dcp_size=4, copy=True))
    assert found
    assert all("dcp_size" not in repair.change.set for repair in found)


def test_a_repair_may_go_through_what_the_server_fills_in():
    # The backend itself is out of reach: only the size decides what it becomes.
    rewrites = resolution("DCP202", flag.size.less_than(4), order=200, backend="slow")
    slow_breaks = rule("DCP103", resolved.backend.equals("slow"))
    found = repairs(case([rewrites, slow_breaks], backend="fast", size=1))
    assert changes(found)[0] == Change({"size": 4})


def test_two_flags_that_only_help_together_are_found():
    both = resolution("DCP202", flag.copy.holds() & flag.switch.holds(), backend="new")
    wants = rule("DCP103", ALWAYS, require=resolved.backend.equals("new") & flag.backend.is_unset())
    assert changes(repairs(case([both, wants]))) == [Change({"copy": True, "switch": True})]


def test_a_variable_that_a_rule_names_as_a_way_out_is_set():
    wants = rule(
        "DCP103", flag.size.more_than(1), require=environment.SGLANG_X.equals("1"), fixes=(SetEnv("SGLANG_X", "1"),)
    )
    asked = case([wants], size=8)
    assert Change(env={"SGLANG_X": "1"}) in changes(repairs(asked))
    assert fixes(asked, check(asked).findings[0]) == (Change(env={"SGLANG_X": "1"}),)


def test_a_variable_helps_a_rule_that_reads_it_though_another_names_it():
    names = rule("DCP103", NEVER, fixes=(SetEnv("SGLANG_X", "1"),))
    reads = rule("DCP104", environment.SGLANG_X.is_unset())
    assert changes(repairs(case([names, reads]))) == [Change(env={"SGLANG_X": "1"})]


def test_a_flag_the_shell_fills_in_may_be_changed_and_is_known_then():
    perhaps = rule("DCP103", flag.size.more_than(4) | flag.copy.holds())
    asked = case(
        [perhaps, rule("DCP104", flag.size.more_than(1) & flag.copy.differs(True))],
        copy=True,
        unread={"size": Unknown("$N")},
    )
    for repair in repairs(asked):
        assert not broken(after(asked, repair.change))


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_no_more_than_the_limit_and_one_that_gives_up_dcp(limit):
    wide = rule(
        "DCP103", flag.dcp_size.more_than(1) & flag.copy.holds() & flag.switch.holds() & flag.backend.equals("slow")
    )
    asked = case([wide], dcp_size=2, copy=True, switch=True, backend="slow")
    found = repairs(asked, limit=limit)
    assert len(found) == limit + 1
    assert found[-1].change.set == {"dcp_size": 1}
    assert len(repairs(asked)) == 4


def test_alternatives_that_cost_far_more_than_the_cheapest_are_not_offered():
    dear = rule("DCP103", flag.size.equals(1) & flag.group.equals(2) & flag.switch.holds())
    assert [r.cost for r in repairs(case([dear], group=2, switch=True))] == [1.0, 3.0, 4.0]
    far = rule("DCP103", flag.size.equals(1) & flag.group.less_than(4) & flag.switch.differs(True))
    two = rule("DCP104", flag.group.equals(2) & flag.copy.differs(True) & flag.backend.is_unset(), order=200)
    # By the switch and a backend it would be 6 and more, by the size and a backend 2: the former is still near enough.
    assert [r.cost for r in repairs(case([far, two], group=2))] == [2.0, 3.0, 3.0, 6.0]
    assert all(r.cost <= 2.0 + 5.0 for r in repairs(case([far, two], group=2), limit=20))


def test_a_way_that_costs_far_more_is_none():
    near = rule("DCP103", flag.size.equals(1), require=flag.switch.holds())
    assert [r.cost for r in repairs(case([near]))] == [1.0, 5.0]
    far = rule("DCP103", flag.size.equals(1), require=flag.switch.holds() & flag.group.equals(1))
    assert [r.cost for r in repairs(case([far], group=2))] == [1.0]
    alone = rule("DCP103", ALWAYS, require=flag.switch.holds() & flag.group.equals(1))
    assert [r.cost for r in repairs(case([alone], group=2))] == [12.0]


def test_what_breaks_with_one_value_of_another_flag_may_do_with_the_next():
    made = [
        rule(
            "DCP103",
            (flag.size.equals(1) & flag.copy.differs(True)) | (flag.size.equals(2) & flag.copy.equals(False)),
            order=1,
        ),
        rule("DCP104", flag.size.more_than(2), order=2),
        rule("DCP105", flag.copy.holds(), order=3),
    ]
    (repair,) = repairs(case(made, size=1, copy=False))
    assert (repair.change, repair.cost) == (Change({"size": 2}, frozenset({"copy"})), 3.0)


# --- repairs, exhaustively ------------------------------------------------------------------------------------------


@slow
@given(cases())
def test_repairs_agree_with_trying_everything(asked):
    engine = engine_for(asked.release)
    found = repairs(asked)
    if not broken(asked):
        assert found == ()
        return
    working = []
    for change, cost in every_change(asked):
        then = after(asked, change)
        if not engine.broken(then.configuration, then):
            working.append((change, round(cost, 2)))
    costs = [cost for _, cost in working]
    assert bool(found) == bool(working)
    if not found:
        return
    assert found[0].cost == min(costs)
    assert [r.cost for r in found] == sorted(r.cost for r in found)
    for repair in found:
        then = check(after(asked, repair.change))
        assert not any(f.breaks for f in then.findings)
        assert then.verdict == repair.verdict
        assert (repair.change, repair.cost) in working
    for one in found:
        assert not any(one is not other and contains(one.change, other.change) for other in found)
    without = [cost for change, cost in working if change.set.get("dcp_size") == 1]
    if (
        without
        and asked.configuration.get("dcp_size", 1) != 1
        and not any(r.change.set.get("dcp_size") == 1 for r in found)
    ):
        # Giving up DCP was left out because it adds nothing to a repair that keeps it.
        assert any(
            contains(change, r.change) for change, cost in working if change.set.get("dcp_size") == 1 for r in found
        )


def contains(change, part):
    """Tell whether *change* makes every change of *part*, and perhaps more."""
    return (
        part.set.items() <= change.set.items() and part.unset <= change.unset and part.env.items() <= change.env.items()
    )


@slow
@given(cases(), st.data())
def test_ways_out_agree_with_trying_everything(asked, data):
    engine = engine_for(asked.release)
    blocked = [
        (dest, option) for dest, offered in options(asked).items() for option in offered if option.state == "blocked"
    ]
    assume(blocked)
    dest, option = data.draw(st.sampled_from(blocked))
    chosen = after(asked, change_to(engine, dest, option.choice))
    rest = {code for code in broken(asked) if dest not in asked.release.rules[code].flags()}
    costs, breaking = [], []
    for change, cost in every_change(chosen, fixed=frozenset({dest})):
        then = after(chosen, change)
        if not engine.broken(then.configuration, then, about=(dest,)):
            (breaking if broken(then) - rest else costs).append(round(cost, 2))
    costs = costs or breaking  # what breaks nothing new goes before what does
    found = way_out(asked, dest, option.choice)
    if not costs:
        assert found is None
        return
    assert option.blocked_by == "choice"  # a fact nobody can change would leave nothing to try
    assert found is not None
    assert dest not in found.set
    assert dest not in found.unset
    assert not engine.broken(after(chosen, found).configuration, after(chosen, found), about=(dest,))
    assert cost_of(engine, chosen, found) == min(costs)


def cost_of(engine, asked, change):
    """Return the cost of a change, flag by flag."""
    total = sum(step_cost(engine, asked, dest, value) for dest, value in change.set.items())
    for dest in change.unset:
        automatic = asked.release.modelled[dest].auto or dest != "switch"
        total += step_cost(engine, asked, dest, AUTO if automatic else False)
    return round(total + len(change.env), 2)


# --- fixes ----------------------------------------------------------------------------------------------------------


@slow
@given(cases(), st.data())
def test_a_fix_removes_its_finding_and_adds_none_as_bad(asked, data):
    findings = check(asked).findings
    assume(findings)
    finding = data.draw(st.sampled_from(findings))
    before = {f.rule.code for f in findings if f.certain}
    found = fixes(asked, finding)
    assert len(found) <= 6
    assert len({str(change) for change in found}) == len(found)
    for change in found:
        assert change
        then = check(after(asked, change)).findings
        assert finding.rule.code not in codes(then)
        new = [f.rule for f in then if f.certain and f.rule.code not in before]
        assert not any(r.effect.breaks or r.effect.rank <= finding.rule.effect.rank for r in new)


def only(asked):
    (finding,) = check(asked).findings
    return fixes(asked, finding)


def test_the_ways_a_rule_names_come_first_in_its_order():
    named = rule(
        "DCP102",
        flag.copy.holds(),
        require=flag.backend.is_in("fast", "new"),
        fixes=(Set("backend", "new"), Set("backend", "fast"), Unset("copy")),
    )
    assert only(case([named], copy=True)) == (Change({"backend": "new"}), Change({"backend": "fast"}), unset("copy"))


def test_a_way_that_does_not_help_is_not_offered():
    named = rule(
        "DCP102",
        flag.copy.holds(),
        require=flag.backend.equals("new"),
        fixes=(Set("backend", "fast"), Set("backend", "new")),
    )
    assert only(case([named], copy=True)) == (Change({"backend": "new"}),)


def test_a_way_that_breaks_something_else_is_not_offered():
    named = rule(
        "DCP102",
        flag.copy.holds(),
        require=flag.backend.is_in("fast", "new"),
        fixes=(Set("backend", "fast"), Set("backend", "new")),
    )
    refuses_fast = rule("DCP103", flag.backend.equals("fast"))
    assert only(case([named, refuses_fast], copy=True)) == (Change({"backend": "new"}),)


def test_a_way_that_leaves_something_else_broken_is_offered():
    named = rule("DCP102", flag.copy.holds(), fixes=(Unset("copy"),))
    other = rule("DCP103", flag.size.more_than(4))
    asked = case([named, other], copy=True, size=8)
    assert fixes(asked, check(asked).findings[0]) == (unset("copy"),)


def test_a_warning_may_not_be_traded_for_one_as_bad_but_for_a_milder_one():
    ignored = rule("DCP102", flag.copy.holds(), effect=Effect.IGNORES, fixes=(Unset("copy"),))
    as_bad = rule("DCP103", flag.copy.differs(True), effect=Effect.IGNORES)
    milder = rule("DCP104", flag.copy.differs(True), effect=Effect.SLOWS)
    assert unset("copy") not in only(case([ignored, as_bad], copy=True))
    assert only(case([ignored, milder], copy=True)) == (unset("copy"),)


def test_what_is_not_given_is_not_dropped():
    named = rule("DCP102", flag.backend.differs("new"), fixes=(Unset("copy"), Set("backend", "new")))
    assert only(case([named])) == (Change({"backend": "new"}),)


def test_a_flag_the_release_does_not_have_is_no_way_out():
    named = rule(
        "DCP102",
        flag.copy.holds(),
        fixes=(Set("future_flag", 1), Choose("future_flag"), Unset("future_flag"), Unset("copy")),
    )
    assert only(case([named], copy=True)) == (unset("copy"),)


def test_choose_tries_every_other_value_the_cheapest_first():
    named = rule("DCP102", flag.group.equals(4), fixes=(Choose("group"),))
    assert only(case([named], group=4)) == (Change({"group": 2}), Change({"group": 1}))


def test_without_named_ways_single_changes_of_what_the_rule_reads_are_tried():
    asked = case([rule("DCP102", flag.group.equals(4) & flag.size.equals(8))], group=4, size=8)
    found = only(asked)
    assert set().union(*(change.set for change in found)) == {"group", "size"}
    costs = [cost_of(engine_for(asked.release), asked, change) for change in found]
    assert costs == sorted(costs)


def test_what_nobody_has_shown_to_work_has_no_fix_unless_it_names_one():
    assert only(case([rule("DCP102", flag.copy.holds(), effect=Effect.UNVERIFIED)], copy=True)) == ()


# --- costs ----------------------------------------------------------------------------------------------------------


def cost(dest, choice, facts=None):
    asked = case([], facts=facts)
    return step_cost(engine_for(asked.release), asked, dest, choice)


def test_what_a_step_costs():
    assert cost("size", 2) == 1.0
    assert cost("group", 2) == 3.0
    assert cost("group", 1) == 7.0
    assert cost("backend", "fast") == 1.0
    assert cost("backend", AUTO) == 1.25
    assert cost("switch", True) == 5.0
    assert cost("switch", False) == 4.0  # the same as leaving the switch out
    assert cost("copy", False) == 2.0
    assert cost("dcp_size", 2) == 3.0
    assert cost("dcp_size", 1) == 100.0


def test_a_preferred_value_costs_nothing_extra():
    from dataclasses import replace

    from configurator.core.expr import hardware

    from .small import MODELLED

    prefers = [
        replace(m, prefer=hardware.gpus_per_tray, not_preferred=0.5) if m.dest == "size" else m for m in MODELLED
    ]
    made = release(modelled=prefers)
    engine = engine_for(made)
    eight = case(made, facts={"hardware.gpus_per_tray": 8})
    assert step_cost(engine, eight, "size", 8) == 1.0
    assert step_cost(engine, eight, "size", 4) == 1.5
    assert step_cost(engine, case(made), "size", 8) == 1.5
