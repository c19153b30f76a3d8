"""What a decode step costs: attention, DCP's exchange, weights and TP all-reduces, and where DCP breaks even.

Attention is bound by memory bandwidth or by operations, whichever takes longer. What the model was never checked against is
flagged, not smoothed over: see :func:`limits`.
"""

from __future__ import annotations

from dataclasses import dataclass

from configurator.core.errors import InputError
from configurator.core.unknown import Unknown, is_unknown
from configurator.planner.cell import head_bytes, index_bytes, latent_bytes
from configurator.planner.deployment import Deployment, or_unknown
from configurator.planner.exchange import (
    ALL_REDUCE_ALPHA_US,
    FLOP_EFFICIENCY,
    HBM_EFFICIENCY,
    LINK_EFFICIENCY,
    LINK_NAMES,
    Collective,
    collectives_of,
    exchange_us,
    fixed_us,
    link_of,
    queries_per_request,
    replicate_q_us,
    tokens_of_step,
)
from configurator.planner.memory import check_context
from configurator.planner.weights import weights_of

MAX_BATCH = 65_536
"""Requests of a step; more is a slip of the pen."""


@dataclass(frozen=True)
class LatencyPlan:
    """What a decode step costs, by the model.

    Attributes:
        batch_size: Requests in the step.
        context_tokens: Context of each.
        attention_us: Attention of one layer.
        exchange_us: DCP's collectives and kernels of one layer.
        fixed_us: What of that does not depend on the batch.
        collectives: The collectives among it.
        replicate_q_us: The larger Q projection of one layer.
        weights_us: Reading the weights of one layer, on average.
        all_reduce_us: The two TP all-reduces of one layer.
        layers: Layers with attention of this kind, and all layers.
        per_layer_us: Attention and exchange of one layer.
        per_token_ms: A whole step: all layers, weights and TP all-reduces included.
        break_even_tokens: Context tokens of the batch above which DCP is faster than TP alone; ``None`` where it never is.
        tp_only_us: Attention of one layer without DCP.
        valid: Whether the model holds here.
        basis: What the figures rest on, and why they do not hold where they do not.
    """

    batch_size: int
    context_tokens: int
    attention_us: float
    exchange_us: float
    fixed_us: float
    collectives: tuple[Collective, ...]
    replicate_q_us: float
    weights_us: float | Unknown
    all_reduce_us: float
    layers: tuple[int, int]
    per_layer_us: float
    per_token_ms: float | Unknown
    break_even_tokens: int | None
    tp_only_us: float
    valid: bool
    basis: str


@or_unknown
def plan_latency(
    server: Deployment, *, batch_size: int, context_tokens: int, checkpoint_bytes: int | None = None
) -> LatencyPlan:
    """Return what a decode step costs, or an Unknown that says which number is missing.

    Args:
        server: The server.
        batch_size: Requests in the step, of one attention replica.
        context_tokens: Context of each request.
        checkpoint_bytes: Size of the checkpoint's weights, where somebody looked.

    Raises:
        InputError: A number is not positive.
    """
    check_batch(batch_size)
    check_context(context_tokens)
    return _plan(server, batch_size, context_tokens, checkpoint_bytes)


def check_batch(batch_size: int) -> None:
    """Check a batch size.

    Raises:
        InputError: It is not between 1 and :data:`MAX_BATCH`.
    """
    if not 1 <= batch_size <= MAX_BATCH:
        raise InputError(
            f"A batch of {batch_size} requests was asked for; a step holds between 1 and {MAX_BATCH}. "
            "Give a number in that range.",
            part=str(batch_size),
        )


def attention_us(server: Deployment, batch_size: int, context_tokens: int) -> float:
    """Return one layer's attention on one rank: the slower of reading its share of the KV cache and computing with it.

    The rank holds ceil(L / c) tokens and computes for all H heads of its group, so its operations do not fall with c.

    Raises:
        MissingFactError: A width or a rate is not known.
    """
    dcp = server.dcp_size
    bandwidth = server.number("hardware.hbm_gbps") * 1e3 * HBM_EFFICIENCY  # bytes per us
    tokens = -(-context_tokens // dcp)
    row = head_bytes(server, dcp) if server.kind == "gqa" else latent_bytes(server)
    if server.kind == "dsa":
        picked = min(-(-server.count("model.index_topk") // dcp), tokens)
        keys = index_bytes(server) / server.num_kv_layers * context_tokens
        return batch_size * (picked * row + keys) / bandwidth
    memory = batch_size * tokens * row / bandwidth
    heads = server.num_group_heads if server.kind != "gqa" else server.num_local_heads * dcp
    operations = 2.0 * batch_size * queries_per_request(server) * tokens * heads * _widths(server)
    rate = server.facts.get("hardware.bf16_tflops")
    if not isinstance(rate, int | float):
        return memory
    return max(memory, operations / (rate * 1e6 * FLOP_EFFICIENCY))


def _widths(server: Deployment) -> int:
    """Return the multiply-adds for one head and token: scores, then values."""
    if server.kind == "gqa":
        return server.count("model.head_dim") + server.count("model.v_head_dim")
    rank = server.count("model.kv_lora_rank")
    return 2 * rank + server.count_or("model.qk_rope_head_dim", 0)


def break_even_tokens(server: Deployment, cost_us: float) -> int | None:
    """Return the context tokens in the batch above which DCP at *cost_us* a layer is faster than TP alone.

    ``None`` where attention gains too little from fewer bytes: it is bound by computing, or reads few tokens anyway.

    Raises:
        MissingFactError: A width or a rate is not known.
    """
    if server.dcp_size == 1:
        return None
    alone = server.with_flags(dcp_size=1, dcp_replicate_q_proj=False)
    probe = 2**24  # tokens; both sides are linear in them but for what DSA picks, which is spent long before
    saved = (attention_us(alone, 1, probe) - attention_us(server, 1, probe)) / probe
    if saved <= 0 or server.kind == "dsa":
        return None
    return round(cost_us / saved)


def limits(server: Deployment, batch_size: int) -> list[str]:
    """Return why the model does not hold here; empty where it does."""
    found = []
    if batch_size * queries_per_request(server) <= 2:
        found.append(
            "tiny batches leave the GPU mostly idle, so that attention without DCP is slower than its bytes say "
            "(published: off by ten times at a batch of one)"
        )
    kind = server.facts.get("hardware.link_kind")
    if server.dcp_size > 1 and kind != "nvlink":
        found.append(f"start-up times were fitted on NVLink and are a lower bound on {_link_name(server)}")
    if server.kind == "dsa":
        found.append("no published latency of sparse attention under DCP was there to check against")
    return found


def _plan(server: Deployment, batch_size: int, context_tokens: int, checkpoint_bytes: int | None) -> LatencyPlan:
    attention = attention_us(server, batch_size, context_tokens)
    exchange = exchange_us(server, batch_size)
    alone = server.with_flags(dcp_size=1, dcp_replicate_q_proj=False)
    kv_layers, layers = server.count("model.num_attention_layers"), server.count("model.num_layers")
    weights, all_reduce = (
        or_unknown(weights_us)(server, batch_size, checkpoint_bytes),
        all_reduce_us(server, batch_size),
    )
    step = weights if is_unknown(weights) else kv_layers * (attention + exchange) + layers * (weights + all_reduce)
    wrong = limits(server, batch_size)
    link = server.facts.get("hardware.link_gbps")
    basis = (
        f"model: HBM at {HBM_EFFICIENCY:g} of {server.number('hardware.hbm_gbps') / 1e3:g} TB/s, "
        f"{_link_name(server)} at {LINK_EFFICIENCY:g} of {link} GB/s, "
        f"batch of {batch_size} with {context_tokens:,} tokens each"
    )
    return LatencyPlan(
        batch_size=batch_size,
        context_tokens=context_tokens,
        attention_us=attention,
        exchange_us=exchange,
        fixed_us=fixed_us(server),
        collectives=collectives_of(server, batch_size),
        replicate_q_us=replicate_q_us(server, batch_size),
        weights_us=weights,
        all_reduce_us=all_reduce,
        layers=(kv_layers, layers),
        per_layer_us=attention + exchange,
        per_token_ms=step if is_unknown(step) else step / 1e3,
        break_even_tokens=break_even_tokens(server, exchange),
        tp_only_us=attention_us(alone, batch_size, context_tokens),
        valid=not wrong,
        basis=basis + (f"; not valid here: {'; '.join(wrong)}" if wrong else ""),
    )


def _link_name(server: Deployment) -> str:
    kind = str(server.facts.get("hardware.link_kind"))
    return LINK_NAMES.get(kind, kind)


def weights_us(server: Deployment, batch_size: int, checkpoint_bytes: int | None = None) -> float:
    """Return the time to read the weights of one layer, on average: of the experts those that a batch visits.

    Raises:
        MissingFactError: The weights or the memory bandwidth are not known.
    """
    weights = weights_of(server, checkpoint_bytes)
    read = weights.bytes_per_gpu
    if weights.expert_bytes:
        chance = server.count_or("model.num_experts_per_token", 1) / server.count("model.num_experts")
        visited = 1.0 - (1.0 - chance) ** tokens_of_step(server, batch_size)
        read -= weights.expert_bytes * (1.0 - visited)
    return read / server.num_layers / (server.number("hardware.hbm_gbps") * 1e3 * HBM_EFFICIENCY)


def all_reduce_us(server: Deployment, batch_size: int) -> float:
    """Return the two TP all-reduces of one layer, which are there with and without DCP.

    Raises:
        MissingFactError: A width or the link is not known.
    """
    if server.tp_size == 1:
        return 0.0
    payload = tokens_of_step(server, batch_size) * server.count("model.hidden_size") * server.activation_bytes
    share = 2 * (server.tp_size - 1) / server.tp_size
    return 2 * (ALL_REDUCE_ALPHA_US + share * payload / (link_of(server).gbps * 1e3))
