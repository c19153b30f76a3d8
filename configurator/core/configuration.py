"""What the user asked for: an immutable mapping of flags to values, separate from what the server makes of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from configurator.core.flag import FlagValue


@dataclass(frozen=True)
class Configuration(Mapping[str, FlagValue]):
    """The flags somebody gave, by ``dest``; a flag that is absent was left to its default.

    Attributes:
        flags: Given flags and their typed values. An explicit ``None`` is not the same as absent.
        env: Environment variables given with the command.
    """

    flags: Mapping[str, FlagValue] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, dest: str) -> FlagValue:
        return self.flags[dest]

    def __iter__(self) -> Iterator[str]:
        return iter(self.flags)

    def __len__(self) -> int:
        return len(self.flags)

    def __hash__(self) -> int:
        return hash((frozenset(self.flags.items()), frozenset(self.env.items())))

    def replace(self, changes: Change) -> Configuration:
        """Return a configuration with *changes* made; this one stays as it is."""
        flags = {k: v for k, v in self.flags.items() if k not in changes.unset} | dict(changes.set)
        return Configuration(flags, {**self.env, **changes.env})


@dataclass(frozen=True)
class Change:
    """A change of a configuration: flags set, flags taken out, environment variables set.

    Attributes:
        set: New values by ``dest``.
        unset: Flags to leave to their default.
        env: Environment variables to set.
    """

    set: Mapping[str, FlagValue] = field(default_factory=dict)
    unset: frozenset[str] = frozenset()
    env: Mapping[str, str] = field(default_factory=dict)

    def __hash__(self) -> int:
        return hash((frozenset(self.set.items()), self.unset, frozenset(self.env.items())))

    def __len__(self) -> int:
        return len(self.set) + len(self.unset) + len(self.env)

    def then(self, later: Change) -> Change:
        """Return this change followed by *later*, as one change."""
        set_ = {k: v for k, v in self.set.items() if k not in later.unset} | dict(later.set)
        unset = (self.unset - set(later.set)) | later.unset
        return Change(set_, unset, {**self.env, **later.env})
