"""Deterministic inference: the attention backends it chooses and allows."""

from __future__ import annotations

from configurator.catalog import order
from configurator.catalog.declare import fills, refuses, wheel
from configurator.catalog.terms import (
    BLACKWELL,
    LATENT,
    SM100,
)
from configurator.core.expr import ALWAYS, Expr, flag, model, resolved
from configurator.core.rule import Choose, Example, Resolution, Rule, Set, Unset

_OVERRIDES = "arg_groups/overrides.py"
_HOOK = "arg_groups/attention_hook.py"
_B200 = "b200x8"
_DETERMINISTIC: Expr = flag.enable_deterministic_inference.holds()

_DEEPSEEK: Expr = model.architecture.is_in(
    "DeepseekV2ForCausalLM",
    "DeepseekV3ForCausalLM",
    "DeepseekV32ForCausalLM",
    "MistralLarge3ForCausalLM",
    "PixtralForConditionalGeneration",
    "GlmMoeDsaForCausalLM",
    "Glm4MoeLiteForCausalLM",
    "Glm5NextForConditionalGeneration",
)


def _fallback(number: int, slug: str, when: Expr, backend: str, because: str) -> Resolution:
    return fills(
        f"ATT{number}",
        slug,
        order.DETERMINISTIC + number % 10,
        when=_DETERMINISTIC & resolved.attention_backend.is_unset() & when,
        sets={"attention_backend": backend},
        because=because,
        source=wheel(_OVERRIDES, "_deterministic_attention_backend", 1094),
        signature="for deterministic inference",
    )


DETERMINISTIC_DEFAULTS = (
    _fallback(
        380, "deterministic-deepseek-blackwell", BLACKWELL & _DEEPSEEK, "triton", "Deterministic MLA runs triton."
    ),
    _fallback(
        381, "deterministic-blackwell", BLACKWELL, "flashinfer", "Deterministic attention runs FlashInfer on Blackwell."
    ),
    _fallback(382, "deterministic-default", ALWAYS, "fa3", "Deterministic attention runs FlashAttention 3."),
)


def _no_reuse(number: int, slug: str, backends: tuple[str, ...], release: str) -> Resolution:
    return fills(
        f"ATT{number}",
        slug,
        order.DETERMINISTIC + 8,
        when=_DETERMINISTIC & ~resolved.attention_backend.is_in(*backends),
        sets={"disable_radix_cache": True},
        because="This backend does not give the same result when a prefix is reused.",
        source=wheel(_HOOK, "handle_deterministic_inference", 663, release),
        signature="radix cache is not compatible with",
    )


NO_REUSE_15 = _no_reuse(383, "deterministic-radix-off-15", ("fa3", "triton", "ascend"), "0.5.16")
NO_REUSE = _no_reuse(384, "deterministic-radix-off", ("ascend", "fa3", "fa4", "triton"), "0.5.23")


def _deterministic(code: str, slug: str, at: int, when: Expr, backends: tuple[str, ...], release: str) -> Rule:
    return refuses(
        code,
        slug,
        order.DETERMINISTIC + at,
        when=_DETERMINISTIC & when,
        require=resolved.attention_backend.is_in(*backends),
        says="--enable-deterministic-inference cannot run attention on {resolved.attention_backend}.",
        because=f"Only {', '.join(backends)} give the same result whatever else is in the batch. Of these none serves "
        "MLA under DCP.",
        fixes=(Unset("enable_deterministic_inference"), Unset("attention_backend"), Choose("attention_backend")),
        source=wheel(_HOOK, "handle_deterministic_inference", 645, release),
        signature="attention backends are supported for deterministic inference",
        bad=Example(argv="--tp-size 8 --enable-deterministic-inference --attention-backend trtllm_mla", hardware=_B200),
        good=Example(argv="--tp-size 8 --enable-deterministic-inference --attention-backend triton", hardware=_B200),
    )


_ALL_15 = ("flashinfer", "fa3", "triton", "ascend")

_ALL_17 = ("ascend", "fa3", "fa4", "flashinfer", "triton")

DETERMINISTIC_15 = _deterministic("ATT328", "deterministic-backends-15", 5, ~LATENT | LATENT, _ALL_15, "0.5.16")

DETERMINISTIC_17 = _deterministic("ATT329", "deterministic-backends", 5, ~LATENT | LATENT, _ALL_17, "0.5.23")

DETERMINISTIC_MLA_15 = _deterministic(
    "ATT330", "deterministic-mla-dcp-15", 6, _DEEPSEEK, ("ascend", "fa3", "triton"), "0.5.16"
)

DETERMINISTIC_MLA = _deterministic(
    "ATT331", "deterministic-mla-dcp", 6, _DEEPSEEK, ("ascend", "fa3", "fa4", "triton"), "0.5.23"
)
DETERMINISTIC_FA4 = refuses(
    "ATT334",
    "deterministic-mla-fa4",
    order.DETERMINISTIC + 7,
    when=_DETERMINISTIC & _DEEPSEEK & resolved.attention_backend.equals("fa4"),
    require=SM100,
    says="--enable-deterministic-inference on fa4 needs a data-centre Blackwell GPU for {model.architecture}, and this one is "
    "{hardware.gpu_name}.",
    because="The same result every time takes absorbed MLA, which FlashAttention 4 has for SM100 only.",
    fixes=(
        Set("attention_backend", "triton"),
        Set("attention_backend", "fa3"),
        Unset("enable_deterministic_inference"),
    ),
    source=wheel(_HOOK, "handle_deterministic_inference", 649),
    signature="Deterministic inference with absorbed-MLA models on the fa4",
    bad=Example(argv="--tp-size 8 --enable-deterministic-inference --attention-backend fa4"),
    good=Example(argv="--tp-size 8 --enable-deterministic-inference --attention-backend triton"),
)
