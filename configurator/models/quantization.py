"""How a checkpoint says that its weights are quantised, by the names SGLang gives the methods.

Source: sglang 0.5.23, ``model_config.py:_parse_quant_hf_config`` and ``_parse_modelopt_quant_config``.
"""

from __future__ import annotations

from collections.abc import Mapping

from configurator.core.errors import InputError
from configurator.core.unknown import Unknown
from configurator.models.fields import Fields, shown

BlockSize = tuple[int, ...] | Unknown | None


def quantization_of(
    outer: Fields, text: Fields, standalone: Mapping[str, object] | None
) -> tuple[str | Unknown | None, BlockSize]:
    """Return the method by SGLang's name and the weight block, each ``None`` for plain weights.

    Args:
        outer: The whole config.
        text: The language model's config, which holds the entry in some multimodal checkpoints.
        standalone: Contents of ``hf_quant_config.json``, looked at where the config has no entry.

    Raises:
        InputError: An entry is there but is no object, or its block size is nonsense.
    """
    for place in (outer, text):
        for key in ("quantization_config", "compression_config"):
            section = place.section(key)
            if section is not None:
                return _method(Fields(section, f"{place.part}, {key}"))
    if standalone is not None:
        return _method(Fields(standalone, "hf_quant_config.json"))
    return None, None


def _method(entry: Fields) -> tuple[str | Unknown | None, BlockSize]:
    method = entry.text("quant_method")
    if method is None or method == "modelopt":
        nested = entry.section("quantization")
        return _modelopt(Fields(nested, entry.part) if nested is not None else entry)
    return method.lower(), _block(entry)


def _modelopt(entry: Fields) -> tuple[str | Unknown | None, BlockSize]:
    algorithm = (entry.text("quant_algo") or "").upper()
    if algorithm == "MIXED_PRECISION":
        layers = (entry.section("quantized_layers") or {}).values()
        algorithms = {str(layer.get("quant_algo", "")).upper() for layer in layers if isinstance(layer, Mapping)}
        return ("modelopt_mixed" if algorithms & {"NVFP4", "W4A16_NVFP4"} else "w4afp8"), None
    if "FP4" in algorithm:
        return "modelopt_fp4", None
    if algorithm == "FP8":
        return "modelopt_fp8", None
    if algorithm == "MXFP8":
        group = entry.count("group_size", limit="dim") if entry.has("group_size") else 32
        return "mxfp8", (1, group) if isinstance(group, int) else None
    reason = f"{entry.part} names no quantisation method known here"
    return Unknown(reason), Unknown(reason)


def _block(entry: Fields) -> BlockSize:
    sizes = entry.items("weight_block_size")
    if sizes is None:
        return None
    block = tuple(size for size in sizes if isinstance(size, int) and not isinstance(size, bool) and size > 0)
    if len(block) != len(sizes) or len(block) != 2:
        raise InputError(
            f'"weight_block_size" in {entry.part} is {shown(sizes)}; two positive whole numbers belong there, '
            f"such as [128, 128].",
            part="weight_block_size",
        )
    return block
