"""The timing loop, for processors and for GPUs: samples out, nothing averaged."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Protocol

import torch

Action = Callable[[], None]


class Timer(Protocol):
    """Times parts of a step on this rank."""

    def sample(self, parts: Sequence[Action], count: int, before: Action) -> list[list[float]]:
        """Run *parts* in order *count* times and time each part of each run.

        Args:
            parts: Work to time; one part for a whole.
            count: Runs.
            before: Done before each run, outside the timed window: a barrier, a flush of caches.

        Returns:
            For each part its *count* times in microseconds.
        """
        ...


class CpuTimer:
    """A monotonic clock around work that is done when the call returns."""

    def sample(self, parts: Sequence[Action], count: int, before: Action) -> list[list[float]]:
        """See :class:`Timer`."""
        clock = time.perf_counter_ns
        times: list[list[float]] = [[] for _ in parts]
        for _ in range(count):
            before()
            last = clock()
            for part, series in zip(parts, times, strict=True):
                part()
                now = clock()
                series.append((now - last) / 1e3)
                last = now
        return times


class CudaTimer:
    """Pairs of CUDA events on the current stream, read after one synchronisation at the end."""

    def sample(self, parts: Sequence[Action], count: int, before: Action) -> list[list[float]]:
        """See :class:`Timer`."""
        marks = []
        for _ in range(count):
            before()
            events = [_event() for _ in range(len(parts) + 1)]
            events[0].record()
            for part, event in zip(parts, events[1:], strict=True):
                part()
                event.record()
            marks.append(events)
        torch.cuda.synchronize()
        return [[events[i].elapsed_time(events[i + 1]) * 1e3 for events in marks] for i in range(len(parts))]


def _event() -> torch.cuda.Event:
    return torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]  # torch does not type it


class CudaGraph:
    """Several runs of some work captured in one CUDA graph, so that launching costs nothing any more.

    Attributes:
        runs: Runs in the graph; a time of the whole is divided by it.
    """

    def __init__(self, work: Action, runs: int = 10) -> None:
        """Warm *work* up on a side stream, as capturing demands, and capture it *runs* times."""
        self.runs = runs
        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]  # torch does not type it
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                work()
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            for _ in range(runs):
                work()

    def replay(self) -> None:
        """Run the captured work."""
        self._graph.replay()

    def close(self) -> None:
        """Give the graph up; needed before the process group goes, since the graph holds its communicator."""
        torch.cuda.synchronize()
        self._graph.reset()


class CacheFlush:
    """Writes a buffer larger than the GPU's second-level cache, so that the KV cache is read from memory."""

    def __init__(self, device: torch.device) -> None:
        size = getattr(torch.cuda.get_device_properties(device), "L2_cache_size", 0) or 64 * 2**20
        self.size_bytes = 2 * size
        self._buffer = torch.empty(self.size_bytes, dtype=torch.uint8, device=device)

    def __call__(self) -> None:
        """Enqueue the write."""
        self._buffer.zero_()
