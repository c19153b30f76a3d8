"""The key to the states of an option."""

from __future__ import annotations

from configurator.ui.view import View, asset, script


class Legend(View):
    """Shapes, icons and their meaning, at the foot of the options."""

    _esm = script("legend.js")
    _css = asset("legend.css")
