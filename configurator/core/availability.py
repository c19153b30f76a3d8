"""Options: for each choice of each flag, whether it can be taken as things stand, why not, and what would free it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from configurator.core.configuration import Change, Configuration
from configurator.core.conflict import unavoidable
from configurator.core.engine import Case, Engine, Finding, engine_for, show
from configurator.core.flag import FlagValue
from configurator.core.unknown import is_unknown

State = Literal["open", "blocked", "undecided"]
BlockedBy = Literal["choice", "fact"]


@dataclass(frozen=True, slots=True)
class Auto:
    """The choice of leaving a flag out; what it becomes is the server's business."""

    def __repr__(self) -> str:
        return "AUTO"


AUTO = Auto()
Choice = FlagValue | Auto


@dataclass(frozen=True, slots=True)
class Availability:
    """One choice of one flag.

    Attributes:
        choice: The value, or ``AUTO``.
        label: As the page and screen readers name it.
        state: ``blocked`` where a certain refusing, crashing or corrupting finding about this flag would hold.
        chosen: Whether it is what the configuration says now. A chosen choice is never blocked.
        conflict: Chosen, and such a finding holds.
        blocked_by: ``fact`` where no other flag can free it, else ``choice``.
        codes: The rules responsible.
        reason: The first of them, in words; for an undecided choice, what is not known.
        becomes: For ``AUTO``, what the server makes of it; ``None`` where it leaves it unset.
        slows: Whether it runs but costs.
    """

    choice: Choice
    label: str
    state: State
    chosen: bool = False
    conflict: bool = False
    blocked_by: BlockedBy | None = None
    codes: tuple[str, ...] = ()
    reason: str = ""
    becomes: object = None
    slows: bool = False


_SWITCH: Mapping[str, tuple[FlagValue, ...]] = {"boolean": (True, False), "true": (False, True), "false": (True, False)}


def choices(engine: Engine, dest: str, configuration: Configuration) -> tuple[Choice, ...]:
    """Return the choices offered for *dest*, in order; a value the user gave is always among them."""
    modelled = engine.release.modelled[dest]
    spec = engine.release.table.get(dest)
    offered: list[Choice] = [AUTO] if modelled.auto else []
    values: tuple[FlagValue, ...] = modelled.values
    if not values and spec is not None:
        values = spec.choices or _SWITCH.get(spec.action, ())
    if spec is not None and spec.choices is not None:
        values = tuple(v for v in values if v in spec.choices)
    given = configuration.flags.get(dest)
    if dest in configuration.flags and given not in values and given is not None:
        numbers = [v for v in (*values, given) if isinstance(v, int) and not isinstance(v, bool)]
        values = tuple(sorted(numbers)) if len(numbers) == len(values) + 1 else (*values, given)
    offered.extend(values)
    return tuple(offered)


def chosen(engine: Engine, dest: str, configuration: Configuration) -> Choice:
    """Return the choice that *configuration* makes for *dest*."""
    if dest in configuration.flags:
        return configuration.flags[dest]
    modelled = engine.release.modelled[dest]
    if modelled.auto:
        return AUTO
    spec = engine.release.table.get(dest)
    return spec.default if spec is not None else None


def with_choice(engine: Engine, dest: str, choice: Choice, configuration: Configuration) -> Configuration:
    """Return *configuration* with *choice* made for *dest*; a default that the parser has anyway is left out."""
    return configuration.replace(change_to(engine, dest, choice))


def change_to(engine: Engine, dest: str, choice: Choice) -> Change:
    """Return the change that makes *choice* for *dest*."""
    spec = engine.release.table.get(dest)
    if isinstance(choice, Auto):
        return Change(unset=frozenset({dest}))
    if spec is not None and not engine.release.modelled[dest].auto and choice == spec.default and spec.action == "true":
        return Change(unset=frozenset({dest}))
    return Change({dest: choice})


def options(case: Case, dests: tuple[str, ...] | None = None) -> Mapping[str, tuple[Availability, ...]]:
    """Return every choice of every modelled flag (or of *dests*) with its state and reason."""
    engine = engine_for(case.release)
    wanted = dests if dests is not None else tuple(d for d, m in engine.release.modelled.items() if m.shown)
    return {dest: _options_of(engine, case, dest) for dest in wanted if dest in engine.release.table}


def _options_of(engine: Engine, case: Case, dest: str) -> tuple[Availability, ...]:
    configuration = case.configuration
    now = chosen(engine, dest, configuration) if dest not in case.unread else None
    return tuple(
        _availability(engine, case, dest, choice, is_chosen=choice == now and type(choice) is type(now))
        for choice in choices(engine, dest, configuration)
    )


def _availability(engine: Engine, case: Case, dest: str, choice: Choice, *, is_chosen: bool) -> Availability:
    configuration = case.configuration if is_chosen else with_choice(engine, dest, choice, case.configuration)
    unread = {d: u for d, u in case.unread.items() if d != dest}
    at = Case(case.release, configuration, case.facts, unread)
    env = engine.start(configuration, case.facts, unread)
    engine.resolve(env, engine.slice(engine.option_keys[dest]).resolutions)
    blocking: list[Finding] = []
    stuck = False
    undecided = ""
    for compiled, truth in engine.violations(engine.breaking_by_flag[dest], env):
        if truth is True:
            blocking.append(Finding(compiled.rule, certain=True, message=compiled.message(env)))
            stuck = stuck or (not is_chosen and unavoidable(engine, at, compiled, frozenset({dest})))
        elif is_unknown(truth) and not undecided:
            undecided = truth.reason
    becomes = env[f"resolved.{dest}"] if isinstance(choice, Auto) else None
    slows = any(truth is True for _, truth in engine.violations(engine.slowing_by_flag[dest], env))
    label = label_of(engine, dest, choice)
    if blocking:
        codes = tuple(f.rule.code for f in blocking)
        reason = blocking[0].message
        if is_chosen:
            return Availability(
                choice, label, "open", chosen=True, conflict=True, codes=codes, reason=reason, becomes=becomes
            )
        by: BlockedBy = "fact" if stuck else "choice"
        return Availability(choice, label, "blocked", blocked_by=by, codes=codes, reason=reason, becomes=becomes)
    if undecided:
        return Availability(
            choice, label, "undecided", chosen=is_chosen, reason=undecided, becomes=becomes, slows=slows
        )
    return Availability(choice, label, "open", chosen=is_chosen, becomes=becomes, slows=slows)


def label_of(engine: Engine, dest: str, choice: Choice) -> str:
    """Return the name of *choice* as the page shows it."""
    if isinstance(choice, Auto):
        return engine.release.modelled[dest].auto or "auto"
    return show(choice)
