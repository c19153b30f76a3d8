"""The third truth value: a fact nobody could establish, with the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import TypeIs  # in the standard library from 3.13 on; only the type checker needs it


class Unknown:
    """A value that could not be established; ``reason`` says why, in words for the user.

    With ``has_value`` it is known that there is a value, only not which: a flag given as ``$N`` is not unset.

    Instances are falsy neither way: ``bool()`` raises, so that an unknown never passes for a yes or a no
    by accident. Test with :func:`is_unknown`.
    """

    __slots__ = ("has_value", "reason")

    def __init__(self, reason: str = "not known", *, has_value: bool = False) -> None:
        """Keep *reason*, a phrase that completes "cannot be decided here: ..."."""
        self.reason = reason
        self.has_value = has_value

    def __repr__(self) -> str:
        return f"Unknown({self.reason!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknown) and (other.reason, other.has_value) == (self.reason, self.has_value)

    def __hash__(self) -> int:
        return hash((Unknown, self.reason))

    def __bool__(self) -> bool:
        msg = f"an unknown is neither true nor false: {self.reason}"
        raise TypeError(msg)


UNKNOWN = Unknown()


def is_unknown(value: object) -> TypeIs[Unknown]:
    """Tell whether *value* is an :class:`Unknown`."""
    return type(value) is Unknown
