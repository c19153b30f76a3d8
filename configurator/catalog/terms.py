"""Conditions that many rules share, named once."""

from __future__ import annotations

from configurator.core.derived import attn_tp_size, gpus_needed, tp_size_per_node
from configurator.core.expr import Derived, Expr, flag, hardware, model, resolved, step
from configurator.core.unknown import is_unknown

DCP_ON: Expr = flag.dcp_size.more_than(1)
DCP_OFF: Expr = flag.dcp_size.less_than(2)

MLA: Expr = model.attention_kind.equals("mla")
DSA: Expr = model.attention_kind.equals("dsa")
GQA: Expr = model.attention_kind.equals("gqa")
LATENT: Expr = model.is_mla.holds()
"""MLA or DSA: one latent KV head that every tensor-parallel rank copies."""

CUDA: Expr = hardware.platform.equals("cuda")
HIP: Expr = hardware.platform.equals("hip")
XPU: Expr = hardware.platform.equals("xpu")
NPU: Expr = hardware.platform.equals("npu")
CPU: Expr = hardware.platform.equals("cpu")

SM80: Expr = CUDA & hardware.sm.is_in(80, 86, 89)
SM90: Expr = CUDA & hardware.sm.equals(90)
SM100: Expr = CUDA & hardware.sm.is_in(100, 103)
"""Data-centre Blackwell: compute capability 10.x with CUDA 12.8 or newer, which every release here ships with."""
SM120: Expr = CUDA & hardware.sm.is_in(120, 121)
BLACKWELL: Expr = SM100 | SM120
MNNVL: Expr = hardware.mnnvl.holds()

TP_PER_NODE = Derived("tensor-parallel ranks of one node", tp_size_per_node, (flag.tp_size, flag.nnodes, flag.pp_size))
GPUS_NEEDED = Derived("GPUs needed in each node", gpus_needed, (flag.tp_size, flag.pp_size, flag.nnodes))
WORLD_SIZE = Derived("ranks of one replica", lambda tp_size, pp_size: tp_size * pp_size, (flag.tp_size, flag.pp_size))
GROUP_IN_ONE_NODE: Expr = flag.dcp_size.divides(TP_PER_NODE)


ATTN_TP_SIZE = Derived(
    "tensor-parallel width of attention",
    lambda tp_size, dp_size, cp_size: attn_tp_size(tp_size, dp_size or 1, cp_size, dp_attention=True),
    (flag.tp_size, step.attn_dp_size, resolved.attn_cp_size),
)
"""Ranks that share the heads of one request: the group shared out over attention DP and CP."""


def _first(decode: object, base: object) -> object:
    return base if decode is None else decode


DECODE_BACKEND = Derived(
    "decode attention backend",
    _first,
    (resolved.decode_attention_backend, resolved.attention_backend),
    takes_unknown=True,
)
"""The backend that serves decode: its own flag where given, else the common one."""

PREFILL_BACKEND = Derived(
    "prefill attention backend",
    _first,
    (resolved.prefill_attention_backend, resolved.attention_backend),
    takes_unknown=True,
)
"""The backend that serves prefill: its own flag where given, else the common one."""

SPECULATION: Expr = flag.speculative_algorithm.is_set()
PD_PREFILL: Expr = flag.disaggregation_mode.equals("prefill")
PD_DECODE: Expr = flag.disaggregation_mode.equals("decode")
PD_ANY: Expr = flag.disaggregation_mode.is_in("prefill", "decode")
HICACHE: Expr = flag.enable_hierarchical_cache.holds()


def uses(*backends: str) -> Expr:
    """Return that one of *backends* serves the common, the decode or the prefill role."""
    return (
        resolved.attention_backend.is_in(*backends)
        | resolved.decode_attention_backend.is_in(*backends)
        | resolved.prefill_attention_backend.is_in(*backends)
    )


def uses_for_decode(*backends: str) -> Expr:
    """Return that one of *backends* serves the common or the decode role."""
    return resolved.attention_backend.is_in(*backends) | resolved.decode_attention_backend.is_in(*backends)


def asked_for(*backends: str) -> Expr:
    """Return that the user gave one of *backends* for some role: what is known of a command before any fact is."""
    return (
        flag.attention_backend.is_in(*backends)
        | flag.decode_attention_backend.is_in(*backends)
        | flag.prefill_attention_backend.is_in(*backends)
    )


MAY_BE_TRITON: Expr = (
    asked_for("triton")
    | ~SM90
    | flag.speculative_eagle_topk.is_set()
    | flag.kv_cache_dtype.equals("fp8_e5m2")
    | flag.enable_deterministic_inference.holds()
)
"""Hopper takes triton for no model unless one of these flags is given."""
MAY_BE_FLASHINFER_MLA: Expr = asked_for("flashinfer") | SM100 | flag.enable_deterministic_inference.holds()
"""FlashInfer serves MLA models where it is asked for, and of itself on data-centre Blackwell alone."""
MAY_BE_TRTLLM_MLA: Expr = asked_for("trtllm_mla") | SM100
"""TensorRT-LLM's MLA kernels decode where they are asked for, and of themselves on data-centre Blackwell alone."""

MODEL_TOLD: Expr = Derived(
    "whether anything is known of the model",
    lambda architecture, kind: not (is_unknown(architecture) and is_unknown(kind)),
    (model.architecture, model.attention_kind),
    takes_unknown=True,
).holds()
"""False for a model of which nothing is known.

Rules that single models bring on under DCP leave such a model out: that it may be any of them is said once, by the rules
about backends and heads, which stay undecided for it under DCP.
"""
PLATFORM_TOLD: Expr = Derived(
    "whether the platform is known",
    lambda platform: not is_unknown(platform),
    (hardware.platform,),
    takes_unknown=True,
).holds()
"""False where it is not known what kind of device the machine has; that DCP needs one is then undecided once."""
