"""What all views share: their assets, one dictionary that the browser draws, and messages that cannot fail unseen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anywidget
from traitlets import Dict

from configurator.ui.store import Store

_HERE = Path(__file__).parent


def script(name: str) -> str:
    """Return the module of a view: the shared script, then its own, as one text without an import."""
    return asset("shared.js") + "\n" + asset(name)


def asset(name: str) -> str:
    """Return the text of a file beside this one."""
    return (_HERE / name).read_text(encoding="utf-8")


class View(anywidget.AnyWidget):
    """A part of the page. It draws ``data`` and answers messages of the form ``{"do": NAME, ...}`` in ``do_NAME``.

    An exception in a callback is invisible in Voila, so every message is answered through :meth:`Store.guarded`.

    Attributes:
        data: All the browser needs to draw the view; equal values send nothing.
    """

    data = Dict().tag(sync=True)

    def __init__(self, store: Store, **traits: Any) -> None:
        """Bind the view to *store*."""
        super().__init__(**traits)
        self.store = store
        self.on_msg(self._receive)

    def refresh(self) -> None:
        """Draw what the store holds now."""

    def _receive(self, _widget: object, content: object, _buffers: object) -> None:
        if not isinstance(content, dict) or not isinstance(content.get("do"), str):
            return  # a message of anywidget's own
        handler = getattr(self, f"do_{content['do']}", None)
        if handler is None:
            self.store.say(
                f"This page has no action called {content['do'][:40]}; reload it if it is older than the program."
            )
        else:
            self.store.guarded(handler, content)
