"""The top of the page: what release, machine and model the answer is for, the paste box, undo and redo."""

from __future__ import annotations

import asyncio
from typing import Any

from configurator import api
from configurator.ui import present
from configurator.ui.store import Store
from configurator.ui.view import View, asset, script


class TopBar(View):
    """Pickers, paste box, history, and what there is to say about the last action."""

    _esm = script("topbar.js")
    _css = asset("theme.css") + asset("topbar.css")

    def __init__(self, store: Store) -> None:
        """Draw the top of *store*."""
        super().__init__(store)
        self._tasks: set[asyncio.Task[None]] = set()
        self._probing = False
        self.refresh()

    def refresh(self) -> None:
        """Draw what the store holds now."""
        store = self.store
        self.data = {
            **present.topbar(store.workspace, store.messages),
            "can_undo": store.can_undo,
            "can_redo": store.can_redo,
            "probing": self._probing,
        }

    def do_load(self, content: dict[str, Any]) -> None:
        """Load the pasted ``text``."""
        self.store.load(str(content.get("text", "")))

    def do_release(self, content: dict[str, Any]) -> None:
        """Ask for release ``value``."""
        self.store.with_release(str(content.get("value")))

    def do_hardware(self, content: dict[str, Any]) -> None:
        """Ask for machine ``value``."""
        if content.get("value") != self.store.workspace.hardware.name:
            self.store.with_hardware(str(content.get("value")))

    def do_model(self, content: dict[str, Any]) -> None:
        """Ask for model ``value``."""
        if content.get("value") != self.store.workspace.model.name:
            self.store.with_model(str(content.get("value")))

    def do_undo(self, _content: dict[str, Any]) -> None:
        """Take the last change back."""
        self.store.undo()

    def do_redo(self, _content: dict[str, Any]) -> None:
        """Make the change again."""
        self.store.redo()

    def do_probe(self, _content: dict[str, Any]) -> None:
        """Ask this machine for its GPUs, without making the page wait for a slow driver."""
        if self._probing:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # a script without a loop: there is no page to keep waiting
            self.store.probed(api.probe())
            return
        self._probing = True
        self.refresh()
        task = loop.create_task(self._probe())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _probe(self) -> None:
        found: list[Any] = []

        def ask() -> None:
            found.append(api.probe())

        await asyncio.to_thread(self.store.guarded, ask)
        self._probing = False
        if found:
            self.store.guarded(self.store.probed, found[0])
        self.refresh()
