"""What the front ends say: verdicts as sentences, changes as labels, where a claim is known from."""

from __future__ import annotations

from dataclasses import replace

import pytest

from configurator.core.configuration import Change
from configurator.core.engine import check
from configurator.core.expr import ALWAYS, Term
from configurator.core.flag import FlagSpec, FlagTable
from configurator.core.release import Release, by_code
from configurator.core.rule import Basis, Effect, Rule, Source, Stage
from configurator.hardware import load_hardware
from configurator.launch.parse import parse
from configurator.words import (
    describe_change,
    effect_title,
    finding_line,
    known_from,
    verdict_detail,
    verdict_sentence,
)
from configurator.workspace import ModelChoice, Workspace

TABLE = FlagTable(
    "0.5.23",
    [
        FlagSpec(dest="tp_size", spellings=("--tp-size", "--tp"), type="int", default=1),
        FlagSpec(dest="dcp_comm_backend", spellings=("--dcp-comm-backend",)),
        FlagSpec(
            dest="dcp_replicate_q_proj", spellings=("--dcp-replicate-q-proj",), type="bool", action="boolean", nargs="0"
        ),
        FlagSpec(
            dest="enable_dp_attention",
            spellings=("--enable-dp-attention",),
            type="bool",
            action="true",
            nargs="0",
            default=False,
        ),
        FlagSpec(dest="radix", spellings=("--disable-radix",), type="bool", action="false", nargs="0", default=True),
        FlagSpec(dest="lora_paths", spellings=("--lora-paths",), nargs="+"),
    ],
)
CERTAIN, PERHAPS = ALWAYS, Term("model.nobody_knows").holds()


def rule(number, effect, *, when=CERTAIN, stage=Stage.SERVER_ARGS, basis=Basis.SOURCE, says=None, order=None):
    return Rule(
        code=f"DCP{number}",
        slug=f"rule-{number}",
        effect=effect,
        stage=stage,
        order=number if order is None else order,
        when=when,
        says=says or f"Message {number}.",
        because="It is so.",
        source=Source(path="sglang/srt/server_args.py", symbol="ServerArgs", release="0.5.23", basis=basis),
    )


def workspace(*rules, text="python -m sglang.launch_server --tp-size 8"):
    release = Release(
        version="0.5.23", table=TABLE, modelled={}, rules=by_code(rules), resolutions={}, evidence="made up"
    )
    return Workspace(release, load_hardware("h100x8"), ModelChoice("a-model"), parse(text, TABLE))


# --- the verdict in one sentence ------------------------------------------------------------------------------------


def test_nothing_found():
    found = workspace()
    assert verdict_sentence(found) == "No rule of SGLang 0.5.23 stands against this command."
    assert verdict_detail(found) == f"0 rules of this release were tested, for {found.hardware.label} and a-model."


def test_no_command():
    assert verdict_sentence(workspace(text="ls -l")) == "This is no SGLang launch command."


HAPPENS = [
    (Effect.REFUSES, Stage.CLI, "would refuse this command at its command line"),
    (Effect.REFUSES, Stage.SERVER_ARGS, "would refuse this command at start"),
    (Effect.REFUSES, Stage.MODEL_ARGS, "would refuse this command at start"),
    (Effect.CRASHES, Stage.INIT, "would start and then crash while the model is loaded"),
    (Effect.CRASHES, Stage.RUNTIME, "would start and then crash at the first requests"),
    (Effect.CORRUPTS, Stage.RUNTIME, "would run and give wrong output"),
]


@pytest.mark.parametrize(("effect", "stage", "happens"), HAPPENS, ids=[f"{e.value}-{s.value}" for e, s, _ in HAPPENS])
def test_an_error_says_what_happens_and_when(effect, stage, happens):
    assert verdict_sentence(workspace(rule(101, effect, stage=stage))) == f"SGLang 0.5.23 {happens}: message 101."


@pytest.mark.parametrize("effect", list(Effect), ids=lambda e: e.value)
def test_every_effect_has_a_sentence_a_title_and_a_line(effect):
    found = workspace(rule(101, effect, stage=Stage.RUNTIME))
    assert verdict_sentence(found).endswith(": message 101.")
    assert effect_title(effect)
    assert finding_line(found.report.findings[0]) == f"{effect.value} DCP101 Message 101."


def test_an_error_speaks_of_what_certainly_happens_though_something_worse_may():
    found = workspace(
        rule(101, Effect.REFUSES, when=PERHAPS), rule(102, Effect.CRASHES, stage=Stage.INIT, basis=Basis.REPORTED)
    )
    assert [f.rule.code for f in found.report.findings] == ["DCP101", "DCP102"]
    assert verdict_sentence(found) == "SGLang 0.5.23 would start and then crash while the model is loaded: message 102."
    assert verdict_detail(found) == "Known from a public report."


def test_unknown_says_what_is_missing():
    found = workspace(rule(101, Effect.REFUSES, when=PERHAPS), rule(102, Effect.SLOWS))
    assert verdict_sentence(found) == (
        "It cannot be decided here whether SGLang 0.5.23 runs this: the model does not tell its nobody knows."
    )
    assert verdict_detail(found) == "Nothing surely stops it; of 1 finding it is not known whether it holds."
    two = workspace(rule(101, Effect.REFUSES, when=PERHAPS), rule(102, Effect.CRASHES, when=PERHAPS))
    assert verdict_detail(two) == "Nothing surely stops it; of 2 findings it is not known whether they hold."


def test_a_warning_counts_what_holds():
    one = workspace(rule(101, Effect.SLOWS))
    assert verdict_sentence(one) == "SGLang 0.5.23 would run this; 1 thing to know: message 101."
    two = workspace(rule(101, Effect.IGNORES, when=PERHAPS), rule(102, Effect.REWRITES), rule(103, Effect.SLOWS))
    assert verdict_sentence(two) == "SGLang 0.5.23 would run this; 2 things to know: message 102."


@pytest.mark.parametrize(("says", "goes_on"), [
    ("The flag is off.", "the flag is off."), ("--tp-size 8 is odd.", "--tp-size 8 is odd."), ("MLA needs it.", "MLA needs it."),
    ("fa3 has none.", "fa3 has none."), ("8 ranks.", "8 ranks."), ("", ""),
])  # fmt: skip
def test_a_message_goes_on_in_the_sentence(says, goes_on):
    made = workspace(replace(rule(101, Effect.SLOWS), says=says))
    assert verdict_sentence(made) == f"SGLang 0.5.23 would run this; 1 thing to know: {goes_on}"


# --- and where it is known from -------------------------------------------------------------------------------------


@pytest.mark.parametrize("basis", list(Basis), ids=lambda b: b.value)
def test_every_basis_is_said(basis):
    said = known_from(rule(101, Effect.REFUSES, basis=basis))
    assert said.startswith("Known from ")
    assert said.endswith(".")
    assert verdict_detail(workspace(rule(101, Effect.REFUSES, basis=basis))) == said


def test_bases_are_told_apart():
    assert len({known_from(rule(101, Effect.REFUSES, basis=basis)) for basis in Basis}) == len(Basis)


@pytest.mark.parametrize(
    ("more", "text"),
    [(0, ""), (1, " 1 more finding would stop it later."), (2, " 2 more findings would stop it later.")],
)
def test_what_else_would_stop_it_is_counted(more, text):
    rules = [rule(101 + i, Effect.REFUSES) for i in range(more + 1)]
    undecided_and_mild = (rule(201, Effect.CRASHES, when=PERHAPS), rule(202, Effect.SLOWS))
    assert verdict_detail(workspace(*rules, *undecided_and_mild)) == "Known from reading the release's source." + text


# --- findings and changes -------------------------------------------------------------------------------------------


def test_an_undecided_finding_says_so():
    (finding,) = check(workspace(rule(101, Effect.CRASHES, when=PERHAPS)).case).findings
    assert finding_line(finding) == "crashes DCP101 Message 101. (undecided: the model does not tell its nobody knows)"


CHANGES = [
    (Change({"dcp_comm_backend": "a2a"}), "Use --dcp-comm-backend a2a"),
    (Change({"tp_size": 8}), "Use --tp-size 8"),
    (Change({"dcp_replicate_q_proj": True}), "Add --dcp-replicate-q-proj"),
    (Change({"dcp_replicate_q_proj": False}), "Use --no-dcp-replicate-q-proj"),
    (Change({"enable_dp_attention": True}), "Add --enable-dp-attention"),
    (Change({"radix": False}), "Add --disable-radix"),
    (Change({"lora_paths": ("a", "b")}), "Use --lora-paths a b"),
    (Change(unset=frozenset({"tp_size"})), "Drop --tp-size"),
    (Change(unset=frozenset({"tp_size", "dcp_comm_backend"})), "Drop --dcp-comm-backend, drop --tp-size"),
    (Change(unset=frozenset({"--no-such-flag"})), "Drop --no-such-flag"),
    (Change(unset=frozenset({"gone_flag"})), "Drop the word gone_flag"),
    (Change(env={"SGLANG_X": "1"}), "Run with SGLANG_X=1"),
    (Change({"tp_size": 4}, frozenset({"dcp_comm_backend"}), {"X": "1"}), "Use --tp-size 4, drop --dcp-comm-backend, run with X=1"),
    (Change(), "Change nothing"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "words"), CHANGES, ids=[words for _, words in CHANGES])
def test_a_change_as_a_label(change, words):
    assert describe_change(change, TABLE) == words
