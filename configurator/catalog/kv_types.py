"""Cache types and sharded caches that DCP does not go with, mostly found out after argument handling."""

from __future__ import annotations

from configurator.catalog import order
from configurator.catalog.declare import later, read_in, refuses, wheel
from configurator.catalog.terms import CUDA, DCP_ON, DECODE_BACKEND, GQA, LATENT, MLA, PD_PREFILL, asked_for
from configurator.core.expr import Expr, environment, flag, resolved
from configurator.core.rule import Choose, Effect, Example, Fix, Rule, Set, Stage, Unset

_OFF: Fix = Set("dcp_size", 1)
_DCP = "--tp-size 8 --dcp-size 4"
_FLASHINFER = f"{_DCP} --attention-backend flashinfer"
_QWEN = "qwen3.5-397b-a17b"
_TRITON = "--tp-size 8 --dcp-size 2 --attention-backend triton"
_POOL = "mem_cache/memory_pool.py"
# No model and no machine makes an unset cache type one of these: they are asked for.
_FP4: Expr = flag.kv_cache_dtype.is_in("fp4_e2m1", "nvfp4", "fp4_mx_block16") & resolved.kv_cache_dtype.equals(
    flag.kv_cache_dtype
)
_FP8: Expr = resolved.kv_cache_dtype.is_in("fp8_e4m3", "fp8_e5m2")
_CACHE_FIXES: tuple[Fix, ...] = (Unset("kv_cache_dtype"), Choose("kv_cache_dtype"), _OFF)

FLASHMLA_FP8 = later(
    "KVC581",
    "flashmla-fp8-dcp",
    201,
    when=DCP_ON & asked_for("flashmla") & DECODE_BACKEND.equals("flashmla") & _FP8,
    says="flashmla does not decode an fp8 cache with --dcp-size {asked.dcp_size}.",
    because="FlashMLA does not answer for a rank's own tokens; with fp8 it says so, with other types it stops without "
    "a word.",
    fixes=(Set("attention_backend", "flashinfer"), Choose("attention_backend"), _OFF),
    source=read_in("layers/attention/flashmla_backend.py", "forward_decode", 459),
    signature="FlashMLA does not support DCP for FP8 kv cache",
    bad=Example(argv=f"{_DCP} --attention-backend flashmla --kv-cache-dtype fp8_e4m3"),
    good=Example(argv=_FLASHINFER),
)


def _fp4(code: str, release: str, signature: str, value: str) -> Rule:
    return later(
        code,
        "fp4-kv-dcp",
        145,
        when=DCP_ON & GQA & _FP4,
        says="--kv-cache-dtype {resolved.kv_cache_dtype} cannot be combined with --dcp-size {asked.dcp_size}.",
        because="The fp4 cache packs two tokens' halves together and cannot leave out the tokens of other ranks.",
        fixes=_CACHE_FIXES,
        source=read_in(_POOL, "MHATokenToKVPoolFP4.set_kv_buffer", 2914, release),
        signature=signature,
        bad=Example(argv=f"{_TRITON} --kv-cache-dtype {value}", model=_QWEN),
        good=Example(argv=_TRITON, model=_QWEN),
    )


FP4_15 = _fp4("KVC582", "0.5.15", "got an unexpected keyword argument 'dcp_kv_mask'", "fp4_e2m1")
FP4_16 = _fp4("KVC583", "0.5.20", "dcp_kv_mask is not supported for FP4 KV cache", "fp4_e2m1")
FP4 = _fp4("KVC584", "0.5.23", "dcp_kv_mask is not supported for FP4 KV cache", "nvfp4")


def _mla_fp4(code: str, release: str, value: str) -> Rule:
    return later(
        code,
        "mla-fp4-kv-dcp",
        146,
        effect=Effect.CORRUPTS,
        when=DCP_ON & LATENT & _FP4,
        says="--kv-cache-dtype {resolved.kv_cache_dtype} cannot be combined with --dcp-size {asked.dcp_size}.",
        because="The fp4 cache of MLA models writes every token on every rank, into slots counted over the group: past "
        "the end of the pool, or over other tokens.",
        fixes=_CACHE_FIXES,
        source=read_in(_POOL, "MLATokenToKVPoolFP4.set_mla_kv_buffer", 5133, release),
        signature=None,
        bad=Example(argv=f"{_FLASHINFER} --kv-cache-dtype {value}"),
        good=Example(argv=_FLASHINFER),
    )


MLA_FP4_15 = _mla_fp4("KVC585", "0.5.20", "fp4_e2m1")
MLA_FP4 = _mla_fp4("KVC586", "0.5.23", "nvfp4")
MXFP8 = later(
    "KVC587",
    "mxfp8-kv-dcp",
    147,
    when=DCP_ON & flag.kv_cache_dtype.equals("mxfp8") & resolved.kv_cache_dtype.equals("mxfp8"),
    says="--kv-cache-dtype mxfp8 cannot be combined with --dcp-size {asked.dcp_size}.",
    because="Blocks of tokens share a scale there, and a block's tokens live on different ranks.",
    fixes=_CACHE_FIXES,
    source=read_in(_POOL, "MXFP8 pool set_kv_buffer", 4000),
    signature="MXFP8 KV cache does not support DCP KV masks",
    bad=Example(argv=f"{_TRITON} --kv-cache-dtype mxfp8", model=_QWEN),
    good=Example(argv=_TRITON, model=_QWEN),
)
FLASHINFER_FP8_SLOW = later(
    "KVC588",
    "flashinfer-mla-fp8kv-slow",
    300,
    effect=Effect.SLOWS,
    when=MLA & CUDA & DECODE_BACKEND.equals("flashinfer") & ~flag.kv_cache_dtype.equals("auto") & _FP8,
    says="FlashInfer is slow in decoding an MLA model from an fp8 cache.",
    because="It turns the whole cache into the activations' type in every layer of every step, used or not; 3.1 against "
    "227.8 tokens per second were reported. Before Blackwell an fp8 cache under DCP has no better backend.",
    fixes=(Unset("kv_cache_dtype"), Set("kv_cache_dtype", "bfloat16"), Choose("attention_backend")),
    source=read_in("layers/attention/flashinfer_mla_backend.py", "forward_decode", 822),
    signature=None,
    bad=Example(argv=f"{_FLASHINFER} --kv-cache-dtype fp8_e4m3"),
    good=Example(argv=_FLASHINFER),
)

# --- KV sharding ----------------------------------------------------------------------------------------------------

_SHARD = flag.enable_kv_cache_sharding.holds()
_SHARDED = f"{_DCP} --enable-kv-cache-sharding --disaggregation-mode prefill --attention-backend fa3"
SHARDING_PREFILL_ONLY = refuses(
    "KVC589",
    "kvshard-prefill-only",
    order.KV_SHARDING,
    when=_SHARD,
    require=PD_PREFILL,
    says="--enable-kv-cache-sharding needs a prefill server, and this is none.",
    because="A rank then holds only a stripe of every page, which does not do for decode.",
    fixes=(Unset("enable_kv_cache_sharding"), Set("disaggregation_mode", "prefill")),
    source=wheel("arg_groups/kv_shard_hook.py", "handle_kv_cache_sharding", 100),
    signature="--enable-kv-cache-sharding is only supported on PD prefill",
    bad=Example(argv="--tp-size 8 --enable-kv-cache-sharding"),
    good=Example(argv="--tp-size 8 --enable-kv-cache-sharding --disaggregation-mode prefill --attention-backend fa3"),
)
_CORE = environment.SGLANG_UNIFIED_RADIX_TREE_CORE_BACKEND
SHARDING_CORE = refuses(
    "KVC590",
    "kvshard-tree-core",
    order.KV_SHARDING + 3,
    when=_SHARD & ~resolved.disable_radix_cache.holds(),
    require=_CORE.equals("python"),
    says="--enable-kv-cache-sharding needs SGLANG_UNIFIED_RADIX_TREE_CORE_BACKEND=python, which is {core}.",
    values={"core": _CORE},
    because="Only the tree of prefixes written in Python turns stripes; in 0.5.22 the default is rust.",
    fixes=(Unset("enable_kv_cache_sharding"), Set("disable_radix_cache", value=True)),
    source=wheel("arg_groups/kv_shard_hook.py", "handle_kv_cache_sharding", 61, "0.5.22"),
    signature="--enable-kv-cache-sharding requires the Python UnifiedTreeCore",
    bad=Example(argv="--tp-size 8 --enable-kv-cache-sharding --disaggregation-mode prefill --attention-backend fa3"),
    good=Example(
        argv="--tp-size 8 --enable-kv-cache-sharding --disaggregation-mode prefill --attention-backend fa3",
        env={"SGLANG_UNIFIED_RADIX_TREE_CORE_BACKEND": "python"},
    ),
)
SHARDING_DCP = refuses(
    "KVC591",
    "kvshard-dcp-write",
    order.KV_SHARDING + 5,
    when=_SHARD & DCP_ON,
    says="--enable-kv-cache-sharding cannot be combined with --dcp-size {asked.dcp_size}.",
    because="Both count slots over several ranks, each in its own way.",
    fixes=(Unset("enable_kv_cache_sharding"), _OFF),
    source=wheel("arg_groups/kv_shard_hook.py", "handle_kv_cache_sharding", 170),
    signature="(--dcp-size) are mutually exclusive users of the widened",
    bad=Example(argv=_SHARDED, env={"SGLANG_UNIFIED_RADIX_TREE_CORE_BACKEND": "python"}),
    good=Example(argv=f"{_DCP} --disaggregation-mode prefill --attention-backend flashinfer"),
)
SHARDING_MTP = Rule(
    code="KVC592",
    slug="kvshard-mtp-dcp",
    effect=Effect.CRASHES,
    stage=Stage.INIT,
    order=140,
    # Argument handling refuses KV sharding with DCP first, so no command gets here; the message is known all the same.
    when=_SHARD & DCP_ON & flag.speculative_algorithm.is_set(),
    says="KV sharding with a draft cannot be combined with --dcp-size {asked.dcp_size}.",
    because="The draft's shards and the group's stripes exclude each other.",
    fixes=(Unset("enable_kv_cache_sharding"), _OFF),
    source=read_in("mem_cache/kv_cache_configurator.py", "configure MTP sharding", 1946),
    upstream_signature="MTP KV sharding is incompatible with DCP",
    example=Example(argv=f"{_SHARDED} --speculative-algorithm EAGLE"),
    accept=Example(argv=f"{_DCP} --disaggregation-mode prefill --attention-backend flashinfer"),
)
