"""The life of a run: cancelled, queued, broken, orphaned, and nothing of it left behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from configurator.bench import runner
from configurator.bench.lock import MachineLock
from configurator.bench.runner import Request
from configurator.core.errors import InputError

from .conftest import events_until, is_alive, tiny, wait_until

pytestmark = pytest.mark.multirank

LONG = tiny(time_budget_s=120.0)


@pytest.fixture
def long_run():
    """A run that would take two minutes, with its first row there."""
    run = runner.start(Request(problem=LONG))
    events_until(run, "case")
    yield run
    run.cancel()
    run.wait(5)


def nothing_left(pids, temporary):
    return not any(is_alive(pid) for pid in pids) and not list(temporary.glob("dcp-configurator-bench-*"))


def test_cancel_ends_all_ranks_at_once_and_keeps_what_was_measured(long_run, temporary):
    pids = long_run.pids
    assert len(pids) == 2
    assert all(is_alive(pid) for pid in pids)
    began = time.monotonic()
    long_run.cancel()
    long_run.cancel()
    last = long_run.wait(5)
    assert time.monotonic() - began < 2
    assert last["event"] == "cancelled"
    assert last["document"]["cases"][0]["wrong"] == 0
    assert last["document"]["status"] == "cancelled"
    assert nothing_left(pids, temporary)
    assert [e["event"] for e in long_run.follow()].count("cancelled") == 1
    assert MachineLock().acquire("next", "now")


def test_cancel_does_not_depend_on_the_ranks_goodwill(long_run, temporary):
    pids = long_run.pids
    os.kill(pids[1], signal.SIGSTOP)
    long_run.cancel()
    assert long_run.wait(5)["event"] == "cancelled"
    assert nothing_left(pids, temporary)


def test_a_killed_rank_ends_the_run_with_its_name_and_a_way_out(long_run, temporary):
    pids = long_run.pids
    os.kill(pids[1], signal.SIGKILL)
    last = long_run.wait(10)
    assert (last["event"], last["kind"], last["rank"]) == ("error", "killed", 1)
    assert "Rank 1" in last["message"]
    assert "SIGKILL" in last["message"]
    assert "lower the context length" in last["message"]
    assert last["document"]["status"] == "died"
    assert nothing_left(pids, temporary)


def test_a_run_waits_for_the_one_before_and_says_who_that_is():
    first = MachineLock()
    assert first.acquire("deepseek-v3, 2 ranks", "2025-01-01T00:00:00+00:00")
    run = runner.start(Request(problem=tiny()))
    waiting = events_until(run, "queue")[-1]
    assert waiting["owner"]["pid"] == os.getpid()
    assert str(os.getpid()) in waiting["message"]
    assert "deepseek-v3, 2 ranks" in waiting["message"]
    assert not run.pids
    first.release()
    assert run.wait(60)["event"] == "done"


def test_a_queued_run_can_be_cancelled():
    first = MachineLock()
    assert first.acquire("another", "now")
    run = runner.start(Request(problem=tiny()))
    events_until(run, "queue")
    run.cancel()
    last = run.wait(2)
    assert last["event"] == "cancelled"
    assert last["document"] is None
    assert not run.pids
    assert MachineLock().owner()["about"] == "another"


OWNER = """
import time
from configurator.bench.lock import MachineLock
lock = MachineLock()
print(lock.acquire("another", "now"), flush=True)
time.sleep(60)
"""


def test_the_lock_goes_with_its_owner():
    owner = subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE)
    assert owner.stdout.readline() == b"True\n"
    mine = MachineLock()
    assert not mine.acquire("mine", "now")
    assert mine.owner()["pid"] == owner.pid
    owner.kill()
    owner.wait()
    owner.stdout.close()
    assert mine.acquire("mine", "now")
    mine.release()


def test_readers_see_every_event_and_the_loop_is_never_blocked():
    async def read(run):
        return [event async for event in run.events()]

    async def tick(gaps):
        last = time.monotonic()
        while True:
            await asyncio.sleep(0.01)
            now = time.monotonic()
            gaps.append(now - last)
            last = now

    async def main():
        gaps = []
        ticker = asyncio.create_task(tick(gaps))
        run = runner.start(Request(problem=tiny()))
        both = await asyncio.gather(read(run), read(run))
        ticker.cancel()
        return *both, await read(run), gaps

    first, second, late, gaps = asyncio.run(main())
    assert first == second == late
    assert first[-1]["event"] == "done"
    assert len(gaps) > 50
    assert max(gaps) < 0.5


def test_a_reader_that_leaves_early_does_not_hold_the_run():
    async def one_event(run):
        return await anext(run.events())

    run = runner.start(Request(problem=tiny()))
    assert asyncio.run(one_event(run))["event"] in ("progress", "queue")
    assert run.wait(60)["event"] == "done"


def test_a_python_without_torch_is_told_how_to_get_it(monkeypatch):
    monkeypatch.setattr(runner, "has_torch", lambda: False)
    last = runner.start(Request(problem=tiny())).wait(5)
    assert (last["event"], last["kind"]) == ("error", "torch")
    assert "pip install 'dcp-configurator[bench]'" in last["message"]


def test_a_problem_that_does_not_fit_is_refused_in_words():
    last = runner.start(Request(problem=tiny(context_length=2**36))).wait(60)
    assert (last["event"], last["kind"]) == ("error", "input")
    assert "lower the context length" in last["message"]


def test_too_many_ranks_are_refused_before_one_starts():
    run = runner.start(Request(problem=tiny(tp_size=4096, dcp_size=2)))
    assert "at most 64" in run.wait(5)["message"]
    assert not run.pids


def test_an_unknown_backend_is_refused_at_once():
    with pytest.raises(InputError, match="none of that name"):
        Request(problem=tiny(backends=("nvshmem",)))


def test_an_interpreter_that_cannot_be_started_ends_the_run(monkeypatch, temporary):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    last = runner.start(Request(problem=tiny())).wait(5)
    assert (last["event"], last["kind"]) == ("error", "internal")
    assert "/nowhere/python" in last["message"]
    assert nothing_left([], temporary)


def test_an_error_of_the_callback_cancels_the_run(temporary):
    def refuse(event):
        if event["event"] == "started":
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        runner.run_blocking(Request(problem=LONG), refuse)
    assert nothing_left([], temporary)


def test_what_the_page_and_the_command_line_import_brings_no_torch():
    modules = ["bench.runner", "bench.saved", "bench.tables", "bench.offer", "cli.bench"]
    code = "".join(f"import configurator.{name}\n" for name in modules) + "import sys; print('torch' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code]) == b"False\n"


def test_a_link_in_a_shared_folder_is_not_followed(tmp_path):
    """The folder of the lock is everybody's: a link planted there must not have its target emptied."""
    mine = tmp_path / "precious"
    mine.write_text("do not lose")
    lock = MachineLock()
    lock.path.symlink_to(mine)
    last = runner.start(Request(problem=tiny())).wait(5)
    assert last["event"] == "error"
    assert str(lock.path) in last["message"]
    assert mine.read_text() == "do not lose"


PARENT = """
import sys
from configurator.bench import runner
from configurator.bench.problem import Problem
import json
run = runner.start(runner.Request(problem=Problem.from_json(json.loads(sys.argv[1]))))
for event in run.follow():
    if event["event"] == "case":
        print(*run.pids, "torch" in sys.modules, flush=True)
"""


def parent_of(problem):
    """Start a process that owns a run; return it, the ranks' numbers, and whether it has imported torch."""
    process = subprocess.Popen([sys.executable, "-c", PARENT, json.dumps(problem.to_json())], stdout=subprocess.PIPE)
    *pids, torch = process.stdout.readline().split()
    return process, [int(pid) for pid in pids], torch == b"True"


def test_ranks_end_with_an_owner_that_is_killed(temporary):
    """Nothing of the owner's runs after SIGKILL: the ranks notice by themselves."""
    owner, pids, _ = parent_of(LONG)
    assert len(pids) == 2
    assert all(is_alive(pid) for pid in pids)
    owner.kill()
    owner.wait()
    owner.stdout.close()
    assert wait_until(lambda: nothing_left(pids, temporary), 5)


def test_ranks_end_with_an_owner_that_ends_in_order(temporary):
    owner, pids, _ = parent_of(LONG)
    owner.send_signal(signal.SIGINT)
    owner.wait(10)
    owner.stdout.close()
    assert wait_until(lambda: nothing_left(pids, temporary), 2)


def test_the_owner_never_imports_torch():
    owner, _, torch = parent_of(tiny())
    owner.stdout.read()
    owner.stdout.close()
    assert owner.wait(60) == 0
    assert torch is False
