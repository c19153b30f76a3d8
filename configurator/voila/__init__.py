"""The page's server: Voila with the configurator's own template and settings."""

from __future__ import annotations

from configurator.voila.serve import find_notebook, serve

__all__ = ["find_notebook", "serve"]
