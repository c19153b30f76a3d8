"""LoRA adapters together with drafts."""

from __future__ import annotations

from configurator.catalog import order
from configurator.catalog.declare import refuses, wheel
from configurator.catalog.terms import SPECULATION
from configurator.core.expr import flag
from configurator.core.rule import Example, Rule, Unset

_ARGV = "--tp-size 8 --enable-lora --max-lora-rank 16 --lora-target-modules q_proj --speculative-algorithm"
_MODEL = "llama-3.1-70b"


def _drafts(code: str, algorithms: tuple[str, ...], bad: str, place: tuple[str, str, int, str], signature: str) -> Rule:
    return refuses(
        code,
        "lora-drafts",
        order.FINAL + 8,
        when=flag.enable_lora.holds() & SPECULATION,
        require=flag.speculative_algorithm.is_in(*algorithms),
        says="--enable-lora cannot be combined with --speculative-algorithm {asked.speculative_algorithm}.",
        because=f"Adapters go with {', '.join(algorithms)} here.",
        fixes=(Unset("speculative_algorithm"), Unset("enable_lora")),
        source=wheel(*place),
        signature=signature,
        bad=Example(argv=f"{_ARGV} {bad}", model=_MODEL),
        good=Example(argv=f"{_ARGV} NGRAM", model=_MODEL),
    )


DRAFTS_15 = _drafts(
    "SPC737",
    ("NGRAM",),
    "EAGLE3",
    ("server_args.py", "check_lora_server_args", 9372, "0.5.18"),
    "Currently LoRA is only compatible with NGRAM speculative decoding.",
)
DRAFTS = _drafts(
    "SPC738",
    ("NGRAM", "EAGLE", "NEXTN", "EAGLE3", "DFLASH", "DSPARK"),
    "STANDALONE",
    ("arg_groups/lora_hook.py", "check_lora_speculative_compatibility", 261, "0.5.23"),
    "LoRA is only compatible with NGRAM, EAGLE, NEXTN, EAGLE3",
)
