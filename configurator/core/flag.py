"""Flags as data: how a release spells, types and defaults each of its command-line flags."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

Scalar = bool | int | float | str | None
FlagValue = Scalar | tuple[Scalar, ...]
Action = Literal["store", "true", "false", "boolean", "append", "help", "other"]
"""``boolean`` is a ``--x/--no-x`` pair, ``true`` and ``false`` are switches, ``other`` takes part in prefixes only."""


@dataclass(frozen=True, kw_only=True)
class FlagSpec:
    """One flag of one release, as its own argument parser declares it.

    Attributes:
        dest: Name of the attribute the parser sets, for example ``dcp_size``.
        spellings: Option strings, the primary one first; for a ``boolean`` pair without its ``--no-`` twins.
        type: ``int``, ``float``, ``str``, ``bool``, ``json`` or ``other``.
        choices: Accepted values, or ``None`` where the parser accepts any.
        default: Value when the flag is not given; ``None`` means the server decides later.
        nargs: ``None`` for one value, else ``?``, ``*``, ``+`` or a number of values as text; switches have ``0``.
        action: What the parser does with it.
        deprecated: What upstream deprecated it for, in our words, or ``None``.
    """

    dest: str
    spellings: tuple[str, ...]
    type: str = "str"
    choices: tuple[Scalar, ...] | None = None
    default: FlagValue = None
    nargs: str | None = None
    action: Action = "store"
    deprecated: str | None = None

    @property
    def primary(self) -> str:
        """The spelling we emit."""
        return self.spellings[0]

    @property
    def takes_value(self) -> bool:
        """Whether a word follows the flag."""
        return self.action in ("store", "append") and self.nargs != "0"

    @cached_property
    def negative(self) -> str | None:
        """The ``--no-`` spelling of a boolean pair, else ``None``."""
        return f"--no-{self.primary[2:]}" if self.action == "boolean" else None


class FlagTable(Mapping[str, FlagSpec]):
    """All flags of one release, by ``dest``, and by spelling as argparse would find them."""

    def __init__(self, release: str, flags: Iterable[FlagSpec]) -> None:
        """Index *flags*; *release* is kept for messages."""
        self.release = release
        self._by_dest = {flag.dest: flag for flag in flags}

    def __getitem__(self, dest: str) -> FlagSpec:
        return self._by_dest[dest]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_dest)

    def __len__(self) -> int:
        return len(self._by_dest)

    @cached_property
    def spellings(self) -> Mapping[str, FlagSpec]:
        """Every option string, ``--no-`` twins included, to its flag."""
        found: dict[str, FlagSpec] = {}
        for flag in self._by_dest.values():
            for spelling in flag.spellings:
                found[spelling] = flag
                if flag.action == "boolean" and spelling.startswith("--"):
                    found[f"--no-{spelling[2:]}"] = flag
        return found

    def completions(self, prefix: str) -> tuple[str, ...]:
        """Option strings that *prefix* abbreviates, sorted; an exact spelling completes to itself alone.

        argparse accepts an abbreviation when exactly one option string starts with it, and calls it
        ambiguous otherwise, even where the candidates belong to one flag.
        """
        if prefix in self.spellings:
            return (prefix,)
        if not prefix.startswith("--"):
            return ()
        return tuple(sorted(s for s in self.spellings if s.startswith(prefix)))
