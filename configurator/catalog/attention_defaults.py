"""What an unset ``--attention-backend`` becomes: by model first, then by platform; the first that applies wins."""

from __future__ import annotations

from configurator.catalog import order
from configurator.catalog.declare import NEWEST
from configurator.catalog.families import ARCHITECTURE, DEEPSEEK, IQUEST, QWEN_HYBRID
from configurator.catalog.terms import (
    CPU,
    CUDA,
    DSA,
    HIP,
    LATENT,
    NPU,
    SM90,
    SM100,
    SPECULATION,
)
from configurator.core.derived import kv_heads_per_rank
from configurator.core.expr import Derived, Expr, Term, flag, model, resolved
from configurator.core.flag import FlagValue
from configurator.core.rule import Basis, Resolution, Source

_OVERRIDES = "sglang/srt/arg_groups/overrides.py"
_BASE = "sglang/srt/arg_groups/model_override_base.py"

_UNSET: Expr = resolved.attention_backend.is_unset()
ALL_UNSET: Expr = _UNSET & resolved.prefill_attention_backend.is_unset() & resolved.decode_attention_backend.is_unset()
"""Nobody chose a backend for any role."""

_LINEAR_DRAFT: Expr = flag.speculative_eagle_topk.is_unset() | (
    flag.speculative_eagle_topk.equals(1) & resolved.page_size.is_in(None, 1)
)
"""No draft, or one that guesses a single chain with pages of one token."""
_TRTLLM_MHA_FITS: Expr = _LINEAR_DRAFT & (~SPECULATION | flag.speculative_eagle_topk.is_set())
_DFLASH: Expr = flag.speculative_algorithm.equals("DFLASH")
_EQUAL_KV: Expr = model.v_head_dim.equals(model.head_dim)
_AITER_HEADS = Derived("KV heads of one rank", kv_heads_per_rank, (model.num_kv_heads, flag.tp_size))


def _becomes(  # noqa: PLR0913 - one keyword per field that differs
    number: int,
    slug: str,
    backend: str,
    when: Expr,
    because: str,
    *,
    at: int = order.ATTENTION,
    unset: Expr = _UNSET,
    more: dict[str, FlagValue | Term] | None = None,
    source: tuple[str, str, int] = (_BASE, "get_default_attn_backend", 277),
    release: str = NEWEST,
) -> Resolution:
    path, symbol, line = source
    return Resolution(
        code=f"ATT{number}",
        slug=slug,
        order=at + number % 10 if at == order.ATTENTION else at,
        when=unset & when,
        sets={"attention_backend": backend, **(more or {})},
        because=because,
        source=Source(path=path, symbol=symbol, release=release, line=line, basis=Basis.RECORDED),
    )


ASCEND = Resolution(
    code="ATT350",
    slug="attention-default-ascend",
    order=order.PLATFORM,
    when=NPU,
    sets={
        "attention_backend": "ascend",
        "prefill_attention_backend": "ascend",
        "decode_attention_backend": "ascend",
    },
    because="Ascend devices have one attention backend, whatever was asked for.",
    source=Source(
        path="sglang/srt/hardware_backend/npu/utils.py",
        symbol="set_default_server_args",
        release="0.5.23",
        line=73,
        basis=Basis.RECORDED,
    ),
)

_PREFILL_EQUALS_DECODE = Resolution(
    code="ATT349",
    slug="attention-from-both-roles",
    order=order.ATTENTION,
    when=resolved.prefill_attention_backend.is_set()
    & resolved.prefill_attention_backend.equals(resolved.decode_attention_backend),
    sets={"attention_backend": resolved.prefill_attention_backend},
    because="Prefill and decode name the same backend, which then is the common one.",
    source=Source(
        path=_OVERRIDES, symbol="_attention_backend_default", release="0.5.23", line=1127, basis=Basis.RECORDED
    ),
)

DSA_DEFAULT = _becomes(
    351,
    "attention-default-dsa",
    "dsa",
    DSA & DEEPSEEK,
    "Sparse attention has a backend of its own.",
    at=order.MODEL + 20,
    unset=ALL_UNSET,
    source=("sglang/srt/arg_groups/model_overrides/deepseek_v2.py", "_deepseek_family_overrides", 113),
)
DEEPSEEK_BLACKWELL = _becomes(
    355,
    "attention-default-blackwell-deepseek",
    "trtllm_mla",
    SM100 & DEEPSEEK & ~DSA,
    "DeepSeek and Kimi-K2 models choose TensorRT-LLM's MLA kernels on data-centre Blackwell.",
    at=order.MODEL + 20,
    unset=ALL_UNSET,
    source=("sglang/srt/arg_groups/model_overrides/deepseek_v2.py", "_deepseek_family_overrides", 185),
)
_QWEN_SOURCE = ("sglang/srt/arg_groups/model_overrides/qwen3_5.py", "_qwen3_5_hybrid_overrides", 25)
QWEN_HYBRID_TRTLLM = _becomes(
    348,
    "attention-default-blackwell-qwen-trtllm",
    "trtllm_mha",
    SM100 & QWEN_HYBRID & _TRTLLM_MHA_FITS & (resolved.disable_radix_cache.holds() | SPECULATION),
    "Hybrid Qwen models run TensorRT-LLM's kernels on data-centre Blackwell, where pages may hold more than one token.",
    at=order.MODEL + 20,
    more={"page_size": 64},
    source=_QWEN_SOURCE,
)
QWEN_HYBRID_TRITON = _becomes(
    356,
    "attention-default-blackwell-qwen35",
    "triton",
    SM100 & QWEN_HYBRID,
    "Hybrid Qwen models run triton on data-centre Blackwell while prefix reuse needs pages of one token.",
    at=order.MODEL + 21,
    more={"page_size": 1},
    source=_QWEN_SOURCE,
)
IQUEST_FA3 = _becomes(
    347,
    "attention-default-iquest",
    "fa3",
    IQUEST,
    "IQuest-Q1 takes its attention sinks from what FlashAttention 3 returns.",
    at=order.MODEL + 20,
    unset=ALL_UNSET,
    source=("sglang/srt/arg_groups/model_overrides/iquest_q1.py", "_iquest_q1_overrides", 43),
)
CPU_AMX = _becomes(
    352,
    "attention-default-cpu",
    "intel_amx",
    CPU,
    "A CPU starts from Intel's AMX kernels.",
    at=order.PLATFORM,
    source=("sglang/srt/arg_groups/platform_hook.py", "handle_cpu_backends", 163),
)

MODEL_DEFAULTS = (CPU_AMX, ASCEND, DSA_DEFAULT, DEEPSEEK_BLACKWELL, QWEN_HYBRID_TRTLLM, QWEN_HYBRID_TRITON)

WHISPER = _becomes(
    342,
    "attention-default-whisper",
    "flashinfer",
    ARCHITECTURE.equals("WhisperForConditionalGeneration"),
    "Whisper's cross-attention is captured with FlashInfer only.",
)
HOPPER = _becomes(
    354, "attention-default-hopper", "fa3", SM90 & (LATENT | _LINEAR_DRAFT), "Hopper runs FlashAttention 3."
)
BLACKWELL_MLA = _becomes(
    357,
    "attention-default-blackwell-mla",
    "flashinfer",
    SM100 & LATENT,
    "Other MLA models run FlashInfer on data-centre Blackwell.",
)


_PLACES = {
    "0.5.16": ("sglang/srt/server_args.py", "_get_default_attn_backend", 4880),
    "0.5.22": (_BASE, "get_default_attn_backend", 268),
    NEWEST: (_BASE, "get_default_attn_backend", 277),
}


def _blackwell_gqa(number: int, slug: str, backend: str, when: Expr, because: str, release: str = NEWEST) -> Resolution:
    return _becomes(number, slug, backend, SM100 & ~LATENT & when, because, source=_PLACES[release], release=release)


_GQA_WHY = "GQA models run TensorRT-LLM's kernels on data-centre Blackwell."
BLACKWELL_GQA_15 = _blackwell_gqa(
    358, "attention-default-blackwell-gqa", "trtllm_mha", _TRTLLM_MHA_FITS, _GQA_WHY, release="0.5.16"
)
BLACKWELL_GQA_17 = _blackwell_gqa(
    346, "attention-default-blackwell-gqa-17", "trtllm_mha", _TRTLLM_MHA_FITS & _EQUAL_KV, _GQA_WHY, release="0.5.22"
)
BLACKWELL_ASYMMETRIC_17 = _blackwell_gqa(
    345,
    "attention-default-blackwell-asymmetric-17",
    "fa4",
    _TRTLLM_MHA_FITS & ~_EQUAL_KV,
    "FlashAttention 4 carries values of another width than keys.",
    release="0.5.22",
)
_FITS_23: Expr = _LINEAR_DRAFT & (~SPECULATION | flag.speculative_eagle_topk.is_set() | _DFLASH)
BLACKWELL_GQA_23 = _blackwell_gqa(
    344, "attention-default-blackwell-gqa-23", "trtllm_mha", _FITS_23 & _EQUAL_KV, _GQA_WHY
)
BLACKWELL_ASYMMETRIC_23 = _blackwell_gqa(
    343,
    "attention-default-blackwell-asymmetric-23",
    "fa4",
    _FITS_23 & ~_EQUAL_KV,
    "FlashAttention 4 carries values of another width than keys.",
)
ROCM_AITER = _becomes(
    359,
    "attention-default-rocm-aiter",
    "aiter",
    HIP & (~LATENT | _AITER_HEADS.is_in(16, 128)),
    "AMD's aiter kernels serve GQA, and MLA with 16 or 128 heads in a rank.",
)


def _last(number: int, slug: str, backend: str, when: Expr, because: str) -> Resolution:
    return _becomes(number, slug, backend, when, because, at=order.ATTENTION + number % 350)


_LAST = (
    _last(360, "attention-default-latent-triton", "triton", LATENT, "No other backend is chosen for MLA here."),
    _last(
        361,
        "attention-default-sinks",
        "triton",
        model.has_attention_sinks.holds(),
        "FlashInfer has no attention sinks.",
    ),
    _last(362, "attention-default-flashinfer", "flashinfer", CUDA, "FlashInfer serves the rest on CUDA."),
    _last(363, "attention-default-triton", "triton", ~CUDA, "Where FlashInfer is not there, triton is."),
)

COMMON = (_PREFILL_EQUALS_DECODE, WHISPER, HOPPER, BLACKWELL_MLA, ROCM_AITER, *_LAST)
"""The same in every release with DCP."""

FP8_E5M2 = Resolution(
    code="ATT370",
    slug="fa3-fp8-e5m2-to-triton",
    order=order.ATTENTION + 45,
    when=resolved.attention_backend.equals("fa3") & resolved.kv_cache_dtype.equals("fp8_e5m2"),
    sets={"attention_backend": "triton"},
    because="FlashAttention 3 knows only fp8_e4m3.",
    source=Source(
        path=_OVERRIDES,
        symbol="_attention_backend_fa3_fp8_fallback",
        release="0.5.23",
        line=1264,
        basis=Basis.RECORDED,
    ),
)

NO_AMX = Resolution(
    code="ATT371",
    slug="cpu-without-amx",
    order=order.ATTENTION + 55,
    when=resolved.attention_backend.equals("intel_amx") & CPU,
    sets={"attention_backend": "torch_native"},
    because="Without AMX instructions, which is what is assumed of a CPU here, plain torch takes over.",
    source=Source(
        path=_OVERRIDES,
        symbol="_attention_backend_platform_fallbacks",
        release="0.5.23",
        line=1300,
        basis=Basis.RECORDED,
    ),
)

CUTEDSL_PREFILL = Resolution(
    code="ATT372",
    slug="cutedsl-prefill-trtllm",
    order=order.ATTENTION + 36,
    when=(resolved.attention_backend.equals("cutedsl_mla") | resolved.decode_attention_backend.equals("cutedsl_mla"))
    & resolved.prefill_attention_backend.is_unset(),
    sets={"prefill_attention_backend": "trtllm_mla"},
    because="CuteDSL's kernels decode only; prefill goes to trtllm_mla.",
    source=Source(
        path=_OVERRIDES, symbol="_cutedsl_prefill_backend_fill", release="0.5.23", line=1233, basis=Basis.RECORDED
    ),
)

LATER = (FP8_E5M2, NO_AMX, CUTEDSL_PREFILL)
