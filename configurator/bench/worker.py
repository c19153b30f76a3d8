"""One rank of a run: ``python -m configurator.bench.worker``, with its request as JSON on the first line of standard input.

The process is made to end. It ends when its standard input does, which is when whoever started it has gone, even from
inside a collective that will never return; and when it makes no progress for longer than it said its next piece of work
may take. Events go to standard output, one JSON object a line; whatever libraries print goes to standard error.

The request: ``problem`` (:meth:`Problem.to_json`), ``rank``, ``store`` (path of the file through which ranks meet),
``snapshot`` (name of the hardware snapshot, or null). It may also be a file named as the only argument.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import stat
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any

from configurator.bench.problem import Problem
from configurator.core.errors import ConfiguratorError, InputError

STDIN = 0
EXIT_FAILED = 1
EXIT_ORPHANED = 71
EXIT_STALLED = 72
DEFAULT_ALLOWANCE_S = 60.0
_LOOKS_EVERY_S = 0.25


class Channel:
    """Where events go: the standard output this process was given, which nothing else writes to any more."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self._lock = threading.Lock()
        self._descriptor = os.dup(1)
        os.dup2(2, 1)  # a library that prints must not end up between two events

    def emit(self, event: str, **fields: Any) -> None:
        """Write an event; only the first rank speaks for the run."""
        if self.rank == 0:
            self._write({"event": event, **fields})

    def fail(self, kind: str, message: str, detail: str = "") -> None:
        """Write an ``error`` event; any rank may."""
        self._write({"event": "error", "rank": self.rank, "kind": kind, "message": message, "detail": detail})

    def _write(self, values: dict[str, Any]) -> None:
        line = (json.dumps(values, allow_nan=False) + "\n").encode()
        with self._lock:
            while line:
                line = line[os.write(self._descriptor, line) :]


class Watchdog:
    """Ends the process when it is stuck, or when nobody wants its result any more.

    A thread does it, and by ``os._exit``: the main thread may be inside a collective that waits for a lost rank, where
    no exception and no signal handler of Python's would reach it.
    """

    def __init__(self, channel: Channel, store: Path) -> None:
        self._channel = channel
        self._store = store
        self._parent = os.getppid()
        self._stage = "start"
        self._deadline = time.monotonic() + DEFAULT_ALLOWANCE_S
        self._allowed_s = DEFAULT_ALLOWANCE_S

    def start(self) -> None:
        """Begin to watch."""
        threading.Thread(target=self._watch_clock, daemon=True).start()
        if stat.S_ISFIFO(os.fstat(STDIN).st_mode):
            threading.Thread(target=self._watch_stdin, daemon=True).start()

    def at(self, stage: str, seconds: float = DEFAULT_ALLOWANCE_S) -> None:
        """Say what comes next and how long it may take at the very most."""
        self._stage, self._allowed_s = stage, seconds
        self._deadline = time.monotonic() + seconds

    @property
    def stage(self) -> str:
        """What the process is doing."""
        return self._stage

    def _watch_stdin(self) -> None:
        # os.read and not sys.stdin: a thread inside the latter's lock aborts the interpreter when it shuts down.
        with contextlib.suppress(OSError):
            while os.read(STDIN, 4096):
                pass
        self._leave()

    def _watch_clock(self) -> None:
        while True:
            time.sleep(_LOOKS_EVERY_S)
            # The pipe's other end may have been inherited by someone; the parent's death still shows here.
            if os.getppid() != self._parent:
                self._leave()
            if time.monotonic() > self._deadline:
                self._channel.fail(
                    "stalled",
                    f"Rank {self._channel.rank} made no progress for {self._allowed_s:.0f} seconds in: {self._stage}.",
                )
                faulthandler.dump_traceback(all_threads=True)
                os._exit(EXIT_STALLED)

    def _leave(self) -> None:
        # Nobody may be left to remove what the run put into its folder.
        with contextlib.suppress(OSError):
            self._store.unlink()
        with contextlib.suppress(OSError):
            self._store.parent.rmdir()
        os._exit(EXIT_ORPHANED)


def read_request(arguments: list[str]) -> dict[str, Any]:
    """Return the request: the file named, or the first line of standard input.

    Raises:
        ValueError: It is no JSON object.
    """
    text = Path(arguments[0]).read_bytes() if arguments else _first_line()
    request = json.loads(text)
    if not isinstance(request, dict):
        raise ValueError("a request is a JSON object")  # noqa: TRY004 - one kind of error for one kind of fault
    return request


def _first_line() -> bytes:
    line = bytearray()
    while not line.endswith(b"\n"):
        byte = os.read(STDIN, 1)
        if not byte:
            break
        line += byte
    return bytes(line)


def main(arguments: list[str]) -> int:
    """Run one rank and return its exit status."""
    request = read_request(arguments)
    channel = Channel(int(request["rank"]))
    watchdog = Watchdog(channel, Path(request["store"]))
    watchdog.start()
    watchdog.at("import of torch", 180)
    try:
        from configurator.bench.rank import run_rank  # noqa: PLC0415 - imports torch, so after the watchdog has started

        run_rank(Problem.from_json(request["problem"]), request, channel.emit, watchdog.at)
    except ConfiguratorError as error:
        channel.fail("input" if isinstance(error, InputError) else "selftest", str(error))
        return EXIT_FAILED
    except (ImportError, OSError) as error:
        channel.fail("import" if "torch" in watchdog.stage else "internal", f"{error}", traceback.format_exc())
        return EXIT_FAILED
    except MemoryError:
        channel.fail("memory", f"out of memory in: {watchdog.stage}", traceback.format_exc())
        return EXIT_FAILED
    except Exception as error:  # noqa: BLE001 - the last place to say which rank failed, where and why
        kind = "memory" if "out of memory" in str(error).lower() or "can't allocate" in str(error) else "internal"
        channel.fail(kind, f"{watchdog.stage}: {type(error).__name__}: {error}", traceback.format_exc())
        return EXIT_FAILED
    return 0


if __name__ == "__main__":
    # Not sys.exit: threads of libraries, and a process group that another rank has left, can hold an exit up.
    status = main(sys.argv[1:])
    sys.stderr.flush()
    os._exit(status)
