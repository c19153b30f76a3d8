"""What argument handling refuses about attention backends: GPUs they do not run on, caches they do not read."""

from __future__ import annotations

from configurator.catalog import order, phrases
from configurator.catalog.declare import NEWEST, refuses, wheel
from configurator.catalog.families import KIMI_K3
from configurator.catalog.terms import (
    BLACKWELL,
    DCP_ON,
    DECODE_BACKEND,
    LATENT,
    MAY_BE_TRTLLM_MLA,
    MODEL_TOLD,
    PREFILL_BACKEND,
    SM90,
    SM100,
    SM120,
    SPECULATION,
    asked_for,
    uses,
    uses_for_decode,
)
from configurator.core.expr import Expr, flag, resolved
from configurator.core.rule import Choose, Example, Fix, Rule, Set, Unset

_OVERRIDES = "arg_groups/overrides.py"
_HOOK = "arg_groups/attention_hook.py"
_AT = order.ATTENTION + 30
_FIXES: tuple[Fix, ...] = (
    Set("attention_backend", "flashinfer"),
    Choose("attention_backend"),
    Choose("decode_attention_backend"),
    Choose("prefill_attention_backend"),
)
_B200 = "b200x8"
# Where these backends can come from, told without the model where that can be: what was asked for, and what is the
# default of some model on this GPU. Kimi-K3 takes CuteDSL's kernels under DCP, whatever the GPU.
_CUTEDSL: Expr = asked_for("cutedsl_mla", "tokenspeed_mla") | (DCP_ON & MODEL_TOLD & KIMI_K3)

TRTLLM_MLA_NEEDS_BLACKWELL = refuses(
    "ATT310",
    "trtllm-mla-needs-blackwell",
    _AT,
    when=uses_for_decode("trtllm_mla") & MAY_BE_TRTLLM_MLA,
    require=BLACKWELL,
    says="{backend} a Blackwell GPU, and this one is {hardware.gpu_name}.",
    values={"backend": phrases.backend("trtllm_mla", "needs", "may need")},
    because="TensorRT-LLM's MLA kernels exist for SM100 and SM12x only.",
    fixes=_FIXES,
    source=wheel(_OVERRIDES, "_mla_kv_cache_dtype_checks", 1210),
    signature="TRTLLM MLA backend is only supported on Blackwell GPUs",
    bad=Example(argv="--tp-size 8 --attention-backend trtllm_mla"),
    good=Example(argv="--tp-size 8 --attention-backend trtllm_mla", hardware=_B200),
)
CUTEDSL_NEEDS_SM100 = refuses(
    "ATT311",
    "k3-cutedsl-sm100",
    _AT + 6,
    when=uses("cutedsl_mla") & _CUTEDSL,
    require=SM100,
    says="{backend} a data-centre Blackwell GPU, and this one is {hardware.gpu_name}.",
    values={"backend": phrases.backend("cutedsl_mla", "needs", "may need")},
    because="The CuteDSL MLA kernels exist for SM100 only. Kimi-K3 chooses them under DCP unless told otherwise.",
    fixes=(*_FIXES, Set("decode_attention_backend", "aiter")),
    source=wheel(_OVERRIDES, "_cutedsl_prefill_backend_fill", 1246),
    signature="CuteDSL MLA backend is only supported on Blackwell GPUs",
    bad=Example(argv="--tp-size 8 --dcp-size 4 --attention-backend cutedsl_mla"),
    good=Example(argv="--tp-size 8 --dcp-size 4 --attention-backend cutedsl_mla", hardware=_B200),
)


def _kv(  # noqa: PLR0913, PLR0917 - the fields that differ
    code: str,
    slug: str,
    at: int,
    when: Expr,
    dtypes: tuple[str, ...],
    name: str,
    line: int,
    release: str,
    signature: str,
) -> Rule:
    return refuses(
        code,
        slug,
        _AT + at,
        when=when & (asked_for(name, "tokenspeed_mla") | (~flag.kv_cache_dtype.is_in(*dtypes, "auto"))),
        require=resolved.kv_cache_dtype.is_in(*dtypes),
        says="{backend} --kv-cache-dtype {resolved.kv_cache_dtype}.",
        values={"backend": phrases.backend(name, "does not read", "may not read")},
        because=f"Its kernels take {', '.join(dtypes)}. Other spellings are refused too, even of a type it reads.",
        fixes=(Unset("kv_cache_dtype"), Choose("kv_cache_dtype"), Choose("attention_backend")),
        source=wheel(_OVERRIDES, "_mla_kv_cache_dtype_checks", line, release),
        signature=signature,
        bad=Example(argv=f"--tp-size 8 --attention-backend {name} --kv-cache-dtype fp8_e5m2", hardware=_B200),
        good=Example(argv=f"--tp-size 8 --attention-backend {name} --kv-cache-dtype fp8_e4m3", hardware=_B200),
    )


_TRTLLM_KV = "TensorRT-LLM MLA backend only supports kv-cache-dtype of"
TRTLLM_MLA_KV_15 = _kv(
    "ATT317",
    "trtllm-mla-kv-cache-types-fp4",
    1,
    uses_for_decode("trtllm_mla"),
    ("fp8_e4m3", "fp4_e2m1", "bf16", "auto"),
    "trtllm_mla",
    1252,
    "0.5.20",
    _TRTLLM_KV,
)
TRTLLM_MLA_KV = _kv(
    "ATT318",
    "trtllm-mla-kv-cache-types",
    1,
    uses_for_decode("trtllm_mla"),
    ("fp8_e4m3", "bf16", "auto"),
    "trtllm_mla",
    1214,
    "0.5.23",
    _TRTLLM_KV,
)
TOKENSPEED_NEEDS_BLACKWELL = refuses(
    "ATT319",
    "tokenspeed-needs-blackwell",
    _AT + 2,
    when=uses_for_decode("tokenspeed_mla") & asked_for("tokenspeed_mla"),
    require=BLACKWELL,
    says="{backend} a Blackwell GPU, and this one is {hardware.gpu_name}.",
    values={"backend": phrases.backend("tokenspeed_mla", "needs", "may need")},
    because="Its kernels exist for SM100 and SM12x only.",
    fixes=_FIXES,
    source=wheel(_OVERRIDES, "_mla_kv_cache_dtype_checks", 1176, "0.5.22"),
    signature="tokenspeed_mla backend is only supported on Blackwell GPUs",
    bad=Example(argv="--tp-size 8 --attention-backend tokenspeed_mla --kv-cache-dtype fp8_e4m3"),
    good=Example(argv="--tp-size 8 --attention-backend tokenspeed_mla --kv-cache-dtype fp8_e4m3", hardware=_B200),
)
TOKENSPEED_KV = _kv(
    "ATT320",
    "tokenspeed-needs-fp8",
    3,
    uses_for_decode("tokenspeed_mla"),
    ("fp8_e4m3",),
    "tokenspeed_mla",
    1181,
    "0.5.22",
    "tokenspeed_mla backend requires kv-cache-dtype=fp8_e4m3",
)
CUTEDSL_KV = _kv(
    "ATT321",
    "cutedsl-kv-cache-types",
    7,
    uses("cutedsl_mla"),
    ("fp8_e4m3", "bf16", "bfloat16", "auto"),
    "cutedsl_mla",
    1250,
    "0.5.23",
    "CuteDSL MLA backend only supports kv-cache-dtype of",
)
CUTEDSL_DECODES = refuses(
    "ATT322",
    "cutedsl-decodes-only",
    _AT + 5,
    when=resolved.prefill_attention_backend.equals("cutedsl_mla")
    & flag.prefill_attention_backend.equals("cutedsl_mla"),
    says="--prefill-attention-backend cutedsl_mla does not prefill.",
    because="Its kernels decode only.",
    fixes=(Unset("prefill_attention_backend"), Set("prefill_attention_backend", "trtllm_mla")),
    source=wheel(_OVERRIDES, "_cutedsl_prefill_backend_fill", 1241),
    signature="CuteDSL MLA only supports decoding for now",
    bad=Example(argv="--tp-size 8 --prefill-attention-backend cutedsl_mla", hardware=_B200),
    good=Example(argv="--tp-size 8 --decode-attention-backend cutedsl_mla", hardware=_B200),
)


def _mha(  # noqa: PLR0917 - the fields that differ
    code: str, slug: str, at: int, role: Expr, gpus: Expr, name: str, text: tuple[str, str, int, str, str], bad: str
) -> Rule:
    says, because, line, release, signature = text
    return refuses(
        code,
        slug,
        order.ATTENTION + at,
        when=role & asked_for("trtllm_mha"),
        require=gpus,
        says=says,
        because=because,
        fixes=_FIXES,
        source=wheel(_HOOK if release == NEWEST else "server_args.py", name, line, release),
        signature=signature,
        bad=Example(argv=bad, model="llama-3.1-70b", hardware="h100x8" if at == 40 else "a100x8"),
        good=Example(argv=bad, model="llama-3.1-70b", hardware=_B200),
    )


_CHECK = "handle_attention_backend_compatibility"
_MHA_ARGV = "--tp-size 8 --attention-backend trtllm_mha"
_MHA_PREFILL: Expr = PREFILL_BACKEND.equals("trtllm_mha")
TRTLLM_MHA_PREFILL_15 = _mha(
    "ATT323",
    "trtllm-mha-prefill-sm100",
    40,
    _MHA_PREFILL,
    SM100,
    _CHECK,
    (
        "trtllm_mha needs a data-centre Blackwell GPU for prefill, and this one is {hardware.gpu_name}.",
        "Up to 0.5.18 its prefill kernels exist for SM100 only.",
        6017,
        "0.5.18",
        "TRTLLM MHA backend for prefill is only supported on Blackwell GPUs",
    ),
    _MHA_ARGV,
)
TRTLLM_MHA_PREFILL = _mha(
    "ATT324",
    "trtllm-mha-prefill-gpus",
    41,
    _MHA_PREFILL,
    SM90 | SM100 | SM120,
    _CHECK,
    (
        "trtllm_mha needs a Hopper or Blackwell GPU for prefill, and this one is {hardware.gpu_name}.",
        "Its prefill kernels exist for SM90, SM100 and SM120.",
        189,
        NEWEST,
        "TRTLLM MHA backend for prefill requires Hopper",
    ),
    _MHA_ARGV,
)
TRTLLM_MHA_DECODE = _mha(
    "ATT325",
    "trtllm-mha-decode-gpus",
    43,
    DECODE_BACKEND.equals("trtllm_mha"),
    SM90 | SM100 | SM120,
    _CHECK,
    (
        "trtllm_mha needs a Hopper or Blackwell GPU for decode, and this one is {hardware.gpu_name}.",
        "Its decode kernels exist for SM90, SM100 and SM120.",
        208,
        NEWEST,
        "TRTLLM MHA backend for decode is only supported on Hopper",
    ),
    "--tp-size 8 --decode-attention-backend trtllm_mha",
)
TRTLLM_MHA_SM120 = refuses(
    "ATT326",
    "trtllm-mha-sm120-fp8",
    order.ATTENTION + 42,
    when=_MHA_PREFILL & asked_for("trtllm_mha") & SM120 & resolved.kv_cache_dtype.equals("fp8_e4m3"),
    says="trtllm_mha on {hardware.gpu_name} does not prefill from an fp8 cache.",
    because="Its prefill kernels for SM120 read no fp8.",
    fixes=(Unset("kv_cache_dtype"), *_FIXES),
    source=wheel(_HOOK, _CHECK, 199),
    signature="TRTLLM FMHAv2 prefill on SM120 does not support",
    bad=Example(argv=f"{_MHA_ARGV} --kv-cache-dtype fp8_e4m3", model="llama-3.1-70b", hardware="rtxpro6000x8"),
    good=Example(argv=f"{_MHA_ARGV} --kv-cache-dtype fp8_e4m3", model="llama-3.1-70b", hardware=_B200),
)
FLEX_NO_SPEC = refuses(
    "ATT327",
    "flex-attention-no-spec",
    order.ATTENTION + 17,
    when=flag.attention_backend.equals("flex_attention")
    & resolved.attention_backend.equals("flex_attention")
    & SPECULATION,
    says="flex_attention cannot be combined with --speculative-algorithm {asked.speculative_algorithm}.",
    because="It does not verify a draft's tokens.",
    fixes=(Unset("speculative_algorithm"), *_FIXES),
    source=wheel(_HOOK, _CHECK, 163),
    signature="Speculative decoding is currently not supported with Flex Attention backend",
    bad=Example(
        argv="--tp-size 8 --attention-backend flex_attention --speculative-algorithm EAGLE", model="llama-3.1-70b"
    ),
    good=Example(argv="--tp-size 8 --attention-backend flex_attention", model="llama-3.1-70b"),
)

INTEL_XPU_MLA = refuses(
    "ATT333",
    "intel-xpu-mla-decodes-only",
    order.ATTENTION + 56,
    when=asked_for("intel_xpu") & LATENT & PREFILL_BACKEND.equals("intel_xpu"),
    says="intel_xpu does not prefill models with a latent cache.",
    because="Up to 0.5.19 its MLA kernels decode only.",
    fixes=(Unset("attention_backend"), Choose("prefill_attention_backend"), Choose("attention_backend")),
    source=wheel(_HOOK, _CHECK, 207, "0.5.19"),
    signature="intel_xpu backend is only supported on decode for MLA models",
    bad=Example(argv="--tp-size 8 --attention-backend intel_xpu", hardware="max1550x8"),
    good=Example(argv="--tp-size 8 --decode-attention-backend intel_xpu", hardware="max1550x8"),
)

COMMON = (
    TRTLLM_MLA_NEEDS_BLACKWELL,
    CUTEDSL_NEEDS_SM100,
    CUTEDSL_KV,
    CUTEDSL_DECODES,
    TRTLLM_MHA_DECODE,
    FLEX_NO_SPEC,
)
"""The same in every release with DCP."""
