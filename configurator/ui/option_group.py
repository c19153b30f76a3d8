"""One flag as a group of radio buttons that say why they cannot be taken, and what would free them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from configurator.core.availability import Availability
from configurator.core.configuration import Change
from configurator.hardware import HardwareSnapshot
from configurator.ui import present
from configurator.ui.background import Background
from configurator.ui.store import Store
from configurator.ui.view import View, asset, script
from configurator.words import describe_change
from configurator.workspace import Workspace

_WayOut = tuple[dict[str, str], Change | None, HardwareSnapshot | None]


class OptionGroup(View):
    """The control of one modelled flag.

    Args:
        store: The store.
        dest: The flag.
    """

    _esm = script("option_group.js")
    _css = asset("option_group.css")

    def __init__(self, store: Store, dest: str, background: Background) -> None:
        """Bind to the flag *dest*; ways out are looked for in *background*."""
        super().__init__(store)
        self.dest = dest
        self._background = background
        self._answered: tuple[Workspace, str, _WayOut] | None = None
        self._options: Sequence[Availability] = ()

    def show(self, heading: str, options: Sequence[Availability]) -> None:
        """Draw *options* of the store's workspace."""
        self._options = options
        self.data = present.option_group(self.store.workspace, self.dest, heading, options)

    def do_choose(self, content: dict[str, Any]) -> None:
        """Choose the option with ``label``, unless it is blocked."""
        option = self._named(content)
        if option is not None and option.state != "blocked":
            self.store.choose(self.dest, option.choice)

    def do_pin(self, content: dict[str, Any]) -> None:
        """Write out what "auto" stands for."""
        self.do_choose(content)

    def do_ask(self, content: dict[str, Any]) -> None:
        """Answer what would free the blocked option with ``label``; a search, so only on demand."""
        option = self._named(content)
        if option is None or option.state != "blocked":
            return
        workspace = self.store.workspace

        def answer(found: _WayOut) -> None:
            if workspace is self.store.workspace:
                self._answered = (workspace, option.label, found)
                self.send({"answer": option.label, **found[0]})

        self._background.run(lambda: self._way_out(workspace, option), answer)

    def do_free(self, content: dict[str, Any]) -> None:
        """Choose the blocked option together with what frees it, if that is still what the ``button`` said."""
        option = self._named(content)
        if option is None or option.state != "blocked":
            return
        workspace = self.store.workspace
        answered = self._answered
        if answered is None or answered[0] is not workspace or answered[1] != option.label:
            answered = (workspace, option.label, self._way_out(workspace, option))
        words, change, hardware = answered[2]
        if words["button"] != content.get("button"):
            self.store.say("The command has changed meanwhile, and with it the way out; look at the option again.")
            return
        if hardware is not None:
            workspace = workspace.with_hardware(hardware)
        if change is not None:
            workspace = workspace.apply(change)
        self.store.update(workspace.choose(self.dest, option.choice))

    def _named(self, content: dict[str, Any]) -> Availability | None:
        return next((o for o in self._options if o.label == content.get("label")), None)

    def _way_out(self, workspace: Workspace, option: Availability) -> _WayOut:
        if option.blocked_by == "choice":
            change = workspace.way_out(self.dest, option.choice)
            if change is not None:
                words = describe_change(change, workspace.table)
                return {"button": f"Choose it and change: {words}", "note": ""}, change, None
            return {"button": "", "note": "No change of other flags alone frees it."}, None, None
        hardware = workspace.hardware_that_frees(self.dest, option.choice)
        if hardware is not None:
            return {"button": f"Choose it and change Hardware to {hardware.label}", "note": ""}, None, hardware
        why = (
            "No machine listed here frees it as the command stands."
            if workspace.hardware.assumed
            else "This machine was probed; its facts are not changed."
        )
        return {"button": "", "note": why}, None, None
