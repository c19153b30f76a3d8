"""A release of SGLang as a value: its flag table, the flags we model, its rules and resolutions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from configurator.core.errors import CatalogError
from configurator.core.expr import Term
from configurator.core.flag import FlagTable, FlagValue
from configurator.core.rule import Resolution, Rule

Declared = TypeVar("Declared", Rule, Resolution)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelledFlag:
    """A flag that rules read and the page shows.

    Attributes:
        dest: The parser's attribute name.
        group: Heading it stands under.
        help: What it does, in one or two sentences of ours.
        values: Values offered as options, in order; empty for the parser's own choices.
        auto: What leaving it out is called: ``auto`` where the server decides, else ``None`` (the default is a value).
        change_cost: Cost of choosing another value in a repair.
        unset_cost: Cost of dropping it in a repair.
        value_costs: Extra cost of particular values; what must come last is dear.
        prefer: Term whose value costs nothing extra; every other value costs ``not_preferred``.
        not_preferred: Extra cost where ``prefer`` is not met.
        shown: Whether the page has a control for it.
    """

    dest: str
    group: str
    help: str
    values: tuple[FlagValue, ...] = ()
    auto: str | None = None
    change_cost: float = 1.0
    unset_cost: float = 1.5
    value_costs: Mapping[FlagValue, float] = field(default_factory=dict)
    prefer: Term | None = None
    not_preferred: float = 0.0
    shown: bool = True


@dataclass(frozen=True, eq=False, repr=False)
class Release:
    """Everything one release of SGLang says.

    Attributes:
        version: For example ``0.5.23``.
        table: All flags of its parser.
        modelled: Flags that rules read, by dest.
        rules: Its rules, by code.
        resolutions: Its resolutions, by code.
        results: Values that no flag sets but resolutions do, with what they are without one.
        evidence: What was read to write this down.
        software: What it pins or was built against, as ``software.*`` facts.
    """

    version: str
    table: FlagTable
    modelled: Mapping[str, ModelledFlag]
    rules: Mapping[str, Rule]
    resolutions: Mapping[str, Resolution]
    evidence: str
    results: Mapping[str, object] = field(default_factory=dict)
    software: Mapping[str, object] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"<SGLang {self.version}: {len(self.rules)} rules>"

    def __post_init__(self) -> None:
        """Check that codes are unique, and that nothing reads or sets a flag the release does not have."""
        if shared := set(self.rules) & set(self.resolutions):
            raise CatalogError(f"SGLang {self.version}: {', '.join(sorted(shared))} is both a rule and a resolution")
        known = set(self.modelled) | set(self.results)
        steps = {dest for resolution in self.resolutions.values() for dest in resolution.sets}
        declared: list[Rule | Resolution] = [*self.rules.values(), *self.resolutions.values()]
        for item in declared:
            for key in item.reads():
                space, _, name = key.partition(".")
                if space in ("asked", "resolved") and name not in known:
                    raise CatalogError(f"{item.slug} reads {name}, which SGLang {self.version} does not have")
                if space == "step" and key not in steps:
                    raise CatalogError(f"{item.slug} reads {key}, which nothing in SGLang {self.version} sets")
        for resolution in self.resolutions.values():
            for dest in resolution.sets:
                if not dest.startswith("step.") and dest not in known:
                    raise CatalogError(f"{resolution.slug} sets {dest}, which SGLang {self.version} does not have")

    def derive(  # noqa: PLR0913 - one keyword per kind of change between two releases
        self,
        *,
        version: str,
        table: FlagTable,
        evidence: str,
        modelled: Iterable[ModelledFlag] = (),
        add_rules: Iterable[Rule] = (),
        add_resolutions: Iterable[Resolution] = (),
        retire: Sequence[str] = (),
        results: Mapping[str, object] | None = None,
        software: Mapping[str, object] | None = None,
    ) -> Release:
        """Return the next release: this one, without the *retire* codes, with the additions.

        Raises:
            CatalogError: A retired code is unknown, or an added one exists already.
        """
        gone = set(retire)
        if unknown := gone - set(self.rules) - set(self.resolutions):
            raise CatalogError(
                f"SGLang {version} retires {', '.join(sorted(unknown))}, which {self.version} does not have"
            )
        return replace(
            self,
            version=version,
            table=table,
            evidence=evidence,
            modelled={**self.modelled, **{flag.dest: flag for flag in modelled}},
            results={**self.results, **(results or {})},
            rules=_merge(version, self.rules, gone, add_rules),
            resolutions=_merge(version, self.resolutions, gone, add_resolutions),
            software={**self.software, **(software or {})},
        )


def by_code(items: Iterable[Declared]) -> Mapping[str, Declared]:
    """Return *items* by code.

    Raises:
        CatalogError: A code is malformed or occurs twice.
    """
    found: dict[str, Declared] = {}
    for item in items:
        if not re.fullmatch(r"[A-Z]{3}[1-9][0-9]{2}", item.code):
            raise CatalogError(f"{item.slug}: {item.code} is no code (three letters, three digits)")
        if item.code in found:
            raise CatalogError(f"{item.code} is both {found[item.code].slug} and {item.slug}")
        found[item.code] = item
    return found


def _merge(
    version: str, old: Mapping[str, Declared], gone: set[str], new: Iterable[Declared]
) -> Mapping[str, Declared]:
    kept = {code: item for code, item in old.items() if code not in gone}
    added = by_code(new)
    if twice := set(kept) & set(added):
        raise CatalogError(f"SGLang {version} adds {', '.join(sorted(twice))}, which exists already; retire it first")
    return {**kept, **added}
