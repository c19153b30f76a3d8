"""The capacity panel: the memory of one GPU item by item, tokens against the DCP size, and advice for a goal."""

from __future__ import annotations

from typing import Any

from traitlets import Dict

from configurator.planner.advice import GOALS, Advised, Goal, advise
from configurator.planner.report import CapacityReport
from configurator.ui import planned
from configurator.ui.planning import PlannerView, Planning, plan_script, plan_style, whole
from configurator.ui.store import Store


class CapacityView(PlannerView):
    """What fits, and what would fit more.

    Attributes:
        advice: The best configurations for the goal that was asked for; empty before one is.
    """

    _esm = plan_script("capacity_view.js")
    _css = plan_style("capacity_view.css")
    advice = Dict().tag(sync=True)

    def __init__(self, store: Store, planning: Planning) -> None:
        """Wait to be opened."""
        super().__init__(store, planning)
        self._goal: Goal | None = None

    def draw(self, report: CapacityReport) -> None:
        """Draw *report*, and the advice anew where a goal was asked for."""
        self.data = planned.capacity(report) | {
            "asked": planned.asked(report),
            "goals": [{"key": goal, "title": title} for goal, title in GOALS.items()],
            "goal": self._goal or "",
        }
        self.advice = planned.advice(self._advised(report), report) if self._goal else {}

    def _advised(self, report: CapacityReport) -> Advised:
        return advise(
            report.case,
            self._goal or "longest_context",
            context_tokens=report.context_tokens,
            batch_size=report.batch_size,
            checkpoint_bytes=report.checkpoint_bytes,
            measured=report.measured,
        )

    def do_goal(self, content: dict[str, Any]) -> None:
        """Rank configurations for the goal ``goal``; the one that is shown already is put away."""
        wanted = next((goal for goal in GOALS if goal == content.get("goal")), None)
        self._goal = None if wanted == self._goal else wanted
        self.refresh()

    def do_use(self, content: dict[str, Any]) -> None:
        """Load the configuration whose change is labelled ``label``."""
        report = self.planning.report()
        advised = self._advised(report)
        for entry, shown in zip(advised.best, planned.advice(advised, report)["items"], strict=True):
            if shown["label"] and shown["label"] == content.get("label"):
                self.store.apply(report.from_written(entry.change))
                return
        self.store.say("The command has changed meanwhile, so this advice no longer belongs to it; it is drawn anew.")
        self.refresh()

    def do_calibrate(self, content: dict[str, Any]) -> None:
        """Take ``rows`` as measured at DCP size ``dcp``."""
        self.planning.calibrate(whole(content.get("rows"), "measured rows"), whole(content.get("dcp"), "DCP size"))

    def do_uncalibrate(self, _content: dict[str, Any]) -> None:
        """Go back to the model alone."""
        self.planning.ask(measured=None, measured_of=())
