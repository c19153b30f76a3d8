"""The latency panel: one layer's time against context, where DCP breaks even, and its collectives."""

from __future__ import annotations

from configurator.planner.report import CapacityReport
from configurator.ui import planned
from configurator.ui.planning import PlannerView, plan_script, plan_style


class LatencyView(PlannerView):
    """Whether DCP is faster or only bigger."""

    _esm = plan_script("latency_view.js")
    _css = plan_style("latency_view.css")

    def draw(self, report: CapacityReport) -> None:
        """Draw *report*."""
        self.data = planned.latency(report)
