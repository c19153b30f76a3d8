"""Models that refuse DCP, or whose own code does not go with it."""

from __future__ import annotations

from configurator.catalog import order
from configurator.catalog.declare import later, read_in, refuses, wheel
from configurator.catalog.families import (
    DEEPSEEK_V4,
    DIFFUSION_GEMMA,
    FUSED_KV_WRITE,
    HYV4,
    IQUEST,
    KDA,
    KIMI_K25,
    MLA_WITHOUT_HOOK,
)
from configurator.catalog.terms import (
    CUDA,
    DCP_ON,
    DECODE_BACKEND,
    DSA,
    GQA,
    LATENT,
    MAY_BE_FLASHINFER_MLA,
    MAY_BE_TRITON,
    MODEL_TOLD,
    NPU,
    PLATFORM_TOLD,
)
from configurator.core.expr import Derived, Expr, flag, model, resolved
from configurator.core.rule import Choose, Effect, Example, Fix, Rule, Set, Stage, Unset
from configurator.core.unknown import is_unknown

_OFF: Fix = Set("dcp_size", 1)
_HYV4_MODEL = {"architectures": ["HYV4ForCausalLM"], "model_type": "hy_v4"}
_IQUEST_MODEL = {"architectures": ["IQuestQ1ForCausalLM"], "model_type": "iquest_q1"}
_GEMMA_MODEL = {"architectures": ["DiffusionGemmaForBlockDiffusion"], "model_type": "gemma4_diffusion"}
_FLASHINFER = "--tp-size 8 --dcp-size 4 --attention-backend flashinfer"

NPU_DSA_ONLY = refuses(
    "HWR440",
    "npu-dsa-only",
    order.MODEL,
    stage=Stage.MODEL_ARGS,
    when=PLATFORM_TOLD & NPU & DCP_ON,
    require=DSA,
    says="On Ascend --dcp-size {asked.dcp_size} needs a model with sparse attention, and this one is {model.architecture}.",
    because="From 0.5.22 Ascend has DCP for models with DeepSeek's sparse attention, and for no others.",
    fixes=(_OFF,),
    source=wheel("arg_groups/model_hook.py", "handle_model_specific_adjustments", 171),
    signature="NPU decode context parallelism is currently implemented only",
    bad=Example(argv="--tp-size 8 --dcp-size 4", hardware="ascend910bx8"),
    good=Example(argv="--tp-size 8 --dcp-size 4", hardware="ascend910bx8", model="deepseek-v3.2"),
)
HYV4_NO_DCP = refuses(
    "MDL820",
    "hyv4-no-dcp",
    order.MODEL + 8,
    stage=Stage.MODEL_ARGS,
    when=MODEL_TOLD & HYV4 & DCP_ON,
    says="HYV4 models do not take --dcp-size {asked.dcp_size}, and this one is {model.architecture}.",
    because="Its learned attention sinks would be counted once by every rank of a group.",
    fixes=(_OFF,),
    source=wheel("arg_groups/model_overrides/deepseek_v2.py", "_deepseek_family_overrides", 72),
    signature="--dcp-size > 1 is not supported for HYV4",
    bad=Example(argv=_FLASHINFER, model=_HYV4_MODEL),
    good=Example(argv="--tp-size 8", model=_HYV4_MODEL),
)
HYV4_NO_CP = refuses(
    "MDL821",
    "hyv4-no-prefill-cp",
    order.MODEL + 7,
    stage=Stage.MODEL_ARGS,
    when=HYV4 & flag.enable_prefill_cp.holds(),
    says="HYV4 models do not take --enable-prefill-cp, and this one is {model.architecture}.",
    because="Its sparse attention does not shard a prompt.",
    fixes=(Unset("enable_prefill_cp"),),
    source=wheel("arg_groups/model_overrides/deepseek_v2.py", "_deepseek_family_overrides", 63),
    signature="--enable-prefill-cp is not supported for HYV4",
    bad=Example(argv="--tp-size 8 --enable-prefill-cp --cp-strategy zigzag", model=_HYV4_MODEL),
    good=Example(argv="--tp-size 8", model=_HYV4_MODEL),
)
_FA3_OR_UNSET: Expr = (
    flag.attention_backend.is_in(None, "fa3")
    & flag.prefill_attention_backend.is_in(None, "fa3")
    & flag.decode_attention_backend.is_in(None, "fa3")
)
IQUEST_FA3 = refuses(
    "MDL822",
    "iquest-fa3-only",
    order.MODEL + 7,
    stage=Stage.MODEL_ARGS,
    when=IQUEST,
    require=_FA3_OR_UNSET,
    says="IQuest-Q1 runs on no attention backend but fa3, another is given, and this model is {model.architecture}.",
    because="Its attention sinks are computed from what FlashAttention 3 returns.",
    fixes=(Unset("attention_backend"), Unset("decode_attention_backend"), Unset("prefill_attention_backend")),
    source=wheel("arg_groups/model_overrides/iquest_q1.py", "_iquest_q1_overrides", 20),
    signature="requires FA3 attention for both prefill and decode",
    bad=Example(argv="--tp-size 8 --attention-backend flashinfer", model=_IQUEST_MODEL),
    good=Example(argv="--tp-size 8", model=_IQUEST_MODEL),
)
IQUEST_NO_CP = refuses(
    "MDL823",
    "iquest-no-cp",
    order.MODEL + 8,
    stage=Stage.MODEL_ARGS,
    when=(MODEL_TOLD | flag.enable_prefill_cp.holds() | flag.attn_cp_size.more_than(1))
    & IQUEST
    & (flag.attn_cp_size.more_than(1) | DCP_ON | flag.enable_prefill_cp.holds()),
    says="IQuest-Q1 takes neither --dcp-size nor --attn-cp-size above 1 nor --enable-prefill-cp; here the sizes are "
    "{asked.dcp_size} and {asked.attn_cp_size}, and the model is {model.architecture}.",
    because="IQuest-Q1 splits no context, in prefill or in decode.",
    fixes=(_OFF, Set("attn_cp_size", 1), Unset("enable_prefill_cp")),
    source=wheel("arg_groups/model_overrides/iquest_q1.py", "_iquest_q1_overrides", 30),
    signature="IQuestQ1 does not support context parallelism.",
    bad=Example(argv="--tp-size 8 --dcp-size 4", model=_IQUEST_MODEL),
    good=Example(argv="--tp-size 8", model=_IQUEST_MODEL),
)
IQUEST_PLAIN = refuses(
    "MDL824",
    "iquest-no-pp-or-dp",
    order.MODEL + 9,
    stage=Stage.MODEL_ARGS,
    when=IQUEST,
    require=flag.pp_size.less_than(2) & ~flag.enable_dp_attention.holds(),
    says="IQuest-Q1 takes neither --pp-size above 1 nor DP attention; --pp-size is {asked.pp_size}, and the model is "
    "{model.architecture}.",
    because="IQuest-Q1 runs with tensor parallelism alone.",
    fixes=(Set("pp_size", 1), Unset("enable_dp_attention")),
    source=wheel("arg_groups/model_overrides/iquest_q1.py", "_iquest_q1_overrides", 37),
    signature="IQuest Q1 does not support",
    bad=Example(argv="--tp-size 8 --pp-size 2", model=_IQUEST_MODEL),
    good=Example(argv="--tp-size 8", model=_IQUEST_MODEL),
)
GEMMA_NO_CP = refuses(
    "MDL825",
    "gemma4-dllm-no-cp",
    order.FINAL - 30,
    stage=Stage.MODEL_ARGS,
    when=(MODEL_TOLD | flag.attn_cp_size.more_than(1)) & DIFFUSION_GEMMA & (DCP_ON | flag.attn_cp_size.more_than(1)),
    says="Diffusion models take neither --dcp-size nor --attn-cp-size above 1; here they are {asked.dcp_size} and "
    "{asked.attn_cp_size}, and the model is {model.architecture}.",
    because="A diffusion model rewrites whole blocks of tokens, and the block must lie on one rank.",
    fixes=(_OFF, Set("attn_cp_size", 1)),
    source=read_in("dllm/algorithm/gemma4_renoise.py", "Gemma4Renoise", 94),
    signature="DiffusionGemma does not support context parallelism",
    bad=Example(argv="--tp-size 8 --dcp-size 4 --attention-backend triton", model=_GEMMA_MODEL),
    good=Example(argv="--tp-size 8", model=_GEMMA_MODEL),
)
DSV4_TRTLLM = refuses(
    "MDL826",
    "dsv4-trtllm-no-dcp",
    order.MODEL + 50,
    stage=Stage.MODEL_ARGS,
    when=DEEPSEEK_V4 & flag.dsv4_attn_backend.equals("trtllm"),
    require=~DCP_ON & flag.attn_cp_size.less_than(2) & ~flag.enable_prefill_cp.holds(),
    says="--dsv4-attn-backend trtllm goes with neither DCP nor attention CP, and --dcp-size is {asked.dcp_size}.",
    because="DeepSeek-V4's TensorRT-LLM kernels do not split a context.",
    fixes=(Unset("dsv4_attn_backend"), _OFF),
    source=read_in("arg_groups/deepseek_v4_hook.py", "apply_deepseek_v4_defaults", 116),
    signature="--dsv4-attn-backend trtllm",
    bad=Example(
        argv="--tp-size 8 --dcp-size 4 --dsv4-attn-backend trtllm",
        hardware="b200x8",
        model={"architectures": ["DeepseekV4ForCausalLM"], "model_type": "deepseek_v4"},
    ),
    good=Example(
        argv="--tp-size 8 --dsv4-attn-backend trtllm",
        hardware="b200x8",
        model={"architectures": ["DeepseekV4ForCausalLM"], "model_type": "deepseek_v4"},
    ),
)
# --- later than argument handling -----------------------------------------------------------------------------------


def _without_hook(code: str, models: Expr, note: str, line: int, release: str) -> Rule:
    return later(
        code,
        "mla-model-without-dcp-hook",
        205,
        when=MAY_BE_FLASHINFER_MLA & models & LATENT & DCP_ON & DECODE_BACKEND.equals("flashinfer"),
        says="Some MLA models are not written for DCP; --dcp-size is {asked.dcp_size}, and this model is "
        "{model.architecture}.",
        because="Its class does not prepare what prefill needs to know of the DCP group, so the first prompt that "
        f"reuses a prefix or takes the absorbed path stops the server. {note}",
        fixes=(_OFF,),
        source=read_in(
            "models/deepseek_common/attention_forward_methods/forward_mla.py", "forward_absorb_prepare", line, release
        ),
        signature="'NoneType' object has no attribute",
        bad=Example(
            argv=_FLASHINFER,
            model={
                "architectures": ["Glm4MoeLiteForCausalLM"],
                "model_type": "glm4_moe_lite",
                "hidden_size": 2048,
                "num_hidden_layers": 47,
                "num_attention_heads": 20,
                "num_key_value_heads": 20,
                "kv_lora_rank": 512,
                "q_lora_rank": 768,
                "qk_rope_head_dim": 64,
                "qk_nope_head_dim": 192,
                "v_head_dim": 256,
            },
        ),
        good=Example(argv=_FLASHINFER),
    )


WITHOUT_HOOK_15 = _without_hook(
    "MDL890",
    MLA_WITHOUT_HOOK | KIMI_K25 | KDA,
    "Kimi-K2.5 has the hook from 0.5.16, Kimi-Linear and K3 from 0.5.17.",
    600,
    "0.5.15",
)
WITHOUT_HOOK_16 = _without_hook(
    "MDL891", MLA_WITHOUT_HOOK | KDA, "Kimi-Linear and K3 have the hook from 0.5.17.", 600, "0.5.16"
)
WITHOUT_HOOK = _without_hook("MDL892", MLA_WITHOUT_HOOK, "DeepSeek, GLM-5 and Kimi have the hook.", 678, "0.5.23")

FUSED_WRITE = later(
    "MDL893",
    "fused-kv-write-cuda-dcp",
    155,
    # Nobody reported it, and nobody showed it to work: the sources were read, not run.
    effect=Effect.UNVERIFIED,
    when=MODEL_TOLD & FUSED_KV_WRITE & GQA & CUDA & DCP_ON & DECODE_BACKEND.equals("triton"),
    require=~resolved.kv_cache_dtype.is_in("auto", "bfloat16", "bf16"),
    says="Writing the KV cache inside the rotary kernel is not known to go with --dcp-size {asked.dcp_size} on triton, and "
    "the model is {model.architecture}.",
    because="As the source reads, that write on CUDA does not know which tokens a rank owns: it goes to slots of the "
    "whole group in a pool of one rank, and the masked write after it is left out. Output would be wrong. Compare it "
    "with --dcp-size 1 before you trust it.",
    fixes=(Set("kv_cache_dtype", "fp8_e4m3"), _OFF),
    source=read_in("models/utils.py", "enable_fused_set_kv_buffer", 302),
    signature=None,
    bad=Example(argv="--tp-size 16 --nnodes 2 --dcp-size 4 --attention-backend triton", model="qwen3-235b-a22b"),
    good=Example(
        argv="--tp-size 16 --nnodes 2 --dcp-size 4 --attention-backend triton --kv-cache-dtype fp8_e4m3",
        model="qwen3-235b-a22b",
    ),
)
_WINDOWS: Expr = (
    model.has_attention_sinks.equals(False) & model.is_hybrid_swa.equals(False) & model.sliding_window.is_unset()
)
_HAS_WINDOWS = Derived(
    "whether the model has them",
    lambda *known: (
        "it is not known whether this model has them"
        if not any(value not in (False, None) for value in known if not is_unknown(value))
        else "this model has them"
    ),
    (model.has_attention_sinks, model.is_hybrid_swa, model.sliding_window),
    takes_unknown=True,
)
TRITON_WINDOWS = later(
    "MDL894",
    "triton-sinks-mask-swa",
    195,
    when=MAY_BE_TRITON & GQA & DCP_ON & DECODE_BACKEND.equals("triton"),
    require=_WINDOWS,
    says="triton under --dcp-size {asked.dcp_size} has neither attention sinks nor sliding windows, and {model}.",
    values={"model": _HAS_WINDOWS},
    because="triton's DCP path has neither sinks nor windows, and raises at the first prompt.",
    fixes=(_OFF, Choose("attention_backend")),
    source=read_in("layers/attention/triton_backend.py", "forward_extend", 2010),
    signature="DCP Triton extend does not support",
    bad=Example(argv="--tp-size 8 --dcp-size 2 --attention-backend triton", model="gpt-oss-120b"),
    good=Example(argv="--tp-size 8 --dcp-size 2 --attention-backend triton", model="qwen3.5-397b-a17b"),
)
