"""Sparse attention (DSA): its cache type, its own prefill and decode backends, and what DCP does with them."""

from __future__ import annotations

from configurator.catalog import order
from configurator.catalog.declare import NEWEST, fills, refuses, wheel
from configurator.catalog.families import DEEPSEEK, GLM_DSA, HYV4
from configurator.catalog.terms import (
    CUDA,
    DCP_ON,
    DSA,
    HIP,
    SM100,
    SM120,
    XPU,
)
from configurator.core.expr import Expr, Term, flag, model, resolved
from configurator.core.flag import FlagValue
from configurator.core.rule import Example, Resolution, Set, Stage, Unset

_OVERRIDES = "arg_groups/overrides.py"
_FAMILY = "arg_groups/model_overrides/deepseek_v2.py"
_HERE: Expr = DSA & DEEPSEEK
_GPU: Expr = _HERE & (CUDA | HIP)
_MODEL = "deepseek-v3.2"
_ALONE = Example(argv="--tp-size 8", model=_MODEL)
_DCP = Example(argv="--tp-size 8 --dcp-size 4", model=_MODEL, hardware="b200x8")
_HISPARSE: Expr = flag.enable_hisparse.holds()
_FP8: Expr = resolved.kv_cache_dtype.equals("fp8_e4m3")
_SINKS: Expr = HYV4 | model.has_attention_sinks.holds()
_NEW: Expr = SM100 | SM120
"""Compute capability 10 and above."""

# --- the cache type -------------------------------------------------------------------------------------------------


def _kv(code: str, slug: str, when: Expr, dtype: str, because: str) -> Resolution:
    return fills(
        code,
        slug,
        order.MODEL + 30,
        when=when,
        sets={"kv_cache_dtype": dtype},
        because=because,
        source=wheel(_OVERRIDES, "_dsa_kv_cache_dtype_default", 491),
    )


_AUTO: Expr = resolved.kv_cache_dtype.equals("auto")
KV_FP8 = _kv(
    "KVC553",
    "dsa-kv-fp8",
    _GPU & _AUTO & _NEW & ~_SINKS,
    "fp8_e4m3",
    "On Blackwell a sparse model's cache is fp8.",
)
KV_BF16 = _kv("KVC554", "dsa-kv-bf16", _GPU & _AUTO, "bfloat16", "A sparse model's cache is bfloat16 before Blackwell.")
KV_ALIAS = _kv(
    "KVC555", "dsa-kv-bf16-alias", _GPU & resolved.kv_cache_dtype.equals("bf16"), "bfloat16", "bf16 is bfloat16."
)
KV_XPU = _kv(
    "KVC556", "dsa-kv-xpu", _HERE & XPU & _AUTO, "bfloat16", "A sparse model's cache is bfloat16 on Intel XPU."
)
KV_TYPES = refuses(
    "MDL810",
    "dsa-kv-cache-types",
    order.MODEL + 31,
    stage=Stage.MODEL_ARGS,
    when=_GPU & ~flag.kv_cache_dtype.is_in("auto", "bf16"),
    require=resolved.kv_cache_dtype.is_in("bfloat16", "fp8_e4m3"),
    says="Models with sparse attention do not take --kv-cache-dtype {asked.kv_cache_dtype}.",
    because="Its kernels read bfloat16 or fp8_e4m3.",
    fixes=(Unset("kv_cache_dtype"), Set("kv_cache_dtype", "bfloat16"), Set("kv_cache_dtype", "fp8_e4m3")),
    source=wheel(_OVERRIDES, "_dsa_kv_cache_dtype_default", 540),
    signature="DeepSeek DSA only supports bf16/bfloat16 or fp8_e4m3 kv_cache_dtype",
    bad=Example(argv="--tp-size 8 --kv-cache-dtype fp8_e5m2", model=_MODEL),
    good=Example(argv="--tp-size 8 --kv-cache-dtype bfloat16", model=_MODEL),
)

# --- the split backends ---------------------------------------------------------------------------------------------


def _split(  # noqa: PLR0917 - the fields that differ
    code: str,
    slug: str,
    at: int,
    when: Expr,
    because: str,
    prefill: FlagValue | Term = None,
    decode: FlagValue | Term = None,
    place: tuple[int, str] = (601, NEWEST),
) -> tuple[Resolution, ...]:
    """Return resolutions of the unset ones of both split backends; codes end in an even number and the next."""
    found = []
    for offset, dest, value in ((0, "dsa_prefill_backend", prefill), (1, "dsa_decode_backend", decode)):
        if value is None:
            continue
        role = dest.split("_")[1]
        found.append(
            fills(
                f"{code[:3]}{int(code[3:]) + offset}",
                f"{slug}-{role}",
                order.MODEL + at,
                when=when & Term(f"resolved.{dest}").is_unset(),
                sets={dest: value},
                because=because,
                source=wheel(_OVERRIDES, "_dsa_split_backend_resolution", *place),
            )
        )
    return tuple(found)


DCP_TRTLLM = tuple(
    fills(
        code,
        slug,
        order.MODEL + 15,
        when=_HERE & DCP_ON & Term(f"resolved.{dest}").is_unset(),
        sets={dest: "trtllm"},
        because="Of the sparse kernels only trtllm's answer for a rank's own tokens.",
        source=wheel(_FAMILY, "_dsa_dcp_overrides", 27),
    )
    for code, slug, dest in (
        ("MDL850", "dsa-backend-trtllm", "dsa_prefill_backend"),
        ("MDL851", "dsa-decode-backend-trtllm", "dsa_decode_backend"),
    )
)
REPLICATE_Q = fills(
    "MDL852",
    "dsa-replicate-q-default",
    order.MODEL + 16,
    when=_HERE & DCP_ON & resolved.dcp_replicate_q_proj.is_unset() & resolved.dcp_comm_backend.is_in("a2a", "fi_a2a"),
    sets={"dcp_replicate_q_proj": True},
    because="Sparse models keep the group's Q projection on every rank where the exchange allows it.",
    source=wheel(_FAMILY, "_dsa_dcp_overrides", 32),
)
GLM_SM120 = _split(
    "MDL854",
    "dsa-glm-sm120",
    35,
    _GPU & GLM_DSA & SM120 & _FP8,
    "On SM120 GLM's fp8 cache is read by FlashInfer's sparse kernels.",
    "flashinfer_sparse_mla",
    "flashinfer_sparse_mla",
)
SINKS = _split(
    "MDL876",
    "dsa-sinks",
    34,
    _GPU & _SINKS,
    "Learned sinks are read by flashmla_sparse.",
    "flashmla_sparse",
    "flashmla_sparse",
)
HISPARSE_HIP = _split(
    "MDL856", "dsa-hisparse-rocm", 36, _GPU & _HISPARSE & HIP, "HiSparse runs tilelang on ROCm.", "tilelang", "tilelang"
)
HISPARSE_FP8 = _split(
    "MDL858",
    "dsa-hisparse-fp8",
    37,
    _GPU & _HISPARSE & _FP8,
    "HiSparse reads fp8 with flashmla_kv.",
    "flashmla_kv",
    "flashmla_kv",
)
HISPARSE_BF16 = _split(
    "MDL860",
    "dsa-hisparse-bf16",
    38,
    _GPU & _HISPARSE,
    "HiSparse reads bfloat16 with flashmla_sparse.",
    "flashmla_sparse",
    "flashmla_sparse",
)
_BOTH_UNSET: Expr = flag.dsa_prefill_backend.is_unset() & flag.dsa_decode_backend.is_unset()
ROCM_TILELANG = _split(
    "MDL862",
    "dsa-rocm-tilelang",
    39,
    _GPU & HIP & _BOTH_UNSET,
    "Up to 0.5.19 ROCm runs tilelang.",
    "tilelang",
    "tilelang",
    place=(670, "0.5.19"),
)
ROCM_TRITON = _split("MDL864", "dsa-rocm-triton", 39, _GPU & HIP, "From 0.5.20 ROCm runs triton.", "triton", "triton")
FP8_BLACKWELL = _split(
    "MDL866", "dsa-fp8-blackwell", 40, _GPU & _FP8 & _NEW, "Blackwell reads fp8 with trtllm.", "trtllm", "trtllm"
)
FP8_HOPPER = _split(
    "MDL868", "dsa-fp8", 41, _GPU & _FP8, "Hopper reads fp8 with flashmla_kv.", "flashmla_kv", "flashmla_kv"
)
BF16_BLACKWELL = _split(
    "MDL870",
    "dsa-bf16-blackwell",
    42,
    _GPU & _NEW,
    "Blackwell decodes bfloat16 with trtllm.",
    "flashmla_sparse",
    "trtllm",
)
BF16_HOPPER = _split(
    "MDL872",
    "dsa-bf16",
    43,
    _GPU,
    "bfloat16 is prefilled with flashmla_sparse and decoded with fa3.",
    "flashmla_sparse",
    "fa3",
)
INTEL = _split(
    "MDL874", "dsa-xpu", 43, _HERE & XPU, "Intel XPU has sparse kernels of its own.", "intel_xpu", "intel_xpu"
)
SPLIT_COMMON = (
    *HISPARSE_HIP,
    *HISPARSE_FP8,
    *HISPARSE_BF16,
    *FP8_BLACKWELL,
    *FP8_HOPPER,
    *BF16_BLACKWELL,
    *BF16_HOPPER,
)
"""The same in every release with DCP."""
