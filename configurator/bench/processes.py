"""The worker processes of one run: started, listened to, ended."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

TAIL_LINES = 40
GRACE_S = 0.5
"""How long a rank may take to end by itself once its standard input is closed; it does so at once unless it is stopped."""
SETTLE_S = 0.4
"""After a first piece of bad news: how long to wait for what other ranks have to say, to find the one that was first."""
_THREADS = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
_INSTALLED_IN = ("site-packages", "dist-packages")


@dataclass(frozen=True)
class Message:
    """Something a rank did: it wrote an event, or it ended.

    Attributes:
        rank: Which.
        event: The event, or ``None``.
        status: Its exit status, negative for a signal, or ``None`` while it runs.
    """

    rank: int
    event: Mapping[str, Any] | None = None
    status: int | None = None


@dataclass
class _Rank:
    process: subprocess.Popen[bytes]
    tail: deque[str] = field(default_factory=lambda: deque(maxlen=TAIL_LINES))
    threads: list[threading.Thread] = field(default_factory=list)

    def end(self, deadline: float) -> None:
        """Wait for the process until *deadline* of the monotonic clock, end it by force after that, and close its pipes."""
        try:
            self.process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for thread in self.threads:
            thread.join(1.0)
        if not any(thread.is_alive() for thread in self.threads):  # closing a pipe under its reader would block
            for pipe in (self.process.stdout, self.process.stderr):
                if pipe is not None:
                    pipe.close()


@dataclass
class Troubles:
    """What went wrong in a run so far.

    Attributes:
        errors: Error events of ranks.
        exits: Exit statuses by rank, of ranks that ended before the run was done.
    """

    errors: list[Mapping[str, Any]] = field(default_factory=list)
    exits: dict[int, int] = field(default_factory=dict)
    _since: float | None = None

    def __bool__(self) -> bool:
        return bool(self.errors or self.exits)

    def note(self, message: Message) -> bool:
        """Take a message in if it is bad news, and tell whether it was."""
        if message.event is not None:
            if message.event.get("event") != "error":
                return False
            self.errors.append(message.event)
        elif message.status == 0 and message.rank > 0:
            return False  # it had nothing to do: one GPU plays all ranks of a group
        elif message.status is not None:
            self.exits[message.rank] = message.status
        if self._since is None:
            self._since = time.monotonic()
        return True

    def patience_s(self) -> float | None:
        """Return how long to wait for more: for ever while all is well, shortly once something is not."""
        return None if self._since is None else max(0.0, self._since + SETTLE_S - time.monotonic())

    def settled(self, ranks: int) -> bool:
        """Tell whether nothing more can come, or nothing more is waited for."""
        return len(self.exits) == ranks or self.patience_s() == 0.0


class Workers:
    """One process for each rank, with a private folder in which they find each other.

    Attributes:
        messages: What ranks do, in the order in which it is noticed.
    """

    def __init__(self, messages: queue.Queue[Message | None]) -> None:
        self.messages = messages
        self._ranks: list[_Rank] = []
        self._folder: Path | None = None

    def start(self, count: int, request: Mapping[str, Any], *, cores: int) -> None:
        """Start *count* ranks with the same request, apart from their number.

        Raises:
            OSError: A process cannot be started; those already there are ended.
        """
        self._folder = Path(tempfile.mkdtemp(prefix="dcp-configurator-bench-"))
        environment = worker_environment(os.environ, threads=max(1, cores // count))
        try:
            for rank in range(count):
                self._start_rank({**request, "rank": rank, "store": str(self._folder / "store")}, environment)
        except OSError:
            self.end()
            raise

    def _start_rank(self, request: Mapping[str, Any], environment: Mapping[str, str]) -> None:
        # A session of its own: Ctrl-C in a terminal must reach the owner of the run, which ends the ranks in order.
        # -P: a file called random.py in the folder where a notebook lies must not stand in for Python's own.
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "configurator.bench.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment),
            start_new_session=True,
        )
        entry = _Rank(process)
        number = len(self._ranks)
        self._ranks.append(entry)
        entry.threads = [
            threading.Thread(target=self._listen, args=(number, entry), daemon=True),
            threading.Thread(target=_collect, args=(process.stderr, entry.tail), daemon=True),
        ]
        for thread in entry.threads:
            thread.start()
        if process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):  # it died at once; its exit status will say so
                process.stdin.write(json.dumps(request).encode() + b"\n")
                process.stdin.flush()

    def _listen(self, rank: int, entry: _Rank) -> None:
        if entry.process.stdout is not None:
            for line in entry.process.stdout:
                try:
                    event = json.loads(line)
                except ValueError:
                    entry.tail.append(line.decode(errors="replace").rstrip())
                    continue
                self.messages.put(Message(rank, event=event))
        status = entry.process.wait()
        entry.threads[1].join(1.0)  # its last words, before anybody asks for them
        self.messages.put(Message(rank, status=status))

    def tail(self, rank: int) -> list[str]:
        """Return the last lines that a rank wrote to standard error."""
        return list(self._ranks[rank].tail)

    @property
    def pids(self) -> list[int]:
        """Process numbers of the ranks, in order."""
        return [entry.process.pid for entry in self._ranks]

    def end(self) -> None:
        """End all ranks, wait for them, and remove the folder. May be called again."""
        for entry in self._ranks:
            if entry.process.stdin is not None:
                with contextlib.suppress(OSError):
                    entry.process.stdin.close()
        deadline = time.monotonic() + GRACE_S
        for entry in self._ranks:
            entry.end(deadline)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


def _collect(pipe: IO[bytes] | None, tail: deque[str]) -> None:
    for line in pipe or ():
        tail.append(line.decode(errors="replace").rstrip())


def worker_environment(given: Mapping[str, str], *, threads: int) -> dict[str, str]:
    """Return the environment of a rank.

    Args:
        given: The environment of this process.
        threads: Threads a rank may compute with, so that all ranks share the cores evenly.
    """
    environment = dict(given) | dict.fromkeys(_THREADS, str(threads))
    # Ranks on CPUs talk over the loopback interface only: nothing of a run is reachable from outside.
    environment.setdefault("GLOO_SOCKET_IFNAME", "lo0" if sys.platform == "darwin" else "lo")
    root = Path(__file__).parents[2]
    if root.name not in _INSTALLED_IN:
        # Run from a source folder: the ranks must find the package that this process has found.
        environment["PYTHONPATH"] = os.pathsep.join([*filter(None, [environment.get("PYTHONPATH")]), str(root)])
    return environment
