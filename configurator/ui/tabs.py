"""The panels below the work area, one shown at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ipywidgets

from configurator.ui.store import Store
from configurator.ui.view import View, asset, script


class TabBar(View):
    """The tabs. Switching is the browser's own work; Python only hears which panel is open."""

    _esm = script("tabs.js")
    _css = asset("tabs.css")

    def __init__(self, store: Store, titles: Mapping[str, str], opened: Callable[[str], None]) -> None:
        """Show a tab for each of *titles*, by key; *opened* hears the key of the panel that is opened."""
        super().__init__(store)
        self._opened = opened
        self.data = {"tabs": [{"key": key, "title": title} for key, title in titles.items()]}

    def do_open(self, content: dict[str, Any]) -> None:
        """Note that the panel ``key`` is on screen."""
        self._opened(str(content.get("key")))


class Tabs(ipywidgets.Box):  # type: ignore[misc, unused-ignore]
    """A tab bar over its panels.

    Args:
        store: The store.
        panels: Title and view by key; a key is a CSS class suffix.
        opened: Called with the key of the panel that is opened.
    """

    def __init__(self, store: Store, panels: Mapping[str, tuple[str, View]], opened: Callable[[str], None]) -> None:
        """Put the panels below their tabs."""
        for key, (_, view) in panels.items():
            view.add_class("dc-panel")
            view.add_class(f"dc-panel-{key}")
        bar = TabBar(store, {key: title for key, (title, _) in panels.items()}, opened)
        super().__init__([bar, *(view for _, view in panels.values())])
        self.add_class("dc-tabs")
