"""Attention backends: what an unset one becomes, and which of them can serve decode under DCP."""

from __future__ import annotations

from configurator.catalog.terms import (
    BLACKWELL,
    CPU,
    CUDA,
    DCP_ON,
    DECODE_BACKEND,
    DSA,
    GQA,
    HIP,
    LATENT,
    MLA,
    NPU,
    SM90,
    SM100,
    XPU,
)
from configurator.core.derived import kv_heads_per_rank
from configurator.core.expr import Derived, Expr, flag, model, resolved
from configurator.core.rule import (
    Basis,
    Choose,
    Effect,
    Example,
    Resolution,
    Rule,
    Set,
    Source,
    Stage,
)

_OVERRIDES = "sglang/srt/arg_groups/overrides.py"
_DEFAULT = Source(path=_OVERRIDES, symbol="get_default_attn_backend", release="0.5.23", line=1127, basis=Basis.RECORDED)
_UNSET = resolved.attention_backend.is_unset()
_TOPK_ONE = flag.speculative_algorithm.is_unset() | flag.speculative_eagle_topk.is_in(None, 1)

_DEEPSEEK_FAMILY: Expr = model.architecture.is_in(
    "DeepseekV3ForCausalLM",
    "KimiK25ForConditionalGeneration",
    "MistralLarge3ForCausalLM",
    "PixtralForConditionalGeneration",
    "LongcatFlashForCausalLM",
)
"""Architectures whose own overrides choose trtllm_mla on SM100: model_overrides/deepseek_v2.py:185 in 0.5.23."""

_QWEN35: Expr = model.architecture.is_in("Qwen3_5ForConditionalGeneration", "Qwen3_5MoeForConditionalGeneration")
_AITER_HEADS = Derived("KV heads of one rank", kv_heads_per_rank, (model.num_kv_heads, flag.tp_size))


def _unset_becomes(number: int, slug: str, backend: str, when: Expr, because: str, order: int = 600) -> Resolution:
    return Resolution(
        code=f"ATT{number}",
        slug=slug,
        order=order + number % 100,
        when=_UNSET & when,
        sets={"attention_backend": backend},
        because=because,
        source=_DEFAULT,
    )


DEFAULTS = (
    _unset_becomes(350, "attention-default-ascend", "ascend", NPU, "Ascend devices have one backend."),
    _unset_becomes(
        351, "attention-default-dsa", "dsa", DSA & ~NPU & ~CPU, "Sparse attention has a backend of its own."
    ),
    _unset_becomes(
        352, "attention-default-cpu", "torch_native", CPU, "Without AMX instructions the CPU runs plain torch."
    ),
    _unset_becomes(
        353, "attention-default-xpu", "triton", XPU, "Intel XPU falls back to triton; intel_xpu must be asked for."
    ),
    _unset_becomes(
        354, "attention-default-hopper", "fa3", SM90 & (LATENT | _TOPK_ONE), "Hopper runs FlashAttention 3."
    ),
    _unset_becomes(
        355,
        "attention-default-blackwell-deepseek",
        "trtllm_mla",
        SM100 & _DEEPSEEK_FAMILY,
        "DeepSeek and Kimi-K2 models choose TensorRT-LLM's MLA kernels on data-centre Blackwell.",
    ),
    _unset_becomes(
        356,
        "attention-default-blackwell-qwen35",
        "triton",
        SM100 & _QWEN35,
        "Hybrid Qwen models choose triton on data-centre Blackwell.",
    ),
    _unset_becomes(
        357,
        "attention-default-blackwell-mla",
        "flashinfer",
        SM100 & MLA,
        "Other MLA models run FlashInfer on data-centre Blackwell.",
    ),
    _unset_becomes(
        358,
        "attention-default-blackwell-gqa",
        "trtllm_mha",
        SM100 & GQA & _TOPK_ONE,
        "GQA models run TensorRT-LLM's kernels on data-centre Blackwell.",
    ),
    _unset_becomes(
        359,
        "attention-default-rocm-aiter",
        "aiter",
        HIP & (GQA | _AITER_HEADS.is_in(16, 128)),
        "AMD's aiter kernels serve GQA, and MLA with 16 or 128 heads in a rank.",
    ),
    _unset_becomes(
        360, "attention-default-latent-triton", "triton", LATENT, "No other backend is chosen for MLA here."
    ),
    _unset_becomes(
        361,
        "attention-default-sinks",
        "triton",
        model.has_attention_sinks.holds(),
        "FlashInfer has no attention sinks.",
    ),
    _unset_becomes(362, "attention-default-flashinfer", "flashinfer", CUDA, "FlashInfer serves the rest on CUDA."),
)
"""What an unset ``--attention-backend`` becomes; the first that applies wins. The same in every release with DCP."""

FP8_E5M2 = Resolution(
    code="ATT370",
    slug="fa3-fp8-e5m2-to-triton",
    order=690,
    when=resolved.attention_backend.equals("fa3") & flag.kv_cache_dtype.equals("fp8_e5m2"),
    sets={"attention_backend": "triton"},
    because="FlashAttention 3 knows only fp8_e4m3.",
    source=Source(
        path=_OVERRIDES,
        symbol="_attention_backend_fa3_fp8_fallback",
        release="0.5.23",
        line=1270,
        basis=Basis.RECORDED,
    ),
)

_MLA_ANYWHERE = DECODE_BACKEND.equals("flashinfer") & CUDA
_GQA_TRITON = GQA & DECODE_BACKEND.equals("triton") & (CUDA | HIP)
_CUTEDSL = DECODE_BACKEND.equals("cutedsl_mla") & SM100
_TRTLLM_MLA = DECODE_BACKEND.equals("trtllm_mla") & SM100
_TOKENSPEED = DECODE_BACKEND.equals("tokenspeed_mla") & SM100
_AITER = DECODE_BACKEND.equals("aiter") & HIP
_ASCEND = DSA & DECODE_BACKEND.equals("ascend") & NPU
_INTEL = GQA & DECODE_BACKEND.equals("intel_xpu") & XPU
_DSA = DSA & DECODE_BACKEND.equals("dsa")

SUPPORT_15 = (MLA & _MLA_ANYWHERE) | _GQA_TRITON
SUPPORT_17 = (MLA & (_MLA_ANYWHERE | _CUTEDSL | _TOKENSPEED)) | _GQA_TRITON
SUPPORT_19 = (MLA & (_MLA_ANYWHERE | _CUTEDSL | _TOKENSPEED | _TRTLLM_MLA)) | _GQA_TRITON
SUPPORT_20 = (MLA & (_MLA_ANYWHERE | _CUTEDSL | _TOKENSPEED | _TRTLLM_MLA | _AITER)) | _GQA_TRITON
SUPPORT_22 = SUPPORT_20 | _DSA | _ASCEND | _INTEL
SUPPORT_23 = (MLA & (_MLA_ANYWHERE | _CUTEDSL | _TRTLLM_MLA | _AITER)) | _GQA_TRITON | _DSA | _ASCEND | _INTEL
"""Which backend returns the log-sum-exp that the DCP merge needs, by attention kind and platform."""


def without_dcp(number: int, support: Expr, since: str, until: str) -> Rule:
    """Return the rule that a decode backend outside *support* does not survive DCP, for releases *since* to *until*."""
    return Rule(
        code=f"ATT{number}",
        slug="attn-backend-without-dcp",
        effect=Effect.CRASHES,
        stage=Stage.RUNTIME,
        order=200,
        when=DCP_ON & DECODE_BACKEND.is_set(),
        require=support,
        says="{backend} has no DCP decode path for {model.attention_kind} models, and --dcp-size is {asked.dcp_size}.",
        values={"backend": DECODE_BACKEND},
        because=(
            "Merging the ranks' partial outputs needs each one's log-sum-exp; this backend does not return it here, "
            f"so decode stops at graph capture or at the first token. Holds from {since} to {until}."
        ),
        fixes=(
            Set("attention_backend", "flashinfer"),
            Set("attention_backend", "triton"),
            Choose("attention_backend"),
            Choose("decode_attention_backend"),
            Set("dcp_size", 1),
        ),
        source=Source(
            path="sglang/srt/models/deepseek_common/attention_forward_methods/forward_mla.py",
            symbol="forward_absorb_core",
            release=until,
            line=726 if until == "0.5.23" else None,
            url="https://github.com/sgl-project/sglang/pull/37735",
            basis=Basis.EXECUTED,
        ),
        upstream_signature="too many values to unpack (expected 2)",
        example=Example(argv="--tp-size 8 --dcp-size 4"),
        accept=Example(argv="--tp-size 8 --dcp-size 4 --attention-backend flashinfer"),
    )


TRTLLM_MLA_NEEDS_BLACKWELL = Rule(
    code="ATT310",
    slug="trtllm-mla-needs-blackwell",
    effect=Effect.REFUSES,
    stage=Stage.SERVER_ARGS,
    order=660,
    when=resolved.attention_backend.equals("trtllm_mla") | resolved.decode_attention_backend.equals("trtllm_mla"),
    require=BLACKWELL,
    says="trtllm_mla is chosen for attention, and {hardware.gpu_name} is no Blackwell GPU.",
    because="TensorRT-LLM's MLA kernels exist for SM100 and SM12x only.",
    fixes=(Set("attention_backend", "flashinfer"), Choose("attention_backend"), Choose("decode_attention_backend")),
    source=Source(
        path=_OVERRIDES, symbol="_mla_kv_cache_dtype_checks", release="0.5.23", line=1185, basis=Basis.RECORDED
    ),
    upstream_signature="TRTLLM MLA backend is only supported on Blackwell GPUs",
    example=Example(argv="--tp-size 8 --attention-backend trtllm_mla"),
    accept=Example(argv="--tp-size 8 --attention-backend trtllm_mla", hardware="b200x8"),
)

CUTEDSL_NEEDS_SM100 = Rule(
    code="ATT311",
    slug="k3-cutedsl-sm100",
    effect=Effect.REFUSES,
    stage=Stage.SERVER_ARGS,
    order=661,
    when=(
        resolved.attention_backend.equals("cutedsl_mla")
        | resolved.decode_attention_backend.equals("cutedsl_mla")
        | resolved.prefill_attention_backend.equals("cutedsl_mla")
    ),
    require=SM100,
    says="cutedsl_mla is chosen for attention, and {hardware.gpu_name} is no data-centre Blackwell GPU.",
    because="The CuteDSL MLA kernels exist for SM100 only.",
    fixes=(Set("attention_backend", "flashinfer"), Choose("decode_attention_backend"), Choose("attention_backend")),
    source=Source(
        path=_OVERRIDES, symbol="_cutedsl_prefill_backend_fill", release="0.5.23", line=1246, basis=Basis.RECORDED
    ),
    upstream_signature="CuteDSL MLA backend is only supported on Blackwell GPUs",
    example=Example(argv="--tp-size 8 --dcp-size 4 --attention-backend cutedsl_mla"),
    accept=Example(argv="--tp-size 8 --dcp-size 4 --attention-backend cutedsl_mla", hardware="b200x8"),
)
