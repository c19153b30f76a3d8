"""The rank map: which GPU belongs to which groups, and which of them holds a token. The slider is the browser's own work."""

from __future__ import annotations

from configurator.planner.report import CapacityReport
from configurator.ui import planned
from configurator.ui.planning import PlannerView, plan_script, plan_style


class RankMapView(PlannerView):
    """Nodes, groups, ranks, and the owner of each position."""

    _esm = plan_script("rank_map.js")
    _css = plan_style("rank_map.css")

    def draw(self, report: CapacityReport) -> None:
        """Draw *report*."""
        self.data = planned.ranks(report, self.store.workspace)
