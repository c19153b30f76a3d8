"""What every rule and resolution must carry: a source, words, a place in the order, ways out that exist."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest

from configurator.api import explain_error
from configurator.catalog import NEWEST, VERSIONS, lifetime
from configurator.core.engine import _PLACE
from configurator.core.errors import InputError
from configurator.core.expr import NEVER
from configurator.core.rule import Choose, Effect, Rule, Set, SetEnv, Stage, Unset

from .everything import DISTINCT, DISTINCT_RULES, RELEASES, RESOLUTIONS, RULES

ALL = RULES + RESOLUTIONS


def over(items):
    """Return a decorator that runs a check over all *items* in one test and tells of every one that fails.

    A test for each would be ten thousand.
    """

    def decorate(check):
        def run():
            complaints = []
            for version, rule in items:
                try:
                    check(version, rule)
                except AssertionError as error:
                    complaints.append(
                        f"{version} {rule.code} {rule.slug}: {str(error).splitlines()[0] if str(error) else 'fails'}"
                    )
            assert not complaints, "\n" + "\n".join(complaints)

        run.__name__ = check.__name__
        run.__doc__ = check.__doc__
        return run

    return decorate


SUBJECTS = {
    "DCP": "12", "ATT": "3", "HWR": "4", "KVC": "5", "PDD": "6", "SPC": "7", "MDL": "8", "REL": "9",
}  # fmt: skip


# --- codes and names ------------------------------------------------------------------------------------------------


@over(DISTINCT)
def test_codes_go_by_subject(version, rule):
    del version
    subject, hundred = rule.code[:3], rule.code[3]
    assert subject in SUBJECTS
    assert hundred in SUBJECTS[subject]


@over(DISTINCT)
def test_slugs_are_plain(version, rule):
    del version
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.slug)
    assert len(rule.slug) <= 48


@pytest.mark.parametrize("version", VERSIONS)
def test_within_a_release_a_name_means_one_thing(version):
    release = RELEASES[version]
    slugs = [item.slug for items in (release.rules, release.resolutions) for item in items.values()]
    assert sorted(slugs) == sorted(set(slugs))
    assert all(code == item.code for items in (release.rules, release.resolutions) for code, item in items.items())


def having():
    found = defaultdict(list)
    for version, item in ALL:
        found[item.code].append((version, item))
    return found


def test_a_code_means_the_same_in_every_release():
    for code, items in having().items():
        assert len({id(item) for _, item in items}) == 1, f"{code} is used for different things"


def test_a_retired_code_never_comes_back():
    for code, items in having().items():
        places = [VERSIONS.index(version) for version, _ in items]
        assert places == list(range(places[0], places[-1] + 1)), f"{code} was retired and reused"


def test_a_slug_lives_without_a_gap():
    alive = defaultdict(set)
    for version, item in ALL:
        alive[item.slug].add(VERSIONS.index(version))
    for slug, places in alive.items():
        assert sorted(places) == list(range(min(places), max(places) + 1)), (
            f"{slug} has a gap; lifetime() would hide it"
        )


def test_lifetime_is_the_first_and_last_release():
    for slug in {item.slug for _, item in ALL}:
        versions = [version for version, item in ALL if item.slug == slug]
        versions.sort(key=VERSIONS.index)
        last = None if versions[-1] == NEWEST else versions[-1]
        assert lifetime(slug) == (versions[0], last)


@pytest.mark.parametrize(("slug", "life"), [
    ("dcp-size-min", ("0.5.15", None)),
    ("dcp-cuda-no-spec", ("0.5.15", "0.5.16")),
    ("prefill-cuda-graph-off", ("0.5.16", None)),
    ("replicate-q-needs-a2a", ("0.5.17", None)),
    ("fi-a2a-fabric-init-old", ("0.5.17", "0.5.19")),
    ("fi-a2a-fabric-init", ("0.5.20", None)),
    ("comm-backend-auto-off", ("0.5.20", None)),
    ("dcp-no-prefill-cp", ("0.5.22", None)),
])  # fmt: skip
def test_lifetimes_that_are_known(slug, life):
    assert lifetime(slug) == life


def test_the_lifetime_of_nothing():
    with pytest.raises(InputError, match="No rule is called no-such-rule"):
        lifetime("no-such-rule")


# --- sources --------------------------------------------------------------------------------------------------------


@over(DISTINCT)
def test_every_claim_has_a_source(version, rule):
    del version
    source = rule.source
    assert re.fullmatch(r"sglang/[a-z0-9_/]+\.py", source.path)
    assert source.symbol.strip()
    assert source.line is None or source.line >= 1
    assert source.url is None or source.url.startswith("https://")


@over(DISTINCT)
def test_the_source_is_a_release_that_has_it(version, rule):
    del version
    versions = [v for v, item in ALL if item is rule]
    assert rule.source.release in versions


# --- words ----------------------------------------------------------------------------------------------------------


@over(DISTINCT)
def test_because_is_there_short_and_a_sentence(version, rule):
    del version
    because = rule.because
    assert because == because.strip()
    assert because.endswith((".", ")"))
    assert 10 <= len(because) <= 400
    assert "  " not in because


@over(DISTINCT_RULES)
def test_the_message_is_there_and_short(version, rule):
    del version
    assert rule.says == rule.says.strip()
    assert 10 <= len(rule.says) <= 320
    assert "  " not in rule.says


@over(RULES)
def test_the_message_shows_only_what_there_is(version, rule):
    release = RELEASES[version]
    known = set(release.modelled) | set(release.results)
    for place in _PLACE.findall(rule.says):
        space, _, name = place.partition(".")
        if place in rule.values:
            assert {
                k.partition(".")[2] for k in rule.values[place].reads() if k.startswith(("asked.", "resolved."))
            } <= known
        else:
            assert space in ("asked", "resolved", "model", "hardware", "software", "env"), place
            assert space not in ("asked", "resolved") or name in known, place


@over(DISTINCT)
def test_the_servers_own_message_is_a_fragment_to_search_for(version, rule):
    del version
    signature = rule.upstream_signature
    if isinstance(rule, Rule) and rule.effect is Effect.REFUSES and rule.stage is not Stage.CLI:
        assert signature, "what refuses says so"
    if signature is not None:
        assert signature == signature.lstrip()
        assert 8 <= len(signature) <= 100
        assert "\n" not in signature


@over([(version, rule) for version, rule in DISTINCT_RULES if rule.upstream_signature])
def test_the_servers_own_message_is_recognised(version, rule):
    del version
    log = f"Traceback (most recent call last):\n  ...\nValueError: {rule.upstream_signature} and so on"
    assert rule.slug in {explained.rule.slug for explained in explain_error(log)} or rule.code.startswith("REL")


# --- effects, stages, order -----------------------------------------------------------------------------------------

ARGUMENT_HANDLING = (Stage.CLI, Stage.SERVER_ARGS, Stage.MODEL_ARGS)


@over(DISTINCT_RULES)
def test_effect_and_stage_agree(version, rule):
    del version
    if rule.effect is Effect.REFUSES:
        assert rule.stage in ARGUMENT_HANDLING
    if rule.effect in (Effect.CRASHES, Effect.CORRUPTS):
        assert rule.stage in (Stage.INIT, Stage.RUNTIME)


@over(DISTINCT)
def test_the_place_in_the_order_is_given(version, rule):
    del version
    assert isinstance(rule.order, int)
    assert rule.order >= 0


@pytest.mark.parametrize("version", VERSIONS)
def test_more_ranks_than_gpus_is_found_at_start_up_never_by_argument_handling(version):
    (rule,) = (rule for rule in RELEASES[version].rules.values() if rule.slug == "ranks-exceed-gpus")
    assert (rule.effect, rule.stage) == (Effect.CRASHES, Stage.INIT)


# --- flags ----------------------------------------------------------------------------------------------------------


@over(RULES)
def test_a_rule_reads_flags_that_the_release_has(version, rule):
    release = RELEASES[version]
    assert rule.flags() <= set(release.table) | set(release.results)


@over(RESOLUTIONS)
def test_a_resolution_reads_and_sets_what_the_release_has(version, rule):
    release = RELEASES[version]
    known = set(release.table) | set(release.results)
    assert {k.partition(".")[2] for k in rule.reads() if k.startswith(("asked.", "resolved."))} <= known
    assert {dest for dest in rule.sets if not dest.startswith("step.")} <= known
    assert rule.when != NEVER
    assert rule.sets


@over(RULES)
def test_ways_out_use_flags_and_values_that_some_release_has(version, rule):
    release = RELEASES[version]
    for fix in rule.fixes:
        match fix:
            case Set(dest, value):
                if dest in release.table:
                    choices = release.table[dest].choices
                    assert choices is None or value in choices, f"--{dest} does not take {value} in {version}"
                assert any(dest in r.table for r in RELEASES.values())
                assert dest in release.modelled or dest not in release.table
            case Unset(dest) | Choose(dest):
                assert any(dest in r.table for r in RELEASES.values())
                assert dest in release.modelled or dest not in release.table
            case SetEnv(name, value):
                assert re.fullmatch(r"[A-Z][A-Z0-9_]+", name)
                assert value


@over(RULES)
def test_a_variable_that_is_a_way_out_is_read(version, rule):
    del version
    for fix in rule.fixes:
        if isinstance(fix, SetEnv):
            assert f"env.{fix.name}" in rule.reads()


@pytest.mark.parametrize("version", VERSIONS)
def test_modelled_flags_are_flags_with_words_and_offers(version):
    release = RELEASES[version]
    for dest, modelled in release.modelled.items():
        assert modelled.dest == dest
        assert dest in release.table, f"--{dest} is modelled, and {version} does not have it"
        assert modelled.group
        assert modelled.help.endswith(".")
        assert len(modelled.help) <= 240
        spec = release.table[dest]
        kinds = {"int": int, "human_int": int, "float": (int, float), "bool": bool}
        for value in modelled.values:
            assert isinstance(value, kinds.get(spec.type, str)), (dest, value)
        if spec.choices is not None and modelled.values:
            assert set(modelled.values) & set(spec.choices)
        if not modelled.auto and modelled.shown:
            assert spec.default is not None, (
                f"--{dest} is shown without a default and without a name for leaving it out"
            )
        assert all(cost > 0 for cost in (modelled.change_cost, modelled.unset_cost, *modelled.value_costs.values()))


@pytest.mark.parametrize("version", VERSIONS)
def test_giving_up_dcp_costs_most(version):
    release = RELEASES[version]
    dcp = release.modelled["dcp_size"]
    off = dcp.change_cost + dcp.value_costs[1]
    others = [m for m in release.modelled.values() if m.dest != "dcp_size"]
    dearest = max(
        max(m.change_cost + max(m.value_costs.values(), default=0) + m.not_preferred, m.unset_cost) for m in others
    )
    assert off >= 3 * dearest
    assert dcp.unset_cost >= off
