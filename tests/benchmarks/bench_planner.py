"""How fast the planners answer, on this machine: ``python tests/benchmarks/bench_planner.py [RUNS]``.

Prints the median and the slowest tenth of many runs, beside the figure it should stay under. Pytest does not collect it.
"""

from __future__ import annotations

import platform
import statistics
import sys
import time
from collections.abc import Callable

from configurator.api import capacity
from configurator.planner.advice import GOALS, advise
from configurator.planner.deployment import Deployment
from configurator.planner.latency import plan_latency
from configurator.planner.memory import plan_memory
from configurator.workspace import Workspace

LAUNCH = "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3.1 "
GOOD = LAUNCH + "--tp-size 8 --dcp-size 4 --attention-backend flashinfer"
BAD = LAUNCH + "--tp-size 8 --dcp-size 4 --dcp-comm-backend ag_rs --dcp-replicate-q-proj"


def row(name: str, work: Callable[[], object], runs: int, limit: float | None) -> None:
    """Print one line: median, 90th percentile, what the median should stay under, all in milliseconds."""
    found = []
    for at in range(runs + 2):
        started = time.perf_counter()
        work()
        if at >= 2:
            found.append((time.perf_counter() - started) * 1e3)
    median, p90 = statistics.median(found), statistics.quantiles(found, n=10)[-1]
    verdict = "" if limit is None else f"   < {limit:g} ms: {'yes' if median < limit else 'NO'}"
    print(f"{name:<56} p50 {median:9.3f} ms   p90 {p90:9.3f} ms   n {len(found):4}{verdict}")


def main(runs: int) -> None:
    """Measure everything."""
    print(f"Python {platform.python_version()} on {platform.machine()}, {platform.system()}\n")
    good, bad = Workspace.start(GOOD, hardware="h200x8"), Workspace.start(BAD, hardware="h200x8")
    server = Deployment.of(good.case, good.report.resolved)
    row("memory of one server", lambda: plan_memory(_fresh(server)), runs, None)
    row("latency of one server", lambda: plan_latency(_fresh(server), batch_size=8, context_tokens=32_768), runs, None)
    row("capacity of a command that runs", lambda: capacity(good), runs, 50)
    row("capacity of a command that needs a repair", lambda: capacity(bad), max(runs // 10, 5), 50)
    for hardware in ("h200x8", "gb200-nvl72"):
        case = Workspace.start(GOOD, hardware=hardware).case
        for goal in GOALS:
            advised = advise(case, goal, context_tokens=32_768, batch_size=16)
            row(
                f"{goal} on {hardware} ({advised.considered} shapes)",
                lambda c=case, g=goal: advise(c, g, context_tokens=32_768, batch_size=16),
                max(runs // 40, 3),
                1000,
            )

    def replan() -> None:
        after = good.choose("dcp_size", 8)
        capacity(after)
        advise(after.case, "most_requests", context_tokens=32_768, batch_size=16)

    row("one change: memory, latency and advice anew", replan, max(runs // 20, 5), 50)


def _fresh(server: Deployment) -> Deployment:
    return Deployment(server.release, server.flags, server.facts, server.env)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
