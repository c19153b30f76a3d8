"""Why a rank died: the first cause is told apart from what follows from it."""

from __future__ import annotations

import signal

import pytest

from configurator.bench import causes
from configurator.bench.worker import EXIT_STALLED


def error(rank, kind="internal", message="round 3: RuntimeError: boom", detail=""):
    return {"event": "error", "rank": rank, "kind": kind, "message": message, "detail": detail}


LOST = error(0, message="round 3: RuntimeError: [gloo] Connection closed by peer [127.0.0.1]:1234")


def choose(errors=(), exits=None, tails=None, oom=False):
    return causes.choose(list(errors), exits or {}, tails=tails or {}, oom=oom)


@pytest.mark.parametrize(("oom", "said"), [(True, "out-of-memory killer ended it"), (False, "most likely")])
def test_a_killed_rank_is_the_cause_of_the_others_errors(oom, said):
    found = choose([LOST], {0: 1, 1: -signal.SIGKILL}, {1: ["last words"]}, oom=oom)
    assert (found["kind"], found["rank"], found["detail"]) == ("killed", 1, "last words")
    assert "Rank 1" in found["message"]
    assert said in found["message"]
    assert "lower the context length" in found["message"]


@pytest.mark.parametrize(
    ("number", "said"),
    [(signal.SIGTERM, "asked it to end"), (signal.SIGILL, "processor"), (signal.SIGSEGV, "crash inside")],
)
def test_signals_have_their_own_sentences(number, said):
    found = choose(exits={0: -number})
    assert number.name in found["message"]
    assert said in found["message"]


def test_an_error_of_its_own_wins_over_a_lost_connection():
    assert choose([LOST, error(1)], {0: 1, 1: 1})["rank"] == 1


def test_a_stalled_rank_is_not_blamed_when_another_failed():
    stalled = error(0, "stalled", "Rank 0 made no progress for 9 seconds in: round 1.")
    assert choose([stalled, error(1)], {0: EXIT_STALLED, 1: 1})["rank"] == 1
    assert "no progress" in choose([stalled], {0: EXIT_STALLED})["message"]


def test_bad_input_is_told_as_it_is():
    found = choose([error(0, "input", "You asked for much."), error(1, "input", "You asked for much.")])
    assert (found["kind"], found["message"]) == ("input", "You asked for much.")


def test_memory_errors_name_the_way_out():
    assert "lower the context length" in choose([error(1, "memory", "out of memory in: round 1")])["message"]


def test_a_missing_torch_says_how_to_install_it():
    assert causes.INSTALL in choose([error(0, "import", "No module named 'torch'")])["message"]
    assert "force-reinstall" in choose([error(0, "import", "libgomp.so.1: cannot open")])["message"]


def test_a_silent_death_is_told_with_its_last_words():
    found = choose(exits={1: 3}, tails={1: ["Fatal: no such device", ""]})
    assert (found["kind"], found["rank"]) == ("died", 1)
    assert "Fatal: no such device" in found["message"]


def test_only_lost_connections_still_give_an_event():
    assert choose([LOST])["rank"] == 0
