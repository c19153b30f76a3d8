"""What the server makes of the flags that nobody gave."""

from __future__ import annotations

from configurator.ui import present
from configurator.ui.store import Store
from configurator.ui.view import View, asset, script


class Resolved(View):
    """The values that the release fills in or rewrites, each with its reason."""

    _esm = script("resolved.js")
    _css = asset("resolved.css")

    def __init__(self, store: Store) -> None:
        """Draw the resolved values of *store*."""
        super().__init__(store)
        self.refresh()

    def refresh(self) -> None:
        """Draw what the store holds now."""
        self.data = present.resolved(self.store.workspace)
