"""A problem small enough for tests, the ranks of a group in one process, and folders of their own for locks and runs."""

from __future__ import annotations

import dataclasses
import os
import time

import pytest

from configurator.bench import lock, runner, saved
from configurator.bench.problem import Problem

TINY = Problem(
    model="tiny",
    tp_size=2,
    dcp_size=2,
    batch_size=2,
    context_length=96,
    dtype="fp32",
    num_heads=4,
    num_local_heads=2,
    kv_lora_rank=32,
    q_lora_rank=24,
    qk_rope_head_dim=8,
    qk_nope_head_dim=16,
    v_head_dim=16,
    num_layers=3,
    backends=("ag_rs", "a2a"),
    device="cpu",
    time_budget_s=0.3,
    raw_collectives="off",
)


def tiny(**changes):
    """Return the small problem with *changes*; the heads of a group follow its size."""
    local = changes.get("num_local_heads", TINY.num_local_heads)
    dcp_size = changes.setdefault("dcp_size", changes.get("tp_size", TINY.dcp_size))
    changes.setdefault("tp_size", dcp_size)
    return dataclasses.replace(TINY, **{"num_heads": local * dcp_size, **changes})


def tiny_gqa(ranks, **changes):
    shapes = {"attention_kind": "gqa", "head_dim": 16, "num_kv_heads": 2, "num_local_heads": 2, "lse_base": "e"}
    return tiny(dcp_size=ranks, **{**shapes, **changes})


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    """No test waits for, or writes into, what belongs to the user or to another test."""
    for variable in (lock.FOLDER_VARIABLE, saved.FOLDER_VARIABLE, "TMPDIR"):
        folder = tmp_path / variable.lower()
        folder.mkdir()
        monkeypatch.setenv(variable, str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)  # it is cached, and read anew once it is unset


@pytest.fixture
def temporary(tmp_path):
    """The folder in which runs make theirs."""
    return tmp_path / "tmpdir"


def is_alive(pid):
    """Tell whether a process runs; one that has ended and waits to be reaped does not."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(condition, seconds):
    """Wait for *condition* and tell whether it came true in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return condition()


def run_to_end(problem):
    """Run *problem* in real ranks and return all events."""
    events = []
    runner.run_blocking(runner.Request(problem=problem), events.append)
    return events


def events_until(run, name):
    """Follow a run until an event of that name; return what came."""
    seen = []
    for event in run.follow():
        seen.append(event)
        if event["event"] in (name, *runner.FINAL):
            return seen
    raise AssertionError("unreachable")


os.environ.setdefault("OMP_NUM_THREADS", "1")  # torch in the test process must not take both cores
