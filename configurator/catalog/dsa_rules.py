"""What sparse attention (DSA) refuses, and where its kernels do not serve DCP."""

from __future__ import annotations

from configurator.catalog import order
from configurator.catalog.declare import later, read_in, refuses, wheel
from configurator.catalog.families import DEEPSEEK
from configurator.catalog.pages import SHUFFLED
from configurator.catalog.terms import (
    CUDA,
    DCP_ON,
    DECODE_BACKEND,
    DSA,
    HICACHE,
    HIP,
    MODEL_TOLD,
    NPU,
    PD_ANY,
    SM100,
    XPU,
)
from configurator.core.expr import Expr, flag, model, resolved
from configurator.core.rule import Choose, Example, Rule, Set, Stage, Unset

_OVERRIDES = "arg_groups/overrides.py"
_FAMILY = "arg_groups/model_overrides/deepseek_v2.py"
_HERE: Expr = DSA & DEEPSEEK
_GPU: Expr = _HERE & (CUDA | HIP)
_MODEL = "deepseek-v3.2"
_ARGV = "--tp-size 8 --dcp-size 4"
_GOOD = Example(argv=_ARGV, model=_MODEL, hardware="b200x8")


def _no(  # noqa: PLR0913, PLR0917 - the fields that differ
    code: str, slug: str, at: int, when: Expr, says: str, because: str, dests: str, line: int, signature: str
) -> Rule:
    names = dests.split()
    words = {
        "enable_hierarchical_cache": "--enable-hierarchical-cache",
        "disaggregation_mode": "--disaggregation-mode decode",
    }
    extra = words.get(
        names[0],
        "--speculative-algorithm EAGLE --speculative-num-steps 3 --speculative-eagle-topk 4 --speculative-num-draft-tokens 8",
    )
    return refuses(
        code,
        slug,
        order.MODEL + at,
        stage=Stage.MODEL_ARGS,
        when=_HERE & DCP_ON & when,
        says=f"Models with sparse attention do not take {says} with --dcp-size {{asked.dcp_size}}.",
        because=because,
        fixes=(*(Unset(name) for name in names), Set("dcp_size", 1)),
        source=wheel(_FAMILY, "_dsa_dcp_overrides", line),
        signature=signature,
        bad=Example(argv=f"{_ARGV} {extra}", model=_MODEL, hardware="b200x8"),
        good=_GOOD,
    )


NO_HICACHE = _no(
    "MDL801",
    "dsa-no-hicache",
    10,
    flag.enable_hisparse.holds() | HICACHE,
    "--enable-hierarchical-cache or --enable-hisparse",
    "The host pool of the sparse index does not translate a DCP group's slots.",
    "enable_hierarchical_cache enable_hisparse",
    22,
    "DSA DCP does not support HiSparse or HiCache.",
)
NO_PD = _no(
    "MDL802",
    "dsa-no-pd",
    11,
    PD_ANY,
    "--disaggregation-mode {asked.disaggregation_mode}",
    "The sparse index is not laid out over a DCP group when KV travels.",
    "disaggregation_mode",
    24,
    "DSA DCP does not support PD disaggregation.",
)
TOPK_1 = _no(
    "MDL803",
    "dsa-topk1",
    12,
    ~flag.speculative_eagle_topk.is_in(None, 1),
    "--speculative-eagle-topk {asked.speculative_eagle_topk}",
    "Under DCP its kernels verify one chain of tokens.",
    "speculative_eagle_topk speculative_algorithm",
    26,
    "DSA DCP requires --speculative-eagle-topk 1.",
)
KPOOL = refuses(
    "MDL804",
    "dsa-kpool",
    order.MODEL + 26,
    stage=Stage.MODEL_ARGS,
    when=MODEL_TOLD & _HERE & (CUDA | SHUFFLED) & model.index_kpool.more_than(1),
    require=~DCP_ON,
    says="--dcp-size {asked.dcp_size} does not go with pooled index keys, and this model pools {model.index_kpool} tokens.",
    because="Neighbouring tokens live on different ranks, and one key spans several of them.",
    fixes=(Set("dcp_size", 1),),
    source=wheel(_FAMILY, "_deepseek_family_overrides", 166),
    signature="a pooled index key spans",
    bad=Example(
        argv=_ARGV,
        hardware="b200x8",
        model={
            "architectures": ["DeepseekV32ForCausalLM"],
            "model_type": "deepseek_v32",
            "hidden_size": 7168,
            "num_hidden_layers": 61,
            "num_attention_heads": 128,
            "num_key_value_heads": 128,
            "kv_lora_rank": 512,
            "q_lora_rank": 1536,
            "qk_rope_head_dim": 64,
            "qk_nope_head_dim": 128,
            "v_head_dim": 128,
            "index_topk": 2048,
            "index_head_dim": 128,
            "index_n_heads": 64,
            "index_kpool": 4,
        },
    ),
    good=_GOOD,
)

# On CUDA nothing but the flags brings tilelang or triton.
_CHOSEN: Expr = flag.dsa_prefill_backend.equals("tilelang") | flag.dsa_decode_backend.equals("tilelang")
_BOTH: Expr = resolved.dsa_prefill_backend.equals("tilelang") & resolved.dsa_decode_backend.equals("tilelang")
_FP8: Expr = resolved.kv_cache_dtype.equals("fp8_e4m3")
_CUDA_FP8: Expr = _HERE & CUDA & _FP8 & _CHOSEN
_TILELANG = "--kv-cache-dtype fp8_e4m3 --dsa-prefill-backend tilelang --dsa-decode-backend tilelang"


def _tilelang(  # noqa: PLR0913, PLR0917 - the fields that differ
    code: str, slug: str, at: int, when: Expr, says: str, because: str, place: tuple[int, str], signature: str, bad: str
) -> Rule:
    line, release = place
    return refuses(
        code,
        slug,
        order.MODEL + at,
        stage=Stage.MODEL_ARGS,
        when=when,
        says=says,
        because=because,
        fixes=(
            Set("kv_cache_dtype", "bfloat16"),
            Unset("dsa_prefill_backend"),
            Unset("dsa_decode_backend"),
            Choose("dcp_size"),
        ),
        source=wheel(_OVERRIDES, "_check_dsa_backend_constraints", line, release),
        signature=signature,
        bad=Example(argv=bad, model=_MODEL),
        good=Example(argv="--tp-size 8 --kv-cache-dtype bfloat16", model=_MODEL),
    )


TILELANG_FP8_OLD = _tilelang(
    "MDL805",
    "dsa-tilelang-fp8-cuda",
    46,
    _CUDA_FP8,
    "tilelang does not read an fp8 cache on CUDA.",
    "From 0.5.17 to 0.5.21 its CUDA kernels read bfloat16 only.",
    (535, "0.5.21"),
    "only support an fp8_e4m3 KV cache on ROCm/HIP",
    f"--tp-size 8 {_TILELANG}",
)
TILELANG_MIXED = _tilelang(
    "MDL806",
    "dsa-tilelang-both",
    46,
    _CUDA_FP8 & ~_BOTH,
    "With an fp8 cache tilelang must serve both halves of sparse attention; it serves one.",
    "Its fp8 layout differs from the other backends', so prefill and decode must both use it.",
    (569, "0.5.23"),
    "CUDA TileLang FP8 KV requires both DSA backends to be tilelang",
    "--tp-size 8 --kv-cache-dtype fp8_e4m3 --dsa-prefill-backend tilelang",
)
TILELANG_DCP = _tilelang(
    "MDL807",
    "dsa-tilelang-fp8",
    47,
    _CUDA_FP8 & DCP_ON,
    "tilelang with an fp8 cache does not serve --dcp-size {asked.dcp_size}.",
    "Its fp8 kernels do not know which tokens a rank owns.",
    (577, "0.5.23"),
    "CUDA TileLang FP8 KV does not support --dcp-size > 1.",
    f"{_ARGV} {_TILELANG}",
)
TRITON_ROCM = refuses(
    "MDL808",
    "dsa-triton-rocm-only",
    order.MODEL + 45,
    stage=Stage.MODEL_ARGS,
    when=_HERE & CUDA & (flag.dsa_prefill_backend.equals("triton") | flag.dsa_decode_backend.equals("triton")),
    says="triton serves sparse attention on ROCm only, and this GPU is {hardware.gpu_name}.",
    because="Its sparse kernels are for ROCm; on CUDA Hopper has flashmla_kv and Blackwell trtllm.",
    fixes=(Unset("dsa_prefill_backend"), Unset("dsa_decode_backend"), Choose("dsa_decode_backend")),
    source=wheel(_OVERRIDES, "_check_dsa_backend_constraints", 560),
    signature="DSA backend is only supported on ROCm/HIP",
    bad=Example(argv="--tp-size 8 --dsa-prefill-backend triton --dsa-decode-backend triton", model=_MODEL),
    good=Example(argv="--tp-size 8", model=_MODEL),
)

NEEDS_TRTLLM = later(
    "MDL811",
    "dsa-dcp-needs-trtllm",
    210,
    when=DSA & DCP_ON & DECODE_BACKEND.is_in("dsa", "nsa") & ~NPU & ~XPU,
    require=SM100 & resolved.dsa_prefill_backend.equals("trtllm") & resolved.dsa_decode_backend.equals("trtllm"),
    says=(
        "Sparse attention under --dcp-size {asked.dcp_size} needs trtllm for both phases on data-centre Blackwell; here "
        "prefill is {resolved.dsa_prefill_backend}, decode is {resolved.dsa_decode_backend}, and the GPU is "
        "{hardware.gpu_name}."
    ),
    because="Only trtllm's sparse kernels take a rank's own pages and return the log-sum-exp, and they exist for SM100. "
    "The others stop when the first tokens are attended to.",
    fixes=(
        Unset("dsa_prefill_backend"),
        Unset("dsa_decode_backend"),
        Set("dsa_prefill_backend", "trtllm"),
        Set("dsa_decode_backend", "trtllm"),
        Set("dcp_size", 1),
    ),
    source=read_in("layers/attention/dsa_backend.py", "_forward_trtllm"),
    signature=None,
    bad=Example(argv=_ARGV, model=_MODEL),
    good=_GOOD,
)
NO_DCP_OLD = later(
    "MDL812",
    "dsa-no-dcp-old",
    210,
    when=DSA & DCP_ON & DECODE_BACKEND.is_in("dsa", "nsa") & ~NPU,
    says="Sparse attention does not run with --dcp-size {asked.dcp_size}.",
    because="Up to 0.5.21 none of its backends returns the log-sum-exp that the ranks' outputs are merged by; decode "
    "stops at graph capture or at the first token.",
    fixes=(Set("dcp_size", 1),),
    source=read_in("layers/attention/dsa_backend.py", "forward_decode", None, "0.5.21"),
    signature=None,
    bad=Example(argv=_ARGV, model=_MODEL),
    good=Example(argv="--tp-size 8", model=_MODEL),
)
