"""What a decode step costs: bytes and collectives per layer, an alpha-beta model of the links, and where DCP breaks even.

Constants come from published measurements and say so; with a probed machine's own curves they would be replaced. What
the model was never checked against is flagged, not smoothed over: see :func:`limits`.

Notation follows the payload table: B requests, H heads of the DCP group, c = ``dcp_size``, f = (c - 1) / c. Sizes S are
those of nccl-tests: the gathered buffer, the reduced input, the exchanged buffer of one rank.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from configurator.core.errors import InputError
from configurator.core.unknown import Unknown, is_unknown
from configurator.planner.cell import head_bytes, index_bytes, latent_bytes
from configurator.planner.deployment import Deployment, MissingFactError, or_unknown
from configurator.planner.memory import check_context
from configurator.planner.weights import replicated_q_bytes, replicated_q_works, weights_of

Operation = Literal["all_gather", "reduce_scatter", "all_to_all", "all_reduce"]

HBM_EFFICIENCY = 0.7
"""Share of the memory bandwidth that decode attention reaches; fitted on DeepSeek-V2-Lite, 16 GB200 (vLLM issue 19436)."""
FLOP_EFFICIENCY = 0.6
"""Share of the dense rate that decode attention reaches; assumed."""
LINK_EFFICIENCY = 0.8
"""Share of a link's rate that large collectives reach: 350 to 360 of 450e9 bytes/s on H100 (NCCL issue 1281)."""
KERNEL_US = 2.0
"""One small kernel, launched from a CUDA graph."""
FUSED_ALPHA_US = 8.0
"""``fi_a2a`` in a CUDA graph, before any payload."""
ALL_REDUCE_ALPHA_US = 8.0
"""A TP all-reduce of a decode step, which runs as one kernel over peer memory, not as a ring; assumed."""
A2A_ALPHA = (0.6, 1.0)
"""Start-up of an all-to-all over that of a ring: a guess; published runs point to the upper end. The first is planned with."""
MAX_BATCH = 65_536


@dataclass(frozen=True)
class Collective:
    """One collective of one layer.

    Attributes:
        step: Which it is: ``gather_q``, ``gather_lse``, ``reduce_scatter``, ``exchange`` or ``all_reduce``.
        operation: What it does.
        payload_bytes: S, as nccl-tests defines it.
        bytes_per_token: S of one query token.
        time_us: Modelled time.
    """

    step: str
    operation: Operation
    payload_bytes: int
    bytes_per_token: int
    time_us: float


@dataclass(frozen=True)
class Link:
    """How the ranks of a group reach each other.

    Attributes:
        gbps: 1e9 bytes/s of one GPU and direction, after :data:`LINK_EFFICIENCY`.
        kind: ``nvlink`` or another.
    """

    gbps: float
    kind: str


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


def ring_alpha_us(ranks: int) -> float:
    """Return the start-up of a ring all-gather or reduce-scatter: 7, 13, 25, 49 us on 2, 4, 8, 16 ranks of NVLink."""
    return 4.0 + 3.0 * (ranks - 1)


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


def link_of(server: Deployment) -> Link:
    """Return the link that a DCP group and the TP group use.

    Raises:
        MissingFactError: The group leaves the node and its fabric, or no bandwidth is known.
    """
    per_node = server.value("hardware.gpus_per_node")
    if isinstance(per_node, int) and server.dcp_size > per_node and server.value("hardware.mnnvl") is not True:
        raise MissingFactError("a DCP group leaves the node, and the network between nodes is not known")
    return Link(server.number("hardware.link_gbps") * LINK_EFFICIENCY, str(server.value("hardware.link_kind")))


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


def tokens_of_step(server: Deployment, batch_size: int) -> int:
    """Return the query tokens that the layers outside attention see: with DP attention those of all replicas."""
    return batch_size * queries_per_request(server) * server.attn_dp_size


def queries_per_request(server: Deployment) -> int:
    """Return the query tokens of one request in a step: more than one where drafts are verified."""
    return max(server.count_or("speculative_num_draft_tokens", 1), 1) if server.drafts else 1


def _widths(server: Deployment) -> int:
    """Return the multiply-adds for one head and token: scores, then values."""
    if server.kind == "gqa":
        return server.count("model.head_dim") + server.count("model.v_head_dim")
    rank = server.count("model.kv_lora_rank")
    return 2 * rank + server.count_or("model.qk_rope_head_dim", 0)


def collectives_of(server: Deployment, batch_size: int) -> tuple[Collective, ...]:
    """Return DCP's collectives of one layer, by backend and replicate-q; none at DCP 1.

    Raises:
        MissingFactError: A width or the link is not known.
    """
    if server.dcp_size == 1:
        return ()
    link, c = link_of(server), server.dcp_size
    return tuple(
        Collective(
            step, operation, per_token * batch_size, per_token, _time(operation, step, per_token * batch_size, c, link)
        )
        for step, operation, per_token in _steps(server)
    )


def _steps(server: Deployment) -> list[tuple[str, Operation, int]]:
    """Return step, operation and S of one query token; queries of drafts count as tokens."""
    heads, size, c = server.num_group_heads, int(server.activation_bytes), server.dcp_size
    queries = queries_per_request(server)
    if server.kind == "gqa":  # the Triton path: it reads no --dcp-comm-backend, and reduces the whole float32 output
        value = server.count("model.v_head_dim")
        return [
            ("gather_q", "all_gather", queries * heads * server.count("model.head_dim") * size),
            ("gather_lse", "all_gather", queries * c * heads * 4),
            ("all_reduce", "all_reduce", queries * heads * value * 4),
        ]
    rank, rope = server.count("model.kv_lora_rank"), server.count_or("model.qk_rope_head_dim", 0)
    found: list[tuple[str, Operation, int]] = []
    if not (server.replicate_q and replicated_q_works(server)):
        found.append(("gather_q", "all_gather", queries * heads * (rank + rope) * size))
    if server.comm_backend == "ag_rs":
        found.append(("gather_lse", "all_gather", queries * c * heads * 4))
        found.append(("reduce_scatter", "reduce_scatter", queries * heads * rank * 4))
    else:
        stats = 8 if server.comm_backend == "fi_a2a" else 4
        name = "exchange_fused" if server.comm_backend == "fi_a2a" else "exchange"
        found.append((name, "all_to_all", queries * heads * (rank * size + stats)))
    return found


def _time(operation: Operation, step: str, payload: int, ranks: int, link: Link) -> float:
    share = (ranks - 1) / ranks * (2 if operation == "all_reduce" else 1)
    beta = link.gbps * 1e3 * (0.5 if step == "exchange_fused" else 1.0)  # bytes per us
    return alpha_us(operation, step, ranks) + share * payload / beta


def alpha_us(operation: Operation, step: str, ranks: int) -> float:
    """Return the start-up of a collective."""
    if step == "exchange_fused":
        return FUSED_ALPHA_US
    if operation == "all_to_all":
        return A2A_ALPHA[0] * ring_alpha_us(ranks)
    return ring_alpha_us(ranks) * (2 if operation == "all_reduce" else 1)


def kernels_of(server: Deployment) -> int:
    """Return the small kernels around the collectives: pack, copy and combine, or correct and cast."""
    if server.dcp_size == 1:
        return 0
    return 3 if server.kind == "gqa" or server.comm_backend == "ag_rs" else 4


def replicate_q_us(server: Deployment, batch_size: int) -> float:
    """Return what the larger Q projection of one layer costs: reading more weights, or computing more.

    Raises:
        MissingFactError: A width or a rate is not known.
    """
    if not (server.replicate_q and replicated_q_works(server)):
        return 0.0
    _, extra = replicated_q_bytes(server)
    reading = extra / (server.number("hardware.hbm_gbps") * 1e3 * HBM_EFFICIENCY)
    rate = server.facts.get("hardware.bf16_tflops")
    if not isinstance(rate, int | float):
        return reading
    low_rank = server.value("model.q_lora_rank")
    q_in = low_rank if isinstance(low_rank, int) else server.count("model.hidden_size")
    nope, rope = server.count("model.qk_nope_head_dim"), server.count_or("model.qk_rope_head_dim", 0)
    per_head = q_in * (nope + rope) + nope * server.count("model.kv_lora_rank")
    heads = server.num_group_heads - server.num_local_heads
    return max(
        reading, 2.0 * batch_size * queries_per_request(server) * per_head * heads / (rate * 1e6 * FLOP_EFFICIENCY)
    )


def exchange_us(server: Deployment, batch_size: int) -> float:
    """Return all that DCP adds to one layer: collectives, kernels, and the larger Q projection.

    Raises:
        MissingFactError: A width, a rate or the link is not known.
    """
    collectives = sum(c.time_us for c in collectives_of(server, batch_size))
    return collectives + kernels_of(server) * KERNEL_US + replicate_q_us(server, batch_size)


def fixed_us(server: Deployment) -> float:
    """Return what of :func:`exchange_us` does not depend on the batch.

    Raises:
        MissingFactError: A width or a rate is not known.
    """
    if server.dcp_size == 1:
        return 0.0
    starts = sum(alpha_us(operation, step, server.dcp_size) for step, operation, _ in _steps(server))
    return starts + kernels_of(server) * KERNEL_US + replicate_q_us(server, 0)


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
        found.append(f"start-up times were fitted on NVLink and are a lower bound on {kind}")
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
        f"{server.facts.get('hardware.link_kind')} at {LINK_EFFICIENCY:g} of {link} GB/s, "
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


def variant(server: Deployment, *, backend: str, replicate_q: bool) -> Deployment:
    """Return the same server with another exchange, to compare with."""
    return server.with_flags(dcp_comm_backend=backend, dcp_replicate_q_proj=replicate_q)
