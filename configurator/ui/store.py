"""The one observable object of the page: a frozen workspace, its history, and what there is to say."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable
from typing import Any

from traitlets import Bool, HasTraits, Instance, List

from configurator import api
from configurator.core.availability import Choice
from configurator.core.configuration import Change
from configurator.core.errors import InputError
from configurator.hardware import HardwareSnapshot
from configurator.launch.parse import parse
from configurator.ui.present import Json, explained
from configurator.workspace import Workspace

_LOG = logging.getLogger(__name__)
_HISTORY = 200
_ERROR_WORDS = ("Error", "Traceback", "Exception", "error:", "WARNING", "Warning")


class Store(HasTraits):  # type: ignore[misc, unused-ignore]
    """What every view reads. All traits are read-only: they change through the methods, together.

    Attributes:
        workspace: The command with its release, machine and model.
        can_undo: Whether :meth:`undo` has something to take back.
        can_redo: Whether :meth:`redo` has something to bring back.
        messages: What the last action has to tell, as ``{"kind", "text"}``; emptied by the next one.
    """

    workspace = Instance(Workspace, read_only=True)
    can_undo = Bool(default_value=False, read_only=True)
    can_redo = Bool(default_value=False, read_only=True)
    messages: List[Json] = List(read_only=True)

    def __init__(self, workspace: Workspace) -> None:
        """Start with *workspace* and no history."""
        super().__init__()
        self._past: list[Workspace] = []
        self._future: list[Workspace] = []
        self.set_trait("workspace", workspace)

    # --- actions ------------------------------------------------------------------------------------------------------

    def choose(self, dest: str, choice: Choice) -> None:
        """Make *choice* for the flag *dest*."""
        self.update(self.workspace.choose(dest, choice))

    def apply(self, change: Change) -> None:
        """Make *change* in the command."""
        self.update(self.workspace.apply(change))

    def add(self, text: str) -> bool:
        """Add the flags that *text* spells, with their values; tell whether the command took them."""
        workspace = self.workspace
        if not text.strip():
            self.say("There is nothing to add - the box is empty - type a flag of the release, with its value.")
            return False
        read = parse(f"python -m sglang.launch_server {text}", workspace.table)
        trouble = next((problem.message for problem in read.problems), None)
        flags = read.configuration.flags
        if trouble is not None or read.kept or not flags:
            self.say(
                trouble or f"{text.strip()[:60]} - no flag of SGLang {workspace.release.version} - flags begin with --."
            )
            return False
        self.apply(Change(flags))
        return True

    def load(self, text: str) -> None:
        """Take a pasted text: a command is loaded, an error explained, a ``config.json`` becomes the model."""
        stripped = text.strip()
        if not stripped:
            self.say("There is nothing to load - the box is empty - paste a launch command or an error message.")
            return
        if stripped.startswith("{"):
            self._load_config(stripped)
            return
        loaded = self.workspace.load(text)
        is_launch = loaded.command.is_launch
        found: list[Json] = []
        if not is_launch or any(word in text for word in _ERROR_WORDS):
            found = [explained(item, self.workspace) for item in api.explain_error(text)]
        if is_launch:
            self.update(loaded, found)
        elif found:
            self._say_all(found)
        else:
            said = next(p.message for p in loaded.command.problems if p.kind == "not-a-command")
            self.say(f"{said} No rule knows it as an error message either. The command below stays as it was.")

    def _load_config(self, text: str) -> None:
        try:
            config = json.loads(text)
        except RecursionError:
            self.say("This looks like a config.json, but it is nested too deeply to be one. The model stays as it was.")
            return
        except ValueError as error:
            self.say(
                f"This looks like a config.json, but it cannot be read as JSON: {error}. The model stays as it was."
            )
            return
        self.update(self.workspace.with_model(config))
        self._say_all(
            [
                {
                    "kind": "note",
                    "text": f"The model's facts are now those of this config.json: {self.workspace.model.name}.",
                }
            ]
        )

    def with_release(self, version: str) -> None:
        """Ask the same of another release."""
        self.update(self.workspace.with_release(version))

    def with_hardware(self, hardware: str | HardwareSnapshot) -> None:
        """Ask the same of another machine."""
        self.update(self.workspace.with_hardware(hardware))

    def with_model(self, model: str) -> None:
        """Ask the same of another model."""
        self.update(self.workspace.with_model(model))

    def probed(self, snapshot: HardwareSnapshot) -> None:
        """Take the snapshot of a probed machine, and say what could not be asked."""
        notes: list[Json] = [{"kind": "note", "text": text} for text in snapshot.problems]
        if notes:
            notes.append(
                {
                    "kind": "note",
                    "text": "What depends on the GPU cannot be decided now; Undo brings the assumed machine back.",
                }
            )
        self.update(self.workspace.with_hardware(snapshot), notes)

    def undo(self) -> None:
        """Take the last change back."""
        if self._past:
            self._future.append(self.workspace)
            self._show(self._past.pop(), ())

    def redo(self) -> None:
        """Make the change again that was taken back last."""
        if self._future:
            self._past.append(self.workspace)
            self._show(self._future.pop(), ())

    # --- telling ------------------------------------------------------------------------------------------------------

    def update(self, workspace: Workspace, messages: Iterable[Json] = ()) -> None:
        """Show *workspace*; the one before can be brought back. An equal one changes nothing."""
        if workspace != self.workspace:
            self._past = [*self._past, self.workspace][-_HISTORY:]
            self._future = []
        self._show(workspace, messages)

    def say(self, text: str) -> None:
        """Tell the user *text*, a plain sentence; everything else stays."""
        self._say_all([{"kind": "error", "text": text}])

    def guarded(self, action: Callable[..., Any], *arguments: Any) -> None:
        """Run *action*; what goes wrong becomes a sentence on the page, since a traceback would be seen by nobody."""
        try:
            action(*arguments)
        except InputError as error:
            self.say(str(error))
        except Exception as error:  # noqa: BLE001 - whatever it is, the user must be told; the log keeps the rest
            _LOG.exception("an action of the page failed")
            self.say(
                f"That did not work, and the fault is this program's ({type(error).__name__}). Nothing you entered is lost; "
                "the log of the server has the details."
            )

    def _say_all(self, messages: Iterable[Json]) -> None:
        self.set_trait("messages", list(messages))

    def _show(self, workspace: Workspace, messages: Iterable[Json]) -> None:
        with self.hold_trait_notifications():
            self.set_trait("messages", list(messages))
            self.set_trait("can_undo", bool(self._past))
            self.set_trait("can_redo", bool(self._future))
            self.set_trait("workspace", workspace)
