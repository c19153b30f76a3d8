"""The benchmark panel: what would run here and why the rest cannot, progress, the checked and timed rows."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from configurator.bench import runner, tables
from configurator.bench.problem import Problem
from configurator.core.errors import InputError
from configurator.hardware import HardwareSnapshot
from configurator.ui import bench_state
from configurator.ui.bench_state import RunState
from configurator.ui.store import Store
from configurator.ui.view import View, asset, script

_SMALL_RANKS = 2


class BenchView(View):
    """Runs the microbenchmark in processes of its own; the kernel only reads what they say.

    Args:
        store: The store.
        here: The machine this program runs on, whatever machine the command is for.
    """

    _esm = script("bench_view.js")
    _css = asset("bench_view.css")

    def __init__(self, store: Store, here: HardwareSnapshot) -> None:
        """Show what would run on *here*."""
        super().__init__(store)
        self._here = here
        self._state = RunState()
        self._run: runner.Run | None = None
        self._task: asyncio.Task[None] | None = None
        self._offered: tuple[object, ...] = ()
        self._offer: dict[str, Any] = {}
        self.refresh()

    def refresh(self) -> None:
        """Draw what would run for the store's command; a run under way keeps its own."""
        workspace = self.store.workspace
        key = (workspace.model, workspace.report.resolved.get("tp_size"), workspace.report.resolved.get("dcp_size"))
        if key != self._offered:
            self._offered = key
            self._offer = self._what_would_run()
        self._draw()

    def _draw(self) -> None:
        self.data = {"offer": self._offer, "run": bench_state.drawn(self._state)}

    def _problem(self) -> Problem:
        """Return the problem for this machine: two ranks on processors, the command's own on enough GPUs.

        Raises:
            InputError: The model's facts are not enough for its shapes.
        """
        workspace = self.store.workspace
        resolved = workspace.report.resolved
        wanted = _count(resolved.get("tp_size"), 1)
        if wanted < _SMALL_RANKS:  # DCP needs a group; a command without one is still to be repaired
            wanted = 8
        gpus = len(self._here.gpus)
        if gpus < _SMALL_RANKS:
            return Problem.small(workspace.model.facts, command_tp_size=wanted)
        ranks = wanted if _SMALL_RANKS <= wanted <= gpus else _SMALL_RANKS
        group = _count(resolved.get("dcp_size"), ranks)
        group = group if group > 1 and ranks % group == 0 else ranks
        return Problem.small(workspace.model.facts, command_tp_size=wanted, tp_size=ranks, dcp_size=group)

    def _what_would_run(self) -> dict[str, Any]:
        try:
            problem = self._problem()
        except InputError as error:
            return {"runs": False, "reason": str(error), "cases": [], "unavailable": [], "banner": "", "about": ""}
        offer = runner.offer(problem, facts=self._here.to_facts()).to_json()
        shape = (
            f"{self.store.workspace.model.name} shapes: {problem.num_local_heads} heads a rank, tp-size {problem.tp_size}, "
            f"dcp-size {problem.dcp_size}, batch {problem.batch_size}, context {problem.context_length:,}, {problem.dtype}. "
            f"Checked against float64 attention first, then timed for {problem.time_budget_s:g} s."
        )
        return {**offer, "about": " ".join([shape, *offer["notes"]])}

    # --- messages -------------------------------------------------------------------------------------------------------

    def do_run(self, _content: dict[str, Any]) -> None:
        """Start a run; one at a time on this page."""
        if self._state.active:
            return
        loop = asyncio.get_running_loop()
        self._run = runner.start(runner.Request(problem=self._problem(), snapshot=self._here.name))
        self._state = RunState(phase="running", stage="Starting the ranks")
        self._draw()
        self._task = loop.create_task(self._follow(self._run))

    async def _follow(self, run: runner.Run) -> None:
        try:
            async for event in run.events():
                self._state = self._state.after(event)
                self._draw()
        except Exception as error:  # noqa: BLE001 - a task's exception is seen by nobody; the page must say it
            run.cancel()
            message = f"The page lost the benchmark ({type(error).__name__}: {error}); run it again."
            self._state = self._state.after({"event": "error", "message": message})
            self._draw()

    def do_cancel(self, _content: dict[str, Any]) -> None:
        """Cancel the run under way."""
        if self._run is not None:
            self._run.cancel()

    def do_export(self, content: dict[str, Any]) -> None:
        """Send the result as ``format``: ``json``, ``csv`` or ``md``."""
        document = self._state.document
        if document is None:
            return
        write = {
            "json": lambda: json.dumps(document, indent=1) + "\n",
            "csv": lambda: tables.as_csv(document),
            "md": lambda: tables.as_markdown(document),
        }.get(str(content.get("format")))
        if write is not None:
            self.send({"file": f"dcp-benchmark.{content['format']}", "text": write()})

    def close(self) -> None:
        """End a run under way with the widget."""
        if self._run is not None:
            self._run.cancel()
        super().close()


def _count(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else otherwise
