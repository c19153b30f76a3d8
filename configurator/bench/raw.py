"""Bare collectives of the same transport, in nccl-tests' columns, to tell the wire from the merge."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from configurator.bench.backends import BACKENDS, GATHER_Q
from configurator.bench.collectives import (
    ALL_GATHER,
    ALL_REDUCE,
    COLLECTIVES,
    REDUCE_SCATTER,
    Collective,
    bandwidths_gbps,
)
from configurator.bench.session import Session
from configurator.bench.statistics import fit_alpha_beta, percentile

QUICK_SIZES = tuple(8 * 16**i for i in range(6))  # 8 B to 8 MiB
FULL_SIZES = (*(8 * 4**i for i in range(12)), 64 * 2**20)  # 8 B to 32 MiB, and 64 MiB
ELEMENT = 4


def sizes(mode: str, ranks: int) -> tuple[int, ...]:
    """Return the sizes of a sweep, rounded up so that each rank has at least one element."""
    wanted = {"off": (), "quick": QUICK_SIZES, "full": FULL_SIZES}[mode]
    unit = ELEMENT * ranks
    return tuple(sorted({math.ceil(size / unit) * unit for size in wanted}))


def _buffers(
    collective: Collective, count: int, ranks: int, rank: int, device: torch.device, *, in_place: bool
) -> tuple[Tensor, Tensor]:
    """Return what is sent and what is filled: *count* elements in the buffer that counts, fp32.

    Each rank sends its number plus one, so that every wrong element shows, and sums are exact.
    """
    value = float(rank + 1)
    if collective is ALL_GATHER:
        received = torch.zeros(count, device=device)
        share = count // ranks
        sent = received[rank * share : (rank + 1) * share] if in_place else torch.empty(share, device=device)
        sent.fill_(value)
        return sent, received
    sent = torch.full((count,), value, device=device)
    if collective is REDUCE_SCATTER:
        share = count // ranks
        return sent, sent[rank * share : (rank + 1) * share] if in_place else torch.zeros(share, device=device)
    return sent, sent if in_place else torch.zeros(count, device=device)


def _wrong(collective: Collective, received: Tensor, ranks: int) -> int:
    if collective in (ALL_REDUCE, REDUCE_SCATTER):
        return int((received != ranks * (ranks + 1) / 2).sum())
    expected = torch.arange(1.0, ranks + 1, device=received.device).repeat_interleave(received.numel() // ranks)
    return int((received != expected).sum())


def measure_collectives(session: Session, budget_s: float) -> Iterator[dict[str, Any]]:
    """Check and time each collective at each size.

    Args:
        session: The rank's session; its DCP group takes part.
        budget_s: Time for all of it.

    Yields:
        Rows: ``collective``, ``size_bytes``, ``count``, ``type``, ``redop``, and for out of place and in place the time of
        the slowest rank (median, microseconds), bandwidths, samples and wrong elements. torch's all-reduce works in place only.
    """
    ranks = session.fabric.ranks
    swept = sizes(session.problem.raw_collectives, ranks)
    share_s = budget_s / max(1, 2 * len(COLLECTIVES) * len(swept))
    for collective in COLLECTIVES:
        for size in swept:
            session.at(stage=f"{collective.name} of {size} bytes")
            out = None if collective is ALL_REDUCE else _one(session, collective, size, share_s, in_place=False)
            inside = _one(session, collective, size, share_s, in_place=True) if collective.in_place else None
            shown = out or inside or {}
            yield {
                "collective": collective.name,
                "size_bytes": size,
                "count": size // ELEMENT,
                "type": "float",
                "redop": "sum" if collective in (ALL_REDUCE, REDUCE_SCATTER) else "none",
                **shown,
                "out_of_place": out,
                "in_place": inside,
            }


def _one(session: Session, collective: Collective, size: int, share_s: float, *, in_place: bool) -> dict[str, Any]:
    ranks, rank = session.fabric.ranks, session.played[0]
    sent, received = _buffers(collective, size // ELEMENT, ranks, rank, session.device, in_place=in_place)

    def operate() -> None:
        session.fabric.run(collective, [sent], [received])

    operate()
    wrong = int(session.total([float(_wrong(collective, received, ranks))])[0])
    found: dict[str, Any] = {"time_us": None, "algbw_gbps": None, "busbw_gbps": None, "n": 0, "wrong": wrong}
    if wrong:
        return found
    # Sums in place grow with each run; from zeros they stay zeros, and never become infinities that slow a processor down.
    sent.zero_()
    received.zero_()
    first = session.slowest(session.timer.sample([operate], 3, session.barrier)[0])
    count = session.agree(max(10, min(200, int(share_s * 1e6 / max(1.0, 2 * percentile(first, 0.5))))))
    samples = session.slowest(session.timer.sample([operate], count, session.barrier)[0])
    middle = percentile(samples, 0.5)
    algbw, busbw = bandwidths_gbps(collective, size, middle, ranks)
    return found | {"time_us": middle, "algbw_gbps": algbw, "busbw_gbps": busbw, "n": count}


def fits(rows: Sequence[Mapping[str, Any]], ranks: int) -> list[dict[str, Any]]:
    """Fit ``time = alpha + size * bus_factor / beta`` for each collective that was swept."""
    found = []
    for collective in COLLECTIVES:
        points = [
            (row["size_bytes"] * collective.bus_factor(ranks), row["time_us"])
            for row in rows
            if row["collective"] == collective.name and row["time_us"] is not None
        ]
        line = fit_alpha_beta(points)
        if line is not None:
            found.append(
                {"collective": collective.name, "alpha_us": line[0], "beta_gbps": line[1], "points": len(points)}
            )
    return found


def wire_time_us(rows: Sequence[Mapping[str, Any]], collective: Collective, size: int) -> float | None:
    """Return the time of a bare collective of *size* bytes, between the measured sizes on logarithmic scales."""
    curve = sorted(
        (row["size_bytes"], row["time_us"]) for row in rows if row["collective"] == collective.name and row["time_us"]
    )
    if not curve or not curve[0][0] <= size <= curve[-1][0]:
        return None
    for (low, low_us), (high, high_us) in pairwise(curve):
        if low <= size <= high:
            place = math.log(size / low) / math.log(high / low)
            return float(low_us * (high_us / low_us) ** place)
    return float(curve[0][1])


def add_wire_times(stages: Sequence[dict[str, Any]], rows: Sequence[Mapping[str, Any]]) -> None:
    """Set ``wire_us`` of each exchange: what a bare collective of its size took, to tell the wire from the merge."""
    operations = {step.stage: step.collective for backend in BACKENDS.values() for step in (GATHER_Q, *backend.steps)}
    for stage in stages:
        if stage["payload_bytes"]:
            stage["wire_us"] = wire_time_us(rows, operations[stage["name"]], stage["payload_bytes"])
