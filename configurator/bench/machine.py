"""What the operating system says of this machine: cores, free memory, processes ended for want of it."""

from __future__ import annotations

import os
from pathlib import Path

_GROUP = Path("/sys/fs/cgroup")


def cpu_count() -> int:
    """Return the processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def free_memory_bytes() -> int | None:
    """Return the memory that new work may take without swapping, in bytes; ``None`` where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        return None
    limit, used = _group_number("memory.max"), _group_number("memory.current")
    return free if limit is None or used is None else min(free, max(0, limit - used))


def oom_kills() -> int:
    """Return how many processes of this container the kernel has ended for want of memory; 0 where it does not say."""
    try:
        lines = (_GROUP / "memory.events").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))
    except (OSError, StopIteration, ValueError):
        return 0


def _group_number(name: str) -> int | None:
    """Return a number of this container's memory group, if it has a limit."""
    try:
        text = (_GROUP / name).read_text(encoding="ascii").strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None
