"""What a server does about DCP without stopping: flags without effect, features it leaves out, settings it changes."""

from __future__ import annotations

from configurator.catalog import order
from configurator.catalog.declare import fills, later, read_in
from configurator.catalog.terms import CUDA, DCP_ON, DECODE_BACKEND, HIP, LATENT
from configurator.core.expr import NEVER, Derived, Expr, environment, flag, model, resolved, software
from configurator.core.rule import Effect, Example, Fix, Rule, Set, SetEnv, Stage, Unset

_DCP = "--tp-size 8 --dcp-size 4 --attention-backend flashinfer --dcp-comm-backend a2a"
_REPLICATED = f"{_DCP} --dcp-replicate-q-proj"
_PLAIN = Example(argv=_DCP)
_OFF: Fix = Set("dcp_size", 1)
_ASKED: Expr = flag.dcp_replicate_q_proj.holds() & DCP_ON
_BLOCK_FP8: Expr = model.quantization.equals("fp8") & model.weight_block_size.is_set()
_Q_QUANTISED: Expr = model.quantization.is_in("fp8", "awq", "gptq", "gptq_marlin", "awq_marlin", "gguf", "w8a8_int8")


def _skips(code: str, when: Expr, release: str, signature: str, because: str) -> Rule:
    return later(
        code,
        "replicate-q-skip-quant",
        310,
        effect=Effect.IGNORES,
        stage=Stage.INIT,
        when=_ASKED & LATENT & when,
        says="--dcp-replicate-q-proj has no effect on such a quantised Q projection; the model's quantization is "
        "{model.quantization}.",
        because=because,
        fixes=(Unset("dcp_replicate_q_proj"),),
        source=read_in("model_executor/model_runner.py", "prepare_dcp_replicated_q", 1149, release),
        signature=signature,
        bad=Example(
            argv=_REPLICATED,
            model={
                "architectures": ["DeepseekV3ForCausalLM"],
                "model_type": "deepseek_v3",
                "hidden_size": 7168,
                "num_hidden_layers": 61,
                "num_attention_heads": 128,
                "num_key_value_heads": 128,
                "kv_lora_rank": 512,
                "q_lora_rank": 1536,
                "qk_rope_head_dim": 64,
                "qk_nope_head_dim": 128,
                "v_head_dim": 128,
                "quantization_config": {"quant_method": "awq", "bits": 4},
            },
        ),
        good=_PLAIN,
    )


SKIP_QUANT_17 = _skips(
    "DCP220",
    _Q_QUANTISED,
    "0.5.22",
    "dcp_replicate_q_proj: skipping quantized q-proj",
    "Up to 0.5.22 only 16-bit projections are copied; the rest keep gathering Q in every layer, so the official fp8 "
    "DeepSeek checkpoints gain nothing.",
)
SKIP_QUANT = _skips(
    "DCP221",
    _Q_QUANTISED & ~_BLOCK_FP8,
    "0.5.23",
    "dcp_replicate_q_proj: skipping unsupported q-proj",
    "16-bit and block-fp8 projections are copied; the rest keep gathering Q in every layer.",
)
REPLICATE_NOT_MLA = later(
    "DCP222",
    "replicate-q-mla-only",
    311,
    effect=Effect.IGNORES,
    stage=Stage.INIT,
    when=_ASKED,
    require=LATENT,
    says="--dcp-replicate-q-proj has no effect without a latent cache, and this model is {model.architecture}.",
    because="Only DeepSeek's MLA layers look at it.",
    fixes=(Unset("dcp_replicate_q_proj"),),
    source=read_in("model_executor/model_runner.py", "prepare_dcp_replicated_q", 1145),
    signature=None,
    bad=Example(
        argv="--tp-size 8 --dcp-size 2 --attention-backend triton --dcp-comm-backend a2a --dcp-replicate-q-proj",
        model="qwen3.5-397b-a17b",
    ),
    good=Example(
        argv="--tp-size 8 --dcp-size 2 --attention-backend triton --dcp-comm-backend a2a", model="qwen3.5-397b-a17b"
    ),
)


def _targets(chosen: object) -> bool:
    """Tell whether adapters may change what replicated Q copies."""
    names = chosen if isinstance(chosen, tuple) else (chosen,)
    return bool({"q_proj", "qkv_proj", "q_b_proj", "kv_b_proj", "all"} & set(names))


def _lora(code: str, effect: Effect, release: str, signature: str | None, because: str) -> Rule:

    targets = Derived("LoRA targets", _targets, (flag.lora_target_modules,))
    return later(
        code,
        "lora-replicate-q",
        135,
        effect=effect,
        stage=Stage.INIT,
        when=resolved.dcp_replicate_q_proj.holds() & DCP_ON & LATENT & targets.holds(),
        says="Adapters may change the Q or KV projection, and the group's Q projection is copied to every rank.",
        because=because,
        fixes=(Set("dcp_replicate_q_proj", value=False), Unset("lora_target_modules")),
        source=read_in("lora/lora_manager.py", "_validate_replicated_q_targets", 328, release),
        signature=signature,
        bad=Example(argv=f"{_REPLICATED} --enable-lora --lora-target-modules q_b_proj --max-lora-rank 16"),
        good=Example(argv=f"{_DCP} --enable-lora --lora-target-modules q_b_proj --max-lora-rank 16"),
    )


LORA_17 = _lora(
    "DCP223",
    Effect.CORRUPTS,
    "0.5.22",
    None,
    "Up to 0.5.22 nothing checks it: decode uses the copies, which the adapter never touches, so Q is the base model's.",
)
LORA = _lora(
    "DCP224",
    Effect.CRASHES,
    "0.5.23",
    "Replicated-Q decode is incompatible with LoRA targets",
    "The copies are made when the model loads and would not follow an adapter, so loading one raises.",
)
FAST_LOAD = later(
    "DCP225",
    "startup-fast-load-dcp",
    312,
    effect=Effect.IGNORES,
    stage=Stage.INIT,
    when=DCP_ON & flag.startup_weight_load_mode.equals("overlap"),
    says="--startup-weight-load-mode overlap has no effect with --dcp-size {asked.dcp_size}.",
    because="Loading weights while the server starts is written for one or two ranks without DCP; it loads them after "
    "each other.",
    fixes=(Unset("startup_weight_load_mode"),),
    source=read_in("model_executor/model_runner_components/startup_weight_load.py", "unsupported reasons", 369),
    signature="decode context parallelism is not supported",
    bad=Example(argv=f"{_DCP} --startup-weight-load-mode overlap"),
    good=_PLAIN,
)
AITER_MODE = later(
    "HWR433",
    "env-aiter-mla-dcp",
    128,
    stage=Stage.INIT,
    when=HIP & DECODE_BACKEND.equals("aiter"),
    require=environment.SGLANG_AITER_MLA_DECODE_BACKEND.is_in(None, "gluon", "asm", "GLUON", "ASM"),
    says="SGLANG_AITER_MLA_DECODE_BACKEND={mode} does not go with --dcp-size {asked.dcp_size}.",
    values={"mode": environment.SGLANG_AITER_MLA_DECODE_BACKEND},
    because="aiter's MLA decode has a gluon and an asm kernel.",
    fixes=(SetEnv("SGLANG_AITER_MLA_DECODE_BACKEND", "gluon"),),
    source=read_in("layers/attention/aiter_backend.py", "AiterAttnBackend", 391),
    signature="SGLANG_AITER_MLA_DECODE_BACKEND must be 'gluon' or 'asm'",
    bad=Example(argv="--tp-size 8 --dcp-size 4", hardware="mi300x8", env={"SGLANG_AITER_MLA_DECODE_BACKEND": "triton"}),
    good=Example(argv="--tp-size 8 --dcp-size 4", hardware="mi300x8"),
)
LINKER = later(
    "KVC593",
    "external-linker-no-dcp",
    136,
    stage=Stage.INIT,
    when=DCP_ON & flag.enable_unified_cache_external_linker.holds(),
    says="--enable-unified-cache-external-linker cannot be combined with --dcp-size {asked.dcp_size}.",
    because="The linker moves whole pages of one rank and cannot deal them out over a DCP group.",
    fixes=(Unset("enable_unified_cache_external_linker"), _OFF),
    source=read_in("mem_cache/hybrid_cache/linker_pool_assembler.py", "assemble", 575),
    signature="plain MLA pool, without DCP or packed draft KV",
    bad=Example(argv=f"{_DCP} --enable-unified-cache-external-linker"),
    good=_PLAIN,
)
MEGAKERNEL = later(
    "DCP226",
    "megakernel-context-parallel",
    313,
    effect=Effect.UNVERIFIED,
    stage=Stage.INIT,
    when=DCP_ON & (flag.enable_nvidia_megakernel.holds() | flag.enable_amd_monokernel.holds()),
    says="--enable-nvidia-megakernel or --enable-amd-monokernel is not known to work with --dcp-size {asked.dcp_size}.",
    because="A plugin that does not list context parallelism among its features is left out or refused; none is known "
    "to list it.",
    fixes=(Unset("enable_nvidia_megakernel"), Unset("enable_amd_monokernel")),
    source=read_in("kernel_plugins/nvidia/binding.py", "Feature.CONTEXT_PARALLEL", 253),
    signature=None,
    bad=Example(argv=f"{_DCP} --enable-nvidia-megakernel"),
    good=_PLAIN,
)
FI_A2A_FLASHINFER = Rule(
    code="HWR405",
    slug="fi-a2a-flashinfer-init",
    effect=Effect.CRASHES,
    stage=Stage.INIT,
    order=109,
    when=resolved.dcp_comm_backend.equals("fi_a2a") & software.flashinfer_dcp_alltoall.equals(False),
    says="fi_a2a is in use, and this FlashInfer has no DCP all-to-all.",
    because="The exchange is a FlashInfer kernel; the builds that the releases pin have it.",
    fixes=(Set("dcp_comm_backend", "a2a"),),
    source=read_in("layers/dcp/comm.py", "init_fi_a2a_workspace", 419),
    upstream_signature="--dcp-comm-backend fi_a2a requires FlashInfer with the DCP",
)

# --- settings -------------------------------------------------------------------------------------------------------

SIZING = fills(
    "KVC557",
    "post-capture-kv-sizing-off",
    order.GRAPHS + 60,
    when=flag.dcp_size.differs(1) & CUDA,
    sets={"step.kv_sized_after_capture": False},
    because="Under DCP the cache is sized before graphs are captured, so the default --mem-fraction-static leaves room "
    "for them.",
    source=read_in("arg_groups/overrides.py", "post_capture_kv_sizing_planned", 1807),
)
GRAPH_MIXING = fills(
    "DCP250",
    "nccl-graph-mixing-off",
    order.FINAL + 90,
    when=DCP_ON & (environment.NCCL_GRAPH_MIXING_SUPPORT.is_unset() | flag.enable_symm_mem.holds()),
    sets={"step.nccl_graph_mixing_support": "0"},
    because="Under DCP the server sets NCCL_GRAPH_MIXING_SUPPORT=0 unless it is set already.",
    source=read_in("entrypoints/engine.py", "set environment", 1920),
)
FUSED_DRAFT = fills(
    "SPC753",
    "fused-draft-kv-declined",
    order.UNIFIED + 31,
    when=DCP_ON & flag.speculative_algorithm.is_set() & flag.enable_unified_memory.holds(),
    sets={"step.fused_draft_kv": False},
    because="A draft keeps all tokens on every rank, so its cache is not fused into the striped one.",
    source=read_in("mem_cache/kv_cache_configurator.py", "decide_fused_draft", 1149),
)
SHARED_GROUPS = Rule(
    code="DCP115",
    slug="cp-tp-sharing-no-dcp",
    effect=Effect.REFUSES,
    stage=Stage.SERVER_ARGS,
    order=order.PREFILL_CP + 8,
    # Sharing comes with prefill CP only, which is refused with DCP before; no command gets here.
    when=NEVER,
    says="--dcp-size {asked.dcp_size} does not go with shared context-parallel and tensor-parallel groups.",
    because="Sharing those groups comes with prefill CP of hybrid models, which DCP does not go with.",
    fixes=(Unset("enable_prefill_cp"), _OFF),
    source=read_in("arg_groups/cp_tp_group_sharing_hook.py", "resolve_cp_tp_group_sharing", 88),
    upstream_signature="enable_cp_tp_group_sharing",
)
