"""Values that the server takes back or renames, and what it makes of them."""

from __future__ import annotations

from configurator.catalog import order
from configurator.catalog.declare import fills, later, wheel
from configurator.catalog.terms import CUDA, DECODE_BACKEND, HIP, PREFILL_BACKEND
from configurator.core.expr import Expr, flag, resolved
from configurator.core.rule import Choose, Effect, Example, Resolution, Stage, Unset

_SOURCE = wheel("arg_groups/serving_hook.py", "handle_deprecated_args", 304)
_AT = 90
_TOKENSPEED: Expr = flag.attention_backend.equals("tokenspeed_mla") | flag.decode_attention_backend.equals(
    "tokenspeed_mla"
)


def _renamed(number: int, role: str, dest: str, to: str) -> Resolution:
    return fills(
        f"ATT{number}",
        f"tokenspeed-renamed-{role}",
        _AT,
        when=getattr(resolved, dest).equals("tokenspeed_mla"),
        sets={dest: to},
        because="In 0.5.23 tokenspeed_mla is an old name for cutedsl_mla, which does not prefill.",
        source=_SOURCE,
        signature="is deprecated; use",
    )


TOKENSPEED = (
    fills(
        "ATT390",
        "tokenspeed-renamed-cache",
        _AT - 1,
        when=_TOKENSPEED,
        sets={"kv_cache_dtype": "fp8_e4m3"},
        because="tokenspeed_mla had an fp8 cache, and its old name still brings one.",
        source=_SOURCE,
        signature="tokenspeed_mla required FP8 KV",
    ),
    fills(
        "ATT391",
        "tokenspeed-renamed-verify",
        _AT - 1,
        when=_TOKENSPEED & flag.speculative_algorithm.is_set() & flag.speculative_attention_mode.equals("prefill"),
        sets={"speculative_attention_mode": "decode"},
        because="tokenspeed_mla verified on the decode kernels, and its old name still does.",
        source=_SOURCE,
    ),
    _renamed(392, "base", "attention_backend", "cutedsl_mla"),
    _renamed(393, "decode", "decode_attention_backend", "cutedsl_mla"),
    _renamed(394, "prefill", "prefill_attention_backend", "trtllm_mla"),
)
"""From 0.5.23 on."""

SYMM_MEM_OFF = fills(
    "HWR434",
    "symm-mem-taken-back",
    order.PLATFORM + 5,
    when=flag.enable_symm_mem.holds() & ~(CUDA | HIP),
    sets={"enable_symm_mem": False},
    because="Symmetric memory is NCCL's and RCCL's.",
    source=wheel("arg_groups/platform_hook.py", "handle_symm_mem_device_support", 99),
)
SYMM_MEM = later(
    "HWR435",
    "symm-mem-cuda-or-rocm",
    order.PLATFORM + 5,
    effect=Effect.IGNORES,
    stage=Stage.SERVER_ARGS,
    when=flag.enable_symm_mem.holds(),
    require=CUDA | HIP,
    says="--enable-symm-mem does not run on this platform ({hardware.platform}).",
    because="Symmetric memory is NCCL's and RCCL's; from 0.5.19 the server turns it off elsewhere.",
    fixes=(Unset("enable_symm_mem"),),
    source=wheel("arg_groups/platform_hook.py", "handle_symm_mem_device_support", 99),
    signature="--enable-symm-mem is not supported on non CUDA/HIP devices",
    bad=Example(argv="--tp-size 8 --enable-symm-mem", hardware="max1550x8"),
    good=Example(argv="--tp-size 8 --enable-symm-mem"),
)
_KEPT: Expr = (
    (flag.attention_backend.is_unset() | resolved.attention_backend.equals(flag.attention_backend))
    & (
        flag.decode_attention_backend.is_unset()
        | resolved.decode_attention_backend.equals(flag.decode_attention_backend)
    )
    & (
        flag.prefill_attention_backend.is_unset()
        | resolved.prefill_attention_backend.equals(flag.prefill_attention_backend)
    )
)
ATTENTION_REWRITTEN = later(
    "ATT332",
    "attention-backend-rewritten",
    order.ATTENTION + 62,
    effect=Effect.REWRITES,
    stage=Stage.SERVER_ARGS,
    when=flag.attention_backend.is_set()
    | flag.decode_attention_backend.is_set()
    | flag.prefill_attention_backend.is_set(),
    require=_KEPT,
    says="Another attention backend is asked for than the server runs: {prefill} for prefill and {decode} for decode.",
    values={"prefill": PREFILL_BACKEND, "decode": DECODE_BACKEND},
    because="Ascend has one backend whatever is asked for, fa3 gives way to triton with an fp8_e5m2 cache, Kimi-K3 "
    "chooses under DCP, and one backend given for both roles is the common one too.",
    fixes=(
        Unset("attention_backend"),
        Unset("decode_attention_backend"),
        Unset("prefill_attention_backend"),
        Choose("kv_cache_dtype"),
    ),
    source=wheel("arg_groups/attention_hook.py", "handle_attention_backend_compatibility", 110),
    signature="Setting attention backend to triton",
    bad=Example(argv="--tp-size 8 --attention-backend fa3 --kv-cache-dtype fp8_e5m2", model="llama-3.1-70b"),
    good=Example(argv="--tp-size 8 --attention-backend fa3 --kv-cache-dtype fp8_e4m3", model="llama-3.1-70b"),
)
KV_REWRITTEN = later(
    "KVC595",
    "kv-cache-dtype-rewritten",
    order.ATTENTION + 63,
    effect=Effect.REWRITES,
    stage=Stage.SERVER_ARGS,
    when=~flag.kv_cache_dtype.is_in("auto", "bf16"),
    require=resolved.kv_cache_dtype.equals(flag.kv_cache_dtype),
    says="--kv-cache-dtype {asked.kv_cache_dtype} becomes {resolved.kv_cache_dtype}.",
    because="tokenspeed_mla, in 0.5.23 an old name, stands for an fp8_e4m3 cache.",
    fixes=(Unset("kv_cache_dtype"), Choose("attention_backend")),
    source=wheel("arg_groups/serving_hook.py", "handle_deprecated_args", 328),
    signature="tokenspeed_mla required FP8 KV",
    bad=Example(argv="--tp-size 8 --attention-backend tokenspeed_mla --kv-cache-dtype bfloat16", hardware="b200x8"),
    good=Example(argv="--tp-size 8 --attention-backend tokenspeed_mla --kv-cache-dtype fp8_e4m3", hardware="b200x8"),
)
