"""Which layers of a model keep a KV cache, which see a window only, which carry a recurrent state.

Models say it in half a dozen ways; each convention is one small function, tried in the order in which SGLang's
config classes look (sglang 0.5.23, ``sglang/srt/configs``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from configurator.core.errors import InputError
from configurator.core.unknown import Unknown
from configurator.models.fields import Fields, shown

_FULL = frozenset({"full_attention", "attention", "deepseek_sparse_attention", "full", "*"})
_WINDOW = frozenset({"sliding_attention", "chunked_attention", "local_attention"})
_LINEAR = frozenset(
    {"linear_attention", "mamba", "mamba2", "recurrent", "kda", "gated_delta_net", "conv", "short_conv", "M"}
)
_NO_ATTENTION = frozenset({"moe", "mlp", "E", "-"})

_CODED = (
    ("attn_type_list", 0, None),  # MiniMax-M1: 0 is linear attention, 1 is softmax attention
    ("hybrid_layer_pattern", None, 1),  # MiMo-V2: 1 is a sliding window, 0 is full attention
    ("layer_group_size", 1, None),  # Bailing: 1 is linear attention
)


@dataclass(frozen=True)
class LayerCounts:
    """Layers of a model by what they keep.

    Attributes:
        attention: Layers with a KV cache, windowed ones included.
        windowed: Those of them that see a sliding window or a chunk only.
        linear: Layers with a recurrent state instead of a KV cache.
    """

    attention: int | Unknown
    windowed: int | Unknown
    linear: int | Unknown


def count_layers(fields: Fields, num_layers: int | Unknown, *, chunked: bool) -> LayerCounts:
    """Return how many layers keep what.

    Args:
        fields: The text model's config.
        num_layers: All layers of the model, without draft layers.
        chunked: Whether three of four layers attend within chunks where no list of layers says so (Llama 4).

    Raises:
        InputError: A list of layers names a layer the model does not have.
    """
    if isinstance(num_layers, Unknown):
        return LayerCounts(num_layers, num_layers, num_layers)
    if (kimi := fields.section("linear_attn_config")) is not None:
        return _from_kimi(Fields(kimi, f"{fields.part}, linear_attn_config"), num_layers)
    for key in ("layer_types", "layers_block_type", "hybrid_override_pattern"):
        pattern = fields.get(key)
        if pattern is not None:
            return _from_names(fields, key, pattern, num_layers)
    for key, linear, windowed in _CODED:
        if isinstance(codes := fields.get(key), (list, tuple)):
            return _from_codes(codes, num_layers, linear=linear, windowed=windowed)
    for key in ("full_attention_interval", "layer_group_size"):
        interval = fields.count(key, limit="layers")
        if isinstance(interval, int) and interval > 1:
            full = num_layers // interval
            return LayerCounts(full, 0, num_layers - full)
    if chunked:
        return LayerCounts(num_layers, num_layers - num_layers // 4, 0)
    return LayerCounts(num_layers, 0, 0)


def count_index_layers(fields: Fields, num_layers: int | Unknown) -> int | Unknown:
    """Return how many layers of a DSA model keep keys of their own indexer; the others reuse a neighbour's choice.

    Source: sglang 0.5.23, ``model_config.py:dsa_layer_skips_topk``.
    """
    if isinstance(num_layers, Unknown):
        return num_layers
    if (types := fields.items("indexer_types")) is not None:
        return num_layers - sum(1 for kind in types[:num_layers] if kind == "shared")
    cli_factor = fields.count("cli_factor", limit="layers")
    if isinstance(cli_factor, int) and cli_factor > 1:
        return sum(1 for layer in range(num_layers) if layer % cli_factor == 0)
    pattern = fields.get("index_topk_pattern")
    if isinstance(pattern, (str, list, tuple)):
        return num_layers - sum(1 for kind in pattern[:num_layers] if kind == "S")
    freq = fields.count("index_topk_freq", limit="layers")
    offset = fields.count("index_skip_topk_offset", limit="layers")
    step = freq if isinstance(freq, int) else 1
    first = offset - 1 if isinstance(offset, int) else 1
    return sum(1 for layer in range(num_layers) if max(layer - first, 0) % step == 0)


def _from_kimi(fields: Fields, num_layers: int) -> LayerCounts:
    full = fields.items("full_attn_layers")
    if full is None:
        reason = f'{fields.part} has no "full_attn_layers"'
        return LayerCounts(Unknown(reason), 0, Unknown(reason))
    for layer in full:  # counted from 1
        if isinstance(layer, bool) or not isinstance(layer, int) or not 1 <= layer <= num_layers:
            raise InputError(
                f'"full_attn_layers" in {fields.part} names layer {shown(layer)}, but the model has layers 1 to '
                f"{num_layers}. Correct the file, or name a model of the catalogue.",
                part="full_attn_layers",
            )
    attention = len(set(full))
    return LayerCounts(attention, 0, num_layers - attention)


def _from_names(fields: Fields, key: str, pattern: object, num_layers: int) -> LayerCounts:
    if not isinstance(pattern, (str, list, tuple)):
        reason = f'"{key}" in {fields.part} is {shown(pattern)}, not a list of layer kinds'
        return LayerCounts(Unknown(reason), Unknown(reason), Unknown(reason))
    kinds = list(pattern)[:num_layers]
    known = _FULL | _WINDOW | _LINEAR | _NO_ATTENTION
    strange = [kind for kind in kinds if not isinstance(kind, str) or kind not in known]
    if strange or len(kinds) < num_layers:
        what = f"has the kind {shown(strange[0])}" if strange else f"covers {len(kinds)} of {num_layers} layers"
        reason = f'"{key}" in {fields.part} {what}'
        return LayerCounts(Unknown(reason), Unknown(reason), Unknown(reason))
    windowed = sum(kind in _WINDOW for kind in kinds)
    return LayerCounts(
        sum(kind in _FULL for kind in kinds) + windowed, windowed, sum(kind in _LINEAR for kind in kinds)
    )


def _from_codes(kinds: Sequence[object], num_layers: int, *, linear: int | None, windowed: int | None) -> LayerCounts:
    codes = list(kinds)[:num_layers]
    if len(codes) < num_layers:
        reason = f"the config's list of layer kinds covers {len(codes)} of {num_layers} layers"
        return LayerCounts(Unknown(reason), Unknown(reason), Unknown(reason))
    num_linear = 0 if linear is None else codes.count(linear)
    return LayerCounts(num_layers - num_linear, 0 if windowed is None else codes.count(windowed), num_linear)
