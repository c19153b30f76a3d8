"""Errors the user can act on. Every message names the part at fault and the way out."""

from __future__ import annotations


class ConfiguratorError(Exception):
    """Base of all errors raised on purpose; ``str(error)`` is one plain sentence for the user."""


class InputError(ConfiguratorError):
    """What the user gave cannot be used: a bad name, file or value. ``part`` is the piece at fault."""

    def __init__(self, message: str, *, part: str = "") -> None:
        super().__init__(message)
        self.part = part


class CatalogError(ConfiguratorError):
    """The catalogue contradicts itself (a duplicate code, an undeclared flag): a fault of ours, found by tests."""
