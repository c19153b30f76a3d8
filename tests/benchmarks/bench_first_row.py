"""Seconds from the start of a benchmark to its first row, and to its end, with the page's default problem.

Run it by hand: ``python tests/benchmarks/bench_first_row.py [--repeats N] [--ranks N]``. It prints a line a run, and the median.
A row counts when it is a checked and timed case, seen by a reader of the events in another process than the ranks.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time

from configurator.bench import lock, runner
from configurator.bench.problem import Problem


def measure(problem):
    """Return seconds to ``started``, to the first case, and to the end."""
    began = time.monotonic()
    seen = {}

    def note(event):
        seen.setdefault(event["event"], time.monotonic() - began)

    last = runner.run_blocking(runner.Request(problem=problem), note)
    if last["event"] != "done":
        sys.exit(f"The run did not end well: {last['message']}")
    return seen["started"], seen["case"], seen["done"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--ranks", type=int, default=2)
    options = parser.parse_args()
    problem = Problem.small(device="cpu", tp_size=options.ranks, dcp_size=options.ranks)
    cores = len(os.sched_getaffinity(0))
    print(f"{options.ranks} ranks on {cores} cores, load {os.getloadavg()[0]:.1f}, budget {problem.time_budget_s:g} s")
    with tempfile.TemporaryDirectory() as folder:
        os.environ[lock.FOLDER_VARIABLE] = folder
        found = []
        for number in range(options.repeats):
            found.append(measure(problem))
            print("run {}: started {:.2f} s, first case {:.2f} s, done {:.2f} s".format(number + 1, *found[-1]))
    print(
        "median: started {:.2f} s, first case {:.2f} s, done {:.2f} s".format(
            *map(statistics.median, zip(*found, strict=True))
        )
    )


if __name__ == "__main__":
    main()
