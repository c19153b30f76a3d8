"""What DCP finds out when its groups and workspaces are built, after argument handling let a command pass."""

from __future__ import annotations

from configurator.catalog.dcp_backend import FI_A2A_FITS
from configurator.catalog.terms import (
    ATTN_TP_SIZE,
    CUDA,
    DCP_ON,
    HIP,
    MNNVL,
    MODEL_TOLD,
    NPU,
    TP_PER_NODE,
    XPU,
)
from configurator.core.expr import NEVER, flag, model, resolved
from configurator.core.rule import (
    Choose,
    Effect,
    Example,
    Rule,
    Set,
    Source,
    Stage,
    Unset,
)

TP_MOD_DCP = Rule(
    code="DCP106",
    slug="tp-mod-dcp-init",
    effect=Effect.CRASHES,
    stage=Stage.INIT,
    order=100,
    when=DCP_ON,
    require=flag.dcp_size.divides(flag.tp_size),
    says="--tp-size {asked.tp_size} is not a multiple of --dcp-size {asked.dcp_size}.",
    because=(
        "DCP groups are equal slices of the tensor-parallel group. Argument handling does not look; "
        "every rank raises when the groups are built."
    ),
    fixes=(Choose("tp_size"), Choose("dcp_size")),
    source=Source(
        path="sglang/srt/distributed/parallel_state.py", symbol="initialize_model_parallel", release="0.5.23", line=2667
    ),
    upstream_signature="must be divisible by decode_context_parallel_size",
    example=Example(argv="--tp-size 8 --dcp-size 3 --attention-backend flashinfer"),
    accept=Example(argv="--tp-size 8 --dcp-size 4 --attention-backend flashinfer"),
)

HEADS_SHARED_OUT = Rule(
    code="DCP116",
    slug="tp-divides-heads-init",
    effect=Effect.CRASHES,
    stage=Stage.INIT,
    order=200,
    when=MODEL_TOLD
    & (model.is_mla.holds() | model.architecture.is_in("LlamaForCausalLM", "Qwen3ForCausalLM", "Qwen3MoeForCausalLM")),
    require=ATTN_TP_SIZE.divides(model.num_heads),
    says="{width} ranks cannot share the model's {model.num_heads} query heads equally; --tp-size is {asked.tp_size}.",
    values={"width": ATTN_TP_SIZE},
    because=(
        "Every rank of attention takes the same number of query heads. Argument handling does not look; "
        "the layers assert it when they are built."
    ),
    fixes=(Choose("tp_size"),),
    source=Source(
        path="sglang/srt/models/deepseek_v2.py", symbol="DeepseekV2AttentionMLA", release="0.5.23", line=2057
    ),
    example=Example(argv="--tp-size 7 --attention-backend flashinfer"),
    accept=Example(argv="--tp-size 8 --attention-backend flashinfer"),
)

A2A_HEADS = Rule(
    code="DCP207",
    slug="a2a-heads-divisible",
    effect=Effect.CRASHES,
    stage=Stage.RUNTIME,
    order=100,
    when=NEVER,
    says="The heads of a DCP group are not a multiple of --dcp-size {asked.dcp_size}.",
    because=(
        "a2a and fi_a2a hand each rank an equal share of the group's heads. The group gathers dcp_size times the heads "
        "of one rank, so this shows only where a model's own code changes the gathered head count."
    ),
    source=Source(path="sglang/srt/layers/dcp/comm.py", symbol="dcp_a2a", release="0.5.23", line=497),
    upstream_signature="must be divisible by dcp_size",
)

FI_A2A_FABRIC_OLD = Rule(
    code="HWR401",
    slug="fi-a2a-fabric-init-old",
    effect=Effect.CRASHES,
    stage=Stage.INIT,
    order=110,
    when=flag.dcp_comm_backend.equals("fi_a2a") & resolved.dcp_comm_backend.equals("fi_a2a"),
    require=MNNVL,
    says="--dcp-comm-backend fi_a2a needs GPUs on a multi-node NVLink fabric, and {hardware.gpu_name} has none.",
    because=(
        "Up to 0.5.19 the kernel's workspace is allocated in fabric memory, which only GB200 and GB300 systems have. "
        "Argument handling lets it pass; the workspace allocation raises."
    ),
    fixes=(Set("dcp_comm_backend", "a2a"), Set("dcp_comm_backend", "ag_rs")),
    source=Source(path="sglang/srt/layers/dcp/comm.py", symbol="fi_a2a workspace", release="0.5.19", line=421),
    upstream_signature="--dcp-comm-backend fi_a2a requires MNNVL fabric memory",
    example=Example(argv="--tp-size 8 --dcp-size 4 --dcp-comm-backend fi_a2a", hardware="b200x8"),
    accept=Example(argv="--tp-size 8 --dcp-size 4 --dcp-comm-backend fi_a2a", hardware="gb200-nvl72"),
)

FI_A2A_FABRIC = Rule(
    code="HWR402",
    slug="fi-a2a-fabric-init",
    effect=Effect.CRASHES,
    stage=Stage.INIT,
    order=110,
    when=flag.dcp_comm_backend.equals("fi_a2a") & resolved.dcp_comm_backend.equals("fi_a2a"),
    require=FI_A2A_FITS,
    says=(
        "--dcp-comm-backend fi_a2a needs data-centre Blackwell (SM100) with each DCP group on one NVLink domain; "
        "{hardware.gpu_name} is SM{hardware.sm}, with {ranks} tensor-parallel ranks in a node "
        "and --dcp-size {asked.dcp_size}."
    ),
    values={"ranks": TP_PER_NODE},
    because="Argument handling tests only for CUDA; the test for the fabric comes when the workspace is allocated.",
    fixes=(Set("dcp_comm_backend", "a2a"), Unset("dcp_comm_backend"), Set("dcp_comm_backend", "ag_rs")),
    source=Source(path="sglang/srt/layers/dcp/comm.py", symbol="is_fi_a2a_supported", release="0.5.23", line=442),
    upstream_signature="--dcp-comm-backend fi_a2a needs a Blackwell system whose DCP ",
    example=Example(argv="--tp-size 8 --dcp-size 4 --dcp-comm-backend fi_a2a", hardware="h100x8"),
    accept=Example(argv="--tp-size 8 --dcp-size 4 --dcp-comm-backend fi_a2a", hardware="b200x8"),
)

_PLATFORM_INIT_WHY = "Argument handling lets it pass; every rank raises when the parallel groups are built."

PLATFORM_INIT = Rule(
    code="HWR403",
    slug="dcp-platform-init",
    effect=Effect.CRASHES,
    stage=Stage.INIT,
    order=90,
    when=DCP_ON,
    require=CUDA | HIP,
    says="--dcp-size {asked.dcp_size} needs CUDA or ROCm, and this platform is {hardware.platform}.",
    because="Up to 0.5.21 it exists on CUDA and ROCm only. " + _PLATFORM_INIT_WHY,
    fixes=(Set("dcp_size", 1),),
    source=Source(
        path="sglang/srt/distributed/parallel_state.py", symbol="initialize_model_parallel", release="0.5.21", line=2644
    ),
    upstream_signature="Decode context parallel (decode_context_parallel_size > 1) is",
    example=Example(argv="--tp-size 8 --dcp-size 4", hardware="cpu", model="llama-3.1-70b"),
    accept=Example(argv="--tp-size 8 --dcp-size 4 --attention-backend flashinfer", hardware="h100x8"),
)

PLATFORM_INIT_NPU_XPU = Rule(
    code="HWR404",
    slug="dcp-platform-init-npu-xpu",
    effect=Effect.CRASHES,
    stage=Stage.INIT,
    order=90,
    when=DCP_ON,
    require=CUDA | HIP | NPU | XPU,
    says="--dcp-size {asked.dcp_size} needs CUDA, ROCm, Ascend or Intel XPU, and this platform is {hardware.platform}.",
    because="From 0.5.22 it exists on CUDA, ROCm, Ascend and Intel XPU. " + _PLATFORM_INIT_WHY,
    fixes=(Set("dcp_size", 1),),
    source=Source(
        path="sglang/srt/distributed/parallel_state.py", symbol="initialize_model_parallel", release="0.5.23", line=2660
    ),
    upstream_signature="Decode context parallel (decode_context_parallel_size > 1) is",
    example=Example(argv="--tp-size 8 --dcp-size 4", hardware="cpu", model="llama-3.1-70b"),
    accept=Example(argv="--tp-size 8 --dcp-size 4 --attention-backend flashinfer", hardware="h100x8"),
)
