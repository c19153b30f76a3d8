"""The engine: what a release does with a configuration on given hardware with a given model.

A release is compiled once into plain functions. One *evaluation* of a configuration is: fill in what the server
fills in (resolutions, in the release's order), then test every rule. Rules do not see each other, so their order
never changes what is found, only how it is sorted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from configurator.core.configuration import Change, Configuration
from configurator.core.expr import Env, Evaluator, Getter, Term, Truth
from configurator.core.fast import UnknownValueError, compile_checks, compile_fast, compile_steps
from configurator.core.flag import FlagValue
from configurator.core.missing import why_missing
from configurator.core.release import Release
from configurator.core.rule import Effect, Resolution, Rule, SetEnv, Stage
from configurator.core.unknown import Unknown, is_unknown

Verdict = Literal["ok", "warn", "error", "unknown"]
STEP = "step."
_STAGES = {stage: i for i, stage in enumerate(Stage)}
_COLD_USES = 4
_FACTS = ("model.", "hardware.", "software.")
_PLACE = re.compile(r"\{([a-z_]+(?:\.[A-Za-z0-9_]+)?)\}")


@dataclass(frozen=True, eq=False)
class Case:
    """One question to the engine: this configuration, on this release, with these facts.

    Attributes:
        release: The release of SGLang.
        configuration: What the user asked for.
        facts: ``model.*``, ``hardware.*`` and ``software.*`` values; a missing one is unknown.
        unread: Flags whose value the user gave but nobody can read here, such as ``$TP``, with the reason.
    """

    release: Release
    configuration: Configuration
    facts: Mapping[str, object] = field(default_factory=dict)
    unread: Mapping[str, Unknown] = field(default_factory=dict)

    def after(self, change: Change) -> Case:
        """Return the case with *change* made; a value that the shell knew is then what the change says."""
        unread = {d: u for d, u in self.unread.items() if d not in change.set and d not in change.unset}
        return Case(self.release, self.configuration.replace(change), self.facts, unread)


@dataclass(frozen=True, slots=True, repr=False)
class Finding:
    """A rule that a configuration violates, or may violate."""

    rule: Rule
    certain: bool
    message: str
    reason: str = ""

    def __repr__(self) -> str:
        return f"<{self.rule.effect.value} {self.rule.code}{'' if self.certain else ' (undecided)'}: {self.message}>"

    @property
    def certainty(self) -> Literal["holds", "unknown"]:
        """``holds``, or ``unknown`` where a fact is missing (``reason`` says which)."""
        return "holds" if self.certain else "unknown"

    @property
    def breaks(self) -> bool:
        """Whether it certainly refuses, crashes or corrupts."""
        return self.certain and self.rule.effect.breaks


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """What the engine says of one case.

    Attributes:
        release: Version asked about.
        findings: In order of harm; the one the server would print first leads.
        resolved: What the server makes of each modelled flag; a value can be Unknown.
        decided_by: Slug of the resolution that set a value nobody gave.
    """

    release: str
    findings: tuple[Finding, ...]
    resolved: Mapping[str, object]
    decided_by: Mapping[str, str]

    def __repr__(self) -> str:
        return "\n".join([f"<Report of SGLang {self.release}: {self.verdict}>", *(repr(f) for f in self.findings)])

    @property
    def verdict(self) -> Verdict:
        """``error``, else ``unknown``, else ``warn``, else ``ok``, as the public contract defines them."""
        if any(finding.breaks for finding in self.findings):
            return "error"
        if any(finding.rule.effect.breaks for finding in self.findings):
            return "unknown"
        return "warn" if any(finding.certain for finding in self.findings) else "ok"


class Environment(dict[str, object]):
    """The values of one evaluation. A key nobody set is a missing fact; a variable nobody set has no value.

    Attributes:
        unknowns: Keys whose value is unknown, of all that a release reads; ``None`` where nobody keeps count.
    """

    unknowns: set[str] | None = None

    def __missing__(self, key: str) -> object:
        space = key.partition(".")[0]
        if space == "env":
            return None
        if space == "given":
            return False
        return Unknown(why_missing(key))


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """A rule as functions of an environment: whether it is violated, and what it says then.

    Attributes:
        reads: Keys that decide whether it is violated.
        shows: Keys that its message shows.
    """

    rule: Rule
    reads: frozenset[str]
    shows: frozenset[str]
    concerns: Evaluator
    violated: Callable[[Environment], Truth]
    flags: frozenset[str]
    sort_key: tuple[int, int, int, str]
    message: Callable[[Env], str]


@dataclass(frozen=True, slots=True)
class CompiledResolution:
    """A resolution as functions of an environment."""

    resolution: Resolution
    applies: Callable[[Environment], Truth]
    sets: tuple[tuple[str, Getter | None, FlagValue], ...]

    def values(self, env: Env) -> dict[str, object]:
        """Return what it would set, by key; a value it copies is read before any is set."""
        return {key: getter(env) if getter else constant for key, getter, constant in self.sets}


@dataclass(frozen=True, slots=True)
class Slice:
    """The part of a release that decides on some keys: nothing outside it can change them.

    Attributes:
        resolutions: In the release's order.
        facts: ``model.*``, ``hardware.*`` and ``software.*`` keys that are read.
    """

    resolutions: tuple[CompiledResolution, ...]
    facts: tuple[str, ...]


class _Warm:
    """A function that is worth making only for what is asked again and again: a command line asks once."""

    __slots__ = ("_make", "_uses", "function", "of", "others", "reads")

    def __init__(self, of: object, reads: frozenset[str], make: Callable[[], Any]) -> None:
        self.of = of  # kept alive: it is known by its identity
        self.reads = reads
        self.others: tuple[int, ...] = ()
        self._make = make
        self._uses = 0
        self.function: Any = None

    def get(self) -> Any:
        """Return the function from the fifth call on, ``None`` before."""
        if self.function is None:
            self._uses += 1
            if self._uses > _COLD_USES:
                self.function = self._make()
        return self.function


class Engine:
    """A release, compiled. Get one with :func:`engine_for`."""

    def __init__(self, release: Release) -> None:
        """Compile the rules and resolutions of *release*."""
        self.release = release
        self.defaults: dict[str, object] = {"model.is_placeholder": False}
        for dest in release.modelled:
            default = release.table[dest].default if dest in release.table else None
            self.defaults[f"asked.{dest}"] = self.defaults[f"resolved.{dest}"] = default
        for dest, value in release.results.items():
            self.defaults[f"resolved.{dest}"] = value
        for resolution in release.resolutions.values():
            self.defaults.update({dest: None for dest in resolution.sets if dest.startswith(STEP)})
        self.rules = tuple(sorted((_compile_rule(rule) for rule in release.rules.values()), key=lambda c: c.sort_key))
        self.breaking = tuple(c for c in self.rules if c.rule.effect.breaks)
        self.breaking_by_flag = {dest: tuple(c for c in self.breaking if dest in c.flags) for dest in release.modelled}
        slowing = [c for c in self.rules if c.rule.effect is Effect.SLOWS]
        self.slowing_by_flag = {dest: tuple(c for c in slowing if dest in c.flags) for dest in release.modelled}
        self.variables = tuple(
            dict.fromkeys(fix for rule in release.rules.values() for fix in rule.fixes if isinstance(fix, SetEnv))
        )
        rules, resolutions = release.rules.values(), release.resolutions.values()
        read = frozenset[str]().union(*(rule.reads() for rule in rules), *(r.reads() for r in resolutions))
        self._fact_keys = {key for key in read if key.startswith(_FACTS)}
        self._depends_on: dict[str, frozenset[str]] = {}
        self._slices: dict[frozenset[str], Slice] = {}
        self._touched: dict[frozenset[str], tuple[tuple[CompiledRule, ...], Slice]] = {}
        self._rules_about: dict[frozenset[str], tuple[CompiledRule, ...]] = {}
        self._warm: dict[tuple[int, frozenset[str] | None], _Warm] = {}
        self.unavoidable: dict[Hashable, bool] = {}
        """Answers of :func:`configurator.core.conflict.unavoidable`, which depend on nothing but their key."""
        self.option_keys = {dest: self._option_keys(dest) for dest in release.modelled}
        """What must be known to tell the state of a flag's options: what its rules read and show, and its own value."""
        self.resolutions = tuple(
            _compile_resolution(r) for r in sorted(release.resolutions.values(), key=lambda r: (r.order, r.code))
        )

    def environment(
        self, configuration: Configuration, facts: Mapping[str, object], unread: Mapping[str, Unknown] | None = None
    ) -> tuple[Environment, dict[str, str]]:
        """Return the environment after all resolutions, and which of them decided what."""
        env = self.start(configuration, facts, unread)
        return env, self.resolve(env)

    def start(
        self, configuration: Configuration, facts: Mapping[str, object], unread: Mapping[str, Unknown] | None = None
    ) -> Environment:
        """Return the environment before any resolution."""
        env = Environment(self.defaults)
        env.update(self.release.software)
        env.update(facts)
        unknowns = self._fact_keys.difference(env)
        unknowns.update([key for key, value in facts.items() if type(value) is Unknown])
        env.unknowns = unknowns
        for dest, value in configuration.flags.items():
            env[f"asked.{dest}"] = env[f"resolved.{dest}"] = value
            env[f"given.{dest}"] = True
        for name, text in configuration.env.items():
            env[f"env.{name}"] = text
        for dest, unknown in (unread or {}).items():
            env[f"asked.{dest}"] = env[f"resolved.{dest}"] = unknown
            env[f"given.{dest}"] = True
            unknowns.update((f"asked.{dest}", f"resolved.{dest}"))
        return env

    def _option_keys(self, dest: str) -> frozenset[str]:
        about = (*self.breaking_by_flag[dest], *self.slowing_by_flag[dest])
        return frozenset({f"resolved.{dest}"}).union(*(c.reads | c.shows for c in about))

    def slice(self, keys: frozenset[str]) -> Slice:
        """Return what decides on *keys*.

        Going backwards, a resolution belongs to it when it sets a wanted key; what it reads is then wanted too.
        """
        found = self._slices.get(keys)
        if found is None:
            wanted, kept = set(keys), []
            for compiled in reversed(self.resolutions):
                if any(key in wanted for key, _, _ in compiled.sets):
                    kept.append(compiled)
                    wanted |= compiled.resolution.reads()
            facts = sorted(key for key in wanted if key.startswith(_FACTS))
            found = self._slices[keys] = Slice(tuple(reversed(kept)), tuple(facts))
        return found

    def touched(self, names: frozenset[str]) -> tuple[tuple[CompiledRule, ...], Slice]:
        """Return the rules that a change of *names* can make hold or not hold, and what decides on them.

        Args:
            names: Flags by ``dest``, variables as ``env.NAME``.
        """
        found = self._touched.get(names)
        if found is None:
            rules = tuple(c for c in self.rules if names & self.depends_on(c.rule))
            found = self._touched[names] = rules, self._slice_of(rules)
        return found

    def holding(self, case: Case) -> frozenset[str]:
        """Return the codes of all rules that *case* certainly violates, whatever their effect."""
        env, _ = self.environment(case.configuration, case.facts, case.unread)
        return frozenset(c.rule.code for c, truth in self.violations(self.rules, env) if truth is True)

    def resolve(self, env: Environment, resolutions: tuple[CompiledResolution, ...] | None = None) -> dict[str, str]:
        """Apply all resolutions, or these, to *env* in place; return the slug that decided each dest.

        Where it cannot be decided whether a resolution applies, what it would set becomes unknown, unless it
        would set what is there already. For a placeholder of a model the server fills in nothing.
        """
        decided: dict[str, str] = {}
        if env["model.is_placeholder"] is True:
            return decided
        steps = self.resolutions if resolutions is None else resolutions
        if self._resolved_fast(env, steps, decided):
            return decided
        for compiled in steps:
            truth = compiled.applies(env)
            if truth is False:
                continue
            for key, value in compiled.values(env).items():
                dest = key.removeprefix("resolved.")
                if truth is True:
                    env[key] = value
                    if not key.startswith(STEP):
                        decided[dest] = compiled.resolution.slug
                elif env[key] != value:
                    env[key] = truth
                    decided.pop(dest, None)
                if env.unknowns is not None:
                    (env.unknowns.add if type(env[key]) is Unknown else env.unknowns.discard)(key)
        return decided

    def _resolved_fast(self, env: Environment, steps: tuple[CompiledResolution, ...], decided: dict[str, str]) -> bool:
        """Apply *steps* at one go where nothing that they read is unknown; tell whether that was so."""
        if not steps or env.unknowns is None:
            return False
        warm = self._warm.get((id(steps), None))
        if warm is None:
            reads = frozenset[str]().union(*(c.resolution.reads() for c in steps))
            warm = self._warm[id(steps), None] = _Warm(steps, reads, lambda: _compile_steps(steps))
        if not warm.reads.isdisjoint(env.unknowns):
            return False
        fast = warm.function or warm.get()
        if fast is None:
            return False
        before = dict(env)
        try:
            fast(env, decided)
        except UnknownValueError:
            env.update(before)
            decided.clear()
            return False
        return True

    def violations(self, rules: tuple[CompiledRule, ...], env: Environment) -> list[tuple[CompiledRule, Truth]]:
        """Return those of *rules* that resolved *env* violates, with ``True``, or may violate, with what is unknown."""
        if not rules or env.unknowns is None or env["model.is_placeholder"] is True:
            found = ((compiled, compiled.violated(env)) for compiled in rules)
            return [(compiled, truth) for compiled, truth in found if truth is not False]
        known, undecided = self._told_apart(rules, env.unknowns)
        fast = known.function or known.get()
        if fast is None:
            found = ((compiled, compiled.violated(env)) for compiled in rules)
            return [(compiled, truth) for compiled, truth in found if truth is not False]
        certain: list[int] = fast(env)
        if not undecided:
            return [(rules[at], True) for at in certain]
        truths: dict[int, Truth] = dict.fromkeys(certain, True)
        truths.update((at, rules[at].violated(env)) for at in undecided)
        return [(rules[at], truths[at]) for at in sorted(truths) if truths[at] is not False]

    def _told_apart(self, rules: tuple[CompiledRule, ...], unknowns: set[str]) -> tuple[_Warm, tuple[int, ...]]:
        """Return a function for those of *rules* that read nothing unknown, and the places of the others."""
        whole = self._warm.get((id(rules), None))
        if whole is None:
            reads = frozenset[str]().union(*(c.reads for c in rules))
            whole = self._warm[id(rules), None] = _Warm(rules, reads, lambda: _compile_rules(rules, range(len(rules))))
        in_the_way = whole.reads & unknowns
        if not in_the_way:
            return whole, ()
        part = self._warm.get((id(rules), in_the_way))
        if part is None:
            places = [at for at, c in enumerate(rules) if c.reads.isdisjoint(in_the_way)]
            part = self._warm[id(rules), in_the_way] = _Warm(rules, whole.reads, lambda: _compile_rules(rules, places))
            part.others = tuple(at for at in range(len(rules)) if at not in set(places))
        return part, part.others

    def depends_on(self, rule: Rule) -> frozenset[str]:
        """Return what can change whether *rule* is violated: flags by ``dest``, variables as ``env.NAME``.

        Beyond what it reads, that is what resolutions read to decide on a value that it reads.
        """
        known = self._depends_on.get(rule.code)
        if known is None:
            keys, wanted = set[str](), set(rule.reads())
            while wanted:
                key = wanted.pop()
                keys.add(key)
                for compiled in self.resolutions:
                    if any(sets[0] == key for sets in compiled.sets):
                        wanted |= compiled.resolution.reads() - keys
            known = self._depends_on[rule.code] = frozenset(
                key if space == "env" else name
                for key, (space, _, name) in ((key, key.partition(".")) for key in keys)
                if space == "env" or (space in ("asked", "resolved") and name in self.release.modelled)
            )
        return known

    def check(self, case: Case) -> Report:
        """Return all findings of *case*, certain or not, with what the server would resolve."""
        env, decided = self.environment(case.configuration, case.facts, case.unread)
        findings = []
        for compiled, truth in self.violations(self.rules, env):
            if is_unknown(truth):
                findings.append(
                    Finding(compiled.rule, certain=False, message=compiled.message(env), reason=truth.reason)
                )
            else:
                findings.append(Finding(compiled.rule, certain=True, message=compiled.message(env)))
        resolved = {dest: env[f"resolved.{dest}"] for dest in (*self.release.modelled, *self.release.results)}
        return Report(self.release.version, tuple(findings), resolved, decided)

    def standing(self, case: Case) -> dict[str, Literal["holds", "unknown", "met", "decides"]]:
        """Return how each rule that concerns *case* stands, by code: violated, undecided, met; resolutions that decided.

        Rules and resolutions that have nothing to do with it are left out.
        """
        env, decided = self.environment(case.configuration, case.facts, case.unread)
        found: dict[str, Literal["holds", "unknown", "met", "decides"]] = {}
        for compiled in self.rules:
            truth = compiled.violated(env)
            if truth is not False:
                found[compiled.rule.code] = "unknown" if is_unknown(truth) else "holds"
            elif compiled.concerns(env) is True:
                found[compiled.rule.code] = "met"
        slugs = set(decided.values())
        found.update((c.resolution.code, "decides") for c in self.resolutions if c.resolution.slug in slugs)
        return found

    def broken(self, configuration: Configuration, case: Case, about: Iterable[str] | None = None) -> frozenset[str]:
        """Return the codes of the certain refusing, crashing or corrupting findings of *configuration*.

        Args:
            configuration: Taken instead of the one in *case*.
            case: Gives the facts.
            about: Only rules about one of these flags; ``None`` for all.
        """
        env = self.start(configuration, case.facts, case.unread)
        rules = self.breaking if about is None else self._about(frozenset(about))
        self.resolve(env, None if about is None else self._slice_of(rules).resolutions)
        return frozenset(c.rule.code for c, truth in self.violations(rules, env) if truth is True)

    def _about(self, dests: frozenset[str]) -> tuple[CompiledRule, ...]:
        found = self._rules_about.get(dests)
        if found is None:
            found = self._rules_about[dests] = tuple(c for c in self.breaking if c.flags & dests)
        return found

    def _slice_of(self, rules: Iterable[CompiledRule]) -> Slice:
        return self.slice(frozenset[str]().union(*(c.reads for c in rules)))


@lru_cache(maxsize=64)
def engine_for(release: Release) -> Engine:
    """Return the compiled *release*, compiled once."""
    return Engine(release)


def check(case: Case) -> Report:
    """Return all findings of *case*. The same case always gives the same report."""
    return engine_for(case.release).check(case)


def _compile_rule(rule: Rule) -> CompiledRule:
    when, require = rule.when.compile(), rule.require.compile()

    def slowly(env: Env) -> Truth:
        concerned = when(env)
        if concerned is False:
            return False
        met = require(env)
        if met is True:
            return False
        return concerned if met is False else met

    reads = rule.reads()
    violated = _warming(reads, slowly, lambda: compile_fast(rule.when, rule.require))

    def skipped(env: Environment) -> Truth:
        return False if env["model.is_placeholder"] is True else violated(env)

    # With --model-path none or dummy the server returns before it validates anything but the command line.
    # Source: sglang/srt/server_args.py, ServerArgs resolution entry, every release with DCP.
    early = rule.stage in (Stage.SERVER_ARGS, Stage.MODEL_ARGS)
    # The model's own argument handling runs in the middle of the server's, so both stages share one order.
    key = (rule.effect.rank, 1 if early else _STAGES[rule.stage], rule.order, rule.code)
    parts = _PLACE.split(rule.says)
    shown = [rule.values[part] if part in rule.values else Term(part) for part in parts[1::2]]
    return CompiledRule(
        rule,
        reads | {"model.is_placeholder"},
        frozenset[str]().union(*(term.reads() for term in shown)),
        when,
        skipped if early else violated,
        rule.flags(),
        key,
        _compile_message(parts, shown),
    )


def _compile_message(parts: Sequence[str], terms: Sequence[Term]) -> Callable[[Env], str]:
    getters = [term.get() for term in terms]

    def message(env: Env) -> str:
        shown = [show(getter(env)) for getter in getters]
        return "".join(text + value for text, value in zip(parts[::2], [*shown, ""], strict=True))

    return message


def show(value: object) -> str:
    """Return *value* as messages write it."""
    if value is None:
        return "unset"
    if isinstance(value, bool):
        return "on" if value else "off"
    if is_unknown(value):
        return "not known"
    if isinstance(value, tuple):
        return " ".join(show(item) for item in value)
    return str(value)


def _compile_resolution(resolution: Resolution) -> CompiledResolution:
    sets = tuple(
        (
            dest if dest.startswith(STEP) else f"resolved.{dest}",
            value.get() if isinstance(value, Term) else None,
            None if isinstance(value, Term) else value,
        )
        for dest, value in resolution.sets.items()
    )
    when = resolution.when
    applies = _warming(when.reads(), when.compile(), lambda: compile_fast(when))
    return CompiledResolution(resolution, applies, sets)


def _warming(
    reads: frozenset[str], slowly: Evaluator, make: Callable[[], Callable[[Env], bool]]
) -> Callable[[Environment], Truth]:
    """Return *slowly*, or, where nothing of what it reads is unknown and it was asked some times, what *make* makes."""
    warm = _Warm(None, reads, make)

    def evaluate(env: Environment) -> Truth:
        if env.unknowns is not None and reads.isdisjoint(env.unknowns):
            fast = warm.function or warm.get()
            if fast is not None:
                truth: bool = fast(env)
                return truth
        return slowly(env)

    return evaluate


def _compile_rules(rules: Sequence[CompiledRule], places: Iterable[int]) -> Callable[[Env], list[int]]:
    return compile_checks({at: (rules[at].rule.when, rules[at].rule.require) for at in places})


def _compile_steps(resolutions: Iterable[CompiledResolution]) -> Callable[[Env, dict[str, str]], None]:
    return compile_steps(
        [
            (
                c.resolution.when,
                {key: value for (key, _, _), value in zip(c.sets, c.resolution.sets.values(), strict=True)},
                {dest: c.resolution.slug for dest in c.resolution.sets if not dest.startswith(STEP)},
            )
            for c in resolutions
        ]
    )
