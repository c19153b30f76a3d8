"""The report: one sentence, one document, and words for what is not known."""

import json

import pytest

from configurator.api import capacity
from configurator.core.errors import InputError
from configurator.planner.report import rounded, tokens_text

GOOD = (
    "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3.1 --tp-size 8 --dcp-size 4 "
    "--attention-backend flashinfer"
)


def report(flags="", hardware="h200x8", **asked):
    return capacity(f"{GOOD} {flags}", hardware=hardware, **asked)


def test_the_sentences():
    said = report()
    assert said.sentence == (
        "One server holds 2.75 million KV tokens, 4.0 times what DCP 1 holds; "
        "the longest request is 163,840 tokens, set by the model."
    )
    assert said.latency_sentence.startswith("DCP 4 is faster than TP alone only once the batch holds more than about 1")
    assert report("--dcp-size 1").latency_sentence.startswith("Without DCP")
    sparse = capacity(
        "python -m sglang.launch_server --model-path x --tp-size 8 --dcp-size 8",
        hardware="b200x8",
        model="glm-5.2-nvfp4",
    )
    assert "bigger, not faster" in sparse.latency_sentence
    assert sparse.latency_sentence in sparse.to_json()["notes"]


def test_a_workspace_and_a_command_give_the_same():
    from configurator.workspace import Workspace

    assert capacity(Workspace.start(GOOD, hardware="h200x8")).to_json() == report().to_json()


def test_the_document_is_json_whatever_is_known():
    for hardware in ("h200x8", "h100x8", "cpu", "max1550x8", "arc-b60x4", "ascend910bx8", "gb200-nvl72"):
        plain = "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3.1 --tp-size 4"
        document = capacity(plain, hardware=hardware).to_json()
        json.dumps(document, allow_nan=False)
        assert set(document["latency"]) >= {
            "per_layer_us",
            "per_token_ms",
            "break_even_total_context_tokens",
            "valid",
            "basis",
        }


def test_a_command_that_does_not_run_is_planned_as_its_repair():
    said = report("--dcp-comm-backend ag_rs --dcp-replicate-q-proj")
    assert said.computed_for == "repaired"
    assert "a2a" in said.changes
    assert said.command.endswith("--dcp-replicate-q-proj")
    assert report().computed_for == "written"
    assert report().changes == ""


def test_a_batch_that_does_not_fit_is_said():
    assert any("do not fit at once" in note for note in report(batch=64, context=131_072).notes)
    assert not report(batch=8, context=4096).notes


def test_a_context_beyond_the_model_is_said():
    assert any("longest that this server takes is 163,840" in note for note in report(context=200_000).notes)


def test_what_only_the_shell_knows_is_not_guessed():
    said = capacity(
        "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3.1 --tp-size $TP", hardware="h200x8"
    )
    assert said.to_json()["logical_tokens"] is None
    assert any("$TP" in note for note in said.to_json()["notes"])


def test_a_batch_is_shared_out_over_replicas():
    said = report("--dp-size 2 --enable-dp-attention", batch=16)
    assert said.latency.batch_size == 8
    assert "each of its attention replicas" in said.sentence


def test_calibration_says_so():
    document = report(measured_rows=600_000).to_json()
    assert document["logical_tokens"] == 2_400_000
    assert document["error_band"] == [0.98, 1.02]
    assert {i["name"]: i["basis"] for i in document["per_gpu"]}["kv_sharded"] == "measured"


def test_the_size_on_disk_is_found_beside_the_model(tmp_path):
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256,
        "max_position_embeddings": 8192, "torch_dtype": "bfloat16",
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    command = f"python -m sglang.launch_server --model-path {tmp_path}"
    assert capacity(command, hardware="h200x8").to_json()["per_gpu"][0]["basis"] == "modelled"
    index = {"metadata": {"total_size": 16 * 10**9}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    item = capacity(command, hardware="h200x8").to_json()["per_gpu"][0]
    assert (item["basis"], item["bytes"]) == ("measured", 16 * 10**9)


@pytest.mark.parametrize("asked", [{"context": -1}, {"batch": 0}, {"weights_gib": -3.0}, {"measured_rows": 0}])
def test_nonsense_is_refused(asked):
    with pytest.raises(InputError):
        report(**asked)


def test_numbers_for_reading():
    assert [tokens_text(n) for n in (950, 37_180, 2_748_792)] == ["950", "37,180", "2.75 million"]
    assert [rounded(n) for n in (7, 89_375, 124_289)] == ["7", "89,000", "120,000"]
