"""One rank's place in a run: its device, its transport, and the few agreements ranks need."""

from __future__ import annotations

import datetime as dt
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
import torch.distributed as dist

from configurator.bench.backends import Plan
from configurator.bench.fabric import DistributedFabric, Fabric, LocalFabric
from configurator.bench.machine import cpu_count
from configurator.bench.problem import Problem
from configurator.bench.timing import CacheFlush, CpuTimer, CudaTimer, Timer
from configurator.core.errors import InputError

Mode = Literal["gloo", "nccl", "solo"]
"""``solo``: one GPU plays all ranks of a group in turn, for checks and for the times of local work."""
Emit = Callable[..., None]


@dataclass(kw_only=True)
class Session:
    """What every measuring function needs.

    Attributes:
        problem: The problem.
        mode: How ranks talk.
        rank: This process among all ranks.
        device: Where tensors live.
        fabric: Exchange within this rank's DCP group.
        timer: Times work on the device.
        played: DCP ranks that this process plays.
        emit: Writes an event; drops it on all ranks but the first.
        at: Tells the watchdog, from every rank, what comes and how long it may take.
        plan: What runs.
        flush: Empties the GPU's cache before attention, or ``None``.
    """

    problem: Problem
    mode: Mode
    rank: int
    device: torch.device
    fabric: Fabric
    timer: Timer
    played: tuple[int, ...]
    emit: Emit
    at: Emit
    plan: Plan = field(default_factory=lambda: Plan((), ()))
    flush: CacheFlush | None = None

    @property
    def group(self) -> int:
        """Number of this rank's DCP group."""
        return self.rank // self.problem.dcp_size

    @property
    def ranks(self) -> int:
        """Processes that take part."""
        return 1 if self.mode == "solo" else self.problem.tp_size

    def barrier(self) -> None:
        """Wait for all ranks; on GPUs enqueue a tiny all-reduce, which the stream waits for and the host does not."""
        if self.mode == "nccl":
            dist.all_reduce(torch.zeros(1, device=self.device))
        elif self.mode == "gloo":
            dist.barrier()

    def before_step(self) -> None:
        """Do what comes before each timed run of a whole step."""
        if self.flush is not None:
            self.flush()
        self.barrier()

    def agree(self, number: int) -> int:
        """Return the first rank's *number* on every rank: counts of iterations must be equal, or ranks wait for ever."""
        if self.mode == "solo":
            return number
        box = torch.tensor([number], dtype=torch.int64, device=self.device)
        dist.broadcast(box, 0)
        return int(box.item())

    def slowest(self, times: Sequence[float]) -> list[float]:
        """Return for each iteration the time of its slowest rank: that is when the step was over."""
        return self._reduce(list(times), dist.ReduceOp.MAX)

    def total(self, numbers: Sequence[float]) -> list[float]:
        """Return sums over all ranks."""
        return self._reduce(list(numbers), dist.ReduceOp.SUM)

    def _reduce(self, numbers: list[float], operation: Any) -> list[float]:
        if self.mode == "solo" or not numbers:
            return numbers
        box = torch.tensor(numbers, dtype=torch.float64, device=self.device)
        dist.all_reduce(box, op=operation)
        result: list[float] = box.tolist()
        return result


def choose_mode(problem: Problem) -> Mode:
    """Decide how this machine can run the problem.

    Raises:
        InputError: GPUs were asked for and torch sees none.
    """
    if problem.device == "cpu":
        return "gloo"
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if count == 0:
        if problem.device == "cuda":
            raise InputError(
                "You asked for GPUs - torch sees none here - run on a GPU machine, or choose the CPU.", part="--device"
            )
        return "gloo"
    return "nccl" if count >= problem.tp_size else "solo"


def open_session(problem: Problem, rank: int, store: str, emit: Emit, at: Emit, timeout_s: float) -> Session:
    """Join the other ranks.

    Args:
        problem: The problem.
        rank: This process.
        store: Path of the file through which ranks find each other.
        emit: As in :class:`Session`.
        at: As in :class:`Session`.
        timeout_s: How long a collective may wait for a lost rank.

    Raises:
        InputError: As :func:`choose_mode`.
    """
    mode = choose_mode(problem)
    if mode == "solo":
        device = torch.device("cuda", 0)
        torch.cuda.set_device(device)
        ranks = problem.dcp_size
        return Session(
            problem=problem, mode=mode, rank=rank, device=device, fabric=LocalFabric(ranks), timer=CudaTimer(),
            played=tuple(range(ranks)), emit=emit, at=at, flush=CacheFlush(device),
        )  # fmt: skip
    device = torch.device("cuda", rank) if mode == "nccl" else torch.device("cpu")
    options: dict[str, Any] = {}
    if mode == "nccl":
        torch.cuda.set_device(device)
        options["device_id"] = device
    dist.init_process_group(
        mode,
        init_method=f"file://{store}",
        rank=rank,
        world_size=problem.tp_size,
        timeout=dt.timedelta(seconds=timeout_s),
        **options,
    )
    size = problem.dcp_size
    # Every rank must take part in making every group, its own or not.
    groups = [dist.new_group(list(range(g * size, (g + 1) * size))) for g in range(problem.num_groups)]
    return Session(
        problem=problem,
        mode=mode,
        rank=rank,
        device=device,
        fabric=DistributedFabric(groups[rank // size], size),
        timer=CudaTimer() if mode == "nccl" else CpuTimer(),
        played=(rank % size,),
        emit=emit,
        at=at,
        flush=CacheFlush(device) if mode == "nccl" else None,
    )


def close_session(session: Session) -> None:
    """Leave the process group in order, all ranks together."""
    if session.mode != "solo":
        dist.barrier()
        dist.destroy_process_group()


def machine_facts(session: Session) -> dict[str, object]:
    """Return the facts that backends ask for."""
    facts: dict[str, object] = {
        "device": session.device.type,
        "flashinfer": False,
        "compute_capability": None,
        "one_fabric": False,
    }
    if session.device.type == "cuda":
        major, minor = torch.cuda.get_device_capability(session.device)
        facts["compute_capability"] = 10 * major + minor
        facts["one_fabric"] = session.mode == "nccl"  # a run of one machine; several machines come with their own facts
        facts["flashinfer"] = _flashinfer_version() is not None
    return facts


def _flashinfer_version() -> str | None:
    try:
        import flashinfer  # noqa: PLC0415 - optional, and slow to import
        import flashinfer.comm.dcp_alltoall  # noqa: PLC0415
    except ImportError:
        return None
    return str(getattr(flashinfer, "__version__", "unknown"))


def environment(session: Session) -> dict[str, Any]:
    """Return what a reader needs to know of the machine and the software."""
    cores = cpu_count()
    found: dict[str, Any] = {
        "device": session.device.type,
        "transport": {"gloo": "gloo", "nccl": "nccl", "solo": "none"}[session.mode],
        "torch": torch.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(terse=True),
        "machine": platform.machine(),
        "cores": cores,
        "ranks": session.ranks,
        "threads_per_rank": torch.get_num_threads(),
        "attention": "torch matrix products with fp32 accumulation; not the kernel a server would use",
    }
    if session.device.type == "cuda":
        properties = torch.cuda.get_device_properties(session.device)
        found |= {
            "gpu": properties.name,
            "gpus": torch.cuda.device_count(),
            "gpu_memory_gib": round(properties.total_memory / 2**30, 1),
            "cuda": torch.version.cuda,
            "nccl": ".".join(map(str, _nccl_version())) if session.mode == "nccl" else None,
        }
    return found


def _nccl_version() -> tuple[int, ...]:
    version: tuple[int, ...] = torch.cuda.nccl.version()  # type: ignore[no-untyped-call]  # torch does not type it
    return version
