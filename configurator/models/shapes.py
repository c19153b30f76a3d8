"""The single questions a config is asked: which attention, how many heads, how wide, which dtype.

Source of the decisions: sglang 0.5.23, ``sglang/srt/configs/model_config.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from configurator.core.errors import InputError
from configurator.core.unknown import Unknown
from configurator.models import architectures as arch
from configurator.models.fields import Fields, shown

AttentionKind = Literal["mla", "dsa", "gqa"]
Count = int | Unknown
MaybeCount = int | Unknown | None

_NESTED = ("thinker_config", "llm_config", "language_config", "text_config")


def architecture_of(outer: Fields) -> str | None:
    """Return the class name SGLang dispatches on, ``None`` where the config names none."""
    names = outer.items("architectures")
    if not names:
        return None
    if not isinstance(names[0], str) or not names[0]:
        raise InputError(
            f'"architectures" in {outer.part} begins with {shown(names[0])}; the class name of the model belongs '
            f"there, such as DeepseekV3ForCausalLM.",
            part="architectures",
        )
    return names[0]


def text_fields(outer: Fields, defaults: Mapping[str, object]) -> Fields:
    """Return the language model's config: nested in multimodal ones, in the order in which SGLang looks."""
    for key in _NESTED:
        nested = outer.section(key)
        if nested is not None:
            inner = Fields(nested, f"{outer.part}, {key}")
            deeper = inner.section("text_config") if key == "thinker_config" else None
            return Fields(deeper or nested, inner.part, defaults)
    return Fields(outer.mapping, outer.part, defaults)


def attention_kind_of(architecture: str | None, latent: bool, sparse: bool) -> AttentionKind | Unknown | None:
    """Return the kind of attention SGLang serves *architecture* with, ``None`` for none at all."""
    if architecture is None:
        return Unknown('config.json has no "architectures", by which SGLang chooses the attention')
    if architecture in arch.STATE_SPACE_ARCHITECTURES:
        return None
    if architecture in arch.OTHER_KIND_ARCHITECTURES:
        return Unknown(f"{arch.OTHER_KIND_ARCHITECTURES[architecture]} is none of the kinds modelled here")
    mla = architecture in arch.MLA_ARCHITECTURES or (latent and architecture in arch.MLA_IF_LATENT_ARCHITECTURES)
    if mla:
        return "dsa" if sparse and architecture in arch.DSA_ARCHITECTURES else "mla"
    if latent:
        return Unknown(f"the config has kv_lora_rank, but {architecture} is not among SGLang's MLA architectures")
    return "gqa"


def sure(value: MaybeCount) -> Count:
    """Return *value*, with ``null`` in the config as an Unknown."""
    return Unknown("the config holds null there") if value is None else value


def none_if_absent(text: Fields, *keys: str, limit: str) -> MaybeCount:
    """Return a count; a key that is absent, ``null`` or 0 means that the model has none of it."""
    value = text.count(*keys, limit=limit, zero=True) if text.has(*keys) else None
    return value or None if isinstance(value, int) else value


def mla_head_dim(widths: Mapping[str, MaybeCount]) -> Count:
    """Return the width of an MLA query head before absorption."""
    nope, rope = sure(widths["qk_nope_head_dim"]), sure(widths["qk_rope_head_dim"])
    if isinstance(nope, Unknown) or isinstance(rope, Unknown):
        return nope if isinstance(nope, Unknown) else rope
    return nope + rope


def head_dim_of(text: Fields, hidden_size: Count, num_heads: Count) -> Count:
    """Return the width of a head: stated, or the hidden size shared out evenly."""
    given = text.count("head_dim", "kv_channels", limit="dim")
    if isinstance(given, int):
        return given
    if isinstance(hidden_size, Unknown) or isinstance(num_heads, Unknown):
        return hidden_size if isinstance(hidden_size, Unknown) else num_heads
    if hidden_size % num_heads:
        return Unknown(f'{text.part} has no "head_dim", and {hidden_size} / {num_heads} heads is not whole')
    return hidden_size // num_heads


def value_dim_of(text: Fields, head_dim: Count, mla: bool) -> Count:
    """Return the width of a value head where the config states none."""
    return Unknown(f'{text.part} has no "v_head_dim"') if mla else head_dim


def num_kv_heads_of(text: Fields, num_heads: Count, model_type: str | None) -> Count:
    """Return the KV heads of the whole model, under any of the names in use."""
    if text.flag("multi_query") and not text.flag("new_decoder_architecture"):
        return 1
    nested = text.section("attn_config") if model_type in ("dbrx", "mpt") else None
    fields_ = Fields(nested, f"{text.part}, attn_config") if nested is not None else text
    keys = ("num_key_value_heads", "num_kv_heads", "n_head_kv", "kv_n_heads", "multi_query_group_num",
            "num_attention_groups")  # fmt: skip
    if text.has("block_configs") and text.get(*keys) is None:
        return Unknown(f'the KV heads in {text.part} differ from layer to layer ("block_configs")')
    given = fields_.count(*keys, limit="heads") if fields_.has(*keys) else None
    if given is None:
        return num_heads  # no grouping stated: every query head has its own KV head, as in SGLang
    if isinstance(given, int) and isinstance(num_heads, int) and given > num_heads:
        raise InputError(
            f"{text.part} has {given} KV heads for {num_heads} query heads; there cannot be more KV heads than query "
            f"heads. Correct num_key_value_heads or num_attention_heads.",
            part="num_key_value_heads",
        )
    return given


def num_dense_layers_of(text: Fields) -> MaybeCount:
    """Return the leading layers of a MoE model that have no experts."""
    return text.count("first_k_dense_replace", limit="layers", zero=True) if text.has("first_k_dense_replace") else 0


def dtype_of(text: Fields, outer: Fields) -> str | Unknown:
    """Return the dtype of the plain weights."""
    for place in (text, outer):
        given = place.text("torch_dtype", "dtype")
        if given is not None:
            return given.removeprefix("torch.")
    return Unknown(f'{text.part} has no "torch_dtype"')


def is_hybrid_swa_of(architecture: str | None, text: Fields) -> bool | Unknown:
    """Tell whether SGLang keeps a pool of its own for windowed layers."""
    if architecture is None:
        return Unknown('config.json has no "architectures", by which SGLang tells windowed models')
    if architecture == "BeamForCausalLM":
        return "sliding_attention" in (text.items("layer_types") or ())
    if architecture == "LagunaForCausalLM" and not text.get("sliding_window"):
        return False
    return architecture in arch.HYBRID_SWA_ARCHITECTURES or text.flag("is_hybrid_swa")


def has_sinks_of(architecture: str | None, text: Fields) -> bool | Unknown:
    """Tell whether softmax has learned sinks."""
    if architecture is None:
        return Unknown('config.json has no "architectures", by which SGLang tells models with attention sinks')
    if architecture in arch.SINK_IF_FLAGGED_ARCHITECTURES:
        return text.flag("add_swa_attention_sink_bias") or text.flag("add_full_attention_sink_bias")
    return architecture in arch.SINK_ARCHITECTURES or text.flag("learnable_sink")
