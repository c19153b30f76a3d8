"""The verdict: what would happen to the command, in one sentence."""

from __future__ import annotations

from configurator.ui import present
from configurator.ui.store import Store
from configurator.ui.view import View, asset, script


class Verdict(View):
    """One sentence, and where it is known from."""

    _esm = script("verdict.js")
    _css = asset("verdict.css")

    def __init__(self, store: Store) -> None:
        """Draw the verdict of *store*."""
        super().__init__(store)
        self.refresh()

    def refresh(self) -> None:
        """Draw what the store holds now."""
        self.data = present.verdict(self.store.workspace)
