"""Facts about models: from a Hugging Face ``config.json``, or from the catalogue of well-known ones.

The names below are loaded when first used, so that importing the package costs next to nothing and reads no file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from configurator.models.config import ModelFacts
    from configurator.models.sheets import Sheet, find_model, list_models, load_model

__all__ = ["ModelFacts", "Sheet", "find_model", "list_models", "load_model"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module  # noqa: PLC0415

    module = import_module("configurator.models.config" if name == "ModelFacts" else "configurator.models.sheets")
    return getattr(module, name)
