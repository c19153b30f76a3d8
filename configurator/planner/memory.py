"""The memory of one GPU, item by item, and the tokens that fit: rows of one rank, logical tokens of the server.

A *row* belongs to one rank; with DCP a row stands for ``dcp_size`` logical tokens, and only those are what requests fill.
Every figure says whether it was measured, modelled from published formulas, or assumed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from configurator.core.errors import InputError
from configurator.core.unknown import Unknown
from configurator.planner import budget
from configurator.planner.cell import Cell, cell_of
from configurator.planner.deployment import GIB, Deployment, MissingFactError, or_unknown
from configurator.planner.weights import replicated_q_bytes, replicated_q_works, weights_of

Basis = Literal["measured", "modelled", "assumed"]

BAND = (0.9, 1.1)
"""Actual over modelled tokens: published runs lie within it (the worst, GLM-5.3 on 8 H100 with DCP 8, at 0.90)."""
CALIBRATED_LATENT_BAND = (0.98, 1.02)
"""The same for dense MLA once one number was measured: published gains of DCP 2, 4 and 8 lie at 0.98 to 0.99."""


@dataclass(frozen=True)
class Item:
    """One item of a GPU's memory.

    Attributes:
        name: Key of the JSON.
        label: What people call it.
        bytes: Its size; negative only for the slack, where the others do not fit.
        basis: Where the figure comes from.
        how: The same in words.
    """

    name: str
    label: str
    bytes: int
    basis: Basis
    how: str


@dataclass(frozen=True)
class Measured:
    """What somebody read in a server's log: the rows of one rank, at some DCP size, everything else alike.

    Attributes:
        rows: ``max_total_num_tokens`` of the start-up log, which counts rows of one rank.
        dcp_size: DCP size of that run.
    """

    rows: int
    dcp_size: int = 1

    def __post_init__(self) -> None:
        """Check that there is something to calibrate with.

        Raises:
            InputError: A number is not positive.
        """
        if self.rows < 1 or self.dcp_size < 1:
            raise InputError(
                f"{self.rows} rows at DCP {self.dcp_size} were given as measured; both must be at least 1. "
                "Take max_total_num_tokens from the server's start-up log.",
                part=str(self.rows),
            )


@dataclass(frozen=True)
class MemoryPlan:
    """What fits.

    Attributes:
        items: Memory of one GPU; they add up to ``total_bytes``.
        total_bytes: All memory of one GPU.
        cell: What a row costs.
        kv_budget_bytes: What the server gives to the KV cache, states of recurrent layers excluded.
        rows_per_rank: Rows one rank holds, whole pages only.
        logical_tokens: Tokens that one attention replica holds.
        replicas: Attention replicas, each with as many tokens.
        page_tokens: Logical tokens of one page, the unit in which prefixes are shared.
        max_context_tokens: Longest request: what fits, or what the model takes.
        limited_by: Which of the two it is.
        gain_over_dcp1: Logical tokens over those at DCP 1 with as many bytes for the KV cache.
        error_band: Actual over modelled tokens.
        fits: Whether weights and at least one page fit, and the copies outside the budget.
        mem_fraction_static: Given or by the server's default.
        notes: What to know beside the figures.
    """

    items: tuple[Item, ...]
    total_bytes: int
    cell: Cell
    kv_budget_bytes: int
    rows_per_rank: int
    logical_tokens: int
    replicas: int
    page_tokens: int
    max_context_tokens: int | Unknown
    limited_by: Literal["memory", "model"]
    gain_over_dcp1: float
    error_band: tuple[float, float]
    fits: bool
    mem_fraction_static: float
    notes: tuple[str, ...]

    def item(self, name: str) -> int:
        """Return the bytes of an item, 0 where there is none of it."""
        return sum(item.bytes for item in self.items if item.name == name)

    def concurrent_requests(self, context_tokens: int) -> int:
        """Return how many requests of *context_tokens* the server holds at once, all replicas together.

        Raises:
            InputError: The context is not positive.
        """
        check_context(context_tokens)
        per_request = -(-context_tokens // self.page_tokens) * self.page_tokens
        return self.logical_tokens // per_request * self.replicas


def check_context(context_tokens: int) -> None:
    """Check a context length.

    Raises:
        InputError: It is not positive.
    """
    if context_tokens < 1:
        raise InputError(
            f"A context of {context_tokens} tokens was asked for; it holds at least one. Give a positive number.",
            part=str(context_tokens),
        )


@or_unknown
def plan_memory(
    server: Deployment, *, checkpoint_bytes: int | None = None, measured: Measured | None = None
) -> MemoryPlan:
    """Return what fits on the GPUs of *server*, or an Unknown that says which number is missing.

    Args:
        server: The server.
        checkpoint_bytes: Size of all weights of the checkpoint, where somebody looked.
        measured: Rows that a real start of this server gave; the KV budget is then taken from it.

    Raises:
        InputError: The GPU's memory is impossible, or the measured run cannot be one of this server.
    """
    return _plan(server, checkpoint_bytes, measured)


def gain(server: Deployment) -> float:
    """Return logical tokens over those at DCP 1, at equal bytes for the KV cache, before rounding to pages.

    Raises:
        MissingFactError: A width, count or dtype is not known.
    """
    cell, one = cell_of(server), cell_of(server.with_flags(dcp_size=1))
    return cell.tokens_per_row * one.budgeted / cell.budgeted


def rows_in(budget_bytes: int, cell: Cell, page_size: int) -> int:
    """Return the rows that *budget_bytes* hold, whole pages only."""
    return max(budget_bytes, 0) // cell.budgeted // page_size * page_size


def _plan(server: Deployment, checkpoint_bytes: int | None, measured: Measured | None) -> MemoryPlan:
    memory_gib = server.number("hardware.memory_gib")
    if not 0 < memory_gib < 100_000:
        raise InputError(
            f"A GPU with {memory_gib:g} GiB of memory does not exist. Correct memory_gib of the snapshot.",
            part="memory_gib",
        )
    total = int(memory_gib * GIB)
    cell, reserve = cell_of(server), budget.reserve_of(server)
    weights = weights_of(server, checkpoint_bytes)
    before_load = total - budget.RUNTIME_BYTES
    notes = list(cell.notes)
    if server.drafts and (
        server.value("model.num_nextn_layers") is None or server.flags.get("speculative_draft_model_path") is not None
    ):
        notes.append("The draft model's shape is not known here; it is taken as one layer like the model's own.")
    graphs, activations = budget.graph_bytes(server, reserve), budget.activation_bytes(server, reserve)
    kv_budget = int(before_load * reserve.fraction - weights.bytes_per_gpu)
    if reserve.after_capture:
        kv_budget -= int(graphs + activations)
    states = _state_bytes(server, kv_budget, notes)
    kv_budget -= states
    if measured is not None:
        kv_budget = _measured_budget(server, measured)
    rows = rows_in(kv_budget, cell, server.page_size)
    if isinstance(cap := server.flags.get("max_total_tokens"), int) and cap < rows:
        rows = cap // server.page_size * server.page_size
        notes.append(f"--max-total-tokens {cap} caps the rows of each rank, not the logical tokens.")
    q_copy = _q_copy(server, notes)
    workspace, symmetric = budget.exchange_workspace_bytes(server), budget.symmetric_bytes(server)
    kv_basis: Basis = "measured" if measured else "modelled"
    fraction = f"mem_fraction_static {reserve.fraction:g}, {'as given' if reserve.given else 'the default here'}"
    items = [
        Item("weights", f"Weights, {weights.method}", int(weights.bytes_per_gpu), *_weights_basis(weights.measured)),
        Item("kv_sharded", _sharded_label(cell), rows * cell.sharded, kv_basis, _kv_how(measured, fraction)),
        Item("kv_replicated", "KV cache, replicated part", rows * cell.replicated, kv_basis, _replicated_how(cell)),
        Item("kv_draft_extra", "Draft KV outside the KV budget", rows * cell.draft_outside, "modelled", "on every rank"),
        Item("states", "States of recurrent layers", states, "modelled", "the server's share, not sharded by DCP"),
        Item("replicate_q", "Replicated Q projection, outside the KV budget", q_copy, "modelled", "heads of the group"),
        Item("workspace", "fi_a2a workspace, outside the KV budget", workspace, "modelled", "512 KiB a peer and channel"),
        Item("symmetric_memory", "Symmetric-memory pool", symmetric, "modelled", "allocated ahead"),
        Item("graphs", "Decode CUDA graphs", int(graphs), "assumed", f"2 MiB a request, up to {reserve.max_graph_batch}"),
        Item("activations", "Activations", int(activations), "assumed", f"a prefill chunk of {reserve.chunk_tokens} tokens"),
        Item("runtime", "CUDA context, NCCL, libraries", budget.RUNTIME_BYTES, "assumed", "taken before any weight"),
    ]  # fmt: skip
    always = ("weights", "kv_sharded", "kv_replicated", "graphs", "activations")
    items = [item for item in items if item.bytes or item.name in always]
    slack = total - sum(item.bytes for item in items)
    items.append(Item("slack", "Slack", slack, "modelled", f"remainder; {fraction}"))
    outside = q_copy + workspace + symmetric + rows * cell.draft_outside
    unreserved = before_load - int(weights.bytes_per_gpu) - states - rows * cell.budgeted
    if kv_budget > 0:
        _warn(notes, slack, outside, unreserved, int(graphs + activations))
    fits = kv_budget > 0 and rows >= server.page_size and outside <= unreserved
    if kv_budget <= 0:
        notes.insert(
            0,
            f"It does not fit: weights of {weights.bytes_per_gpu / GIB:.1f} GiB leave nothing of the "
            f"{before_load * reserve.fraction / GIB:.1f} GiB that {fraction} gives to weights and KV cache. "
            "Use more GPUs, a smaller quantisation, or more memory.",
        )
    logical = rows * cell.tokens_per_row
    longest, limited_by = _longest(server, logical)
    band = CALIBRATED_LATENT_BAND if measured and server.kind == "mla" and not server.drafts else BAND
    return MemoryPlan(
        items=tuple(items),
        total_bytes=total,
        cell=cell,
        kv_budget_bytes=max(kv_budget, 0),
        rows_per_rank=rows,
        logical_tokens=logical,
        replicas=server.replicas,
        page_tokens=server.page_size * cell.tokens_per_row,
        max_context_tokens=longest,
        limited_by=limited_by,
        gain_over_dcp1=round(gain(server), 4),
        error_band=band,
        fits=fits,
        mem_fraction_static=reserve.fraction,
        notes=tuple(notes),
    )


def _measured_budget(server: Deployment, measured: Measured) -> int:
    there = server.with_flags(dcp_size=measured.dcp_size)
    try:
        return measured.rows * cell_of(there).budgeted
    except MissingFactError as missing:
        raise InputError(
            f"The rows measured at DCP {measured.dcp_size} cannot be used here: {missing.reason}. "
            "Measure a run that differs in --dcp-size only.",
            part=str(measured.dcp_size),
        ) from None


def _state_bytes(server: Deployment, budget_bytes: int, notes: list[str]) -> int:
    """Return what states of recurrent layers take of the budget: with radix cache a fixed share of it."""
    if server.value("model.has_linear_attention") is not True:
        return 0
    if server.flags.get("max_mamba_cache_size") is not None or server.value("disable_radix_cache") is True:
        raise MissingFactError("the size of one recurrent state is not known, and the flags fix the number of states")
    ratio = server.number("mamba_full_memory_ratio") if server.value("mamba_full_memory_ratio") is not None else 0.9
    notes.append(f"Recurrent layers take {ratio / (1 + ratio):.0%} of the budget for states that DCP does not shard.")
    return int(max(budget_bytes, 0) * ratio / (1 + ratio))


def _q_copy(server: Deployment, notes: list[str]) -> int:
    if not server.replicate_q:
        return 0
    if not replicated_q_works(server):
        notes.append(
            f"--dcp-replicate-q-proj is on, but SGLang {server.release} skips projections in "
            f"{server.value('model.quantization')}, with a warning: nothing is replicated, and the gather of Q stays."
        )
        return 0
    return int(replicated_q_bytes(server)[0])


def _longest(server: Deployment, logical: int) -> tuple[int | Unknown, Literal["memory", "model"]]:
    given = server.flags.get("context_length")
    try:
        takes = given if isinstance(given, int) else server.count("model.max_position_embeddings")
    except MissingFactError as missing:
        return Unknown(missing.reason), "memory"
    return (logical, "memory") if logical < takes else (takes, "model")


def _warn(notes: list[str], slack: int, outside: int, unreserved: int, assumed: int) -> None:
    if outside > unreserved:
        notes.append(
            f"It does not fit: what is allocated after the KV cache ({outside / GIB:.1f} GiB) is more than the "
            f"{max(unreserved, 0) / GIB:.1f} GiB left beside it. Lower --mem-fraction-static."
        )
    elif slack < 0:
        notes.append(
            f"It may run out of memory: with graphs and activations assumed at {assumed / GIB:.1f} GiB the GPU is over by "
            f"{-slack / GIB:.1f} GiB. Lower --mem-fraction-static or --chunked-prefill-size."
        )


def _weights_basis(measured: bool) -> tuple[Basis, str]:
    if measured:
        return "measured", "size of the checkpoint, shared out by the model's shape"
    return "modelled", "counted from the model's shape"


def _sharded_label(cell: Cell) -> str:
    return "KV cache" if cell.tokens_per_row == 1 else f"KV cache, sharded over {cell.tokens_per_row} ranks"


def _kv_how(measured: Measured | None, fraction: str) -> str:
    if measured is None:
        return fraction
    return f"from {measured.rows:,} rows measured at DCP {measured.dcp_size}"


def _replicated_how(cell: Cell) -> str:
    parts = [name for name, size in (("index keys", cell.index), ("draft", cell.draft)) if size]
    return f"{' and '.join(parts)}: all tokens on every rank" if parts else "none"
