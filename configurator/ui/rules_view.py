"""The ledger: every rule and resolution of the release, with what it has to do with this command."""

from __future__ import annotations

from traitlets import Dict

from configurator.ui import present
from configurator.ui.store import Store
from configurator.ui.view import View, asset, script


class RulesView(View):
    """Rules as rows. They are sent when the panel is first opened: few visitors need a hundred of them.

    Attributes:
        states: What each rule says of the command, by code; codes that are not in it have nothing to do with it.
    """

    _esm = script("rules_view.js")
    _css = asset("rules_view.css")
    states = Dict().tag(sync=True)

    def __init__(self, store: Store) -> None:
        """Wait to be opened."""
        super().__init__(store)
        self._open = False
        self._release = ""

    def begin(self) -> None:
        """Begin to draw."""
        self._open = True
        self.refresh()

    def refresh(self) -> None:
        """Draw what the store holds now, if anybody looks."""
        if not self._open:
            return
        workspace = self.store.workspace
        if self._release != workspace.release.version:
            self._release = workspace.release.version
            self.data = present.rules(workspace)
        self.states = present.rule_states(workspace)
