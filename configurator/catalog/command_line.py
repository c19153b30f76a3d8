"""What the argument parser itself refuses, for any flag. These are found while a command is read, not by conditions."""

from __future__ import annotations

from collections.abc import Mapping

from configurator.core.expr import NEVER
from configurator.core.rule import Basis, Effect, Example, Rule, Source, Stage

_SOURCE = Source(
    path="sglang/srt/server_args.py", symbol="ServerArgs.add_cli_args", release="0.5.23", basis=Basis.RECORDED
)


def _rule(number: int, slug: str, effect: Effect, says: str, because: str, signature: str | None, bad: str) -> Rule:
    return Rule(
        code=f"REL{number}",
        slug=slug,
        effect=effect,
        stage=Stage.CLI,
        order=number - 880,
        when=NEVER,
        says=says,
        because=because,
        source=_SOURCE,
        upstream_signature=signature,
        example=Example(argv=bad),
        accept=Example(argv="--tp-size 8"),
    )


UNKNOWN_FLAG = _rule(
    901,
    "cli-flag-unknown",
    Effect.REFUSES,
    "The release has no such flag.",
    "The parser stops at words it does not know. Flags come and go with releases.",
    "unrecognized arguments",
    "--tp-size 8 --no-such-flag",
)
AMBIGUOUS = _rule(
    902,
    "cli-flag-ambiguous",
    Effect.REFUSES,
    "The abbreviation fits several flags.",
    "The parser accepts an abbreviation only while exactly one option string begins with it.",
    "ambiguous option",
    "--tp-size 8 --disaggregation 1",
)
VALUE_TYPE = _rule(
    903,
    "cli-value-type",
    Effect.REFUSES,
    "The value has the wrong type.",
    "The parser converts each value and stops at what does not convert.",
    "invalid int value",
    "--tp-size eight",
)
VALUE_CHOICE = _rule(
    904,
    "cli-value-choice",
    Effect.REFUSES,
    "The value is none of the choices.",
    "The parser compares with a fixed list, upper and lower case apart.",
    "invalid choice",
    "--tp-size 8 --attention-backend flash",
)
VALUE_MISSING = _rule(
    905,
    "cli-value-missing",
    Effect.REFUSES,
    "The flag needs a value.",
    "The next word is a flag, or there is none.",
    "expected one argument",
    "--tp-size",
)
VALUE_UNEXPECTED = _rule(
    906,
    "cli-value-unexpected",
    Effect.REFUSES,
    "The switch takes no value.",
    "A switch is on because it is there.",
    "ignored explicit argument",
    "--tp-size 8 --enable-dp-attention=true",
)
REPEATED = _rule(
    907,
    "cli-flag-repeated",
    Effect.IGNORES,
    "The flag is given more than once.",
    "The last one wins; the parser says nothing about the others.",
    None,
    "--tp-size 4 --tp-size 8",
)

RULES = (UNKNOWN_FLAG, AMBIGUOUS, VALUE_TYPE, VALUE_CHOICE, VALUE_MISSING, VALUE_UNEXPECTED, REPEATED)

BY_KIND: Mapping[str, str] = {
    "unknown-flag": UNKNOWN_FLAG.code,
    "positional": UNKNOWN_FLAG.code,
    "ambiguous": AMBIGUOUS.code,
    "type": VALUE_TYPE.code,
    "choice": VALUE_CHOICE.code,
    "missing-value": VALUE_MISSING.code,
    "unexpected-value": VALUE_UNEXPECTED.code,
    "repeated": REPEATED.code,
}
"""The rule for each kind of problem a command can have when it is read."""

BY_FLAG: Mapping[tuple[str, str], str] = {("type", "dcp_size"): "DCP101", ("choice", "dcp_comm_backend"): "DCP201"}
"""Rules of their own for some flags; they win over :data:`BY_KIND` where the release has them."""
