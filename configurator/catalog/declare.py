"""Short ways to declare what is declared most: a refusal in argument handling, a crash later, a line in a wheel."""

from __future__ import annotations

from collections.abc import Mapping

from configurator.core.expr import NEVER, Expr, Term
from configurator.core.flag import FlagValue
from configurator.core.rule import Basis, Effect, Example, Fix, Resolution, Rule, Source, Stage

NEWEST = "0.5.23"


def wheel(
    path: str, symbol: str, line: int | None = None, release: str = NEWEST, *, basis: Basis = Basis.RECORDED
) -> Source:
    """Return a place in a release's wheel; *path* is below ``sglang/srt/``.

    The basis is ``recorded`` where the release was seen to do it; give another where it was only read.
    """
    return Source(path=f"sglang/srt/{path}", symbol=symbol, release=release, line=line, basis=basis)


def read_in(path: str, symbol: str, line: int | None = None, release: str = NEWEST) -> Source:
    """Return a place in a release's wheel that was read and not seen at work."""
    return wheel(path, symbol, line, release, basis=Basis.SOURCE)


def refuses(  # noqa: PLR0913 - the fields of a rule
    code: str,
    slug: str,
    order: int,
    *,
    when: Expr,
    says: str,
    because: str,
    source: Source,
    signature: str,
    bad: Example,
    good: Example,
    require: Expr = NEVER,
    fixes: tuple[Fix, ...] = (),
    values: Mapping[str, Term] | None = None,
    stage: Stage = Stage.SERVER_ARGS,
) -> Rule:
    """Return a rule of what argument handling raises on, at position *order* of it."""
    return Rule(
        code=code,
        slug=slug,
        effect=Effect.REFUSES,
        stage=stage,
        order=order,
        when=when,
        require=require,
        says=says,
        because=because,
        fixes=fixes,
        values=values or {},
        source=source,
        upstream_signature=signature,
        example=bad,
        accept=good,
    )


def later(  # noqa: PLR0913 - the fields of a rule
    code: str,
    slug: str,
    order: int,
    *,
    when: Expr,
    says: str,
    because: str,
    source: Source,
    signature: str | None,
    bad: Example,
    good: Example,
    require: Expr = NEVER,
    fixes: tuple[Fix, ...] = (),
    values: Mapping[str, Term] | None = None,
    effect: Effect = Effect.CRASHES,
    stage: Stage = Stage.RUNTIME,
) -> Rule:
    """Return a rule of what shows after argument handling let a command pass."""
    return Rule(
        code=code,
        slug=slug,
        effect=effect,
        stage=stage,
        order=order,
        when=when,
        require=require,
        says=says,
        because=because,
        fixes=fixes,
        values=values or {},
        source=source,
        upstream_signature=signature,
        example=bad,
        accept=good,
    )


def fills(
    code: str,
    slug: str,
    order: int,
    *,
    when: Expr,
    sets: Mapping[str, FlagValue | Term],
    because: str,
    source: Source,
    signature: str | None = None,
) -> Resolution:
    """Return a resolution at position *order* of argument handling."""
    return Resolution(
        code=code,
        slug=slug,
        order=order,
        when=when,
        sets=sets,
        because=because,
        source=source,
        upstream_signature=signature,
    )
