"""One rank by itself: it ends with its input, ends when stuck, and says what failed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest

from configurator.bench import worker
from configurator.bench.processes import worker_environment

from .conftest import is_alive, tiny, wait_until


def start(request, *arguments):
    process = subprocess.Popen(
        [sys.executable, "-m", "configurator.bench.worker", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=worker_environment(os.environ, threads=1),
    )
    if request is not None:
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
    return process


def events_of(process):
    """Return what a rank writes until it ends; its input stays open meanwhile."""
    events = [json.loads(line) for line in process.stdout]
    process.wait(10)
    for pipe in (process.stdin, process.stdout, process.stderr):
        pipe.close()
    return events


@pytest.fixture
def request_of(tmp_path):
    folder = tmp_path / "store"
    folder.mkdir()

    def make(rank=0, **changes):
        return {"problem": tiny(**changes).to_json(), "rank": rank, "store": str(folder / "file"), "snapshot": "here"}

    return make


def test_a_rank_that_waits_for_another_ends_with_its_input(request_of):
    """It is inside the rendezvous, in C++, where no exception of Python's would reach it."""
    request = request_of()
    rank = start(request)
    assert b"find each other" in rank.stdout.readline()
    time.sleep(0.3)
    assert is_alive(rank.pid)
    rank.stdin.close()
    began = time.monotonic()
    assert rank.wait(5) == worker.EXIT_ORPHANED
    assert time.monotonic() - began < 1
    rank.stdout.close()
    rank.stderr.close()


def test_one_rank_runs_alone_from_a_file(request_of, tmp_path):
    path = tmp_path / "request.json"
    path.write_text(json.dumps(request_of(dcp_size=1, backends=("a2a",))))
    events = events_of(start(None, str(path)))
    assert events[-1]["event"] == "done"
    assert events[-1]["document"]["environment"]["snapshot"] == "here"


def test_a_bad_problem_is_told_in_its_own_words(request_of):
    request = request_of()
    request["problem"]["tp_size"] = 3
    (event,) = events_of(start(request))
    assert (event["event"], event["kind"], event["rank"]) == ("error", "input", 0)
    assert "does not divide" in event["message"]


def test_gpus_that_are_not_there_are_told(request_of, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert "torch sees none here" in events_of(start(request_of(device="cuda")))[-1]["message"]


STUCK = """
import pathlib, sys, time
from configurator.bench.worker import Channel, Watchdog
print("a library's chatter", flush=True)
channel = Channel(1)
print("more of it", flush=True)
channel.emit("progress")  # rank 1 does not speak for the run
watchdog = Watchdog(channel, pathlib.Path(sys.argv[1]))
watchdog.start()
watchdog.at("a collective that never returns", 0.3)
time.sleep(30)
"""


def test_a_rank_that_makes_no_progress_ends_and_says_where(tmp_path):
    found = subprocess.run(
        [sys.executable, "-c", STUCK, str(tmp_path / "store")], capture_output=True, timeout=20, check=False
    )
    assert found.returncode == worker.EXIT_STALLED
    chatter, event = found.stdout.splitlines()
    assert chatter == b"a library's chatter"
    event = json.loads(event)
    assert (event["kind"], event["rank"]) == ("stalled", 1)
    assert "a collective that never returns" in event["message"]
    assert b"more of it" in found.stderr
    assert b"line 11 in <module>" in found.stderr  # where it slept


MIDDLEMAN = """
import os, subprocess, sys
keep = os.pipe()
rank = subprocess.Popen([sys.executable, "-c", sys.argv[1], sys.argv[2]], stdin=keep[0])
holder = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(20)"], pass_fds=[keep[1]])
print(rank.pid, holder.pid, flush=True)
sys.stdin.read()
"""


def test_a_rank_ends_with_its_parent_though_someone_else_holds_the_pipe(tmp_path):
    code = STUCK.replace("0.3)", "30)")
    parent = subprocess.Popen(
        [sys.executable, "-c", MIDDLEMAN, code, str(tmp_path / "store")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    rank, holder = (int(word) for word in parent.stdout.readline().split())
    try:
        time.sleep(0.6)  # the rank must have looked at its parent once
        assert is_alive(rank)
        parent.kill()
        parent.wait()
        assert wait_until(lambda: not is_alive(rank), 3)
        assert is_alive(holder)
    finally:
        subprocess.run(["kill", "-9", str(holder)], check=False)
        parent.stdin.close()
        parent.stdout.close()
