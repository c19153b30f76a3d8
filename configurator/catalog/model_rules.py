"""Models that refuse DCP, or whose own code does not go with it."""

from __future__ import annotations

from configurator.catalog import order
from configurator.catalog.declare import later, read_in, refuses, wheel
from configurator.catalog.families import (
    ARCHITECTURE,
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
    HIP,
    LATENT,
    MAY_BE_FLASHINFER_MLA,
    MAY_BE_TRITON,
    MODEL_TOLD,
    NPU,
    PLATFORM_TOLD,
    XPU,
)
from configurator.core.expr import Derived, Expr, flag, model, resolved
from configurator.core.rule import Basis, Choose, Effect, Example, Fix, Rule, Set, Source, Stage, Unset
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
_REUSES: Expr = model.has_linear_attention.holds() & ~resolved.disable_radix_cache.holds()
_SNAPSHOTS: Expr = ~flag.disable_overlap_schedule.holds() | flag.page_size.more_than(1)


def _snapshots(code: str, platforms: Expr, line: int, release: str, signature: str) -> Rule:
    return refuses(
        code,
        "hybrid-cache-needs-gpu",
        order.MODEL + 17,
        stage=Stage.MODEL_ARGS,
        when=_REUSES & _SNAPSHOTS & ~platforms,
        says="Models that reuse prefixes through snapshots of a recurrent state do not run on this platform "
        "({hardware.platform}); this one is {model.architecture}.",
        because="In this release the snapshots are not written for that platform.",
        fixes=(Set("disable_radix_cache", value=True),),
        source=wheel("arg_groups/mamba_hook.py", "validate_mamba_extra_buffer", line, release)
        if release >= "0.5.19"
        else wheel("server_args.py", "_handle_mamba_radix_cache", line, release),
        signature=signature,
        bad=Example(argv="--tp-size 1", hardware="cpu", model="qwen3.5-397b-a17b"),
        good=Example(argv="--tp-size 1 --disable-radix-cache", hardware="cpu", model="qwen3.5-397b-a17b"),
    )


_NO_SNAPSHOTS_15: Expr = ARCHITECTURE.equals("KimiLinearForCausalLM")
HYBRID_15 = _snapshots("MDL813", CUDA | NPU | _NO_SNAPSHOTS_15, 4266, "0.5.15", "extra_buffer needs CUDA/MUSA/NPU")
HYBRID_16 = _snapshots("MDL814", CUDA | NPU | HIP, 5590, "0.5.17", "extra_buffer needs CUDA/MUSA/NPU/ROCm")
HYBRID_18 = _snapshots("MDL815", CUDA | NPU | HIP | XPU, 107, "0.5.20", "extra_buffer needs CUDA/MUSA/NPU/ROCm/XPU")
HYBRID = _snapshots("MDL827", CUDA | NPU | HIP | XPU, 120, "0.5.23", "extra_buffer requires platform support")
HYBRID_XPU_PAGES = refuses(
    "MDL816",
    "hybrid-pages-on-xpu",
    order.MODEL + 17,
    stage=Stage.MODEL_ARGS,
    when=_REUSES & XPU,
    require=flag.page_size.is_in(None, 1),
    says="--page-size {asked.page_size} does not fit {model.architecture} on Intel XPU.",
    because="From 0.5.20 models with a recurrent state keep no snapshots there, and reuse prefixes token by token.",
    fixes=(Unset("page_size"), Set("disable_radix_cache", value=True)),
    source=wheel("arg_groups/mamba_hook.py", "validate_mamba_no_buffer", 153),
    signature="no_buffer only supports page_size=1.",
    bad=Example(argv="--tp-size 8 --page-size 64", hardware="max1550x8", model="qwen3.5-397b-a17b"),
    good=Example(argv="--tp-size 8", hardware="max1550x8", model="qwen3.5-397b-a17b"),
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
_GROUP_PAGE = Derived(
    "tokens of a group's page",
    lambda size, ranks: max(size or 1, 1) * max(ranks, 1),
    (resolved.page_size, flag.dcp_size),
)


def _hybrid_state(code: str, grid: int, release: str, because: str) -> Rule:
    def fits(page: int) -> bool:
        return grid % page == 0

    return later(
        code,
        "hybrid-prefix-state-dcp",
        156,
        effect=Effect.CORRUPTS,
        when=MODEL_TOLD & model.has_linear_attention.holds() & LATENT & DCP_ON & ~resolved.disable_radix_cache.holds(),
        require=Derived(f"page of the group on a grid of {grid} tokens", fits, (_GROUP_PAGE,)).holds(),
        says="A page of the DCP group holds {page} tokens, which does not fit the model's recurrent state, kept every "
        "{grid} tokens.",
        values={"page": _GROUP_PAGE, "grid": Derived("grid", lambda _page: grid, (_GROUP_PAGE,))},
        because=f"{because} A request that reuses a prefix then counts some tokens twice, without a word.",
        fixes=(Set("page_size", 1), Set("disable_radix_cache", value=True), Choose("dcp_size")),
        source=Source(
            path="sglang/srt/mem_cache/mamba_radix_cache.py",
            symbol="match_prefix",
            release=release,
            url="https://github.com/sgl-project/sglang/pull/34808",
            basis=Basis.REPORTED,
        ),
        signature=None,
        bad=Example(
            argv="--tp-size 8 --dcp-size 8 --page-size 64 --attention-backend flashinfer", model="kimi-linear-48b"
        ),
        good=Example(argv="--tp-size 8 --dcp-size 8 --attention-backend flashinfer", model="kimi-linear-48b"),
    )


HYBRID_STATE_17 = _hybrid_state(
    "MDL895", 64, "0.5.17", "In 0.5.17 prefixes end at pages of the group, states at a grid of 64 tokens."
)
HYBRID_STATE_18 = _hybrid_state(
    "MDL896",
    256,
    "0.5.18",
    "In 0.5.18 states of prefill are aligned with the group's pages, those of decode are kept every 256 tokens.",
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
