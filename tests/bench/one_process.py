"""All ranks of a group in this process: a whole run without starting one, for faults that must be put in by hand."""

from __future__ import annotations

import dataclasses

import torch

from configurator.bench import rank
from configurator.bench.fabric import LocalFabric
from configurator.bench.session import Session
from configurator.bench.timing import CpuTimer


@dataclasses.dataclass(kw_only=True)
class OneProcess(Session):
    """A session whose ranks are all played here, so that there is nobody to wait for and to agree with."""

    def barrier(self):
        pass

    def agree(self, number):
        return number

    def _reduce(self, numbers, operation):  # noqa: ARG002 - nobody else's numbers to reduce with
        return numbers


def session(problem, emit=lambda *_, **__: None):
    return OneProcess(
        problem=problem,
        mode="gloo",
        rank=0,
        device=torch.device("cpu"),
        fabric=LocalFabric(problem.dcp_size),
        timer=CpuTimer(),
        played=tuple(range(problem.dcp_size)),
        emit=emit,
        at=lambda *_, **__: None,
    )


def run(problem):
    """Return the events of a whole run."""
    events = []
    found = session(problem, lambda event, **fields: events.append({"event": event, **fields}))
    rank.Benchmark(found, {}).run()
    return events
