"""Bytes of weights on one GPU, counted from the model's shape, its quantisation, and how the ranks share it.

A count from the shape is held against the published total of parameters; what the shape does not explain (a vision tower,
recurrent layers) is shared out as plain matrices. A checkpoint's own size, where given, replaces the count.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from configurator.core.errors import InputError
from configurator.planner.cell import draft_layers, kv_heads_held
from configurator.planner.deployment import Deployment, MissingFactError

Matter = Literal["expert", "dense", "attention", "plain"]
"""What a quantisation treats alike: routed experts, dense matrices, attention's matrices, all that stays unquantised."""

_ROUNDING = 0.04
"""Published totals are rounded; a smaller gap than this says nothing."""


@dataclass(frozen=True)
class Part:
    """Parameters of one kind.

    Attributes:
        matter: What a quantisation makes of them.
        total: In the whole model.
        local: On one rank.
        draft: Whether they belong to the draft layers, which only speculation loads.
    """

    matter: Matter
    total: float
    local: float
    draft: bool = False


@dataclass(frozen=True)
class Weights:
    """Weights of one GPU.

    Attributes:
        bytes_per_gpu: All of them.
        expert_bytes: Those of them in routed experts, which a small batch reads in part only.
        method: How they are stored, in words.
        measured: Whether the checkpoint's own size went in.
    """

    bytes_per_gpu: float
    expert_bytes: float
    method: str
    measured: bool


def weights_of(server: Deployment, checkpoint_bytes: int | None = None) -> Weights:
    """Return the weights of one GPU of *server*.

    Args:
        server: The server.
        checkpoint_bytes: Size of all weights on disk, where somebody looked.

    Raises:
        MissingFactError: The shape or the quantisation is not known well enough.
    """
    parts = _loaded(server)
    given = server.flags.get("quantization")
    method = given if isinstance(given, str) else server.value("model.quantization")
    measured = checkpoint_bytes is not None
    try:
        sizes = _sizes(server, None if method is None else str(method))
    except MissingFactError:
        if not measured:
            raise
        sizes = dict.fromkeys(("expert", "dense", "attention", "plain"), 1.0)  # shares count, the size is given
    local = {m: sum(p.local * sizes[m] for p in parts if p.matter == m) for m in sizes}
    scale = 1.0
    if checkpoint_bytes is not None:
        everything = sum(p.total * sizes[p.matter] for p in _parts_of(server, include_draft=True))
        scale = checkpoint_bytes / everything
    return Weights(
        bytes_per_gpu=sum(local.values()) * scale + absorbed_bytes(server),
        expert_bytes=local["expert"] * scale,
        method=str(method or server.value("model.torch_dtype")),
        measured=measured,
    )


def absorbed_bytes(server: Deployment) -> float:
    """Return the bytes of the absorbed ``w_kc`` and ``w_vc`` that MLA keeps beside ``kv_b_proj``, 16 bit each."""
    if server.kind == "gqa":
        return 0.0
    width = server.count("model.qk_nope_head_dim") + server.count("model.v_head_dim")
    return server.num_local_heads * width * server.count("model.kv_lora_rank") * 2.0 * server.num_kv_layers


def replicated_q_bytes(server: Deployment) -> tuple[float, float]:
    """Return what replicate-q stores in addition on one GPU, and what one layer reads more in each step.

    The sharded originals stay, so the copy holds all heads of the group; a step reads the group's heads, not the rank's.
    Only plain, and from 0.5.23 on block-fp8, projections of 16-bit ``w_kc`` are replicated.

    Raises:
        MissingFactError: A width is not known.
    """
    low_rank = server.value("model.q_lora_rank")
    nope, rope = server.count("model.qk_nope_head_dim"), server.count_or("model.qk_rope_head_dim", 0)
    q_in = low_rank if isinstance(low_rank, int) else server.count("model.hidden_size")
    block = server.value("model.quantization") == "fp8" and server.value("model.weight_block_size") is not None
    q_size = 1.0 if block else 2.0
    per_head = q_in * (nope + rope) * q_size + nope * server.count("model.kv_lora_rank") * 2.0
    group, local = server.num_group_heads, server.num_local_heads
    return per_head * group * server.num_kv_layers, per_head * (group - local)


def replicated_q_works(server: Deployment) -> bool:
    """Tell whether the release finds any projection it can replicate; it skips the others with a warning."""
    method = server.value("model.quantization")
    if method is None or method == "modelopt_fp4":  # its checkpoints leave attention in 16 bit
        return True
    return method == "fp8" and server.value("model.weight_block_size") == (128, 128) and server.since("0.5.23")


def checkpoint_size(folder: str | Path) -> int | None:
    """Return the bytes of all weights that a checkpoint's safetensors index states, ``None`` without an index.

    Raises:
        InputError: There is an index that cannot be read.
    """
    path = Path(folder) / "model.safetensors.index.json"
    try:
        if not path.is_file():
            return None
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            f"{path} cannot be read: {error}. Leave it out, or name the size of the weights.", part=str(path)
        ) from None
    metadata = document.get("metadata") if isinstance(document, Mapping) else None
    total = metadata.get("total_size") if isinstance(metadata, Mapping) else None
    return total if isinstance(total, int) and not isinstance(total, bool) and total > 0 else None


# --- shape --------------------------------------------------------------------------------------------------------------


def _loaded(server: Deployment) -> tuple[Part, ...]:
    return tuple(_parts_of(server, include_draft=server.drafts))


def _parts_of(server: Deployment, *, include_draft: bool) -> list[Part]:
    model = _layer_parts(server)
    counted = sum(p.total for p in model)
    published = server.facts.get("model.num_parameters")
    if isinstance(published, int) and abs(published - counted) > _ROUNDING * published:
        if published > counted:
            rest = published - counted
            model.append(Part("dense", rest, rest / server.tp_size / server.pp_size))
        else:
            by = published / counted
            model = [Part(p.matter, p.total * by, p.local * by) for p in model]
    if include_draft and (depth := _draft_depth(server)):
        model.extend(
            Part(p.matter, p.total * depth, p.local * depth, draft=True)
            for p in _one_layer(server, moe=_has_experts(server))
        )
    return model


def _draft_depth(server: Deployment) -> int:
    """Return the draft layers whose weights count; a draft of its own shape is taken as one layer like the model's."""
    if server.drafts:
        return draft_layers(server)
    return server.count_or("model.num_nextn_layers", 0)


def _has_experts(server: Deployment) -> bool:
    return server.value("model.num_experts") is not None


def _layer_parts(server: Deployment) -> list[Part]:
    layers = server.count("model.num_layers")
    dense_layers = layers
    if _has_experts(server):
        dense_layers = server.count_or("model.num_dense_layers", 0)
    found: list[Part] = []
    for count, moe in ((dense_layers, False), (layers - dense_layers, True)):
        if count > 0:
            found.extend(_times(part, count, server) for part in _one_layer(server, moe=moe))
    vocab = float(server.count("model.vocab_size") * server.count("model.hidden_size"))
    matrices = 1 if server.value("model.tie_word_embeddings") is True else 2
    return [*found, Part("plain", vocab * matrices, vocab * matrices / server.attn_tp_size)]


def _times(part: Part, layers: int, server: Deployment) -> Part:
    return Part(part.matter, part.total * layers, part.local * layers / server.pp_size)


def _one_layer(server: Deployment, *, moe: bool) -> list[Part]:
    hidden, tp = server.count("model.hidden_size"), server.tp_size
    parts = _latent_attention(server, hidden) if server.kind != "gqa" else _grouped_attention(server, hidden)
    if not moe:
        width = 3.0 * hidden * server.count("model.intermediate_size")
        return [*parts, Part("dense", width, width if server.value("moe_dense_tp_size") == 1 else width / tp)]
    experts = server.count("model.num_experts")
    inner = server.value("model.moe_intermediate_size")
    width = 3.0 * hidden * (inner if isinstance(inner, int) else server.count("model.intermediate_size"))
    shared = width * server.count_or("model.num_shared_experts", 0)
    return [
        *parts,
        Part("expert", width * experts, width * experts / tp),
        Part("dense", shared, shared / tp),
        Part("plain", float(hidden * experts), float(hidden * experts)),
    ]


def _latent_attention(server: Deployment, hidden: int) -> list[Part]:
    heads, width = server.count("model.num_heads"), server.attn_tp_size
    rank, rope = server.count("model.kv_lora_rank"), server.count_or("model.qk_rope_head_dim", 0)
    nope, value = server.count("model.qk_nope_head_dim"), server.count("model.v_head_dim")
    low_rank = server.value("model.q_lora_rank")
    q_in = low_rank if isinstance(low_rank, int) else hidden
    sharded = float(heads * (q_in * (nope + rope) + rank * (nope + value) + value * hidden))
    repeated = float(hidden * (rank + rope) + (hidden * low_rank if isinstance(low_rank, int) else 0))
    if server.kind == "dsa":
        repeated += server.count("model.index_n_heads") * (q_in * server.count("model.index_head_dim") + hidden)
        repeated += hidden * server.count("model.index_head_dim")
    return [Part("attention", sharded, sharded / width), Part("attention", repeated, repeated)]


def _grouped_attention(server: Deployment, hidden: int) -> list[Part]:
    heads, width = server.count("model.num_heads"), server.attn_tp_size
    head, value = server.count("model.head_dim"), server.count("model.v_head_dim")
    sharded = float(hidden * heads * (head + value))
    per_kv_head = float(hidden * (head + value))
    total = per_kv_head * server.count("model.num_kv_heads")
    return [
        Part("attention", sharded, sharded / width),
        Part("attention", total, per_kv_head * kv_heads_held(server, server.dcp_size)),
    ]


# --- quantisation -------------------------------------------------------------------------------------------------------

_EIGHT_BITS = frozenset({"fp8", "modelopt_fp8", "w8a8_fp8", "w8a8_int8", "fbgemm_fp8", "ptpc_fp8"})
_FOUR_BITS = frozenset({"awq", "awq_marlin", "gptq", "gptq_marlin", "moe_wna16", "auto-round"})


def _sizes(server: Deployment, method: str | None) -> Mapping[Matter, float]:
    """Return the bytes of one parameter, scales included, by what the quantisation treats alike."""
    block = server.value("model.weight_block_size")
    area = float(block[0] * block[1]) if isinstance(block, tuple) and len(block) == 2 else None
    return _sizes_of(method, server.activation_bytes, area)


@lru_cache(maxsize=256)
def _sizes_of(method: str | None, full: float, area: float | None) -> Mapping[Matter, float]:
    if method is None:
        return {"expert": full, "dense": full, "attention": full, "plain": full}
    if method in _EIGHT_BITS or method == "mxfp8":
        size = 1.0 + (4.0 / area if area and method == "fp8" else 1 / 32 if method == "mxfp8" else 0.0)
        return {"expert": size, "dense": size, "attention": size, "plain": full}
    if (
        method == "modelopt_fp4"
    ):  # a scale of one byte for each 16 values; the published checkpoints leave attention alone
        return {"expert": 0.5625, "dense": 0.5625, "attention": full, "plain": full}
    if method == "mxfp4":
        return {"expert": 0.53125, "dense": full, "attention": full, "plain": full}
    if method == "w4afp8":
        return {"expert": 0.5 + 2 / 128, "dense": 1.0, "attention": 1.0, "plain": full}
    if method in _FOUR_BITS:  # 4 bits and groups of 128, as nearly all of these checkpoints have
        size = 0.5 + 2.5 / 128
        return {"expert": size, "dense": size, "attention": size, "plain": full}
    raise MissingFactError(
        f"how many bits {method} stores for each weight is not in the config; give the checkpoint's folder with its "
        f"safetensors index, or the size of its weights (--weights-gib)"
    )
