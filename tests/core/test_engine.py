"""The engine: what a configuration resolves to, what is found, in which order, with which verdict."""

from __future__ import annotations

import random
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from configurator.core.configuration import Configuration
from configurator.core.engine import Case, Engine, check, engine_for, show
from configurator.core.expr import ALWAYS, Derived, Given, environment, flag, model, resolved, software, step
from configurator.core.rule import Effect, Stage
from configurator.core.unknown import Unknown, is_unknown

from .small import case, codes, release, resolution, rule

UNREAD = Unknown("$N is known to the shell only")


# --- what a flag becomes --------------------------------------------------------------------------------------------


def test_nothing_given_is_the_parsers_defaults():
    report = check(case([]))
    assert report.resolved == {"size": 1, "group": 1, "backend": None, "copy": None, "switch": False, "dcp_size": 1}
    assert report.decided_by == {}
    assert report.release == "0.0.1"


def test_what_is_given_is_what_it_resolves_to():
    report = check(case([], size=8, copy=True))
    assert (report.resolved["size"], report.resolved["copy"]) == (8, True)
    assert report.decided_by == {}


FILL = resolution("DCP201", resolved.backend.is_unset(), backend="slow", slug="fill-slow")


def test_a_resolution_fills_in_and_says_that_it_did():
    report = check(case([FILL]))
    assert report.resolved["backend"] == "slow"
    assert report.decided_by == {"backend": "fill-slow"}


def test_a_resolution_leaves_alone_what_is_given():
    report = check(case([FILL], backend="fast"))
    assert report.resolved["backend"] == "fast"
    assert report.decided_by == {}


@pytest.mark.parametrize("swapped", [False, True])
def test_resolutions_run_in_the_releases_order_whatever_order_they_are_written_in(swapped):
    first = resolution("DCP202", resolved.backend.is_unset(), order=1, backend="fast", slug="first")
    second = resolution("DCP201", resolved.backend.is_unset(), order=2, backend="slow", slug="second")
    report = check(case([second, first] if swapped else [first, second]))
    assert report.resolved["backend"] == "fast"
    assert report.decided_by == {"backend": "first"}


def test_a_later_resolution_reads_what_an_earlier_one_left_and_the_last_one_decides():
    copies = resolution("DCP203", ALWAYS, order=1, group=flag.size, slug="as-size")
    doubles = resolution(
        "DCP204",
        resolved.group.at_least(4),
        order=2,
        backend="new",
        group=Derived("twice", lambda n: 2 * n, (resolved.group,)),
    )
    report = check(case([doubles, copies], size=4))
    assert (report.resolved["group"], report.resolved["backend"]) == (8, "new")
    assert report.decided_by == {"group": "dcp204", "backend": "dcp204"}


def test_asked_stays_what_was_asked_when_a_resolution_rewrites():
    rewrite = resolution("DCP203", ALWAYS, size=8)
    seen = rule("DCP101", flag.size.equals(2) & resolved.size.equals(8), says="{asked.size} became {resolved.size}")
    assert [f.message for f in check(case([rewrite, seen], size=2)).findings] == ["2 became 8"]


def test_whether_a_flag_was_given_counts_also_where_it_says_the_default():
    given_ = rule("DCP101", Given("size"))
    assert codes(check(case([given_], size=1)).findings) == ["DCP101"]
    assert codes(check(case([given_], group=1)).findings) == []
    assert codes(check(case([given_], size=None)).findings) == ["DCP101"]


def test_a_result_without_a_flag_is_resolved_too():
    made = release(
        resolution("DCP201", flag.size.more_than(1), graph="off", slug="graph-off"), results={"graph": "full"}
    )
    assert check(case(made)).resolved["graph"] == "full"
    report = check(case(made, size=2))
    assert report.resolved["graph"] == "off"
    assert report.decided_by == {"graph": "graph-off"}


def test_a_step_reaches_later_resolutions_and_rules_and_is_shown_to_nobody():
    made = release(
        resolution("DCP201", flag.size.more_than(1), order=1, **{"step.wide": True}),
        resolution("DCP202", step.wide.holds(), order=2, backend="fast"),
        rule("DCP101", step.wide.holds()),
    )
    report = check(case(made, size=2))
    assert report.resolved["backend"] == "fast"
    assert codes(report.findings) == ["DCP101"]
    assert not any("step" in key for key in (*report.resolved, *report.decided_by))
    assert check(case(made)).findings == ()


# --- unknown facts in resolutions -----------------------------------------------------------------------------------

PERHAPS = resolution("DCP201", model.a.holds(), order=1, backend="fast", slug="perhaps")


def test_where_it_cannot_be_decided_whether_a_resolution_applies_the_value_is_unknown():
    report = check(case([PERHAPS], backend="slow"))
    assert report.resolved["backend"] == Unknown("the model does not tell its a")
    assert report.decided_by == {}


def test_unless_it_would_set_what_is_there_already():
    report = check(case([PERHAPS], backend="fast"))
    assert report.resolved["backend"] == "fast"


def test_a_resolution_after_an_undecided_one_is_undecided_where_it_reads_its_value():
    fill = resolution("DCP202", resolved.backend.is_unset(), order=2, backend="slow", slug="fill")
    report = check(case([PERHAPS, fill]))
    assert is_unknown(report.resolved["backend"])
    assert report.decided_by == {}
    known = check(case([PERHAPS, fill], facts={"model.a": False}))
    assert known.resolved["backend"] == "slow"
    assert known.decided_by == {"backend": "fill"}


def test_what_was_decided_and_is_then_undecided_is_decided_by_nobody():
    fill = resolution("DCP202", ALWAYS, order=0, backend="slow", slug="fill")
    report = check(case([fill, PERHAPS]))
    assert is_unknown(report.resolved["backend"])
    assert report.decided_by == {}


def test_a_value_that_is_decided_after_all_is_known_again():
    last = resolution("DCP203", ALWAYS, order=9, backend="new", slug="last")
    report = check(case([PERHAPS, last]))
    assert report.resolved["backend"] == "new"
    assert report.decided_by == {"backend": "last"}


# --- facts, software, environment -----------------------------------------------------------------------------------


def test_a_missing_fact_is_unknown_with_a_reason():
    found = check(case([rule("DCP101", model.head_dim.less_than(64))])).findings
    assert [(f.certainty, f.reason) for f in found] == [
        ("unknown", "the width of the model's attention heads is not known")
    ]


def test_the_reason_of_an_unknown_fact_is_passed_on():
    found = check(
        case([rule("DCP101", model.a.holds())], facts={"model.a": Unknown("no config.json is here")})
    ).findings
    assert [f.reason for f in found] == ["no config.json is here"]


def test_software_is_taken_as_the_release_pins_it_unless_a_fact_says_otherwise():
    old = rule("DCP101", software.flashinfer.equals("0.6.0"))
    made = release(old, software={"software.flashinfer": "0.6.0"})
    assert codes(check(case(made)).findings) == ["DCP101"]
    assert codes(check(case(made, facts={"software.flashinfer": "0.7.0"})).findings) == []
    assert check(case([old])).verdict == "unknown"  # nobody pins it here


def test_environment_variables_are_unset_unless_given():
    wants = rule("DCP101", ALWAYS, require=environment.SGLANG_X.equals("1"))
    assert codes(check(case([wants])).findings) == ["DCP101"]
    assert check(case([wants], env={"SGLANG_X": "1"})).verdict == "ok"
    assert codes(check(case([wants], env={"SGLANG_X": "0"})).findings) == ["DCP101"]


# --- flags whose value only the shell knows -------------------------------------------------------------------------


def test_an_unread_flag_is_unknown_asked_and_resolved():
    both = [rule("DCP101", flag.size.more_than(1)), rule("DCP102", resolved.size.more_than(1))]
    report = check(case(both, unread={"size": UNREAD}))
    assert [(f.rule.code, f.certain, f.reason) for f in report.findings] == [
        ("DCP101", False, UNREAD.reason),
        ("DCP102", False, UNREAD.reason),
    ]
    assert report.resolved["size"] is UNREAD
    assert report.verdict == "unknown"


def test_an_unread_flag_is_a_given_flag():
    fill = resolution("DCP201", ~Given("backend"), backend="slow", slug="default")
    report = check(case([fill], unread={"backend": UNREAD}))
    assert report.resolved["backend"] is UNREAD
    assert report.decided_by == {}


# --- when a rule is violated ----------------------------------------------------------------------------------------

T, F, U = True, False, Unknown("nobody looked")
VIOLATED = [(T, T, None), (T, F, "holds"), (T, U, "unknown"), (F, T, None), (F, F, None), (F, U, None),
            (U, T, None), (U, F, "unknown"), (U, U, "unknown")]  # fmt: skip


@pytest.mark.parametrize(("when", "require", "certainty"), VIOLATED, ids=str)
def test_violated_is_concerned_and_not_met(when, require, certainty):
    asked = rule("DCP101", model.when.holds(), require=model.require.holds())
    found = check(case([asked], facts={"model.when": when, "model.require": require})).findings
    assert [f.certainty for f in found] == ([] if certainty is None else [certainty])
    assert [f.breaks for f in found] == ([] if certainty is None else [certainty == "holds"])


# --- verdicts -------------------------------------------------------------------------------------------------------

BREAKING = ("refuses", "crashes", "corrupts")
HARMLESS = ("ignores", "rewrites", "slows", "unverified")


def verdict(*findings):
    """Return the verdict for findings given as (effect, certainty)."""
    made = [rule(f"DCP{101 + i}", model.yes.holds() if sure == "holds" else model.nobody_knows.holds(), effect=Effect(effect))
            for i, (effect, sure) in enumerate(findings)]  # fmt: skip
    report = check(case(made, facts={"model.yes": True}))
    assert len(report.findings) == len(findings)
    return report.verdict


def test_no_finding_is_ok():
    assert verdict() == "ok"


@pytest.mark.parametrize("effect", BREAKING)
def test_one_that_holds_and_breaks_is_an_error_whatever_else(effect):
    assert verdict((effect, "holds")) == "error"
    assert verdict(("refuses", "unknown"), (effect, "holds"), ("slows", "holds")) == "error"


@pytest.mark.parametrize("effect", BREAKING)
def test_one_that_may_break_is_unknown(effect):
    assert verdict((effect, "unknown")) == "unknown"
    assert verdict((effect, "unknown"), ("slows", "holds"), ("ignores", "unknown")) == "unknown"


@pytest.mark.parametrize("effect", HARMLESS)
def test_one_that_holds_and_does_not_break_is_a_warning(effect):
    assert verdict((effect, "holds")) == "warn"
    assert verdict((effect, "holds"), (effect, "unknown")) == "warn"


@pytest.mark.parametrize("effect", HARMLESS)
def test_one_that_may_be_and_would_not_break_leaves_it_ok(effect):
    assert verdict((effect, "unknown")) == "ok"


def test_an_assumed_fact_is_a_fact():
    needs = rule("DCP101", model.a.holds())
    assert check(case([needs], facts={"hardware.assumed": True, "model.a": False})).verdict == "ok"
    assert check(case([needs], facts={"hardware.assumed": True, "model.a": True})).verdict == "error"


def test_effects_know_what_breaks_and_how_bad_they_are():
    assert [e.value for e in sorted(Effect, key=lambda e: e.rank)] == [*BREAKING, *HARMLESS]
    assert [e.value for e in Effect if e.breaks] == list(BREAKING)


# --- the order of findings ------------------------------------------------------------------------------------------

ORDERED = (
    rule("DCP101", ALWAYS, stage=Stage.CLI, order=500),
    rule("DCP102", ALWAYS, stage=Stage.SERVER_ARGS, order=10),
    rule("DCP103", ALWAYS, stage=Stage.MODEL_ARGS, order=20),  # the model's handling runs in the middle of the server's
    rule("DCP104", ALWAYS, stage=Stage.SERVER_ARGS, order=30),
    rule("DCP105", ALWAYS, effect=Effect.CRASHES, stage=Stage.INIT, order=1),
    rule("DCP106", ALWAYS, effect=Effect.CRASHES, stage=Stage.INIT, order=2),
    rule("DCP107", ALWAYS, effect=Effect.CRASHES, stage=Stage.RUNTIME, order=0),
    rule("DCP108", ALWAYS, effect=Effect.CORRUPTS, stage=Stage.RUNTIME, order=0),
    rule("DCP109", ALWAYS, effect=Effect.IGNORES, stage=Stage.SERVER_ARGS, order=0),
    rule("DCP110", ALWAYS, effect=Effect.REWRITES, stage=Stage.SERVER_ARGS, order=0),
    rule("DCP111", ALWAYS, effect=Effect.SLOWS, stage=Stage.SERVER_ARGS, order=0),
    rule("DCP112", ALWAYS, effect=Effect.UNVERIFIED, stage=Stage.CLI, order=0),
)


@pytest.mark.parametrize("seed", range(5))
def test_findings_come_in_order_of_harm_the_servers_first_word_leading_however_they_are_written(seed):
    shuffled = random.Random(seed).sample(ORDERED, len(ORDERED))  # noqa: S311 - a shuffle, no secret
    assert codes(check(case(shuffled)).findings) == [r.code for r in ORDERED]


def test_rules_at_the_same_place_have_a_fixed_order_too():
    same = [rule(code, ALWAYS, order=7) for code in ("DCP101", "DCP102", "DCP103")]
    assert len({tuple(codes(check(case(p)).findings)) for p in permutations(same)}) == 1


def test_rules_do_not_see_each_other():
    alone = {code for item in ORDERED for code in codes(check(case([item])).findings)}
    assert alone == set(codes(check(case(ORDERED)).findings))


# --- a placeholder instead of a model -------------------------------------------------------------------------------


@pytest.mark.parametrize(("stage", "skipped"), [(Stage.CLI, False), (Stage.SERVER_ARGS, True), (Stage.MODEL_ARGS, True),
                                                (Stage.INIT, False), (Stage.RUNTIME, False)])  # fmt: skip
def test_a_placeholder_model_skips_what_argument_handling_would_validate(stage, skipped):
    report = check(case([rule("DCP101", ALWAYS, stage=stage)], facts={"model.is_placeholder": True}))
    assert report.verdict == ("ok" if skipped else "error")


def test_for_a_placeholder_model_nothing_is_filled_in():
    report = check(case([FILL], facts={"model.is_placeholder": True}))
    assert report.resolved["backend"] is None
    assert report.decided_by == {}


# --- how rules stand ------------------------------------------------------------------------------------------------


def test_how_each_rule_that_concerns_a_case_stands():
    made = [
        rule("DCP101", flag.copy.holds(), require=resolved.backend.equals("fast")),
        rule("DCP102", flag.copy.holds(), require=resolved.backend.equals("slow")),
        rule("DCP103", flag.copy.holds() & model.a.holds()),
        rule("DCP104", flag.switch.holds()),
        FILL,
        resolution("DCP202", flag.size.more_than(1), group=2),
    ]
    asked = case(made, copy=True)
    standing = engine_for(asked.release).standing(asked)
    assert standing == {"DCP101": "holds", "DCP102": "met", "DCP103": "unknown", "DCP201": "decides"}


# --- messages -------------------------------------------------------------------------------------------------------


def test_messages_show_the_values_they_name():
    asked = rule(
        "DCP101",
        ALWAYS,
        says="--size {asked.size}, {resolved.backend}, {model.name}, {env.SGLANG_X}, {both} of {hardware.gpus_per_node}",
        values={"both": Derived("both", lambda a, b: a + b, (flag.size, flag.group))},
    )
    found = check(case([asked], facts={"model.name": "M"}, env={"SGLANG_X": "1"}, size=8)).findings
    assert found[0].message == "--size 8, unset, M, 1, 9 of not known"


@pytest.mark.parametrize(("value", "text"), [(None, "unset"), (True, "on"), (False, "off"), (4, "4"), (0.5, "0.5"), ("a2a", "a2a"),
                                             (UNREAD, "not known"), ((1, None, True), "1 unset on"), ((), "")])  # fmt: skip
def test_show(value, text):
    assert show(value) == text


def test_braces_that_name_nothing_are_text():
    assert (
        check(case([rule("DCP101", ALWAYS, says="--x '{\"A\": 1}' {}")])).findings[0].message == "--x '{\"A\": 1}' {}"
    )


# --- the engine as a function ---------------------------------------------------------------------------------------


def test_a_release_is_compiled_once():
    made = release(*ORDERED)
    assert engine_for(made) is engine_for(made)
    assert engine_for(made) is not engine_for(release(*ORDERED))


def test_an_evaluation_leaves_nothing_behind():
    engine = Engine(
        release(FILL, resolution("DCP202", model.a.holds(), size=8), rule("DCP101", resolved.backend.equals("fast")))
    )
    configuration, facts = Configuration({"size": 4}, {"X": "1"}), {"model.a": True}
    first = engine.check(Case(engine.release, configuration, facts))
    engine.check(Case(engine.release, Configuration({"backend": "new", "size": 8}), {}, {"group": UNREAD}))
    assert engine.check(Case(engine.release, configuration, facts)) == first
    assert configuration == Configuration({"size": 4}, {"X": "1"})
    assert facts == {"model.a": True}


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(st.sampled_from(["size", "group", "dcp_size"]), st.integers(-2, 9)),
    st.sampled_from([True, False, None]),
)
def test_broken_is_the_certain_breaking_part_of_a_report(flags, fact):
    made = release(
        rule("DCP101", flag.size.less_than(1)),
        rule("DCP102", flag.group.divides(flag.size), effect=Effect.CRASHES),
        rule("DCP103", model.a.holds(), effect=Effect.CORRUPTS),
        rule("DCP104", flag.size.more_than(2), effect=Effect.SLOWS),
        rule("DCP105", flag.dcp_size.more_than(1) & flag.size.more_than(1)),
    )
    asked = case(made, facts={} if fact is None else {"model.a": fact}, **flags)
    engine = engine_for(made)
    breaking = {f.rule.code: f.rule for f in check(asked).findings if f.breaks}
    assert engine.broken(asked.configuration, asked) == set(breaking)
    for about in (("size",), ("group",), ("dcp_size", "group"), ("switch",), ()):
        expected = {code for code, r in breaking.items() if r.flags() & set(about)}
        assert engine.broken(asked.configuration, asked, about=about) == expected
