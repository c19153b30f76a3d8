"""DCP's exchange in one layer of a decode step: collectives, their bytes, and an alpha-beta model of the links.

Sizes are those of nccl-tests: the gathered buffer of an all-gather, the reduced input of a reduce-scatter, the buffer one
rank sends in an all-to-all. Constants come from published measurements and say so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from configurator.planner.deployment import Deployment, MissingFactError
from configurator.planner.weights import replicated_q_bytes, replicated_q_works

Operation = Literal["all_gather", "reduce_scatter", "all_to_all", "all_reduce"]

HBM_EFFICIENCY = 0.7
"""Share of the memory bandwidth that decode attention reaches; fitted on DeepSeek-V2-Lite, 16 GB200 (vLLM issue 19436)."""
FLOP_EFFICIENCY = 0.6
"""Share of the dense rate that decode attention reaches; assumed."""
LINK_EFFICIENCY = 0.8
"""Share of a link's rate that large collectives reach: 350 to 360 of 450e9 bytes/s on H100 (NCCL issue 1281)."""
LINK_NAMES = {"nvlink": "NVLink", "xgmi": "Infinity Fabric", "xelink": "Xe Link", "hccs": "HCCS", "pcie": "PCIe"}
"""What people call the kinds of links."""
KERNEL_US = 2.0
"""One small kernel, launched from a CUDA graph."""
FUSED_ALPHA_US = 8.0
"""``fi_a2a`` in a CUDA graph, before any payload."""
ALL_REDUCE_ALPHA_US = 8.0
"""A TP all-reduce of a decode step, which runs as one kernel over peer memory, not as a ring; assumed."""
A2A_ALPHA = (0.6, 1.0)
"""Start-up of an all-to-all over that of a ring: a guess; published runs point to the upper end. The first is planned with."""


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


def ring_alpha_us(ranks: int) -> float:
    """Return the start-up of a ring all-gather or reduce-scatter: 7, 13, 25, 49 us on 2, 4, 8, 16 ranks of NVLink."""
    return 4.0 + 3.0 * (ranks - 1)


def link_of(server: Deployment) -> Link:
    """Return the link that a DCP group and the TP group use.

    Raises:
        MissingFactError: The group leaves the node and its fabric, or no bandwidth is known.
    """
    per_node = server.value("hardware.gpus_per_node")
    if isinstance(per_node, int) and server.dcp_size > per_node and server.value("hardware.mnnvl") is not True:
        raise MissingFactError("a DCP group leaves the node, and the network between nodes is not known")
    return Link(server.number("hardware.link_gbps") * LINK_EFFICIENCY, str(server.value("hardware.link_kind")))


def tokens_of_step(server: Deployment, batch_size: int) -> int:
    """Return the query tokens that the layers outside attention see: with DP attention those of all replicas."""
    return batch_size * queries_per_request(server) * server.attn_dp_size


def queries_per_request(server: Deployment) -> int:
    """Return the query tokens of one request in a step: more than one where drafts are verified."""
    return max(server.count_or("speculative_num_draft_tokens", 1), 1) if server.drafts else 1


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
