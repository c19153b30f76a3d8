"""Releases as values: what one may declare, and what the next may change."""

from __future__ import annotations

import pytest

from configurator.core.errors import CatalogError
from configurator.core.expr import ALWAYS, Derived, Given, flag, model, resolved, step
from configurator.core.flag import FlagSpec, FlagTable
from configurator.core.release import ModelledFlag, by_code

from .small import SPECS, release, resolution, rule

NEXT = FlagTable("0.0.2", SPECS)
FIRST = release(
    rule("DCP101", flag.size.less_than(1)),
    resolution("DCP201", resolved.backend.is_unset(), backend="slow"),
    software={"software.x": "1"},
)


def derive(**more):
    return FIRST.derive(version="0.0.2", table=NEXT, evidence="read", **more)


def test_the_next_release_keeps_what_nobody_retired():
    following = derive()
    assert following.version == "0.0.2"
    assert following.table is NEXT
    assert following.evidence == "read"
    assert following.rules == FIRST.rules
    assert following.resolutions == FIRST.resolutions
    assert following.modelled == FIRST.modelled
    assert following.software == {"software.x": "1"}


def test_the_first_release_stays_as_it_was():
    derive(
        retire=("DCP101", "DCP201"), add_rules=[rule("DCP102", flag.group.less_than(1))], software={"software.x": "2"}
    )
    assert set(FIRST.rules) == {"DCP101"}
    assert set(FIRST.resolutions) == {"DCP201"}
    assert FIRST.software == {"software.x": "1"}


def test_rules_and_resolutions_come_and_go():
    following = derive(
        retire=("DCP101", "DCP201"),
        add_rules=[rule("DCP102", flag.group.less_than(1))],
        add_resolutions=[resolution("DCP202", ALWAYS, backend="fast")],
        software={"software.y": "2"},
        results={"graph": None},
    )
    assert set(following.rules) == {"DCP102"}
    assert set(following.resolutions) == {"DCP202"}
    assert following.software == {"software.x": "1", "software.y": "2"}
    assert following.results == {"graph": None}


def test_a_duplicate_code_is_refused():
    with pytest.raises(CatalogError, match=r"0[.]0[.]2 adds DCP101, which exists already; retire it first"):
        derive(add_rules=[rule("DCP101", flag.group.less_than(1))])
    with pytest.raises(CatalogError, match="adds DCP201"):
        derive(add_resolutions=[resolution("DCP201", ALWAYS, backend="fast")])
    with pytest.raises(CatalogError, match="DCP102 is both one and other"):
        derive(
            add_rules=[
                rule("DCP102", flag.size.less_than(1), slug="one"),
                rule("DCP102", flag.size.less_than(2), slug="other"),
            ]
        )


@pytest.mark.parametrize("one", ["rule", "resolution"])
def test_a_code_is_not_shared_by_a_rule_and_a_resolution(one):
    added = {"add_rules": [rule("DCP201", flag.size.less_than(1))]} if one == "rule" else {
        "add_resolutions": [resolution("DCP101", ALWAYS, backend="fast")]
    }  # fmt: skip
    with pytest.raises(CatalogError, match="both a rule and a resolution"):
        derive(**added)


def test_a_retired_code_can_be_taken_by_its_successor():
    again = rule("DCP101", flag.size.less_than(2))
    assert derive(retire=("DCP101",), add_rules=[again]).rules == {"DCP101": again}


def test_an_unknown_retired_code_is_refused():
    with pytest.raises(CatalogError, match=r"0[.]0[.]2 retires DCP103, DCP999, which 0[.]0[.]1 does not have"):
        derive(retire=("DCP999", "DCP103", "DCP101"))


WIDTH = Derived("width", lambda n: n, (flag.width,))


@pytest.mark.parametrize("expr", [
    flag.width.less_than(1), resolved.width.is_set(), Given("width"), WIDTH.less_than(1), flag.size.less_than(WIDTH),
    ~(flag.size.less_than(1) & flag.width.is_set()),
], ids=lambda e: e.describe())  # fmt: skip
def test_a_rule_that_reads_an_undeclared_flag_is_refused(expr):
    message = "reads width, which SGLang 0.0.. does not have"
    with pytest.raises(CatalogError, match=message):
        derive(add_rules=[rule("DCP102", expr)])
    with pytest.raises(CatalogError, match=message):
        derive(add_rules=[rule("DCP102", flag.size.less_than(1), require=expr)])
    with pytest.raises(CatalogError, match=message):
        derive(add_resolutions=[resolution("DCP202", expr, backend="fast")])
    with pytest.raises(CatalogError, match=message):
        release(rule("DCP102", expr))


def test_a_resolution_that_copies_from_or_sets_an_undeclared_flag_is_refused():
    with pytest.raises(CatalogError, match="reads width"):
        derive(add_resolutions=[resolution("DCP202", ALWAYS, backend=resolved.width)])
    with pytest.raises(CatalogError, match=r"sets width, which SGLang 0[.]0[.]2 does not have"):
        derive(add_resolutions=[resolution("DCP202", ALWAYS, width=1)])


def test_a_flag_that_is_declared_can_be_read():
    spec = FlagSpec(dest="width", spellings=("--width",), type="int", default=1)
    wide = ModelledFlag(dest="width", group="Shape", help="How wide.", values=(1, 2))
    following = FIRST.derive(
        version="0.0.2",
        table=FlagTable("0.0.2", (*SPECS, spec)),
        evidence="read",
        modelled=[wide],
        add_rules=[rule("DCP102", WIDTH.less_than(1))],
    )
    assert following.modelled["width"] is wide
    assert following.rules["DCP102"].flags() == {"width"}


def test_a_result_can_be_read_and_set_though_no_flag_is_called_so():
    following = derive(
        results={"graph": "full"},
        add_rules=[rule("DCP102", resolved.graph.equals("full"))],
        add_resolutions=[resolution("DCP202", ALWAYS, graph="off")],
    )
    assert following.results == {"graph": "full"}


def test_a_step_can_be_read_only_where_something_sets_it():
    reads = rule("DCP102", step.width.equals(2))
    with pytest.raises(CatalogError, match=r"reads step[.]width, which nothing in SGLang 0[.]0[.]2 sets"):
        derive(add_rules=[reads])
    sets = resolution("DCP202", ALWAYS, **{"step.width": 2})
    assert derive(add_rules=[reads], add_resolutions=[sets]).rules["DCP102"] is reads


def test_facts_need_no_declaration():
    assert derive(add_rules=[rule("DCP102", model.anything.holds())]).rules["DCP102"].flags() == frozenset()


@pytest.mark.parametrize(
    "code", ["DCP1", "dcp101", "DCP0101", "DCPX01", "DCP1010", "DC1101", "DCP001", "", "DCP101\n", "DCP\uff1101"]
)
def test_a_malformed_code_is_refused(code):
    with pytest.raises(CatalogError, match="is no code"):
        by_code([rule(code, ALWAYS)])


def test_what_a_rule_reads():
    both = rule("DCP102", flag.size.less_than(1) & model.a.holds(), require=resolved.backend.equals("fast"))
    assert both.reads() == {"asked.size", "model.a", "resolved.backend"}
    assert both.flags() == {"size", "backend"}


def test_what_a_resolution_reads():
    copies = resolution("DCP202", flag.size.more_than(1), backend=resolved.copy)
    assert copies.reads() == {"asked.size", "resolved.copy"}
