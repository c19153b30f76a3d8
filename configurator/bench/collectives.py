"""Collective operations as values: their torch names, what their size means, and how bandwidth is counted.

Sizes and bandwidths follow nccl-tests: ``algbw = size / time`` and ``busbw = algbw * factor``, where the
factor makes the number comparable with the speed of one link whatever the number of ranks.

Source: nccl-tests, ``doc/PERFORMANCE.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Collective:
    """One kind of collective operation.

    Attributes:
        name: Plain name, as used in results.
        torch_names: Names of the function in ``torch.distributed``, newest first; releases before 2.13 know
            the older ones only, and 2.13 warns about those.
        size_is: Which buffer the size of nccl-tests is: what every rank receives, or what it sends.
        passes: How often each byte crosses a link in a bandwidth-optimal algorithm: an all-reduce is a
            reduce-scatter followed by an all-gather, hence two.
        in_place: Whether nccl-tests measures it in place too.
    """

    name: Literal["all_gather", "reduce_scatter", "all_to_all", "all_reduce"]
    torch_names: tuple[str, ...]
    size_is: Literal["received", "sent"]
    passes: int
    in_place: bool

    def bus_factor(self, ranks: int) -> float:
        """Return bus bandwidth over algorithm bandwidth for *ranks* participants; 0 for a single one."""
        return self.passes * (ranks - 1) / ranks


ALL_GATHER = Collective("all_gather", ("all_gather_single", "all_gather_into_tensor"), "received", 1, in_place=True)
REDUCE_SCATTER = Collective(
    "reduce_scatter", ("reduce_scatter_single", "reduce_scatter_tensor"), "sent", 1, in_place=True
)
ALL_TO_ALL = Collective("all_to_all", ("all_to_all_single",), "sent", 1, in_place=False)
ALL_REDUCE = Collective("all_reduce", ("all_reduce",), "sent", 2, in_place=True)

COLLECTIVES = (ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, ALL_REDUCE)


def bandwidths_gbps(collective: Collective, size_bytes: int, time_us: float, ranks: int) -> tuple[float, float]:
    """Return algorithm and bus bandwidth.

    Args:
        collective: The operation.
        size_bytes: Size as nccl-tests defines it for that operation.
        time_us: Time of one operation, in microseconds.
        ranks: Participants.

    Returns:
        ``(algbw_gbps, busbw_gbps)`` in 1e9 bytes per second; zeros for a time of zero.
    """
    algbw = size_bytes / time_us / 1e3 if time_us > 0 else 0.0
    return algbw, algbw * collective.bus_factor(ranks)
