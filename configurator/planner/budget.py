"""How much of a GPU's memory the server sets aside, and for what: its own defaults, restated, and what they cover.

Source: sglang/srt/arg_groups/memory_hook.py, handle_gpu_memory_settings, 0.5.23; the same heuristics stand in
``server_args.py`` up to 0.5.18.
"""

from __future__ import annotations

from dataclasses import dataclass

from configurator.planner.deployment import GIB, Deployment

MIB = 2**20
RUNTIME_BYTES = int(1.6 * GIB)
"""CUDA context, NCCL's buffers and libraries: assumed; it is what a server on 8 GPUs takes before any weight."""

_BY_MEMORY = ((20, 2048, 8, 8), (35, 4096, 48, 160), (60, 4096, 32, 160), (90, 8192, 256, 512), (160, 8192, 256, 512))
"""Up to so many GiB: chunked prefill tokens, and the largest decode graph with a tp_size below 4, or from 4 on."""
_SYMMETRIC_GIB = 4
_SM_COUNT = 152
"""Multiprocessors of the largest Blackwell part in use with fi_a2a; the workspace grows with them."""


@dataclass(frozen=True)
class Reserve:
    """What the server sets aside.

    Attributes:
        fraction: ``mem_fraction_static``, given or by default.
        given: Whether the user gave it.
        chunk_tokens: Tokens of a prefill chunk.
        max_graph_batch: Largest batch with a decode graph.
        after_capture: Whether the KV cache is sized after graphs are captured, so that they come out of it.
    """

    fraction: float
    given: bool
    chunk_tokens: int
    max_graph_batch: int
    after_capture: bool


def reserve_of(server: Deployment) -> Reserve:
    """Return what *server* sets aside.

    Raises:
        MissingFactError: The GPU's memory, or a flag it depends on, is not known.
    """
    memory_gib = server.number("hardware.memory_gib")
    chunk, graph = _by_memory(memory_gib, server.tp_size)
    chunk = server.count("chunked_prefill_size") if server.value("chunked_prefill_size") is not None else chunk
    for dest in ("cuda_graph_max_bs_decode", "cuda_graph_max_bs"):
        if isinstance(given := server.flags.get(dest), int):
            graph = given
            break
    else:
        running = server.flags.get("max_running_requests")
        graph = min(graph, running) if isinstance(running, int) else graph
    after = _sized_after_capture(server, chunk)
    fraction = server.value("mem_fraction_static")
    if fraction is not None:
        return Reserve(server.number("mem_fraction_static"), True, max(chunk, 2048), graph, after)
    total = memory_gib * 1024
    reserved = _reserved_mib(server, max(chunk, 2048), graph, memory_gib, after_capture=after)
    return Reserve(round((total - reserved) / total, 3), False, max(chunk, 2048), graph, after)


def _by_memory(memory_gib: float, tp_size: int) -> tuple[int, int]:
    for limit, chunk, few, many in _BY_MEMORY:
        if memory_gib < limit:
            return chunk, few if tp_size < 4 else many
    return 16384, 512


def _graphs_on(server: Deployment, phase: str) -> bool:
    if server.flags.get("disable_cuda_graph") is True or server.flags.get(f"disable_{phase}_cuda_graph") is True:
        return False
    return server.flags.get(f"cuda_graph_{phase}_backend", "full") != "disabled"


def _sized_after_capture(server: Deployment, chunk: int) -> bool:
    """Tell whether the pool is sized after capture: CUDA, without DCP and MLA, all graphs on, since 0.5.16."""
    return (
        server.since("0.5.16")
        and server.value("hardware.platform") == "cuda"
        and server.dcp_size == 1
        and server.kind == "gqa"
        and chunk > 0
        and _graphs_on(server, "decode")
        and _graphs_on(server, "prefill")
    )


def _reserved_mib(server: Deployment, tokens: int, graph: int, memory_gib: float, *, after_capture: bool) -> float:
    parallel = server.tp_size * server.pp_size / 8 * 1024
    if after_capture:
        return (1536 if server.since("0.5.18") else 512) + parallel
    reserved = 512 + tokens * 1.5 + parallel
    if _graphs_on(server, "decode"):
        reserved += graph * 2
    if server.dp_attention:
        reserved += graph * server.attn_dp_size * (4.5 if graph > 300 else 3)
    if _graphs_on(server, "prefill"):
        reserved += 1536 if server.kind != "gqa" else 8 * _prefill_graphs(tokens)
    if memory_gib > 60:
        reserved = max(reserved, 10 * 1024)
    if server.flags.get("moe_a2a_backend") == "deepep" and _graphs_on(server, "decode"):
        reserved += 2048
    return reserved + (2048 if server.value("hardware.platform") == "xpu" else 0)


def _prefill_graphs(most: int) -> int:
    """Return how many prefill graphs are captured: token counts in steps that widen with size.

    Source: sglang/srt/arg_groups/cuda_graph_hook.py, generate_prefill_cuda_graph_batch_sizes, 0.5.23.
    """
    steps = ((4, 33, 4), (48, 257, 16), (288, 513, 32), (576, 1025, 64), (1280, 4097, 256), (4608, most + 1, 512))
    return sum(1 for step in steps for size in range(*step) if size <= most)


# --- what the reserve is for ------------------------------------------------------------------------------------------------


def graph_bytes(server: Deployment, reserve: Reserve) -> float:
    """Return what decode graphs take: the server's own rule of thumb, 2 MiB for each request of the largest."""
    return reserve.max_graph_batch * 2 * MIB if _graphs_on(server, "decode") else 0.0


def activation_bytes(server: Deployment, reserve: Reserve) -> float:
    """Return the peak of activations in a prefill chunk, by a rule of thumb.

    Six copies of the residual stream and, with experts, two copies of each routed token and three of its inner width;
    and the logits of the largest decode batch in float32.
    """
    hidden, size = server.count("model.hidden_size"), server.activation_bytes
    width = 6.0 * hidden
    if server.value("model.num_experts") is not None:
        inner = server.value("model.moe_intermediate_size")
        inner_width = inner if isinstance(inner, int) else server.count_or("model.intermediate_size", hidden)
        visits = server.count_or("model.num_experts_per_token", 1)
        width += visits * (2.0 * hidden + 3.0 * inner_width / server.tp_size)
    logits = reserve.max_graph_batch * server.count("model.vocab_size") * 4.0
    return reserve.chunk_tokens * size * width + logits


def exchange_workspace_bytes(server: Deployment) -> int:
    """Return the workspace of ``fi_a2a`` on one rank; the other exchanges need none.

    Source: flashinfer 0.7.2, decode_cp_a2a_workspace_size: 512 KiB for each peer and channel.
    """
    if server.dcp_size == 1 or server.kind == "gqa" or server.comm_backend != "fi_a2a":
        return 0
    channels = _SM_COUNT // (2 * -(-server.dcp_size // 8))
    return server.dcp_size * channels * 512 * 1024


def symmetric_bytes(server: Deployment) -> int:
    """Return the symmetric-memory pool, which the server allocates ahead where it is enabled."""
    if server.value("enable_symm_mem") is not True:
        return 0
    text = server.env.get("SGLANG_SYMM_MEM_PREALLOC_GB_SIZE", "")
    return (int(text) if text.isdigit() else _SYMMETRIC_GIB) * GIB
