"""The launch command: as written, its repair as a difference, and the formats it can be run in."""

from __future__ import annotations

from typing import Any

from traitlets import Dict

from configurator import api
from configurator.api import Repaired
from configurator.core.errors import InputError
from configurator.launch.emit import FORMATS
from configurator.ui import present
from configurator.ui.present import Json
from configurator.ui.store import Store
from configurator.ui.view import View, asset, script
from configurator.workspace import Workspace


class CommandPanel(View):
    """The command, ready to copy, and the repairs of everything that is wrong with it.

    Attributes:
        repairs: The repairs, found after the command is drawn: a search must not hold up the answer to a click.
        emitted: The files of the chosen format, where it is another than the shell's.
    """

    _esm = script("command.js")
    _css = asset("command.css")
    repairs = Dict().tag(sync=True)
    emitted = Dict().tag(sync=True)

    def __init__(self, store: Store) -> None:
        """Draw the command of *store*."""
        super().__init__(store)
        self._format = "shell"
        self._forced = False
        self._found: tuple[Repaired, ...] = ()
        self.refresh()

    def refresh(self) -> None:
        """Draw the command; repairs follow with :meth:`show_repairs`."""
        self._forced = False
        workspace = self.store.workspace
        self._found = ()
        self.data = {**present.command(workspace), "formats": list(FORMATS)}
        self.repairs = {"verdict": workspace.report.verdict, "repairs": [], "busy": workspace.report.verdict == "error"}
        self._emit()

    def show_repairs(self, workspace: Workspace, found: tuple[Repaired, ...]) -> None:
        """Draw the repairs that were *found* for *workspace*, if that is still what the store holds."""
        if workspace is self.store.workspace:
            self._found = found
            self.repairs = present.repairs(workspace, found)

    def _emit(self) -> None:
        workspace = self.store.workspace
        nodes = workspace.report.resolved.get("nnodes")
        if self._format == "shell" and not (isinstance(nodes, int) and nodes > 1):
            self.emitted = {"format": "shell", "files": [], "refused": "", "why": ""}
            return
        document: Json = {"format": self._format, "files": [], "refused": "", "why": ""}
        broken = workspace.report.verdict == "error"
        if broken and not self._forced:
            document["refused"] = present.verdict(workspace)["sentence"]
        else:
            try:
                files = api.emit(workspace, format=self._format, force=True)
                document["files"] = [{"name": file.name, "text": file.text} for file in files]
            except InputError as error:
                document["why"] = str(error)
        self.emitted = document

    def do_format(self, content: dict[str, Any]) -> None:
        """Show the command as ``format``."""
        wanted = content.get("format")
        if wanted in FORMATS:
            self._format = str(wanted)
            self._emit()

    def do_force(self, _content: dict[str, Any]) -> None:
        """Write a command out that would break, with the reason in a comment."""
        self._forced = True
        self._emit()

    def do_apply(self, content: dict[str, Any]) -> None:
        """Apply the repair whose command is ``text``."""
        for repair in self._found:
            if repair.command == content.get("text"):
                self.store.apply(repair.change)
                return
        self.store.say("The command has changed meanwhile, and with it its repairs; look at them again.")
