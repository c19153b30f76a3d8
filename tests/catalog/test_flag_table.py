"""The flag tables of nine releases: types, choices, prefixes, and what came and went."""

from __future__ import annotations

import json
import re
from collections import defaultdict

import pytest

from configurator.catalog import NEWEST, VERSIONS
from configurator.catalog.flag_table import _FILE, flag_history, flag_table, known_releases
from configurator.core.errors import InputError

every_release = pytest.mark.parametrize("version", VERSIONS)


def test_the_releases_are_those_whose_rules_are_written_down():
    assert known_releases() == VERSIONS


@pytest.mark.parametrize("version", ["0.5.14", "0.5.24", "", "v0.5.23", "0.5"])
def test_another_release_is_refused(version):
    with pytest.raises(InputError, match=f"The flags of SGLang {version} are not known") as error:
        flag_table(version)
    assert error.value.part == version


@every_release
def test_a_table_is_read_once(version):
    assert flag_table(version) is flag_table(version)
    assert flag_table(version).release == version


@every_release
def test_every_flag_is_well_formed(version):
    for dest, flag in flag_table(version).items():
        assert re.fullmatch(r"[a-z][a-z0-9_]*", dest)
        assert flag.spellings
        assert all(re.fullmatch(r"--[a-z0-9][a-zA-Z0-9_.-]*|-h", spelling) for spelling in flag.spellings), (
            flag.spellings
        )
        assert flag.type in {"int", "float", "str", "bool", "json", "human_int", "nullable_str"}
        assert flag.action in {"store", "true", "false", "boolean", "append", "help", "other"}
        assert flag.nargs in {None, "?", "*", "+", "0"} or flag.nargs.isdigit()
        assert (flag.nargs == "0") == (flag.action in ("true", "false", "boolean", "help"))
        assert (flag.type == "bool") == (flag.action in ("true", "false", "boolean")), dest
        assert flag.choices is None or flag.choices


@every_release
def test_every_default_has_the_type_of_its_flag(version):
    kinds = {
        "int": int,
        "human_int": int,
        "float": (int, float),
        "bool": bool,
        "str": str,
        "json": str,
        "nullable_str": str,
    }
    for dest, flag in flag_table(version).items():
        values = flag.default if isinstance(flag.default, tuple) else (flag.default,)
        for value in values:
            if value is not None:
                assert isinstance(value, kinds[flag.type]), (dest, value)
                assert not (isinstance(value, bool) and flag.type != "bool"), (dest, value)
                assert flag.choices is None or value in flag.choices, (dest, value)
        if flag.action == "true":
            assert flag.default is False, dest


@every_release
def test_no_two_flags_share_an_option_string(version):
    table = flag_table(version)
    owner = defaultdict(set)
    for flag in table.values():
        for spelling in (*flag.spellings, *([flag.negative] if flag.negative else [])):
            owner[spelling].add(flag.dest)
    assert {spelling for spelling, dests in owner.items() if len(dests) > 1} == set()
    assert set(owner) == set(table.spellings)


@every_release
def test_no_help_text_of_upstreams_is_kept(version):
    assert all(not flag.deprecated or len(flag.deprecated) < 80 for flag in flag_table(version).values())
    for entry in json.loads(_FILE.read_text(encoding="utf-8"))["flags"]:
        assert set(entry) <= {"in", "dest", "spellings", "type", "choices", "default", "nargs", "action", "replaced"}


def test_an_entry_covers_a_range_of_releases_and_no_two_of_one_flag_overlap():
    covered = defaultdict(list)
    for entry in json.loads(_FILE.read_text(encoding="utf-8"))["flags"]:
        first, last = (VERSIONS.index(version) for version in entry["in"])
        assert first <= last
        covered[entry["dest"]].extend(range(first, last + 1))
    for dest, places in covered.items():
        assert len(places) == len(set(places)), f"{dest} is described twice in one release"


# --- flags that matter here -----------------------------------------------------------------------------------------


@every_release
def test_dcp_size(version):
    flag = flag_table(version)["dcp_size"]
    assert flag.spellings == ("--dcp-size", "--decode-context-parallel-size")
    assert (flag.type, flag.default, flag.choices) == ("int", 1, None)


@pytest.mark.parametrize(("version", "default"), [("0.5.17", "ag_rs"), ("0.5.18", "ag_rs"), ("0.5.19", "ag_rs"), ("0.5.20", None),
                                                  ("0.5.21", None), ("0.5.22", None), ("0.5.23", None)])  # fmt: skip
def test_dcp_comm_backend_is_chosen_by_hardware_from_0_5_20(version, default):
    flag = flag_table(version)["dcp_comm_backend"]
    assert flag.choices == ("ag_rs", "a2a", "fi_a2a")
    assert flag.default == default


def test_backend_and_replicated_q_appear_in_0_5_17():
    for dest in ("dcp_comm_backend", "dcp_replicate_q_proj"):
        assert [version for version in VERSIONS if dest in flag_table(version)] == list(VERSIONS[2:])


@pytest.mark.parametrize("version", VERSIONS[2:])
def test_dcp_replicate_q_proj_is_a_pair_with_nothing_said_for_a_third(version):
    flag = flag_table(version)["dcp_replicate_q_proj"]
    assert (flag.action, flag.default, flag.takes_value) == ("boolean", None, False)
    assert flag.negative == "--no-dcp-replicate-q-proj"


@every_release
def test_the_shape_of_a_server(version):
    table = flag_table(version)
    for dest, spelling in (
        ("tp_size", "--tensor-parallel-size"),
        ("pp_size", "--pipeline-parallel-size"),
        ("dp_size", "--data-parallel-size"),
    ):
        assert table.spellings[spelling].dest == dest
        assert (table[dest].type, table[dest].default) == ("int", 1)
    assert (table["nnodes"].type, table["nnodes"].default) == ("int", 1)
    assert table["enable_dp_attention"].action == "true"


@every_release
def test_attention_backends(version):
    table = flag_table(version)
    backends = table["attention_backend"].choices
    assert {
        "flashinfer",
        "triton",
        "fa3",
        "trtllm_mla",
        "cutedsl_mla",
        "flashmla",
        "aiter",
        "ascend",
        "intel_xpu",
    } <= set(backends)
    assert table["decode_attention_backend"].choices == table["prefill_attention_backend"].choices == backends
    assert table["attention_backend"].default is None


# --- abbreviations --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_prefixes_as_argparse_takes_them(version):
    table = flag_table(version)
    with_backend = version not in VERSIONS[:2]
    assert table.completions("--dcp-s") == ("--dcp-size",)
    assert table.completions("--dcp") == (
        ("--dcp-comm-backend", "--dcp-replicate-q-proj", "--dcp-size") if with_backend else ("--dcp-size",)
    )
    assert table.completions("--no-dcp") == (("--no-dcp-replicate-q-proj",) if with_backend else ())
    assert table.completions("--decode-c") == ("--decode-context-parallel-size",)
    assert table.completions("--tp") == ("--tp-size",)
    assert table.completions("--t") != ()
    assert table.completions("--tensor-par") == ("--tensor-parallel-size",)
    assert table.completions("--attention-b") == ("--attention-backend",)
    assert table.completions("--attention-backend") == ("--attention-backend",)
    assert len(table.completions("--disaggregation")) > 3
    assert table.completions("--nothing-like-it") == ()


@every_release
def test_every_option_string_completes_to_itself_and_is_among_its_prefixes(version):
    table = flag_table(version)
    for spelling in table.spellings:
        assert table.completions(spelling) == (spelling,)
        if spelling.startswith("--") and spelling[:-1] not in table.spellings and len(spelling) > 3:
            assert spelling in table.completions(spelling[:-1])


# --- history --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("spelling", "history"), [
    ("--dcp-comm-backend", "it appears in 0.5.17"),
    ("--no-dcp-replicate-q-proj", "it appears in 0.5.17"),
    ("--dcp-size", None),
    ("--cuda-graph-max-bs", "0.5.19 is the last release with it"),
    ("--no-such-flag", None),
])  # fmt: skip
def test_what_became_of_an_option(spelling, history):
    assert flag_history(spelling) == history


def test_an_option_that_came_and_went_has_both_told():
    both = [
        s
        for v in VERSIONS
        for s in flag_table(v).spellings
        if s not in flag_table("0.5.15").spellings and s not in flag_table(NEWEST).spellings
    ]
    for spelling in both:
        assert re.fullmatch(
            r"it appears in 0\.5\.\d+ and 0\.5\.\d+ is the last release with it", flag_history(spelling)
        )


def test_what_was_replaced_says_by_what():
    table = flag_table("0.5.19")
    assert table["collect_tokens_histogram"].deprecated == "use --enable-metrics"
    assert table["tp_size"].deprecated is None
