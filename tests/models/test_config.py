"""Reading ``config.json``: each kind of attention, what is missing, and what cannot be read."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from configurator.core.errors import InputError
from configurator.core.unknown import is_unknown
from configurator.models import ModelFacts, load_model

LLAMA = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256,
    "max_position_embeddings": 131072, "torch_dtype": "bfloat16",
}  # fmt: skip
MLA = {
    **LLAMA, "architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3", "num_attention_heads": 128,
    "num_key_value_heads": 128, "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128,
    "v_head_dim": 128, "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8, "moe_intermediate_size": 2048,
    "first_k_dense_replace": 3, "num_nextn_predict_layers": 1,
}  # fmt: skip
DSA = {
    **MLA,
    "architectures": ["DeepseekV32ForCausalLM"],
    "index_topk": 2048,
    "index_head_dim": 128,
    "index_n_heads": 64,
}


def read(config, **more):
    return ModelFacts.from_config(config, **more)


def without(config, *keys):
    return {key: value for key, value in config.items() if key not in keys}


def test_grouped_query_attention():
    facts = read(LLAMA)
    assert (facts.attention_kind, facts.is_mla, facts.is_dsa) == ("gqa", False, False)
    assert (facts.num_heads, facts.num_kv_heads, facts.head_dim, facts.v_head_dim) == (32, 8, 128, 128)
    assert (facts.num_layers, facts.num_attention_layers, facts.num_linear_layers) == (32, 32, 0)
    assert (
        facts.kv_lora_rank
        is facts.index_topk
        is facts.num_experts
        is facts.quantization
        is facts.sliding_window
        is None
    )
    assert facts.torch_dtype == "bfloat16"


def test_multi_head_latent_attention():
    facts = read(MLA)
    assert (facts.attention_kind, facts.is_mla, facts.is_dsa) == ("mla", True, False)
    assert (facts.num_heads, facts.num_kv_heads, facts.head_dim, facts.v_head_dim) == (128, 128, 192, 128)
    assert (facts.kv_lora_rank, facts.q_lora_rank, facts.qk_rope_head_dim, facts.qk_nope_head_dim) == (
        512,
        1536,
        64,
        128,
    )
    assert (facts.num_experts, facts.num_shared_experts, facts.num_experts_per_token) == (256, 1, 8)
    assert (facts.num_dense_layers, facts.num_nextn_layers) == (3, 1)


def test_sparse_attention():
    facts = read(DSA)
    assert (facts.attention_kind, facts.is_mla, facts.is_dsa) == ("dsa", True, True)
    assert (facts.index_topk, facts.index_kpool, facts.index_head_dim, facts.index_n_heads) == (2048, 1, 128, 64)
    assert facts.num_index_layers == facts.num_layers


def test_the_architecture_decides_not_the_shape():
    """SGLang goes by the class name: a latent rank under a name it does not know as MLA decides nothing."""
    assert read({**MLA, "index_topk": 2048}).attention_kind == "dsa"
    assert read({**MLA, "architectures": ["DeepseekV2ForCausalLM"], "index_topk": 2048}).attention_kind == "mla"
    odd = read({**LLAMA, "kv_lora_rank": 512})
    assert is_unknown(odd.attention_kind)
    assert "LlamaForCausalLM is not among SGLang's MLA architectures" in odd.attention_kind.reason
    assert is_unknown(odd.is_mla)


def test_indexer_layers_that_reuse_their_neighbours():
    assert read({**DSA, "indexer_types": ["full", "shared"] * 16}).num_index_layers == 16
    assert read({**DSA, "index_topk_pattern": "FS" * 16}).num_index_layers == 16
    assert read({**DSA, "index_topk_freq": 4}).num_index_layers == 9
    assert read({**DSA, "cli_factor": 4}).num_index_layers == 8


@pytest.mark.parametrize(
    ("more", "kv_heads"),
    [
        ({}, 8),
        ({"num_key_value_heads": None}, 32),
        ({"num_key_value_heads": None, "num_kv_heads": 4}, 4),
        ({"num_key_value_heads": None, "multi_query": True}, 1),
        ({"num_key_value_heads": 32}, 32),
        ({"num_key_value_heads": 1}, 1),
    ],
)
def test_kv_heads_under_any_name(more, kv_heads):
    assert read({**LLAMA, **more}).num_kv_heads == kv_heads


def test_head_dim_is_stated_or_shared_out():
    assert read({**LLAMA, "head_dim": 64}).head_dim == 64
    assert read(LLAMA).head_dim == 128
    facts = read({**LLAMA, "hidden_size": 4097})
    assert is_unknown(facts.head_dim)
    assert "4097 / 32 heads is not whole" in facts.head_dim.reason


@pytest.mark.parametrize(
    ("more", "attention", "windowed", "linear"),
    [
        ({"full_attention_interval": 4}, 8, 0, 24),
        ({"layer_types": ["full_attention", "linear_attention", "linear_attention", "linear_attention"] * 8}, 8, 0, 24),
        ({"layer_types": ["sliding_attention", "full_attention"] * 16}, 32, 16, 0),
        ({"layers_block_type": ["mamba", "attention"] * 16}, 16, 0, 16),
        ({"hybrid_override_pattern": "M*-E" * 8}, 8, 0, 8),
        ({"linear_attn_config": {"full_attn_layers": [4, 8, 12, 16, 20, 24, 28, 32]}}, 8, 0, 24),
        ({"attn_type_list": [0, 1] * 16}, 16, 0, 16),
        ({"hybrid_layer_pattern": [0, 1] * 16}, 32, 16, 0),
        ({"layer_group_size": 4}, 8, 0, 24),
        ({"architectures": ["Llama4ForConditionalGeneration"]}, 32, 24, 0),
    ],
)
def test_hybrids_count_the_layers_that_keep_a_cache(more, attention, windowed, linear):
    facts = read({**LLAMA, **more})
    assert (facts.num_attention_layers, facts.num_windowed_layers, facts.num_linear_layers) == (
        attention,
        windowed,
        linear,
    )
    assert facts.has_linear_attention == (linear > 0)


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"layer_types": ["full_attention"] * 3}, "covers 3 of 32 layers"),
        ({"layer_types": ["full_attention", "quantum"] * 16}, "has the kind 'quantum'"),
        ({"layer_types": 7}, "is 7, not a list of layer kinds"),
        ({"layer_types": [None] * 32}, "has the kind None"),
        ({"linear_attn_config": {"kda_layers": [1]}}, 'has no "full_attn_layers"'),
        ({"attn_type_list": [1]}, "covers 1 of 32 layers"),
    ],
)
def test_a_list_of_layers_that_says_nothing_leaves_the_counts_unknown(more, reason):
    facts = read({**LLAMA, **more})
    assert is_unknown(facts.num_attention_layers)
    assert reason in facts.num_attention_layers.reason
    assert is_unknown(facts.has_linear_attention)


def test_the_language_model_of_a_multimodal_one():
    config = {
        "architectures": ["KimiK25ForConditionalGeneration"],
        "model_type": "kimi_k25",
        "text_config": without(MLA, "architectures"),
    }
    facts = read(config)
    assert (facts.attention_kind, facts.num_heads, facts.kv_lora_rank) == ("mla", 128, 512)
    assert facts.model_type == "kimi_k25"


def test_windows_sinks_and_encoders():
    oss = read({**LLAMA, "architectures": ["GptOssForCausalLM"], "sliding_window": 128})
    assert (oss.has_attention_sinks, oss.is_hybrid_swa, oss.sliding_window) == (True, True, 128)
    assert read({**LLAMA, "sliding_window": 4096, "use_sliding_window": False}).sliding_window is None
    assert read(LLAMA).has_attention_sinks is False
    assert read({**LLAMA, "architectures": ["WhisperForConditionalGeneration"]}).is_encoder_decoder
    assert read({**LLAMA, "architectures": ["MambaForCausalLM"]}).attention_kind is None
    assert is_unknown(read({**LLAMA, "architectures": ["DeepseekV4ForCausalLM"]}).attention_kind)


@pytest.mark.parametrize(
    ("entry", "method", "block"),
    [
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8", (128, 128)),
        ({"quant_method": "FP8"}, "fp8", None),
        ({"quant_method": "awq", "bits": 4}, "awq", None),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "modelopt_fp4", None),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, "modelopt_fp8", None),
        ({"quantization": {"quant_algo": "NVFP4"}}, "modelopt_fp4", None),
        ({"quant_method": "modelopt", "quant_algo": "MXFP8"}, "mxfp8", (1, 32)),
        ({}, None, None),
        (None, None, None),
    ],
)
def test_quantisation(entry, method, block):
    facts = read({**LLAMA, "quantization_config": entry})
    assert (facts.quantization, facts.weight_block_size) == (method, block)


def test_a_quantisation_file_beside_the_config(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    (tmp_path / "hf_quant_config.json").write_text('{"quantization": {"quant_algo": "NVFP4"}}', encoding="utf-8")
    assert load_model(tmp_path).quantization == "modelopt_fp4"


def test_a_method_nobody_knows_is_unknown():
    facts = read({**LLAMA, "quantization_config": {"bits": 4}})
    assert is_unknown(facts.quantization)
    assert "names no quantisation method" in facts.quantization.reason


@pytest.mark.parametrize(
    "key", [key for key in LLAMA if key not in ("architectures", "model_type", "num_key_value_heads")]
)
def test_a_missing_key_is_unknown_and_names_itself(key):
    facts = read(without(LLAMA, key))
    assert dict(facts.gaps).keys() > {"num_parameters"}
    reasons = " ".join(reason for _, reason in facts.gaps)
    assert f'"{key}"' in reasons


@pytest.mark.parametrize("key", ["kv_lora_rank", "q_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim"])
def test_a_missing_latent_width_is_unknown(key):
    facts = read(without(MLA, key))
    assert facts.attention_kind == "mla"
    assert key in dict(facts.gaps)


def test_a_model_without_an_architecture_is_not_classed():
    facts = read(without(LLAMA, "architectures"))
    for name in ("attention_kind", "is_mla", "is_dsa", "has_attention_sinks", "is_hybrid_swa", "architecture"):
        assert is_unknown(getattr(facts, name)), name
    assert facts.num_heads == 32


@pytest.mark.parametrize(
    "key", ["hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "vocab_size", "head_dim"]
)
@pytest.mark.parametrize("value", ["many", -1, 0, 1.5, True, {}, 10**30, float("nan")])
def test_a_value_no_model_has_is_refused_by_name(key, value):
    with pytest.raises(InputError, match="a whole number from 1 to") as refused:
        read({**LLAMA, key: value})
    assert key in str(refused.value)
    assert refused.value.part == key
    assert "Correct the file, or name a model of the catalogue." in str(refused.value)


@pytest.mark.parametrize(
    ("more", "tells"),
    [
        ({"architectures": "LlamaForCausalLM"}, '"architectures" in config.json is'),
        ({"architectures": [7]}, "begins with 7"),
        ({"model_type": 7}, '"model_type" in config.json is 7; a string belongs there'),
        ({"num_key_value_heads": 64}, "64 KV heads for 32 query heads"),
        ({"quantization_config": "fp8"}, "an object belongs there"),
        ({"quantization_config": {"quant_method": "fp8", "weight_block_size": [128]}}, "two positive whole numbers"),
        ({"quantization_config": {"quant_method": "fp8", "weight_block_size": "x"}}, "a list belongs there"),
        ({"text_config": [1]}, "an object belongs there"),
        ({"tie_word_embeddings": "yes"}, "true or false belongs there"),
        ({"torch_dtype": 16}, "a string belongs there"),
        ({"linear_attn_config": {"full_attn_layers": [99]}}, "names layer 99, but the model has layers 1 to 32"),
        ({"linear_attn_config": {"full_attn_layers": ["x"]}}, "names layer 'x'"),
    ],
)
def test_nonsense_is_refused_with_the_key_and_what_belongs_there(more, tells):
    with pytest.raises(InputError) as refused:
        read({**LLAMA, **more})
    assert tells in str(refused.value)


@pytest.mark.parametrize("config", [{}, {"hello": 1}, {"architectures": [], "hidden_size": 4}, {"architectures": None}])
def test_what_is_no_config_of_a_model(config):
    with pytest.raises(InputError, match="is not the config of a model: it names neither"):
        read(config)


FILES = {
    "bad json": (b"{", "is no JSON"),
    "empty": (b"", "is no JSON"),
    "binary": (bytes(range(256)) * 40, "is no JSON"),
    "utf-16": ('{"a": 1}'.encode("utf-16"), "is no JSON"),
    "a list": (b"[1, 2]", r"holds \[1, 2\], not an object"),
    "a number": (b"7", "holds 7, not an object"),
    "null": (b"null", "holds None, not an object"),
    "deep": (b"[" * 200_000, "too deeply nested"),
    "huge number": (b'{"hidden_size": ' + b"9" * 10_000 + b"}", "is no JSON"),
    "missing keys": (b'{"hello": 1}', "is not the config of a model"),
    "wrong types": (json.dumps({**LLAMA, "hidden_size": "big"}).encode(), "\"hidden_size\" in config.json is 'big'"),
    "too large": (b" " * (4 * 2**20 + 1), "larger than any config.json"),
    "a gguf": (b"GGUF\x03\x00\x00\x00" + b"\x00" * 64, "is no JSON"),
    "a page": (b"<!doctype html><html>404</html>", "is no JSON"),
}


@pytest.mark.parametrize("name", FILES)
def test_files_that_cannot_be_read(name, tmp_path):
    content, tells = FILES[name]
    path = tmp_path / "config.json"
    path.write_bytes(content)
    for given_as in (path, tmp_path, str(path)):
        with pytest.raises(InputError, match=tells):
            load_model(given_as)


def test_a_byte_order_mark_is_no_obstacle(tmp_path):
    (tmp_path / "config.json").write_bytes(b"\xef\xbb\xbf" + json.dumps(LLAMA).encode())
    assert load_model(tmp_path).num_heads == 32


def test_a_folder_without_a_config_says_so(tmp_path):
    with pytest.raises(InputError, match=r"holds no config.json. Give the config.json of a Hugging Face checkpoint"):
        load_model(tmp_path)


def test_a_config_that_is_a_folder(tmp_path):
    (tmp_path / "config.json").mkdir()
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        load_model(tmp_path)


@pytest.mark.parametrize("name", ["a\0b", "x" * 10_000, "~nobody-here/x", "\ud800", "/dev/null/x"])
def test_names_no_file_system_takes(name):
    with pytest.raises(InputError, match="No model"):
        load_model(name)


def test_a_file_nobody_may_read(tmp_path, monkeypatch):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA), encoding="utf-8")
    path.chmod(0)
    if os.access(path, os.R_OK):  # the superuser reads everything, so the refusal is made

        def refuse(_self):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    with pytest.raises(InputError, match="cannot be read: Permission denied"):
        load_model(path)


KEYS = [
    *DSA, "head_dim", "layer_types", "quantization_config", "text_config", "linear_attn_config", "sliding_window",
    "hybrid_override_pattern", "attn_type_list", "block_configs", "use_sliding_window", "index_topk_pattern", "indexer_types",
    "cli_factor", "index_topk_freq", "layer_group_size", "attention_chunk_size",
]  # fmt: skip
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(KEYS), ANYTHING, max_size=4))
def test_any_config_gives_facts_or_a_message(changes):
    """Whatever a file holds: facts with reasons for the gaps, or an InputError; never another exception."""
    try:
        facts = read({**DSA, **changes})
    except InputError as error:
        assert len(str(error)) > 20  # noqa: PT017 - any of many messages will do
        return
    assert all(reason for _, reason in facts.gaps)
    assert facts.to_facts()["model.is_mla"] in (True, False) or is_unknown(facts.is_mla)
