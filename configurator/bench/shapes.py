"""Shapes of a problem from facts about a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from configurator.core.errors import InputError
from configurator.core.unknown import is_unknown

DEEPSEEK_V3: Mapping[str, object] = {
    "model.name": "deepseek-v3",
    "model.attention_kind": "mla",
    "model.num_heads": 128,
    "model.kv_lora_rank": 512,
    "model.q_lora_rank": 1536,
    "model.qk_rope_head_dim": 64,
    "model.qk_nope_head_dim": 128,
    "model.v_head_dim": 128,
    "model.hidden_size": 7168,
    "model.num_layers": 61,
    "model.num_attention_layers": 61,
}
"""Shapes used when no model is known. Source: the model's config.json on the Hugging Face hub."""


def attention_kind(facts: Mapping[str, object]) -> Literal["mla", "gqa"]:
    """Return the attention's kind; sparse MLA (dsa) counts as MLA, whose exchange it has.

    Raises:
        InputError: The facts do not say.
    """
    kind = facts.get("model.attention_kind")
    if kind in ("mla", "dsa"):
        return "mla"
    if kind == "gqa":
        return "gqa"
    raise InputError(
        "The benchmark needs to know the model's attention (mla, dsa or gqa) - this model's facts do not say - "
        "choose a known model or give its config.json.",
        part="--model",
    )


def fact(facts: Mapping[str, object], name: str) -> int:
    """Return the count called ``model.<name>``.

    Raises:
        InputError: It is missing, unknown, or no positive whole number.
    """
    value = facts.get(f"model.{name}")
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        why = value.reason if is_unknown(value) else "its facts do not have it"
        raise InputError(
            f"The benchmark needs the model's {name} - {why} - choose a known model or give its config.json.",
            part="--model",
        )
    return value


def _common_shapes(facts: Mapping[str, object]) -> dict[str, Any]:
    hidden = facts.get("model.hidden_size")
    layers = next(
        (v for v in (facts.get("model.num_attention_layers"), facts.get("model.num_layers")) if isinstance(v, int)), 1
    )
    name = facts.get("model.name")
    return {
        "model": name if isinstance(name, str) else "unnamed",
        "hidden_size": hidden if isinstance(hidden, int) else None,
        "num_layers": max(1, layers),
    }


def mla_shapes(facts: Mapping[str, object]) -> dict[str, Any]:
    """Return the fields of a problem that an MLA model decides.

    Raises:
        InputError: A width is not known.
    """
    q_rank = facts.get("model.q_lora_rank")
    names = ("kv_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim")
    shapes = {name: fact(facts, name) for name in names}
    # Without a query bottleneck (DeepSeek-V2-Lite) the projection reads the hidden state itself.
    width = q_rank if isinstance(q_rank, int) and q_rank > 0 else fact(facts, "hidden_size")
    return {**_common_shapes(facts), **shapes, "attention_kind": "mla", "q_lora_rank": width}


def gqa_shapes(facts: Mapping[str, object], tp_size: int, dcp_size: int) -> dict[str, Any]:
    """Return the fields of a problem that a GQA model decides, on groups of *dcp_size* among *tp_size* ranks.

    Raises:
        InputError: A width is not known, or the KV heads cannot be shared out among the groups.
    """
    kv_heads, groups = fact(facts, "num_kv_heads"), tp_size // dcp_size
    if kv_heads % groups and groups % kv_heads:
        raise InputError(
            f"You asked for {groups} DCP groups - the model's {kv_heads} KV heads cannot be shared out evenly among them - "
            "choose another tp_size or dcp_size.",
            part="--dcp-size",
        )
    head_dim = fact(facts, "head_dim")
    v_head = facts.get("model.v_head_dim")
    return {
        **_common_shapes(facts),
        "attention_kind": "gqa",
        "head_dim": head_dim,
        "v_head_dim": v_head if isinstance(v_head, int) and v_head > 0 else head_dim,
        "num_kv_heads": max(1, kv_heads // groups),
        "q_lora_rank": fact(facts, "hidden_size"),
        "lse_base": "e",
    }
