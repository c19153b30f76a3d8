"""What is said where a fact is missing: nothing that the user did not give, and no more findings than can apply."""

from __future__ import annotations

import re

import pytest

from configurator import check
from configurator.catalog import NEWEST
from configurator.core.engine import Case
from configurator.core.engine import check as check_case
from configurator.core.missing import has_words, why_missing
from configurator.core.rule import Example

from .everything import DISTINCT_RULES, RELEASES, RESOLUTIONS, RULES, ask, found

FACTS = sorted(
    {
        key
        for _, item in (*RULES, *RESOLUTIONS)
        for key in item.reads()
        if key.startswith(("model.", "hardware.", "software."))
    }
)


@pytest.mark.parametrize("key", FACTS)
def test_every_fact_that_a_rule_reads_has_words_of_its_own_for_when_it_is_missing(key):
    assert has_words(key)
    text = why_missing(key)
    assert not text.endswith(".")
    assert "_" not in text
    assert "does not tell its" not in text


COMMANDS = (
    "--tp-size 8",
    "--tp-size 8 --dcp-size 4",
    "--tp-size 8 --dcp-size 4 --dcp-comm-backend a2a --dcp-replicate-q-proj",
    "--tp-size 8 --dcp-size 4 --speculative-algorithm EAGLE",
    "--tp-size 8 --dcp-size 2 --page-size 64",
)
NOBODY_GAVE = re.compile(
    r"^(?:--kv-cache-dtype|--prefill-attention-backend|--attn-cp-size|--enable-\S+|trtllm|tilelang|cutedsl|flashmla) "
)


def unknown_model(argv: str, hardware: str, version: str):
    return check(f"--model-path nobody/knows-it {argv}", release=version, hardware=hardware)


@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize("hardware", ["h200x8", "b200x8", "a100x8", "mi300x8"])
def test_for_a_model_of_which_nothing_is_known_only_what_the_command_can_lead_to_is_left_open(hardware, version):
    for argv in COMMANDS:
        found = unknown_model(argv, hardware, version)
        undecided = [f for f in found.findings if not f.certain]
        assert len(undecided) <= 8, [f.message for f in undecided]
        for finding in undecided:
            assert not NOBODY_GAVE.match(finding.message), finding.message
            assert not re.search(r"\bis (?:chosen|combined)\b|\bunknown\b", finding.message), finding.message
            named = set(re.findall(r"--[a-z][a-z0-9-]+", finding.message))
            allowed = set(re.findall(r"--[a-z-]+", argv)) | {"--attention-backend"}
            assert named <= allowed, finding.message


def test_an_unknown_model_on_hopper_leaves_a_handful_open():
    undecided = [f for f in unknown_model("--tp-size 8 --dcp-size 4", "h200x8", NEWEST).findings if not f.certain]
    assert 1 <= len(undecided) <= 5
    assert {"attn-backend-without-dcp", "gqa-kv-layout"} <= {f.rule.slug for f in undecided}


@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize("hardware", ["h200x8", "b200x8", "a100x8", "mi300x8", "max1550x8", "ascend910bx8", "cpu"])
def test_dcp_for_an_unknown_model_is_never_called_fine(hardware, version):
    for backend in ("", "--attention-backend flashinfer", "--attention-backend triton", "--attention-backend fa3"):
        assert unknown_model(f"--tp-size 8 --dcp-size 4 {backend}", hardware, version).verdict in ("unknown", "error")


def test_a_machine_of_unknown_kind_is_told_of_once():
    release = RELEASES[NEWEST]
    model = ask(NEWEST, Example(argv="--tp-size 8 --dcp-size 4 --attention-backend flashinfer"))
    facts = {key: value for key, value in model.case.facts.items() if not key.startswith("hardware.")}
    report = check_case(Case(release, model.configuration, facts))
    assert report.verdict == "unknown"
    assert not [
        f.message for f in report.findings if re.search("Intel XPU|Ascend", f.message) and f.rule.code != "HWR404"
    ]


def test_what_is_known_in_part_is_not_left_out():
    report = check_case(
        Case(
            RELEASES[NEWEST],
            ask(NEWEST, Example(argv="--tp-size 8 --dcp-size 4")).configuration,
            {"model.attention_kind": "gqa", "model.is_mla": False, "hardware.platform": "cuda", "hardware.sm": 100},
        )
    )
    assert {"hyv4-no-dcp", "iquest-no-cp"} <= {f.rule.slug for f in report.findings if not f.certain}


# --- what a message says of the backend ------------------------------------------------------------------------------

CHOSEN = [
    ("--tp-size 8 --dcp-size 4", "h100x8", "ATT306", "--attention-backend is not given and becomes fa3, which has no"),
    (
        "--tp-size 8 --dcp-size 4 --attention-backend fa3",
        "h100x8",
        "ATT306",
        "--attention-backend fa3 has no DCP decode",
    ),
    (
        "--tp-size 8 --dcp-size 4 --decode-attention-backend flashmla",
        "h100x8",
        "ATT306",
        "--decode-attention-backend flashmla has no DCP decode path for MLA models",
    ),
    (
        "--tp-size 8 --attention-backend tokenspeed_mla",
        "h100x8",
        "ATT311",
        "--attention-backend tokenspeed_mla becomes cutedsl_mla, which needs a data-centre Blackwell GPU",
    ),
    (
        "--tp-size 8 --attention-backend trtllm_mla",
        "h100x8",
        "ATT310",
        "--attention-backend trtllm_mla needs a Blackwell",
    ),
]


@pytest.mark.parametrize(("argv", "hardware", "code", "beginning"), CHOSEN)
def test_a_message_tells_what_was_given_from_what_it_becomes(argv, hardware, code, beginning):
    (finding,) = found(ask(NEWEST, Example(argv=argv, hardware=hardware)), code)
    assert finding.message.startswith(beginning)


def test_no_reason_repeats_the_releases_that_are_shown_beside_it():
    for _, rule in RULES:
        assert not re.search(r"Holds from", rule.because), rule.code


VAGUE = re.compile(
    r"\b(?:is|are) (?:combined|chosen|given (?:for|with|on|without)|in use with)\b|runs on \{[a-z.]*\}\.$"
)


@pytest.mark.parametrize("rule", [rule for _, rule in DISTINCT_RULES], ids=[rule.code for _, rule in DISTINCT_RULES])
def test_a_message_says_what_is_wrong_and_not_only_what_was_given(rule):
    assert not VAGUE.search(rule.says), rule.says


def test_a_message_names_the_users_own_value_and_not_the_examples():
    """A rule about any value of a flag does not name the one that its example has."""
    told = ask("0.5.17", Example(argv="--tp-size 8 --enable-unified-memory --speculative-algorithm NGRAM"))
    (finding,) = found(told, "KVC508")
    assert "NGRAM" in finding.message
    assert "EAGLE" not in finding.message
