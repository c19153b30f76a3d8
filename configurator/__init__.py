"""The DCP configurator for SGLang: check, repair, measure and emit launch commands.

The public names are loaded when first used, so that importing the package reads no file and starts no notebook
machinery: ``check`` brings the engine, :class:`Configurator` the widgets, and nothing here ever brings torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from configurator.api import check, emit, explain, fix, parse, probe
    from configurator.core.configuration import Configuration
    from configurator.ui.app import Configurator

    __version__: str

_HOME = {
    "Configuration": "configurator.core.configuration",
    "Configurator": "configurator.ui.app",
    "check": "configurator.api",
    "emit": "configurator.api",
    "explain": "configurator.api",
    "fix": "configurator.api",
    "parse": "configurator.api",
    "probe": "configurator.api",
}

_WIDGET_PACKAGES = frozenset({"anywidget", "ipywidgets", "traitlets"})

__all__ = [
    "Configuration",
    "Configurator",
    "__version__",
    "check",
    "emit",
    "explain",
    "fix",
    "parse",
    "probe",
]


def __getattr__(name: str) -> object:
    """Load a public name on first use; later uses find it in the module like any other."""
    value: object
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415 - reads the installed metadata, wanted by few

        value = version("dcp-configurator")
    elif name in _HOME:
        from importlib import import_module  # noqa: PLC0415 - only needed once a name is used

        try:
            value = getattr(import_module(_HOME[name]), name)
        except ModuleNotFoundError as error:
            if error.name not in _WIDGET_PACKAGES:
                raise
            raise ImportError(
                f"{name} is a notebook widget and needs {error.name}, which is not installed here; "
                "install the page's packages: pip install 'dcp-configurator[app]'.",
                name=error.name,
            ) from error
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not, beside what the module holds already."""
    return sorted({*globals(), *__all__})
