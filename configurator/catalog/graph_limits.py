"""What prefill and decode graphs do not go with: models, features, roles and platforms."""

from __future__ import annotations

from configurator.catalog import order
from configurator.catalog.declare import NEWEST
from configurator.catalog.families import (
    ARCHITECTURE,
    DEEPSEEK_V3,
    DEEPSEEK_V4,
    KDA,
    KIMI_K25,
    MULTIMODAL,
    NEMOTRON_H,
)
from configurator.catalog.graphs import DECODE, DECODE_CHOSEN, PREFILL, PREFILL_CHOSEN, captured
from configurator.catalog.terms import (
    DCP_ON,
    DSA,
    HICACHE,
    LATENT,
    PD_DECODE,
    PD_PREFILL,
    PREFILL_BACKEND,
    XPU,
)
from configurator.core.expr import Expr, Term, flag, resolved
from configurator.core.flag import FlagValue
from configurator.core.rule import Resolution

_OFF: dict[str, FlagValue | Term] = {PREFILL: "disabled"}

_AUTO: Expr = ~PREFILL_CHOSEN & resolved.cuda_graph_prefill_backend.differs("disabled")

_BREAKABLE: Expr = ~PREFILL_CHOSEN & resolved.cuda_graph_prefill_backend.equals("breakable")

_BREAKABLE_LINES = {"0.5.15": 3341, "0.5.16": 3763, "0.5.17": 4452, "0.5.18": 4666, "0.5.21": 275, "0.5.23": 170}


def _dropped(number: int, slug: str, when: Expr, what: str, release: str = NEWEST) -> Resolution:
    """Return that prefill capture is given up where *when* holds and nobody asked for it; *release* was read."""
    symbol = "disable_breakable_cudagraph_if_incompatible"
    return captured(
        number,
        slug,
        10 + number % 10,
        _BREAKABLE & when,
        f"Prefill is not captured {what}.",
        _OFF,
        symbol=symbol if release >= "0.5.19" else f"_{symbol}",
        line=_BREAKABLE_LINES[release],
        release=release,
    )


_A2A_OLD = flag.moe_a2a_backend.differs("none")

_A2A = ~flag.moe_a2a_backend.is_in("none", "deepep", "megamoe", "flashinfer")

_LORA = flag.enable_lora.holds()

MLA_15 = _dropped(461, "prefill-graph-off-mla", LATENT, "for MLA models in 0.5.15 and 0.5.16", "0.5.16")

MLA_17 = _dropped(
    462, "prefill-graph-off-mla-not-dsa", LATENT & ~DSA, "for MLA models other than DSA in 0.5.17", "0.5.17"
)

CP_OFF = _dropped(463, "prefill-graph-off-cp", flag.attn_cp_size.more_than(1), "together with attention CP")

LORA_OFF = _dropped(464, "prefill-graph-off-lora", _LORA, "with LoRA up to 0.5.16", "0.5.16")

A2A_OFF_OLD = _dropped(465, "prefill-graph-off-a2a", _A2A_OLD, "with an MoE all-to-all backend up to 0.5.16", "0.5.16")

A2A_OFF = _dropped(466, "prefill-graph-off-a2a-unvalidated", _A2A, "with this MoE all-to-all backend")

DP_OFF = _dropped(
    467, "prefill-graph-off-dp", flag.enable_dp_attention.holds(), "with DP attention up to 0.5.16", "0.5.16"
)

TBO_OFF = _dropped(468, "prefill-graph-off-tbo", flag.enable_two_batch_overlap.holds(), "with two-batch overlap")

NEMOTRON_OFF = _dropped(469, "prefill-graph-off-nemotron", NEMOTRON_H, "for Nemotron-H in 0.5.17", "0.5.17")

KDA_OFF = _dropped(470, "prefill-graph-off-kda", KDA, "for Kimi delta attention")

DSV4_OFF = _dropped(471, "prefill-graph-off-dsv4", DEEPSEEK_V4, "for DeepSeek-V4, whose capture takes much memory")

PP_OFF = _dropped(472, "prefill-graph-off-pp", flag.pp_size.more_than(1), "with pipeline stages")


def multimodal_off(number: int, slug: str, *captured: str, release: str = NEWEST) -> Resolution:
    """Return that prefill of multimodal models other than *captured* is not captured."""
    when = MULTIMODAL & ~ARCHITECTURE.is_in(*captured) if captured else MULTIMODAL
    return _dropped(number, slug, when, "for this multimodal model", release)


MULTIMODAL_15 = multimodal_off(473, "prefill-graph-off-multimodal-15", release="0.5.15")

MULTIMODAL_16 = multimodal_off(
    474,
    "prefill-graph-off-multimodal-16",
    "Qwen3_5ForConditionalGeneration",
    "Qwen3_5MoeForConditionalGeneration",
    "KimiK25ForConditionalGeneration",
    "MiniMaxM3SparseForConditionalGeneration",
    "Cohere2VisionForConditionalGeneration",
    release="0.5.17",
)

_CAPTURED_18 = (
    "Qwen3_5ForConditionalGeneration",
    "Qwen3_5MoeForConditionalGeneration",
    "InternS2MobiusForConditionalGeneration",
    "KimiK25ForConditionalGeneration",
    "KimiK3ForConditionalGeneration",
    "MuseGlimmerForConditionalGeneration",
    "MiniMaxM3SparseForConditionalGeneration",
    "Cohere2VisionForConditionalGeneration",
)

_CAPTURED_19 = (*_CAPTURED_18, "PaddleOCRVLForConditionalGeneration", "Glm5NextForConditionalGeneration")

MULTIMODAL_18 = multimodal_off(475, "prefill-graph-off-multimodal-18", *_CAPTURED_18, release="0.5.18")

MULTIMODAL_19 = multimodal_off(476, "prefill-graph-off-multimodal-19", *_CAPTURED_19, release="0.5.21")

MULTIMODAL_22 = multimodal_off(
    477,
    "prefill-graph-off-multimodal",
    *_CAPTURED_19,
    "Qwen4ExpForConditionalGeneration",
    "MuseSparkForConditionalGeneration",
)

_COMPILED: Expr = ~PREFILL_CHOSEN & resolved.cuda_graph_prefill_backend.equals("tc_piecewise")

K25_COMPILED = captured(
    484,
    "prefill-graph-kimi-k25",
    8,
    _BREAKABLE & KIMI_K25,
    "In 0.5.16 and 0.5.17 Kimi-K2.5's prefill is compiled piece by piece.",
    {PREFILL: "tc_piecewise"},
    symbol="_apply_cuda_graph_compatibility",
    line=4338,
    release="0.5.17",
)

K25_OFF = captured(
    485,
    "prefill-graph-off-compiled",
    9,
    _COMPILED
    & (
        flag.enable_dp_attention.holds()
        | flag.pp_size.more_than(1)
        | _A2A_OLD
        | _LORA
        | HICACHE
        | flag.enable_deterministic_inference.holds()
        | PD_PREFILL
        | PD_DECODE
        | flag.enable_symm_mem.holds()
        | flag.attn_cp_size.more_than(1)
        | DCP_ON
    ),
    "Compiled prefill goes with little else.",
    _OFF,
    symbol="_disable_tc_piecewise_cudagraph_if_incompatible",
    line=4377,
    release="0.5.17",
)

ROLES = (
    captured(
        478,
        "decode-graph-off-on-prefill-server",
        40,
        PD_PREFILL & ~DECODE_CHOSEN,
        "A prefill server does not decode.",
        {DECODE: "disabled"},
        symbol="apply_cuda_graph_disaggregation_roles",
        line=557,
    ),
    captured(
        479,
        "prefill-graph-off-on-decode-server",
        40,
        PD_DECODE & ~PREFILL_CHOSEN,
        "A decode server does not prefill.",
        _OFF,
        symbol="apply_cuda_graph_disaggregation_roles",
        line=557,
    ),
)

PREFILL_SERVER_15 = captured(
    483,
    "graphs-off-on-prefill-server",
    1,
    PD_PREFILL,
    "In 0.5.15 a prefill server captures nothing.",
    {PREFILL: "disabled", DECODE: "disabled"},
    symbol="_handle_cuda_graph_config",
    line=3152,
    release="0.5.15",
)

XPU_DECODE = captured(
    480,
    "decode-graph-off-xpu",
    order.PLATFORM - order.GRAPHS,
    XPU & (~DECODE_CHOSEN | resolved.cuda_graph_decode_backend.equals("breakable")),
    "Intel XPU captures decode only where it is asked for, and only whole.",
    {DECODE: "disabled"},
    symbol="handle_xpu_backends",
)

TORCH_BACKENDS = captured(
    481,
    "graphs-off-torch-attention",
    order.ATTENTION - order.GRAPHS + 16,
    resolved.attention_backend.is_in("torch_native", "flex_attention"),
    "Plain torch attention cannot be captured.",
    {PREFILL: "disabled", DECODE: "disabled"},
    symbol="handle_attention_backend_compatibility",
    line=132,
)

TRTLLM_PREFILL = captured(
    482,
    "prefill-graph-off-deepseek-trtllm",
    order.ATTENTION - order.GRAPHS + 98,
    _AUTO & DEEPSEEK_V3 & PREFILL_BACKEND.equals("trtllm_mla"),
    "A captured prefill makes trtllm_mla fall back to FlashAttention, which is slower.",
    _OFF,
    symbol="disable_prefill_cuda_graph_for_deepseek_trtllm_mla",
    line=279,
    signature="on the trtllm_mla attention backend",
)
