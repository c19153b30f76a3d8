"""Rules and resolutions: what one release of SGLang refuses, breaks on, or fills in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from configurator.core.expr import ALWAYS, NEVER, Expr, Term
from configurator.core.flag import FlagValue


class Effect(StrEnum):
    """What the server does, in order of harm."""

    REFUSES = "refuses"
    CRASHES = "crashes"
    CORRUPTS = "corrupts"
    IGNORES = "ignores"
    REWRITES = "rewrites"
    SLOWS = "slows"
    UNVERIFIED = "unverified"

    @property
    def breaks(self) -> bool:
        """Whether the server does not run, or runs with wrong output."""
        return self in _BREAKING

    @property
    def rank(self) -> int:
        """Position in the order of harm, 0 the worst."""
        return _RANK[self]


_RANK = {effect: i for i, effect in enumerate(Effect)}
_BREAKING = frozenset({Effect.REFUSES, Effect.CRASHES, Effect.CORRUPTS})


class Stage(StrEnum):
    """Where the server finds out."""

    CLI = "cli"
    SERVER_ARGS = "server_args"
    MODEL_ARGS = "model_args"
    INIT = "init"
    RUNTIME = "runtime"


class Basis(StrEnum):
    """How we know: what the real release was seen to do, what its source says, what somebody reported."""

    RECORDED = "recorded"
    EXECUTED = "executed"
    SOURCE = "source"
    REPORTED = "reported"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where SGLang says so.

    Attributes:
        path: File inside the release's wheel.
        symbol: Function or class there.
        release: Release whose wheel was read.
        line: Line in that file, 1-based, or ``None``.
        url: Public report or change, where there is one.
        basis: How the claim was established.
    """

    path: str
    symbol: str
    release: str
    line: int | None = None
    url: str | None = None
    basis: Basis = Basis.SOURCE


@dataclass(frozen=True, slots=True)
class Set:
    """A way out: give *dest* this value."""

    dest: str
    value: FlagValue


@dataclass(frozen=True, slots=True)
class Unset:
    """A way out: do not give *dest*."""

    dest: str


@dataclass(frozen=True, slots=True)
class Choose:
    """A way out: any other value of *dest* that the engine finds to help."""

    dest: str


@dataclass(frozen=True, slots=True)
class SetEnv:
    """A way out: run with this environment variable."""

    name: str
    value: str


Fix = Set | Unset | Choose | SetEnv


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One thing that a release does with some commands.

    A rule is violated where ``when`` is true and ``require`` is not.

    Attributes:
        code: Stable code by subject, for example ``DCP204``; never reused.
        slug: Stable name.
        effect: What the server does.
        stage: Where it finds out.
        order: Position in the release's own order of evaluation within its stage; smaller is reported first.
        when: Whom the rule concerns.
        require: What must hold for them; ``NEVER`` where nothing can.
        says: Message: what was asked and what holds here. ``{asked.x}``, ``{resolved.x}``, ``{model.x}``,
            ``{hardware.x}`` and the names of *values* are filled in.
        values: Further terms that the message shows, by name.
        because: Why.
        fixes: Ways out, the mildest first; verified by the engine before they are shown.
        source: Where SGLang says so.
        upstream_signature: Shortest distinctive fragment of the server's own message.
        example: Arguments that violate it, for the documentation and its test.
        accept: The nearest arguments that do not.
    """

    code: str
    slug: str
    effect: Effect
    stage: Stage
    order: int
    when: Expr
    says: str
    because: str
    source: Source
    require: Expr = NEVER
    values: Mapping[str, Term] = field(default_factory=dict)
    fixes: tuple[Fix, ...] = ()
    upstream_signature: str | None = None
    example: Example | None = None
    accept: Example | None = None

    def reads(self) -> frozenset[str]:
        """Return the environment keys the rule depends on."""
        return self.when.reads() | self.require.reads()

    def flags(self) -> frozenset[str]:
        """Return the dests of the flags the rule is about, asked or resolved."""
        return frozenset(key.partition(".")[2] for key in self.reads() if key.startswith(("asked.", "resolved.")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A command in the terms of the conformance corpus.

    Attributes:
        argv: Arguments without ``--model-path``.
        hardware: Name of a preset.
        model: Name of a fact sheet, or what a ``config.json`` holds for a model that has none.
        env: Environment variables.
    """

    argv: str
    hardware: str = "h100x8"
    model: str | Mapping[str, object] = "deepseek-v3"
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """A rule that fills in or rewrites a value; it raises no finding.

    Resolutions run in the release's order; ``resolved.X`` terms read what earlier ones left.

    Attributes:
        code: Stable code.
        slug: Stable name, shown in ``decided_by``.
        order: Position in the release's own order.
        when: Where it applies.
        sets: New values by dest: constants, or terms to copy from. A dest ``step.X`` is a value that only later
            resolutions and rules read.
        because: Why, in words.
        source: Where SGLang does it.
        upstream_signature: Shortest distinctive fragment of the server's own log line.
    """

    code: str
    slug: str
    order: int
    sets: Mapping[str, FlagValue | Term]
    source: Source
    when: Expr = ALWAYS
    because: str = ""
    upstream_signature: str | None = None

    def reads(self) -> frozenset[str]:
        """Return the environment keys the resolution depends on."""
        keys = self.when.reads()
        for value in self.sets.values():
            if isinstance(value, Term):
                keys |= value.reads()
        return keys
