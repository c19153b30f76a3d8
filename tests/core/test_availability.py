"""Options: which choices can be taken as things stand, why not, and what leaving a flag out becomes."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from configurator.core.availability import AUTO, Auto, change_to, choices, chosen, options, with_choice
from configurator.core.configuration import Change, Configuration
from configurator.core.engine import check, engine_for
from configurator.core.expr import Given, environment, flag, model, resolved
from configurator.core.rule import Effect, Stage
from configurator.core.unknown import Unknown, is_unknown
from configurator.workspace import Workspace

from .small import MODELLED, SPECS, case, release, resolution, rule
from .strategies import after, cases, every_change

slow = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
UNREAD = Unknown("$N is known to the shell only")


def option(asked, dest, choice):
    (found,) = [o for o in options(asked, (dest,))[dest] if o.choice == choice and type(o.choice) is type(choice)]
    return found


# --- which choices are offered --------------------------------------------------------------------------------------


def offered(dest, **flags):
    asked = case([], **flags)
    return choices(engine_for(asked.release), dest, asked.configuration)


def test_offered_are_auto_where_there_is_one_and_the_values_in_order():
    assert offered("size") == (1, 2, 4, 8)
    assert offered("backend") == (AUTO, "slow", "fast", "new")  # the parser's own choices
    assert offered("copy") == (AUTO, True, False)
    assert offered("switch") == (False, True)


def test_a_value_the_user_gave_is_always_offered():
    assert offered("size", size=3) == (1, 2, 3, 4, 8)
    assert offered("size", size=4) == (1, 2, 4, 8)
    assert offered("backend", backend="other") == (AUTO, "slow", "fast", "new", "other")


def test_only_what_the_parser_accepts_is_offered():
    from dataclasses import replace

    modelled = [replace(m, values=("fast", "gone")) if m.dest == "backend" else m for m in MODELLED]
    engine = engine_for(release(modelled=modelled))
    assert choices(engine, "backend", Configuration()) == (AUTO, "fast")


def test_what_is_chosen():
    engine = engine_for(release())
    assert chosen(engine, "size", Configuration({"size": 8})) == 8
    assert chosen(engine, "size", Configuration()) == 1
    assert chosen(engine, "backend", Configuration()) == AUTO
    assert chosen(engine, "switch", Configuration()) is False


@pytest.mark.parametrize(("dest", "choice", "change"), [
    ("size", 8, Change({"size": 8})),
    ("size", 1, Change({"size": 1})),  # said, not left out: whoever chooses it means it
    ("backend", AUTO, Change(unset=frozenset({"backend"}))),
    ("copy", False, Change({"copy": False})),
    ("switch", True, Change({"switch": True})),
    ("switch", False, Change(unset=frozenset({"switch"}))),  # a switch has no spelling for off
])  # fmt: skip
def test_the_change_that_makes_a_choice(dest, choice, change):
    engine = engine_for(release())
    assert change_to(engine, dest, choice) == change
    before = Configuration({"size": 2, "backend": "slow", "copy": True, "switch": True})
    assert with_choice(engine, dest, choice, before) == before.replace(change)
    assert chosen(engine, dest, with_choice(engine, dest, choice, before)) == choice


def test_auto_is_one_value():
    assert Auto() == AUTO
    assert repr(AUTO) == "AUTO"
    assert len({Auto(), AUTO}) == 1


def test_all_shown_flags_of_the_release_have_options_and_no_other():
    from dataclasses import replace

    hidden = [replace(m, shown=False) if m.dest == "group" else m for m in MODELLED]
    later = [s for s in SPECS if s.dest != "copy"]
    asked = case(release(modelled=hidden, specs=later))
    assert set(options(asked)) == {"size", "backend", "switch", "dcp_size"}
    assert set(options(asked, ("group", "copy"))) == {"group"}


# --- states ---------------------------------------------------------------------------------------------------------

NEEDS = rule(
    "DCP101", flag.copy.holds(), require=resolved.backend.is_in("fast", "new"), says="--copy needs fast or new."
)
HARDWARE = rule("DCP102", resolved.backend.equals("new"), require=model.a.holds(), says="new needs a.")
RULES = (NEEDS, HARDWARE)


def test_an_open_choice():
    found = option(case(RULES, facts={"model.a": True}), "backend", "new")
    assert (found.state, found.chosen, found.conflict, found.blocked_by, found.codes, found.reason) == (
        "open",
        False,
        False,
        None,
        (),
        "",
    )
    assert found.label == "new"


def test_blocked_by_another_choice():
    found = option(case(RULES, backend="slow"), "copy", True)
    assert (found.state, found.blocked_by, found.codes, found.reason) == (
        "blocked",
        "choice",
        ("DCP101",),
        "--copy needs fast or new.",
    )
    assert (found.chosen, found.conflict, found.label) == (False, False, "on")


def test_blocked_by_a_fact():
    found = option(case(RULES, facts={"model.a": False}), "backend", "new")
    assert (found.state, found.blocked_by, found.codes, found.reason) == (
        "blocked",
        "fact",
        ("DCP102",),
        "new needs a.",
    )


def test_undecided_where_a_fact_is_missing_and_then_it_stays_open_to_choose():
    found = option(case(RULES), "backend", "new")
    assert (found.state, found.blocked_by, found.codes) == ("undecided", None, ())
    assert found.reason == "the model does not tell its a"


def test_what_is_chosen_is_never_blocked_but_in_conflict():
    asked = case(RULES, copy=True, backend="slow")
    for dest, choice in (("copy", True), ("backend", "slow")):
        found = option(asked, dest, choice)
        assert (found.state, found.chosen, found.conflict) == ("open", True, True)
        assert found.codes == ("DCP101",)
        assert found.reason == "--copy needs fast or new."


def test_a_chosen_fact_conflict_is_a_conflict_too():
    found = option(case(RULES, facts={"model.a": False}, backend="new"), "backend", "new")
    assert (found.state, found.conflict, found.blocked_by) == ("open", True, None)


def test_a_rule_about_other_flags_does_not_block():
    asked = case(RULES, copy=True, backend="slow")  # broken already, but not by the size
    assert all(o.state == "open" and not o.conflict for o in options(asked, ("size",))["size"])


def test_a_certain_finding_blocks_whatever_else_is_undecided():
    found = option(case(RULES, copy=True), "backend", AUTO)
    assert found.conflict  # nobody fills it in here
    both = (NEEDS, HARDWARE, rule("DCP103", flag.backend.equals("new"), says="Never new."))
    found = option(case(both), "backend", "new")
    assert (found.state, found.codes, found.reason) == ("blocked", ("DCP103",), "Never new.")


@pytest.mark.parametrize("effect", [e for e in Effect if not e.breaks])
def test_what_runs_does_not_block(effect):
    mild = rule("DCP101", flag.copy.holds(), effect=effect)
    found = option(case([mild]), "copy", True)
    assert (found.state, found.slows) == ("open", effect is Effect.SLOWS)
    assert not option(case([mild]), "copy", False).slows


def test_what_may_slow_is_not_said_to_slow():
    assert not option(
        case([rule("DCP101", flag.copy.holds() & model.a.holds(), effect=Effect.SLOWS)]), "copy", True
    ).slows


# --- auto -----------------------------------------------------------------------------------------------------------

FILL = resolution("DCP201", resolved.backend.is_unset() & flag.size.more_than(1), backend="new")


def test_auto_says_what_it_becomes():
    assert option(case([FILL], size=8), "backend", AUTO).becomes == "new"
    assert option(case([FILL], size=8, backend="slow"), "backend", AUTO).becomes == "new"
    assert option(case([FILL]), "backend", AUTO).becomes is None
    assert option(case([FILL], size=8), "backend", "fast").becomes is None
    assert option(case([FILL], size=8), "backend", AUTO).label == "auto"


def test_auto_that_becomes_undecided_says_so():
    perhaps = resolution("DCP201", resolved.backend.is_unset() & model.a.holds(), backend="new")
    assert is_unknown(option(case([perhaps]), "backend", AUTO).becomes)


def test_auto_that_becomes_what_breaks_is_blocked():
    asked = case([FILL, HARDWARE], facts={"model.a": False}, size=8, backend="slow")
    found = option(asked, "backend", AUTO)
    assert (found.state, found.codes, found.becomes) == ("blocked", ("DCP102",), "new")
    assert found.blocked_by == "choice"  # with size 1 nothing would be filled in


def test_auto_is_blocked_by_a_fact_where_it_always_becomes_what_breaks():
    always = resolution("DCP201", resolved.backend.is_unset(), backend="new")
    found = option(case([always, HARDWARE], facts={"model.a": False}, backend="slow"), "backend", AUTO)
    assert (found.state, found.blocked_by) == ("blocked", "fact")


def test_auto_is_the_flag_not_given():
    given_ = rule("DCP101", Given("backend"))
    asked = case([given_])
    assert option(asked, "backend", AUTO).state == "open"
    assert option(asked, "backend", "slow").blocked_by == "fact"
    assert option(case([given_], backend="slow"), "backend", AUTO).state == "open"


# --- what else could free a choice ----------------------------------------------------------------------------------


def test_another_flag_that_is_not_given_yet_may_free_a_choice():
    frees = rule("DCP101", flag.copy.holds(), require=Given("size"))
    assert option(case([frees]), "copy", True).blocked_by == "choice"


def test_a_variable_may_free_a_choice():
    frees = rule("DCP101", flag.copy.holds(), require=environment.SGLANG_X.equals("1"))
    assert option(case([frees]), "copy", True).blocked_by == "choice"


def test_of_several_reasons_one_fact_is_enough():
    both = (
        rule("DCP101", flag.copy.holds() & flag.size.more_than(1), order=1),
        rule("DCP102", flag.copy.holds() & model.a.holds(), order=2),
    )
    found = option(case(both, facts={"model.a": True}, size=8), "copy", True)
    assert (found.blocked_by, found.codes) == ("fact", ("DCP101", "DCP102"))


def test_what_is_remembered_tells_a_missing_fact_from_one_that_says_none():
    made = release(rule("DCP101", flag.copy.holds() & (model.a.is_unset() | flag.size.more_than(1))))
    assert option(case(made, size=8), "copy", True).blocked_by == "choice"
    assert option(case(made, facts={"model.a": None}, size=8), "copy", True).blocked_by == "fact"
    assert option(case(made, facts={"model.a": "None"}, size=8), "copy", True).blocked_by == "choice"


@pytest.mark.parametrize("placeholder_first", [True, False])
def test_what_is_remembered_tells_a_placeholder_from_a_model(placeholder_first):
    fill = resolution("DCP201", resolved.backend.is_unset(), backend="slow")
    made = release(fill, rule("DCP101", flag.copy.holds() & resolved.backend.is_set(), stage=Stage.INIT))
    asked = [
        (case(made, backend="slow"), "fact"),
        (case(made, facts={"model.is_placeholder": True}, backend="slow"), "choice"),
    ]
    for each, by in reversed(asked) if placeholder_first else asked:
        assert option(each, "copy", True).blocked_by == by  # for a placeholder the server fills in nothing


# --- flags that only the shell knows --------------------------------------------------------------------------------


def test_nothing_is_chosen_of_a_flag_that_only_the_shell_knows():
    found = options(case(RULES, unread={"backend": UNREAD}, copy=True), ("backend",))["backend"]
    assert not any(o.chosen for o in found)
    assert [o.state for o in found if o.choice in ("slow", "fast")] == ["blocked", "open"]


def test_other_flags_are_undecided_by_it():
    found = option(
        case([rule("DCP101", flag.size.more_than(1) & flag.copy.holds())], unread={"size": UNREAD}), "copy", True
    )
    assert (found.state, found.reason) == ("undecided", UNREAD.reason)


# --- the definition -------------------------------------------------------------------------------------------------


@slow
@given(cases())
def test_blocked_is_that_choosing_it_gives_a_certain_bad_finding_about_it(asked):
    engine = engine_for(asked.release)
    found = options(asked)
    assert set(found) == set(asked.release.modelled)
    for dest, of_dest in found.items():
        now = chosen(engine, dest, asked.configuration)
        marked = [o for o in of_dest if o.chosen]
        assert [o.choice for o in marked] == ([] if dest in asked.unread else [now])
        for o in of_dest:
            then = asked if o.chosen else after(asked, change_to(engine, dest, o.choice))
            findings = [f for f in check(then).findings if dest in f.rule.flags() and f.rule.effect.breaks]
            bad = [f for f in findings if f.certain]
            assert (o.state == "blocked") == bool(bad and not o.chosen)
            assert o.conflict == bool(bad and o.chosen)
            assert o.codes == tuple(f.rule.code for f in bad)
            assert (o.state == "undecided") == bool(findings and not bad)
            assert (o.blocked_by is not None) == (o.state == "blocked")
            if bad:
                assert o.reason == bad[0].message
            elif findings:
                assert o.reason == findings[0].reason
            else:
                assert o.reason == ""
            if isinstance(o.choice, Auto):
                assert o.becomes == check(then).resolved[dest]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cases())
def test_what_a_fact_blocks_no_other_choice_frees(asked):
    engine = engine_for(asked.release)
    for dest, of_dest in options(asked).items():
        for o in (o for o in of_dest if o.blocked_by == "fact"):
            then = after(asked, change_to(engine, dest, o.choice))
            for change, _ in every_change(then, fixed=frozenset({dest})):
                # Where a value is unknown the engine may be left undecided; it is never free.
                findings = check(after(then, change)).findings
                assert any(f.rule.effect.breaks and dest in f.rule.flags() for f in findings)
            return  # one is enough for one example


def test_a_rule_about_a_value_that_is_no_flag_can_be_left_open():
    asked = Workspace.start(["--model-path", "none", "--dcp-size", "2"], release="0.5.22", hardware="max1550x8")
    assert asked.options()
