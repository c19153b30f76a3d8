"""The catalogue of models: every sheet loads, agrees with itself and with its published size, and is found by its names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import configurator.models
from configurator.core.errors import InputError
from configurator.core.unknown import is_unknown
from configurator.models import find_model, list_models, load_model
from configurator.models.architectures import DSA_ARCHITECTURES, MLA_ARCHITECTURES

SHEETS = list_models()
FOLDER = Path(configurator.models.__file__).parent / "catalogue"
each = pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.name)


def test_every_file_of_the_catalogue_is_loaded():
    names = {sheet.name for sheet in SHEETS}
    assert {path.stem for path in FOLDER.glob("*.json")} <= names
    assert [sheet.name for sheet in SHEETS] == sorted(names)
    assert len(SHEETS) >= 30


def test_files_hold_numbers_and_names_with_their_source():
    for path in FOLDER.glob("*.json"):
        document = json.loads(path.read_text(encoding="utf-8"))
        assert set(document) <= {
            "schema",
            "name",
            "label",
            "aliases",
            "config_source",
            "num_parameters",
            "config",
            "variants",
        }
        assert len(document["config_source"]) > 20, path.name
        assert document["name"] == path.stem


def test_no_name_stands_for_two_models():
    seen = {}
    for sheet in SHEETS:
        for name in {sheet.name, *(alias.casefold() for alias in sheet.aliases)}:
            assert seen.setdefault(name, sheet.name) == sheet.name, name
    labels = [sheet.label for sheet in SHEETS]
    assert len(set(labels)) == len(labels)


@each
def test_the_kind_follows_the_architecture(sheet):
    facts = sheet.facts
    assert facts.attention_kind in ("mla", "dsa", "gqa")
    assert facts.is_mla == (facts.architecture in MLA_ARCHITECTURES)
    assert facts.is_dsa == (facts.architecture in DSA_ARCHITECTURES and facts.index_topk is not None)
    assert facts.is_dsa <= facts.is_mla


@each
def test_shapes_agree_with_each_other(sheet):
    facts = sheet.facts
    assert facts.num_heads % facts.num_kv_heads == 0
    assert facts.num_kv_heads <= facts.num_heads
    assert facts.num_attention_layers + facts.num_linear_layers == facts.num_layers
    assert 0 <= facts.num_windowed_layers <= facts.num_attention_layers
    assert facts.has_linear_attention == (facts.num_linear_layers > 0)
    if facts.is_mla:
        assert facts.head_dim == facts.qk_nope_head_dim + facts.qk_rope_head_dim
        assert facts.kv_lora_rank == 512
        assert facts.v_head_dim > 0
    else:
        assert facts.kv_lora_rank is facts.q_lora_rank is facts.qk_rope_head_dim is facts.qk_nope_head_dim is None
        assert facts.v_head_dim == facts.head_dim
    sparse = (facts.index_topk, facts.index_kpool, facts.index_head_dim, facts.index_n_heads, facts.num_index_layers)
    assert all(isinstance(value, int) for value in sparse) if facts.is_dsa else sparse == (None,) * 5
    if facts.num_experts is not None:
        assert facts.num_experts_per_token <= facts.num_experts
        assert 0 <= facts.num_dense_layers < facts.num_layers
    if facts.weight_block_size is not None:
        assert len(facts.weight_block_size) == 2


@each
def test_what_rules_and_planners_need_is_known(sheet):
    facts = sheet.facts.to_facts()
    assert all(key.startswith("model.") for key in facts)
    may_be_unknown = {"model.num_parameters", "model.torch_dtype"}
    unknown = {key for key, value in facts.items() if is_unknown(value)}
    assert unknown <= may_be_unknown
    assert all(facts[key].reason for key in unknown)


def parameters(facts):
    """Count weights from the shapes: embeddings, attention, dense and expert layers; norms and routers are negligible."""
    hidden, heads = facts.hidden_size, facts.num_heads
    if facts.is_mla:
        q_width = heads * facts.head_dim
        q = hidden * q_width if facts.q_lora_rank is None else facts.q_lora_rank * (hidden + q_width)
        kv = hidden * (facts.kv_lora_rank + facts.qk_rope_head_dim)
        up = facts.kv_lora_rank * heads * (facts.qk_nope_head_dim + facts.v_head_dim)
        attention = q + kv + up + heads * facts.v_head_dim * hidden
    else:
        attention = hidden * facts.head_dim * (2 * heads + 2 * facts.num_kv_heads)
    dense = 3 * hidden * facts.intermediate_size if facts.intermediate_size else 0
    total = facts.vocab_size * hidden * (1 if facts.tie_word_embeddings else 2) + facts.num_layers * attention
    if facts.num_experts is None:
        return total + facts.num_layers * dense
    width = facts.moe_intermediate_size or facts.intermediate_size
    experts = 3 * hidden * width * (facts.num_experts + (facts.num_shared_experts or 0))
    return total + facts.num_dense_layers * dense + (facts.num_layers - facts.num_dense_layers) * experts


PLAIN = [
    s for s in SHEETS if not s.facts.has_linear_attention and s.facts.architecture != "Llama4ForConditionalGeneration"
]


@pytest.mark.parametrize("sheet", PLAIN, ids=lambda sheet: sheet.name)
def test_the_shapes_give_the_published_number_of_parameters(sheet):
    """Draft layers, vision towers and rounding of the published number stay within five percent."""
    assert parameters(sheet.facts) == pytest.approx(sheet.facts.num_parameters, rel=0.05)


@each
def test_found_by_name_and_by_every_repository(sheet):
    for name in (sheet.name, sheet.name.upper(), f" {sheet.name} "):
        assert find_model(name) is sheet.facts
    for alias in sheet.aliases:
        for name in (alias, alias.lower(), alias + "/", f"/models/{alias}"):
            assert find_model(name) == sheet.facts, name


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("deepseek-ai/DeepSeek-V3.1", "deepseek-v3.1"),
        ("DeepSeek-V3.1", "deepseek-v3.1"),
        ("/data/models/DeepSeek-V3.1/", "deepseek-v3.1"),
        ("C:\\models\\DeepSeek-V3.1", "deepseek-v3.1"),
        ("nvidia/DeepSeek-V3.1-NVFP4", "deepseek-v3.1-nvfp4"),
        ("deepseek-ai/DeepSeek-V3.1-Terminus", "deepseek-v3.1"),
        ("DeepSeek-V3.1-mine", None),
        ("deepseek-ai", None),
        ("", None),
        ("/", None),
        ("x" * 5000, None),
    ],
)
def test_names_are_exact_up_to_their_last_part(name, found):
    facts = find_model(name)
    assert (facts.name if facts else None) == found


@pytest.mark.parametrize(
    ("name", "near"),
    [("deepseek-v3.3", "deepseek-v3"), ("deepseek-ai/DeepSeek-V31", "deepseek-v3.1"), ("qwen3-33b", "qwen3-32b")],
)
def test_a_name_that_is_none_gives_the_nearest(name, near):
    with pytest.raises(InputError, match=f"neither a file, a folder nor one of the {len(SHEETS)} models") as refused:
        load_model(name)
    assert near in str(refused.value)
    assert refused.value.part == name


@pytest.mark.parametrize("nothing", [None, "none", " None "])
def test_no_model_is_no_model(nothing):
    assert load_model(nothing) is None


def test_what_is_on_disk_wins_over_a_sheet(tmp_path, monkeypatch):
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_attention_heads": 4, "hidden_size": 64}
    (tmp_path / "deepseek-v3").mkdir()
    (tmp_path / "deepseek-v3" / "config.json").write_text(json.dumps(config), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert load_model("deepseek-v3").num_heads == 4


def test_the_package_reads_nothing_until_asked():
    import subprocess
    import sys

    code = "import configurator.models, sys; print('configurator.models.sheets' in sys.modules, 'json' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
    assert out.strip() == "False False"
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = configurator.models.nothing
