"""The configurator: composition only. Every view reads the store; none knows another."""

from __future__ import annotations

from collections.abc import Mapping

import ipywidgets
from traitlets import Instance, Unicode

from configurator import api
from configurator.answers import Repaired
from configurator.core.configuration import Configuration
from configurator.core.engine import Report
from configurator.hardware import HardwareSnapshot, load_hardware
from configurator.ui import present
from configurator.ui.background import Background
from configurator.ui.bench_view import BenchView
from configurator.ui.capacity_view import CapacityView
from configurator.ui.command import CommandPanel
from configurator.ui.findings import Findings
from configurator.ui.latency_view import LatencyView
from configurator.ui.legend import Legend
from configurator.ui.option_group import OptionGroup
from configurator.ui.other_flags import OtherFlags
from configurator.ui.planning import PlannerView, Planning
from configurator.ui.rank_map import RankMapView
from configurator.ui.resolved import Resolved
from configurator.ui.rules_view import RulesView
from configurator.ui.store import Store
from configurator.ui.style import Style
from configurator.ui.tabs import Tabs
from configurator.ui.topbar import TopBar
from configurator.ui.verdict import Verdict
from configurator.ui.view import View
from configurator.workspace import DEFAULT_HARDWARE, Workspace


class Configurator(ipywidgets.Box):  # type: ignore[misc, unused-ignore]
    """The linked page as one widget: display it, read it, observe it.

    Args:
        command: Pasted text of a launch command; one to begin with by default.
        release: SGLang version; the newest known by default.
        hardware: Preset name, snapshot file, ``local`` or a snapshot; this machine where it has a usable GPU, else
            eight H200, marked as assumed.
        model: Sheet name, repository, folder, ``config.json`` or its contents; by default what the command names.

    Attributes:
        command: The command as shell text.
        configuration: What it asks for.
        report: What the catalogue finds in it.

    Raises:
        InputError: A name means nothing here, or a file cannot be read.
    """

    command = Unicode(read_only=True)
    configuration = Instance(Configuration, read_only=True)
    report = Instance(Report, read_only=True)

    def __init__(
        self,
        command: str | None = None,
        *,
        release: str | None = None,
        hardware: str | HardwareSnapshot | None = None,
        model: str | Mapping[str, object] | None = None,
    ) -> None:
        """Build the page for *command*."""
        here = load_hardware("local")
        if hardware is None:
            hardware = here if here.gpus else DEFAULT_HARDWARE
        snapshot = hardware if isinstance(hardware, HardwareSnapshot) else load_hardware(hardware)
        self.store = store = Store(Workspace.start(command, release=release, hardware=snapshot, model=model))
        self._groups: dict[str, OptionGroup] = {}
        self._background = Background(store)
        self._asking = Background(store)
        self._controls = _box([], "dc-options")
        self._top = TopBar(store)
        self._verdict = Verdict(store)
        self._command = CommandPanel(store)
        self._findings = Findings(store)
        self._resolved = Resolved(store)
        self._others = OtherFlags(store)
        self._rules = RulesView(store)
        self._bench = BenchView(store, here)
        options = _box([_box([self._controls, self._others], "dc-scroll"), Legend(store)], "dc-pane dc-pane-options")
        result = _box(
            [self._verdict, _box([self._command, _box([self._findings, self._resolved], "dc-scroll")], "dc-body")],
            "dc-pane dc-result",
        )
        self._planning = Planning(store)
        self._plans: dict[str, PlannerView] = {
            "capacity": CapacityView(store, self._planning),
            "latency": LatencyView(store, self._planning),
            "rankmap": RankMapView(store, self._planning),
        }
        panels: dict[str, tuple[str, View]] = {
            "capacity": ("Capacity", self._plans["capacity"]),
            "latency": ("Latency", self._plans["latency"]),
            "rankmap": ("Rank map", self._plans["rankmap"]),
            "bench": ("Benchmark", self._bench),
            "rules": ("Rules", self._rules),
        }
        tabs = Tabs(store, panels, self._opened)
        super().__init__([Style(store), self._top, _box([options, result], "dc-work"), tabs])
        self.add_class("dc-app")
        store.observe(lambda _change: self._redraw(), "workspace")
        store.observe(lambda _change: self._top.refresh(), ["messages", "can_undo", "can_redo"])
        self._plans["capacity"].begin()  # the first tab is open from the start
        self._redraw()

    def load(self, text: str) -> None:
        """Take *text* as if it had been pasted into the page."""
        self.store.load(text)

    def _redraw(self) -> None:
        """Draw the new workspace: first what answers the click, then what takes a search."""
        workspace = self.store.workspace
        headings = present.groups(workspace)
        found = workspace.options(*headings)
        for dest, heading in headings.items():
            if dest not in self._groups:
                self._groups[dest] = OptionGroup(self.store, dest, self._asking)
            self._groups[dest].show(heading, found[dest])
        shown = tuple(self._groups[dest] for dest in headings)
        if self._controls.children != shown:
            self._controls.children = shown
        self._verdict.refresh()
        self._command.refresh()
        self._findings.refresh()
        self._resolved.refresh()
        self._top.refresh()
        self._others.refresh()
        with self.hold_trait_notifications():
            self.set_trait("command", workspace.command.render())
            self.set_trait("configuration", workspace.configuration)
            self.set_trait("report", workspace.report)
        self._background.run(lambda: self._searched(workspace), self._draw_searched)

    def _searched(self, workspace: Workspace) -> tuple[Workspace, tuple[Repaired, ...]]:
        """Look for what takes a search. Nothing is drawn here: this runs in a thread of its own."""
        found = api.repaired(workspace) if workspace.report.verdict == "error" else ()
        if any(view.is_open for view in self._plans.values()):
            self._planning.prepare(workspace)
        return workspace, found

    def _draw_searched(self, searched: tuple[Workspace, tuple[Repaired, ...]]) -> None:
        self._command.show_repairs(*searched)
        self._rules.refresh()
        self._bench.refresh()
        for view in self._plans.values():
            self.store.guarded(view.refresh)

    def _opened(self, key: str) -> None:
        if key == "rules":
            self._rules.begin()
        for name, view in self._plans.items():
            if name == key:
                view.begin()
            else:
                view.end()


def _box(children: list[ipywidgets.Widget], classes: str) -> ipywidgets.Box:
    box = ipywidgets.Box(children)
    for name in classes.split():
        box.add_class(name)
    return box
