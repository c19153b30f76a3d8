"""Starts, streams, cancels and reaps benchmark runs. It never imports torch: ranks are processes of their own.

``start(request)`` returns at once; the run goes on in threads and processes. ``Run.events()`` is an async iterator of
plain dicts that never blocks the event loop, may be used by several readers, and always begins with the run's first
event. ``Run.cancel()`` ends everything at once and may be called twice, from anywhere.

Events, each a dict with ``event`` and the fields named; times in microseconds unless the name says otherwise.

``queue``        another run has the machine: ``message`` (a sentence), ``owner`` (``pid``, ``user``, ``about``,
                 ``started_at``; may be empty). Sent once, and again when the owner changes.
``progress``     ``stage`` (words), ``done`` (0 to 1), ``left_s`` (seconds, or None while nothing can be said).
``started``      ``environment``, ``label`` (``functional`` or ``measured``), ``banner`` (show it where not empty),
                 ``oversubscribed``, ``problem``, ``planned`` (list of ``backend``, ``replicate_q``, ``graph``: the rows to
                 come), ``unavailable`` (list of ``backend``, ``reason``, perhaps ``replicate_q``).
``selftest``     ``caught`` (True: both planted faults were found; None: nothing to merge), ``clean``, ``wrong`` (counts
                 ``clean``, ``wrong_base``, ``nan_in_empty``); with ``caught`` None a ``reason`` instead.
``case``         a row: ``provisional`` and the fields of an entry of ``cases`` (``backend``, ``replicate_q``, ``graph``,
                 ``wrong``, ``checked``, ``max_rel_err_row``, ``n``, ``p50_us``, ``p90_us``, ``p99_us``, ``max_us``, ``min_us``,
                 ``rel_iqr``, ``samples_us``, ``round_lengths``, ``stages``, ``merge_p50_us``, ``merge_n``, ``per_token_us``,
                 ``note``). The same case comes several times, known by ``backend``, ``replicate_q`` and ``graph``: each
                 replaces the one before. ``provisional`` False is the last word. With ``wrong`` above 0 every time is None.
``reference``    the same for the row without DCP, ``backend`` being ``tp_only``.
``collective``   a bare collective: ``collective``, ``size_bytes``, ``count``, ``type``, ``redop``, ``time_us``, ``algbw_gbps``,
                 ``busbw_gbps``, ``n``, ``wrong``, and ``out_of_place`` and ``in_place`` with the same five each, or None.
``done``         last: ``document``, the JSON of ``bench``.
``cancelled``    last: ``message``, ``document`` (what was measured till then, or None).
``error``        last: ``message`` (plain sentences), ``kind`` (``torch``, ``input``, ``import``, ``memory``, ``killed``,
                 ``selftest``, ``stalled``, ``died``, ``internal``), ``rank`` (or None), ``detail`` (the rank's last words,
                 may be empty), ``document`` as above.

Exactly one of the last three ends every run.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import queue
import sys
import threading
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from configurator.bench import causes
from configurator.bench.backends import check_backend_names
from configurator.bench.lock import MachineLock
from configurator.bench.machine import cpu_count, free_memory_bytes, oom_kills
from configurator.bench.offer import Offer, has_torch, offer, too_many_ranks
from configurator.bench.problem import Problem
from configurator.bench.processes import Message, Troubles, Workers
from configurator.bench.results import partial_document
from configurator.core.errors import ConfiguratorError

FINAL = ("done", "cancelled", "error")
LOCK_LOOKS_EVERY_S = 0.25

Event = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Request:
    """What to run.

    Attributes:
        problem: Shapes, backends, replicated Q, device, time budget and seed; see :class:`Problem`.
        snapshot: Name of this machine's hardware snapshot, for the record.

    Raises:
        InputError: A backend's name is unknown.
    """

    problem: Problem = field(default_factory=Problem.small)
    snapshot: str | None = None

    def __post_init__(self) -> None:
        check_backend_names(self.problem.backends)


class Run:
    """A run under way, or over.

    Attributes:
        id: Unique name of the run.
        request: What was asked.
        started_at: When, ISO 8601 in UTC.
    """

    def __init__(self, request: Request) -> None:
        self.id = uuid.uuid4().hex
        self.request = request
        self.started_at = datetime.now(UTC).isoformat(timespec="seconds")
        self._history: list[Event] = []
        self._changed = threading.Condition()
        self._wakers: dict[int, Callable[[], None]] = {}
        self._cancelled = threading.Event()
        self._messages: queue.Queue[Message | None] = queue.Queue()
        self._workers = Workers(self._messages)
        self._thread = threading.Thread(target=self._supervise, name=f"benchmark {self.id[:8]}", daemon=True)

    @property
    def finished(self) -> bool:
        """Whether the last event has come and no process of the run is left."""
        with self._changed:
            return bool(self._history) and self._history[-1]["event"] in FINAL

    @property
    def pids(self) -> list[int]:
        """Process numbers of the ranks; empty before they start."""
        return self._workers.pids

    def cancel(self) -> None:
        """End the run: every rank is gone and ``cancelled`` is written within a second. Calls after the first do nothing."""
        self._cancelled.set()
        self._messages.put(None)

    async def events(self) -> AsyncIterator[Event]:
        """Yield the run's events from its first to its last, as they come."""
        loop, wake = asyncio.get_running_loop(), asyncio.Event()

        def waker() -> None:
            with contextlib.suppress(RuntimeError):  # the reader's loop is closed: nobody is there to wake
                loop.call_soon_threadsafe(wake.set)

        key = id(wake)
        with self._changed:
            self._wakers[key] = waker
        try:
            place = 0
            while True:
                wake.clear()
                with self._changed:
                    fresh = self._history[place:]
                place += len(fresh)
                for event in fresh:
                    yield event
                    if event["event"] in FINAL:
                        return
                await wake.wait()
        finally:
            with self._changed:
                self._wakers.pop(key, None)

    def follow(self) -> Iterator[Event]:
        """Yield the same events, waiting for each in this thread."""
        place = 0
        while True:
            with self._changed:
                while len(self._history) <= place:
                    self._changed.wait()
                event = self._history[place]
            place += 1
            yield event
            if event["event"] in FINAL:
                return

    def wait(self, timeout_s: float | None = None) -> Event | None:
        """Wait for the last event and return it; ``None`` after *timeout_s* seconds. Not for the event loop's thread."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._history) and self._history[-1]["event"] in FINAL, timeout_s)
            return self._history[-1] if self._history and self._history[-1]["event"] in FINAL else None

    def _emit(self, event: str, **fields: Any) -> None:
        with self._changed:
            self._history.append({"event": event, **fields})
            self._changed.notify_all()
            wakers = list(self._wakers.values())
        for wake in wakers:
            wake()

    def _supervise(self) -> None:
        _ACTIVE.add(self)
        lock = MachineLock()
        try:
            last = self._run(lock)
        except ConfiguratorError as error:
            last = _error("input", str(error))
        except Exception as error:  # noqa: BLE001 - a fault of ours must reach the reader, who would wait for ever
            last = _error("internal", f"The benchmark failed: {error}")
        finally:
            self._workers.end()
            lock.release()
            _ACTIVE.discard(self)
        if last["event"] != "done":
            last["document"] = self._partial(last["event"])
        self._emit(**last)

    def _run(self, lock: MachineLock) -> Event:
        """Run to the end and return the last event."""
        if not has_torch():
            return _error("torch", causes.torch_missing(sys.executable))
        if refusal := too_many_ranks(self.request.problem, free_memory_bytes()):
            return _error("input", refusal)
        if not self._queue(lock):
            return {**_CANCELLED, "message": "The benchmark was cancelled while it waited for another one."}
        self._emit("progress", stage="Starting the ranks", done=0.0, left_s=None)
        problem, oom_before = self.request.problem, oom_kills()
        ranks = problem.tp_size
        values = {"problem": problem.to_json(), "snapshot": self.request.snapshot, "id": self.id}
        self._workers.start(ranks, values, cores=cpu_count())
        return self._follow(ranks, oom_before)

    def _queue(self, lock: MachineLock) -> bool:
        """Wait until the machine is free; return False where the run was cancelled meanwhile."""
        seen: Mapping[str, Any] | None = None
        while not self._cancelled.is_set():
            if lock.acquire(_about(self.request.problem), self.started_at):
                return True
            owner = lock.owner()
            if owner != seen:
                seen = owner
                self._emit("queue", message=_queue_sentence(owner), owner=dict(owner))
            self._cancelled.wait(LOCK_LOOKS_EVERY_S)
        return False

    def _follow(self, ranks: int, oom_before: int) -> Event:
        """Pass events on until the run is over or broken, and return the last one."""
        troubles = Troubles()
        while not troubles.settled(ranks):
            try:
                message = self._messages.get(timeout=troubles.patience_s())
            except queue.Empty:
                break
            if self._cancelled.is_set():
                return dict(_CANCELLED)
            if message is None or troubles.note(message) or message.event is None:
                continue
            if message.event["event"] == "done":
                names = {"id": self.id, "started_at": self.started_at}
                return {"event": "done", "document": message.event["document"] | names}
            if not troubles:
                self._emit(**message.event)
        tails = {rank: self._workers.tail(rank) for rank in range(ranks)}
        oom = oom_kills() > oom_before
        return {"event": "error"} | causes.choose(troubles.errors, troubles.exits, tails=tails, oom=oom)

    def _partial(self, ended: str) -> dict[str, Any] | None:
        """Return the document of a run that did not come to its end, from the rows it has shown."""
        with self._changed:
            history = list(self._history)
        status = "cancelled" if ended == "cancelled" else "died"
        return partial_document(
            self.request.problem, history, extra={"status": status, "id": self.id, "started_at": self.started_at}
        )


def start(request: Request) -> Run:
    """Start a run, or queue it, and return at once."""
    run = Run(request)
    run._thread.start()  # noqa: SLF001 - the thread is the run's own
    return run


def run_blocking(request: Request, on_event: Callable[[Event], None]) -> Event:
    """Run to the end, calling *on_event* with every event, and return the last one.

    A keyboard interrupt cancels the run: its last event is then ``cancelled``. So does an error of *on_event*, which is
    raised again once the run has ended.
    """
    run = start(request)
    try:
        for event in run.follow():
            on_event(event)
    except KeyboardInterrupt:
        run.cancel()
        last = run.wait() or dict(_CANCELLED)
        on_event(last)
        return last
    except BaseException:
        run.cancel()
        run.wait()
        raise
    return run.wait() or dict(_CANCELLED)


def _about(problem: Problem) -> str:
    return f"{problem.model}, {problem.tp_size} ranks, {problem.time_budget_s:g} s of timing"


def _queue_sentence(owner: Mapping[str, Any]) -> str:
    who = f"process {owner['pid']} of {owner['user']} ({owner['about']})" if "pid" in owner else "another process"
    return f"Waiting: {who} runs a benchmark on this machine, and two at a time would measure each other."


def _error(kind: str, message: str) -> Event:
    return {"event": "error", "kind": kind, "rank": None, "message": message, "detail": ""}


_CANCELLED: Mapping[str, Any] = {"event": "cancelled", "message": "The benchmark was cancelled."}
_ACTIVE: set[Run] = set()


def _end_all() -> None:
    """Leave nothing behind when this process ends in order; when it does not, the ranks notice by themselves."""
    runs = list(_ACTIVE)
    for run in runs:
        run.cancel()
    for run in runs:
        run.wait(2.0)


atexit.register(_end_all)

__all__ = ["FINAL", "Event", "Offer", "Request", "Run", "offer", "run_blocking", "start"]
