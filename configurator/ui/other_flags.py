"""The flags of the command that have no control, and the box that adds any flag of the release."""

from __future__ import annotations

from typing import Any

from traitlets import List

from configurator.core.configuration import Change
from configurator.ui import present
from configurator.ui.store import Store
from configurator.ui.view import View, asset, script


class OtherFlags(View):
    """Chips that can be removed, and one searchable box.

    Attributes:
        addable: The flags that can be added, sent when the box is first used: hundreds, which few visitors need.
    """

    _esm = script("other_flags.js")
    _css = asset("other_flags.css")
    addable: List[present.Json] = List().tag(sync=True)

    def __init__(self, store: Store) -> None:
        """Draw the other flags of *store*."""
        super().__init__(store)
        self._listed = ""
        self.refresh()

    def refresh(self) -> None:
        """Draw what the store holds now."""
        workspace = self.store.workspace
        self.data = present.other_flags(workspace)
        if self._listed and self._listed != workspace.release.version:
            self.do_list({})

    def do_list(self, _content: dict[str, Any]) -> None:
        """Send the flags that can be added."""
        self._listed = self.store.workspace.release.version
        self.addable = present.addable(self.store.workspace)

    def do_add(self, content: dict[str, Any]) -> None:
        """Add the flag, with its value, that ``text`` spells."""
        if self.store.add(str(content.get("text", ""))):
            self.send({"added": True})

    def do_remove(self, content: dict[str, Any]) -> None:
        """Take the flag ``key`` out of the command."""
        key = content.get("key")
        if key in {chip["key"] for chip in self.data["chips"]}:
            self.store.apply(Change(unset=frozenset({str(key)})))
