"""The frame's style sheet, as a widget without content: boxes cannot carry one."""

from __future__ import annotations

from configurator.ui.view import View, asset


class Style(View):
    """Brings the layout of the page with it."""

    _esm = "export default { render() {} };"
    _css = asset("app.css")
