"""What the planner views share: one report for the store's command, and what was asked of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from traitlets import HasTraits, Instance

from configurator import api
from configurator.core.configuration import Configuration
from configurator.planner.latency import check_batch
from configurator.planner.memory import Measured, check_context
from configurator.planner.report import CapacityReport
from configurator.ui.store import Store
from configurator.ui.view import View, asset
from configurator.workspace import Workspace

_FREE = frozenset({"dcp_size", "dcp_comm_backend", "dcp_replicate_q_proj", "attention_backend"})
"""Flags that may differ between a measured run and the command it calibrates."""


def plan_script(name: str) -> str:
    """Return the module of a planner view: the shared scripts, then its own."""
    return "\n".join(asset(file) for file in ("shared.js", "plots.js", name))


def plan_style(name: str) -> str:
    """Return the style sheet of a planner view: the shared one, then its own."""
    return "\n".join(asset(file) for file in ("plots.css", name))


@dataclass(frozen=True)
class Asked:
    """What the user asked of the planners, beside the command.

    Attributes:
        context: Context of each request; ``None`` for the default.
        batch: Requests of a step; ``None`` for the default.
        measured: What a real start gave.
        measured_of: The command that the measurement belongs to.
    """

    context: int | None = None
    batch: int | None = None
    measured: Measured | None = None
    measured_of: tuple[object, ...] = ()


class Planning(HasTraits):  # type: ignore[misc, unused-ignore]
    """The report that all planner views draw from, made once for a command and a question.

    Args:
        store: The store.

    Attributes:
        asked: What was asked; read-only, changed with :meth:`ask`.
    """

    asked = Instance(Asked, args=(), read_only=True)

    def __init__(self, store: Store) -> None:
        """Ask nothing yet."""
        super().__init__()
        self.store = store
        self._made: tuple[Workspace, Asked, CapacityReport] | None = None

    def ask(self, **changes: Any) -> None:
        """Change what is asked.

        Raises:
            InputError: A number makes no sense; what was asked stays.
        """
        asked = replace(self.asked, **changes)
        if asked.context is not None:
            check_context(asked.context)
        if asked.batch is not None:
            check_batch(asked.batch)
        self.set_trait("asked", asked)

    def calibrate(self, rows: int, dcp_size: int) -> None:
        """Take the rows of a real start of this command, at another DCP size perhaps.

        Raises:
            InputError: It cannot be one of this command.
        """
        measured = Measured(rows, dcp_size)
        workspace = self.store.workspace
        api.capacity(workspace, measured_rows=rows, measured_dcp_size=dcp_size)
        self.ask(measured=measured, measured_of=_same(workspace))

    @property
    def calibrated(self) -> Measured | None:
        """What was measured, where it belongs to the command."""
        asked = self.asked
        return asked.measured if asked.measured_of == _same(self.store.workspace) else None

    def report(self) -> CapacityReport:
        """Return the report for what the store holds now.

        Raises:
            InputError: A number of the machine or the model makes no sense.
        """
        return self.prepare(self.store.workspace)

    def prepare(self, workspace: Workspace) -> CapacityReport:
        """Make the report for *workspace*, or return the one that was made for it already. Draws nothing."""
        asked = self.asked
        if self._made is not None and self._made[0] is workspace and self._made[1] == asked:
            return self._made[2]
        measured = self.calibrated
        report = api.capacity(
            workspace,
            context=asked.context,
            batch=asked.batch,
            measured_rows=measured.rows if measured else None,
            measured_dcp_size=measured.dcp_size if measured else 1,
        )
        self._made = (workspace, asked, report)
        return report


def _same(workspace: Workspace) -> tuple[object, ...]:
    flags = {dest: value for dest, value in workspace.configuration.flags.items() if dest not in _FREE}
    rest = Configuration(flags, workspace.configuration.env)
    return workspace.release.version, workspace.hardware.name, workspace.model.name, rest


class PlannerView(View):
    """A view of the report. It draws only between :meth:`begin` and :meth:`end`: while its tab is open.

    Args:
        store: The store.
        planning: What the planner views share.
    """

    def __init__(self, store: Store, planning: Planning) -> None:
        """Wait to be opened."""
        super().__init__(store)
        self.planning = planning
        self._open = False
        planning.observe(lambda _change: self.store.guarded(self.refresh), "asked")

    @property
    def is_open(self) -> bool:
        """Whether its tab is on screen."""
        return self._open

    def begin(self) -> None:
        """Draw, and follow the store from now on."""
        self._open = True
        self.store.guarded(self.refresh)

    def end(self) -> None:
        """Stop drawing; what was drawn stays."""
        self._open = False

    def refresh(self) -> None:
        """Draw what the store holds now, if anybody looks."""
        if self._open:
            self.draw(self.planning.report())

    def draw(self, report: CapacityReport) -> None:
        """Draw *report*."""
        raise NotImplementedError

    def do_ask(self, content: dict[str, Any]) -> None:
        """Take ``context`` and ``batch``, the fields of the view; an empty one means the default."""
        changes = {
            name: whole(content[name], name) if str(content[name]).strip() else None
            for name in ("context", "batch")
            if name in content
        }
        self.planning.ask(**changes)


def whole(value: object, what: str) -> int:
    """Return a whole number that was typed, with separators or without.

    Raises:
        InputError: It is none.
    """
    from configurator.core.errors import InputError  # noqa: PLC0415 - needed for this message only

    text = str(value).strip().replace(",", "").replace("_", "")
    try:
        return int(text)
    except ValueError:
        raise InputError(f"{str(value)[:40]!r} was typed as {what}; a whole number belongs there.", part=what) from None
