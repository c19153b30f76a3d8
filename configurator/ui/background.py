"""Searches beside the page: in a thread, the latest question only, and answers where the widgets live."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from configurator.ui.store import Store

Work = Callable[[], Any]
Then = Callable[[Any], None]


class Background:
    """Runs one piece of work at a time. Of those that wait only the last is run: it is the one somebody looks at.

    Args:
        store: Told what goes wrong.
    """

    def __init__(self, store: Store) -> None:
        """Wait for work."""
        self._store = store
        self._next: tuple[Work, Then] | None = None
        self._task: asyncio.Task[None] | None = None

    def run(self, work: Work, then: Then) -> None:
        """Call *then* with the result of *work*, unless newer work has come meanwhile.

        In a script without an event loop both happen at once.
        """
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._store.guarded(lambda: then(work()))
            return
        self._next = (work, then)
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._drain())

    async def _drain(self) -> None:
        while self._next is not None:
            work, then = self._next
            self._next = None
            results: list[Any] = []
            failed: list[BaseException] = []

            def attempt(work: Work = work, results: list[Any] = results, failed: list[BaseException] = failed) -> None:
                try:
                    results.append(work())
                except Exception as error:  # noqa: BLE001 - told to the user below, where widgets may be touched
                    failed.append(error)

            await asyncio.to_thread(attempt)
            if self._next is None:
                self._store.guarded(_deliver, results, failed, then)


def _deliver(results: list[Any], failed: list[BaseException], then: Then) -> None:
    if failed:
        raise failed[0]
    then(results[0])
