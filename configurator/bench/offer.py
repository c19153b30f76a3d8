"""What a benchmark would run on a machine, and why the rest cannot: decided from facts, without starting anything."""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from configurator.bench.backends import Case, plan
from configurator.bench.causes import torch_missing
from configurator.bench.machine import cpu_count, free_memory_bytes
from configurator.bench.problem import Device, Problem
from configurator.bench.results import cpu_banner

MOST_RANKS = 64
RANK_BYTES = 300 * 2**20
"""Resident memory of a process that has imported torch, with some room; 210 to 250 MiB were seen with 2.13 on CPUs."""


@dataclass(frozen=True, kw_only=True)
class Offer:
    """What would run.

    Attributes:
        runs: Whether anything would.
        reason: Why nothing would, or empty.
        cases: What would be checked and timed, in order.
        unavailable: ``{"backend", "replicate_q"?, "reason"}`` for the rest of what was asked.
        device: ``cuda`` or ``cpu``.
        ranks: Processes that would be started.
        label: ``functional`` or ``measured``.
        banner: What must stand above the results, or empty.
        oversubscribed: Whether ranks would share cores, so that nothing would be ranked.
        notes: Further things to know before starting.
    """

    runs: bool
    reason: str
    cases: tuple[Case, ...]
    unavailable: tuple[Mapping[str, object], ...]
    device: str
    ranks: int
    label: str
    banner: str
    oversubscribed: bool
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the offer as JSON values; ``cases`` as ``backend``, ``replicate_q``, ``graph``, ``label``, ``about``."""
        cases = [
            {
                "backend": case.backend.name,
                "replicate_q": case.replicate_q,
                "graph": case.graph,
                "label": case.label,
                "about": case.backend.about,
            }
            for case in self.cases
        ]
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return values | {
            "cases": cases,
            "unavailable": [dict(u) for u in self.unavailable],
            "notes": list(self.notes),
        }


def has_torch() -> bool:
    """Tell whether this Python has torch, without importing it."""
    return importlib.util.find_spec("torch") is not None


def torch_reaches_gpus() -> bool:
    """Tell whether this Python's torch was built for GPUs, from its files: importing it would take seconds."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return False
    libraries = Path(spec.origin).parent / "lib"
    return any((libraries / name).exists() for name in ("libtorch_cuda.so", "libtorch_hip.so"))


def offer(
    problem: Problem,
    device: Device | None = None,
    facts: Mapping[str, object] | None = None,
    *,
    cores: int | None = None,
    torch_installed: bool | None = None,
) -> Offer:
    """Say what a run of *problem* would do.

    Args:
        problem: What was asked.
        device: Where; ``None`` for the problem's own.
        facts: ``hardware.*`` and ``software.*`` facts of *this* machine. Facts of an assumed preset describe another
            machine and count for nothing here.
        cores: Processor cores; ``None`` asks the system.
        torch_installed: Whether torch is there; ``None`` looks.

    Raises:
        InputError: A backend's name is unknown.
    """
    here = {} if facts is None or facts.get("hardware.assumed") is True else facts
    wanted = device or problem.device
    cores = cpu_count() if cores is None else cores
    gpus = _gpus(here)
    on_gpu = gpus > 0 and wanted != "cpu"
    solo = on_gpu and gpus < problem.tp_size
    sm = here.get("hardware.sm")
    decided = plan(
        problem,
        {
            "device": "cuda" if on_gpu else "cpu",
            "flashinfer": isinstance(here.get("software.flashinfer"), str),
            "compute_capability": sm if isinstance(sm, int) else None,
            "one_fabric": on_gpu and not solo,
        },
        graphs=on_gpu and not solo,
    )
    reason = ""
    if not (has_torch() if torch_installed is None else torch_installed):
        reason = torch_missing(sys.executable)
    elif wanted == "cuda" and not gpus:
        reason = (
            "You asked for GPUs - none that PyTorch could use is known here - run on a GPU machine, or choose the CPU."
        )
    elif too_many := too_many_ranks(problem, free_memory_bytes()):
        reason = too_many
    elif not decided.cases:
        reason = "None of the backends asked for can run here: " + "; ".join(
            f"{u['backend']}: {u['reason']}" for u in decided.unavailable
        )
    ranks = 1 if solo else problem.tp_size
    oversubscribed = not on_gpu and ranks > cores
    notes = []
    if solo:
        notes.append(
            f"{gpus} GPU for {problem.tp_size} ranks: one GPU plays them in turn; merges are checked and local work is "
            "timed, exchanges and whole steps are not."
        )
    if oversubscribed:
        notes.append(f"{ranks} ranks share {cores} cores: times are mostly waiting and are not ranked.")
    return Offer(
        runs=not reason,
        reason=reason,
        cases=decided.cases,
        unavailable=decided.unavailable,
        device="cuda" if on_gpu else "cpu",
        ranks=ranks,
        label="measured" if on_gpu else "functional",
        banner="" if on_gpu else cpu_banner(ranks, cores),
        oversubscribed=oversubscribed,
        notes=tuple(notes),
    )


def too_many_ranks(problem: Problem, free_bytes: int | None) -> str:
    """Return why so many processes are not started, or nothing where they are few enough."""
    asked = f"You asked for {problem.tp_size} ranks"
    if problem.tp_size > MOST_RANKS:
        return f"{asked} - each is a process, and at most {MOST_RANKS} are started on one machine - choose a smaller --tp-size."
    if free_bytes is not None and problem.tp_size * RANK_BYTES > free_bytes:
        return (
            f"{asked} - each is a process that takes {RANK_BYTES / 2**30:.1f} GiB with PyTorch in it, and "
            f"{free_bytes / 2**30:.1f} GiB are free here - choose a smaller --tp-size."
        )
    return ""


def _gpus(facts: Mapping[str, object]) -> int:
    count = facts.get("hardware.gpus_per_node")
    if facts.get("hardware.platform") not in ("cuda", "hip") or not isinstance(count, int):
        return 0
    return count
