"""Made-up releases and commands, small enough to try every configuration of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from hypothesis import strategies as st

from configurator.core.availability import AUTO, change_to, choices, chosen
from configurator.core.configuration import Change, Configuration
from configurator.core.engine import Case, engine_for
from configurator.core.expr import NEVER, And, Derived, Given, Not, Or, Term, environment, flag, model
from configurator.core.repair import step_cost
from configurator.core.rule import Choose, Effect, Set, SetEnv, Stage, Unset
from configurator.core.unknown import Unknown

from .small import MODELLED, SPECS, release, resolution, rule

OFFERED = {"size": (1, 2, 4, 8), "group": (1, 2, 4), "backend": ("slow", "fast", "new"), "copy": (True, False), "switch": (True,),
           "dcp_size": (1, 2, 4)}  # fmt: skip
TWICE = Derived("twice the group", lambda group: 2 * group, (flag.group,))
DESTS = sorted(OFFERED)


@st.composite
def comparisons(draw):
    """A leaf: about a flag as asked or resolved, a fact, or an environment variable."""
    kind = draw(st.sampled_from(["flag", "flag", "flag", "flag", "two", "fact", "given", "env"]))
    if kind == "fact":
        return draw(st.sampled_from([model.a, model.b])).holds()
    if kind == "given":
        return Given(draw(st.sampled_from(DESTS)))
    if kind == "env":
        return environment.SGLANG_X.equals("1")
    if kind == "two":
        return draw(
            st.sampled_from(
                [flag.dcp_size.divides(flag.size), flag.group.divides(flag.size), flag.size.less_than(TWICE)]
            )
        )
    dest = draw(st.sampled_from(DESTS))
    term = Term(draw(st.sampled_from([f"asked.{dest}", f"resolved.{dest}"])))
    if draw(st.booleans()) and dest in ("size", "group", "dcp_size"):
        return term.more_than(draw(st.sampled_from((1, 2))))
    return term.is_in(*draw(st.lists(st.sampled_from((None, *OFFERED[dest])), min_size=1, max_size=2)))


expressions = st.recursive(
    comparisons(),
    lambda e: st.one_of(st.builds(And, st.tuples(e, e)), st.builds(Or, st.tuples(e, e)), st.builds(Not, e)),
    max_leaves=4,
)
fixes = st.one_of(
    st.builds(Choose, st.sampled_from(DESTS)),
    st.builds(Unset, st.sampled_from(DESTS)),
    st.sampled_from(DESTS).flatmap(lambda d: st.builds(Set, st.just(d), st.sampled_from(OFFERED[d]))),
    st.just(SetEnv("SGLANG_X", "1")),
)


@st.composite
def releases(draw):
    """A release of up to five rules, most of which break, and up to three resolutions."""
    made = []
    for i in range(draw(st.integers(1, 5))):
        effect = draw(st.sampled_from(["refuses", "crashes", "corrupts", "refuses", "slows", "unverified"]))
        made.append(
            rule(
                f"DCP{101 + i}",
                draw(expressions),
                require=draw(st.one_of(st.just(NEVER), expressions)),
                effect=Effect(effect),
                stage=draw(st.sampled_from(list(Stage))),
                order=draw(st.integers(1, 3)),
                fixes=tuple(draw(st.lists(fixes, max_size=2))),
            )
        )
    for i in range(draw(st.integers(0, 3))):
        dest = draw(st.sampled_from(["backend", "backend", "copy", "size"]))
        value = draw(st.sampled_from(OFFERED[dest]))
        made.append(resolution(f"ATT{301 + i}", draw(expressions), order=i, **{dest: value}))
    return release(*made, specs=SPECS, modelled=MODELLED)


@st.composite
def cases(draw, *, with_unread=True):
    """A command on a made-up release: some flags given, some facts known, perhaps a flag that only the shell knows."""
    flags = {dest: draw(st.sampled_from(OFFERED[dest])) for dest in draw(st.lists(st.sampled_from(DESTS), unique=True))}
    facts = {f"model.{name}": fact for name in "ab" if (fact := draw(st.sampled_from([True, False, None]))) is not None}
    unread = {}
    if with_unread and draw(st.integers(0, 4)) == 0:
        dest = draw(st.sampled_from(DESTS))
        flags.pop(dest, None)
        unread[dest] = Unknown(f"${dest.upper()} is known to the shell only")
    return Case(draw(releases()), Configuration(flags), facts, unread)


def after(case: Case, change: Change) -> Case:
    """Return *case* with *change* made: what the change speaks of is no longer known to the shell only."""
    unread = {d: u for d, u in case.unread.items() if d not in change.set and d not in change.unset}
    return Case(case.release, case.configuration.replace(change), case.facts, unread)


def every_change(case: Case, fixed: frozenset[str] = frozenset()) -> Iterator[tuple[Change, float]]:
    """Yield every change there is, with its cost: every choice of every flag, apart from those *fixed*.

    Nothing is left out by cleverness, which makes this the yardstick for the search that does.
    """
    engine = engine_for(case.release)
    per_flag = []
    for dest in case.release.modelled:
        if dest in fixed:
            continue
        steps = [(Change(), 0.0)]
        now = None if dest in case.unread else chosen(engine, dest, case.configuration)
        offered = list(choices(engine, dest, case.configuration))
        if dest in case.configuration and AUTO not in offered and case.release.table[dest].default not in offered:
            offered.append(AUTO)
        others = (c for c in offered if not (c == now and type(c) is type(now)))
        steps.extend((change_to(engine, dest, c), step_cost(engine, case, dest, c)) for c in others)
        per_flag.append(steps)
    variables = sorted(
        {(fix.name, fix.value) for r in case.release.rules.values() for fix in r.fixes if isinstance(fix, SetEnv)}
    )
    for name, value in variables:
        per_flag.append([(Change(), 0.0), (Change(env={name: value}), 1.0)])
    for combination in product(*per_flag):
        whole = Change()
        for change, _ in combination:
            whole = whole.then(change)
        yield whole, sum(cost for _, cost in combination)
