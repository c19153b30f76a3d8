"""How fast the engine answers, on this machine: ``python tests/benchmarks/bench_api.py [RUNS]``.

Prints, for each question, the median and the slowest tenth of many runs, beside the figure it should stay under. Pytest
does not collect it: timings of a shared machine decide nothing.
"""

from __future__ import annotations

import json
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

GOOD = (
    "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3.1 --tp-size 8 --dcp-size 4 "
    "--attention-backend flashinfer"
)
BAD = (
    "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3.1 --tp-size 8 --dcp-size 4 "
    "--dcp-comm-backend ag_rs --dcp-replicate-q-proj"
)
IMPORT = "import time; t = time.perf_counter(); import configurator; {}; print((time.perf_counter() - t) * 1e3)"


def row(name: str, milliseconds: list[float], limit: float | None) -> None:
    """Print one line: fastest, median, 90th percentile, what the median should stay under; a busy machine shows in their spread."""
    p90 = statistics.quantiles(milliseconds, n=10)[-1] if len(milliseconds) > 1 else milliseconds[0]
    median = statistics.median(milliseconds)
    verdict = "" if limit is None else f"   < {limit:g} ms: {'yes' if median < limit else 'NO'}"
    print(
        f"{name:<52} min {min(milliseconds):9.3f}   p50 {median:9.3f}   p90 {p90:9.3f} ms   n {len(milliseconds):4}{verdict}"
    )


def timed(work: Callable[[], object], runs: int) -> list[float]:
    """Return the milliseconds of each of *runs* calls, after two that do not count."""
    found = []
    for at in range(runs + 2):
        started = time.perf_counter()
        work()
        if at >= 2:
            found.append((time.perf_counter() - started) * 1e3)
    return found


def fresh(code: str, runs: int) -> list[float]:
    """Return what *code* prints in processes of its own, each of which starts cold but for the disk's cache."""
    return [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout) for _ in range(runs)
    ]


def main(runs: int) -> None:
    """Measure everything."""
    print(
        f"Python {platform.python_version()} on {platform.machine()}, {platform.system()}; {runs} runs of the quick ones\n"
    )
    few = max(5, runs // 20)
    row("import configurator (a process each)", fresh(IMPORT.format("pass"), few), 150)
    row("import, and the first check (a process each)", fresh(IMPORT.format(f"configurator.check({BAD!r})"), few), None)
    started = [sys.executable, "-m", "configurator", "check", "--json", "--hardware", "h200x8", "--", *BAD.split()]
    row(
        "dcp-configurator check --json (whole process)",
        timed(lambda: subprocess.run(started, capture_output=True, check=False), few),
        None,
    )

    from configurator import check, fix
    from configurator.cli.check import answers
    from configurator.core.engine import engine_for
    from configurator.workspace import Workspace

    good, bad = Workspace.start(GOOD), Workspace.start(BAD)
    engine = engine_for(good.release)
    row("engine: all findings of one case", timed(lambda: engine.check(bad.case), runs), 1)
    row("check, from text to verdict, warm", timed(lambda: check(BAD).verdict, runs), 1)
    row("check, to the whole JSON with its fixes, warm", timed(lambda: check(BAD).to_json(), runs), None)
    for name, workspace in (("good", good), ("bad", bad)):
        row(f"options of all controls ({name} command)", timed(workspace.options, runs), 5)
    blocked = [
        (dest, option.choice)
        for dest, offered in bad.options().items()
        for option in offered
        if option.state == "blocked"
    ]
    each = [statistics.median(timed(lambda d=dest, c=choice: bad.way_out(d, c), 5)) for dest, choice in blocked]
    row(f"way out of each blocked option ({len(blocked)} of them)", each, 50)
    print(f"{'   the slowest of them':<52} max {max(each):9.3f} ms   {blocked[each.index(max(each))]}")
    row("repairs of a command that breaks", timed(bad.repairs, few), None)
    row("fix, from text to repairs with their diffs", timed(lambda: fix(BAD), few), None)

    lines = [
        json.dumps({"id": at, "hardware": "h200x8", "argv": (GOOD if at % 2 else BAD).split()}) for at in range(400)
    ]
    list(answers(lines[:4], {}))
    began = time.perf_counter()
    count = sum(1 for document in answers(lines, {}) if "verdict" in document)
    print(f"{'batch, half of the commands broken':<52} {count / (time.perf_counter() - began):.0f} commands/s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
