"""How data moves between the ranks of a group: torch.distributed, or in one process for checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
import torch.distributed as dist
from torch import Tensor

from configurator.bench.collectives import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, REDUCE_SCATTER, Collective


def torch_collective(collective: Collective) -> Callable[..., Any]:
    """Return torch's function under the newest name this torch knows."""
    for name in collective.torch_names:
        function = getattr(dist, name, None)
        if function is not None:
            found: Callable[..., Any] = function
            return found
    msg = f"torch.distributed has none of {', '.join(collective.torch_names)}"
    raise AttributeError(msg)


def as_bytes(tensor: Tensor) -> Tensor:
    """View a contiguous tensor as flat bytes: neither Gloo nor NCCL moves every type, but all move bytes."""
    return tensor.view(-1).view(torch.uint8)


def receive_shape(collective: Collective, sent: Tensor, ranks: int) -> tuple[int, ...]:
    """Return the shape that a collective leaves on each rank."""
    first, *rest = sent.shape
    if collective is ALL_GATHER:
        return (first * ranks, *rest)
    return (first // ranks, *rest) if collective is REDUCE_SCATTER else (first, *rest)


class Fabric(Protocol):
    """Runs a collective for the ranks that this process plays."""

    ranks: int

    def run(self, collective: Collective, sent: Sequence[Tensor], received: Sequence[Tensor]) -> None:
        """Exchange: one tensor each per rank played here; gathers and all-to-alls copy, the others sum."""
        ...


class DistributedFabric:
    """The real one: this process is one rank of a ``torch.distributed`` group."""

    def __init__(self, group: Any, ranks: int) -> None:
        self.ranks = ranks
        self.group = group
        self._functions = {c.name: torch_collective(c) for c in (ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL, ALL_REDUCE)}

    def run(self, collective: Collective, sent: Sequence[Tensor], received: Sequence[Tensor]) -> None:
        """Run *collective*; see :class:`Fabric`."""
        function = self._functions[collective.name]
        if collective is ALL_REDUCE:
            if received[0] is not sent[0]:
                received[0].copy_(sent[0])
            function(received[0], group=self.group)
        elif collective is REDUCE_SCATTER:
            function(received[0], sent[0], group=self.group)
        else:
            function(as_bytes(received[0]), as_bytes(sent[0]), group=self.group)


class LocalFabric:
    """All ranks of a group in this process: the same data movement without a wire, for checks and never for times."""

    def __init__(self, ranks: int) -> None:
        self.ranks = ranks

    def run(self, collective: Collective, sent: Sequence[Tensor], received: Sequence[Tensor]) -> None:
        """Run *collective*; see :class:`Fabric`."""
        if collective is ALL_GATHER:
            whole = torch.cat([as_bytes(t) for t in sent])
            for target in received:
                as_bytes(target).copy_(whole)
        elif collective is ALL_TO_ALL:
            parts = [as_bytes(t).chunk(self.ranks) for t in sent]
            for rank, target in enumerate(received):
                as_bytes(target).copy_(torch.cat([p[rank] for p in parts]))
        else:
            total = torch.stack(list(sent)).sum(0)
            for rank, target in enumerate(received):
                target.copy_(total.chunk(self.ranks)[rank] if collective is REDUCE_SCATTER else total)
