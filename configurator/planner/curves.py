"""How capacity and latency move with ``dcp_size``, context and exchange: the points that plots are drawn from."""

from __future__ import annotations

from dataclasses import dataclass

from configurator.planner.cell import cell_of
from configurator.planner.deployment import Deployment, MissingFactError, or_unknown
from configurator.planner.exchange import exchange_us, fixed_us
from configurator.planner.latency import attention_us, break_even_tokens
from configurator.planner.memory import MemoryPlan, rows_in

_SIZES = (1, 2, 4, 8, 16, 32, 64)
_POINTS = 32


@dataclass(frozen=True)
class CapacityPoint:
    """Tokens at one DCP size.

    Attributes:
        dcp_size: The size.
        tokens: Logical tokens of one attention replica.
        low: The same at the lower end of the published band.
        high: At the upper end.
    """

    dcp_size: int
    tokens: int
    low: int
    high: int


@dataclass(frozen=True)
class LatencyLine:
    """One layer's time against context, for one way to run.

    Attributes:
        key: ``tp``, or the exchange with ``+q`` where it replicates the Q projection.
        label: What people call it.
        fixed_us: What DCP costs however few tokens there are, at an empty batch.
        exchange_us: What DCP costs a layer at the batch that was asked for.
        break_even_tokens: Where it crosses the line of TP alone; ``None`` where it never does.
        points: Context tokens of the batch and microseconds of one layer, attention and exchange.
        chosen: Whether it is what the server runs.
    """

    key: str
    label: str
    fixed_us: float
    exchange_us: float
    break_even_tokens: int | None
    points: tuple[tuple[int, float], ...]
    chosen: bool

    def at(self, tokens: int) -> float:
        """Return the time at *tokens*, between the points by a straight line."""
        (x0, y0), (x1, y1) = self.points[0], self.points[-1]
        for left, right in zip(self.points, self.points[1:], strict=False):
            if tokens <= right[0]:
                (x0, y0), (x1, y1) = left, right
                break
        return y0 + (y1 - y0) * (tokens - x0) / max(x1 - x0, 1)


def capacity_curve(server: Deployment, memory: MemoryPlan) -> tuple[CapacityPoint, ...]:
    """Return the tokens at every DCP size that the attention ranks can form, with the same bytes for the KV cache."""
    low, high = memory.error_band
    found = []
    for size in _SIZES:
        try:
            cell = cell_of(server.with_flags(dcp_size=size))
        except MissingFactError:
            continue  # the ranks cannot form groups of this size
        tokens = rows_in(memory.kv_budget_bytes, cell, server.page_size) * cell.tokens_per_row
        if size == server.dcp_size:
            tokens = memory.logical_tokens
        found.append(CapacityPoint(size, tokens, int(tokens * low), int(tokens * high)))
    return tuple(found)


@or_unknown
def latency_lines(server: Deployment, *, batch_size: int) -> tuple[LatencyLine, ...]:
    """Return one layer's time against the context tokens of the batch, for TP alone and each exchange of its DCP size.

    A server without DCP is compared with the smallest DCP size its ranks can form. The axis ends well beyond the last
    break-even, so that every crossing is seen. ``fi_a2a`` is shown where the server runs it.

    Args:
        server: The server.
        batch_size: Requests of a step.
    """
    with_dcp = server if server.dcp_size > 1 else server.with_flags(dcp_size=2)
    alone = server.with_flags(dcp_size=1, dcp_replicate_q_proj=False)
    variants = [(key, label, with_dcp.with_flags(**flags)) for key, label, flags in _variants(server)]
    costs = [exchange_us(variant, batch_size) for _, _, variant in variants]
    crossings = [break_even_tokens(variant, cost) for (_, _, variant), cost in zip(variants, costs, strict=True)]
    furthest = max((c for c in crossings if c is not None), default=None)
    end = _nice(2.2 * furthest) if furthest else _nice(batch_size * 131_072.0)
    running = _running(server)
    lines = [
        LatencyLine("tp", "TP only, no DCP", 0.0, 0.0, None, _points(alone, 0.0, batch_size, end), running == "tp")
    ]
    for (key, label, variant), cost, crossing in zip(variants, costs, crossings, strict=True):
        points = _points(variant, cost, batch_size, end)
        name = f"DCP {with_dcp.dcp_size}{label}"
        lines.append(LatencyLine(key, name, fixed_us(variant), cost, crossing, points, key == running))
    return tuple(lines)


def _variants(server: Deployment) -> list[tuple[str, str, dict[str, object]]]:
    if server.kind == "gqa":
        return [("gqa", "", {})]
    names = ["ag_rs"] + (["a2a"] if server.since("0.5.17") else [])
    if server.dcp_size > 1 and server.comm_backend not in names:
        names.append(server.comm_backend)
    found: list[tuple[str, str, dict[str, object]]] = []
    for name in names:
        found.append((name, f", {name}", {"dcp_comm_backend": name, "dcp_replicate_q_proj": False}))
        if name != "ag_rs":
            flags: dict[str, object] = {"dcp_comm_backend": name, "dcp_replicate_q_proj": True}
            found.append((f"{name}+q", f", {name} with replicate-q", flags))
    return found


def _running(server: Deployment) -> str:
    if server.dcp_size == 1:
        return "tp"
    if server.kind == "gqa":
        return "gqa"
    return server.comm_backend + ("+q" if server.replicate_q else "")


def _points(server: Deployment, cost_us: float, batch_size: int, end: int) -> tuple[tuple[int, float], ...]:
    found = []
    for step in range(_POINTS + 1):
        tokens = end * step // _POINTS
        found.append((tokens, cost_us + attention_us(server, batch_size, tokens // batch_size)))
    return tuple(found)


def _nice(value: float) -> int:
    """Return the next of 1, 2, 4, 5 or 8 times a power of ten that is no less than *value*."""
    power = 10 ** (len(str(int(value))) - 1)
    return next(int(factor * power) for factor in (1, 2, 4, 5, 8, 10) if factor * power >= value)
