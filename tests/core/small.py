"""A release of a few flags, to ask the engine about one thing at a time."""

from __future__ import annotations

from configurator.core.configuration import Configuration
from configurator.core.engine import Case
from configurator.core.expr import NEVER, Term
from configurator.core.flag import FlagSpec, FlagTable
from configurator.core.release import ModelledFlag, Release, by_code
from configurator.core.rule import Effect, Resolution, Rule, Source, Stage

SOURCE = Source(path="sglang/srt/server_args.py", symbol="ServerArgs", release="0.0.1")

SPECS = (
    FlagSpec(dest="size", spellings=("--size",), type="int", default=1),
    FlagSpec(dest="group", spellings=("--group",), type="int", default=1),
    FlagSpec(dest="backend", spellings=("--backend",), choices=("slow", "fast", "new")),
    FlagSpec(dest="copy", spellings=("--copy",), type="bool", action="boolean", nargs="0"),
    FlagSpec(dest="switch", spellings=("--switch",), type="bool", action="true", nargs="0", default=False),
    FlagSpec(dest="dcp_size", spellings=("--dcp-size",), type="int", default=1),
)


def _modelled(dest, **more):
    return ModelledFlag(dest=dest, group="Shape", help="One of a few.", **more)


MODELLED = (
    _modelled("size", values=(1, 2, 4, 8), change_cost=1.0),
    _modelled("group", values=(1, 2, 4), change_cost=3.0, value_costs={1: 4.0}),
    _modelled("backend", auto="auto", change_cost=1.0, unset_cost=1.25),
    _modelled("copy", values=(True, False), auto="auto", change_cost=2.0, unset_cost=2.0),
    _modelled("switch", change_cost=5.0, unset_cost=4.0),
    _modelled("dcp_size", values=(1, 2, 4), change_cost=3.0, unset_cost=100.0, value_costs={1: 97.0}),
)


def rule(code, when, require=NEVER, effect=Effect.REFUSES, stage=Stage.SERVER_ARGS, order=100, **more):
    """Return a rule; its slug follows from its code."""
    more.setdefault("says", f"{code} says so.")
    more.setdefault("because", "It is so.")
    return Rule(
        code=code,
        slug=more.pop("slug", code.lower()),
        effect=effect,
        stage=stage,
        order=order,
        when=when,
        require=require,
        source=SOURCE,
        **more,
    )


def resolution(code, when, order=100, slug=None, **sets):
    """Return a resolution that sets *sets*."""
    return Resolution(code=code, slug=slug or code.lower(), order=order, when=when, sets=sets, source=SOURCE)


def release(*items, results=None, software=None, specs=SPECS, modelled=MODELLED):
    """Return a release with the rules and resolutions among *items*."""
    return Release(
        version="0.0.1",
        table=FlagTable("0.0.1", specs),
        modelled={flag.dest: flag for flag in modelled},
        rules=by_code(item for item in items if isinstance(item, Rule)),
        resolutions=by_code(item for item in items if isinstance(item, Resolution)),
        evidence="made up",
        results=results or {},
        software=software or {},
    )


def case(items, facts=None, unread=None, env=None, **flags):
    """Return a case for a configuration of *flags* on a release of *items* (or on a release)."""
    made = items if isinstance(items, Release) else release(*items)
    return Case(made, Configuration(flags, env or {}), facts or {}, unread or {})


def codes(findings):
    """Return the codes of findings, in order."""
    return [finding.rule.code for finding in findings]


MODEL_A = Term("model.a")
