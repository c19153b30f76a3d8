"""``capacity``: the document, the text, and what the exit status says."""

import json

import pytest

from .conftest import BAD, GOOD, ON_H200
from .shapes import MAYBE_NUMBER, NUMBER, TEXT, fits

CAPACITY = {
    "schema": NUMBER, "release": TEXT, "hardware": TEXT, "model": TEXT,
    "per_gpu": [{"name": TEXT, "bytes": NUMBER, "basis": TEXT}],
    "cell_bytes": NUMBER, "rows_per_rank": NUMBER, "logical_tokens": NUMBER, "max_context_tokens": NUMBER,
    "gain_over_dcp1": NUMBER, "error_band": [NUMBER],
    "latency": {
        "per_layer_us": NUMBER, "per_token_ms": NUMBER, "break_even_total_context_tokens": MAYBE_NUMBER, "valid": object,
        "basis": TEXT,
    },
    "notes": [TEXT],
}  # fmt: skip


def test_the_document(run):
    ran = run("capacity", "--json", *ON_H200, "--", *GOOD.split())
    assert ran.code == 0
    document = ran.json
    fits(document, CAPACITY)
    assert document["schema"] == 1
    assert document["computed_for"] == "written"
    assert {item["basis"] for item in document["per_gpu"]} <= {"measured", "modelled", "assumed"}
    assert {item["name"] for item in document["per_gpu"]} >= {"weights", "kv_sharded", "kv_replicated", "slack"}
    assert sum(item["bytes"] for item in document["per_gpu"]) == document["total_bytes"]
    assert document["cell_bytes"] == 70_272
    assert document["logical_tokens"] == 4 * document["rows_per_rank"]
    assert document["gain_over_dcp1"] == 4
    assert document["error_band"] == [0.9, 1.1]
    assert document["latency"]["valid"] is True


def test_a_command_that_does_not_run_is_planned_as_its_repair(run):
    ran = run("capacity", "--json", *ON_H200, "--", *BAD.split())
    assert ran.code == 0
    assert ran.json["computed_for"] == "repaired"
    assert "--dcp-comm-backend a2a" in ran.json["command"]
    assert any("does not run" in note for note in ran.json["notes"])
    replica = next(item for item in ran.json["per_gpu"] if item["name"] == "replicate_q")
    assert replica["bytes"] == pytest.approx(1.55 * 2**30, rel=0.01)


def test_what_does_not_fit(run):
    ran = run("capacity", "--json", "--hardware", "h100x8", "--", *GOOD.split())
    assert ran.code == 1
    assert ran.json["fits"] is False
    assert ran.json["max_context_tokens"] == 0
    text = run("capacity", "--hardware", "h100x8", "--", *GOOD.split())
    assert text.code == 1
    assert text.out.startswith("It does not fit: weights of")


def test_what_is_not_known_is_neither_yes_nor_no(run, tmp_path):
    strange = {
        "architectures": ["NobodyKnowsForCausalLM"], "model_type": "nobody", "hidden_size": 1024, "num_hidden_layers": 4,
        "num_attention_heads": 8, "torch_dtype": "bfloat16",
    }  # fmt: skip
    file = tmp_path / "config.json"
    file.write_text(json.dumps(strange), encoding="utf-8")
    ran = run("capacity", "--json", *ON_H200, "--model", file, "--", "--tp-size", "2")
    assert ran.code == 4
    assert ran.json["fits"] is None
    assert ran.json["logical_tokens"] is None
    for key in ("vocab_size", "intermediate_size"):
        assert any(key in note for note in ran.json["notes"]), key
    assert "cannot be told" in run("capacity", *ON_H200, "--model", file, "--", "--tp-size", "2").out


def test_the_size_of_the_weights_can_be_given(run):
    kimi = ("--model-path", "moonshotai/Kimi-K2.5", "--tp-size", "8")
    assert run("capacity", "--json", *ON_H200, "--", *kimi).code == 4
    ran = run("capacity", "--json", *ON_H200, "--weights-gib", "550", "--", *kimi)
    assert ran.code == 0
    assert ran.json["per_gpu"][0]["basis"] == "measured"


def test_calibration(run):
    ran = run("capacity", "--json", *ON_H200, "--measured-rows", "500000", "--", *GOOD.split())
    assert ran.json["logical_tokens"] == 2_000_000
    assert {i["name"]: i["basis"] for i in ran.json["per_gpu"]}["kv_sharded"] == "measured"


def test_the_text(run):
    ran = run("capacity", *ON_H200, "--context", "131072", "--batch", "16", "--", *GOOD.split())
    assert ran.code == 0
    for words in (
        "KV tokens", "Weights, fp8", "modelled", "assumed", "Rows of one rank", "Logical tokens", "faster than TP alone",
        "batch of 16 with 131,072 tokens each", "For SGLang",
    ):  # fmt: skip
        assert words in ran.out


@pytest.mark.parametrize(
    "options",
    [
        ("--context", "-5"), ("--context", "0"), ("--context", "many"), ("--batch", "0"), ("--weights-gib", "-1"),
        ("--weights-gib", "nan"), ("--measured-rows", "0"), ("--measured-dcp-size", "4"),
        ("--measured-rows", "9", "--measured-dcp-size", "3"),
    ],
)  # fmt: skip
def test_nonsense_is_a_usage_error(run, options):
    ran = run("capacity", *ON_H200, *options, "--", *GOOD.split())
    assert ran.code == 2
    assert ran.err
    assert not ran.out


def test_advice_for_a_goal(run):
    ran = run("capacity", "--json", *ON_H200, "--goal", "longest-context", "--", *BAD.split())
    assert ran.code == 0
    advice = ran.json["advice"]
    assert advice["goal"] == "longest_context"
    assert advice["considered"] >= advice["running"] >= advice["fitting"] > 0
    first = advice["best"][0]
    assert first["set"]["--dcp-size"] == 8
    assert first["verdict"] in ("ok", "warn")
    text = run("capacity", *ON_H200, "--goal", "longest-context", "--", *BAD.split()).out
    assert "Longest context: " in text
    assert "1. TP 8, DCP 8" in text
