"""The findings, in order of harm, each with its own ways out."""

from __future__ import annotations

from typing import Any

from configurator.ui import present
from configurator.ui.store import Store
from configurator.ui.view import View, asset, script
from configurator.words import describe_fix


class Findings(View):
    """What the catalogue finds in the command."""

    _esm = script("findings.js")
    _css = asset("findings.css")

    def __init__(self, store: Store) -> None:
        """Draw the findings of *store*."""
        super().__init__(store)
        self.refresh()

    def refresh(self) -> None:
        """Draw what the store holds now."""
        self.data = present.findings(self.store.workspace)

    def do_fix(self, content: dict[str, Any]) -> None:
        """Apply the fix ``label`` of the finding with ``code`` and ``message``."""
        workspace = self.store.workspace
        for finding in workspace.report.findings:
            if (finding.rule.code, finding.message) == (content.get("code"), content.get("message")):
                for change in workspace.fixes(finding):
                    if describe_fix(change, workspace) == content.get("label"):
                        self.store.apply(change)
                        return
        self.store.say("The command has changed meanwhile, and with it its findings; look at them again.")
