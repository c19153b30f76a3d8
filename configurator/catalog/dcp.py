"""Decode context parallelism itself: its size, the backend of its exchange, the replicated Q projection."""

from __future__ import annotations

from configurator.catalog.terms import (
    CUDA,
    DCP_ON,
    HIP,
)
from configurator.core.expr import NEVER, flag, resolved
from configurator.core.rule import (
    Basis,
    Choose,
    Effect,
    Example,
    Rule,
    Set,
    Source,
    Stage,
    Unset,
)

_HOOK = "sglang/srt/arg_groups/parallel_hook.py"
_CLI = "sglang/srt/server_args.py"


def _handled(line: int) -> Source:
    return Source(
        path=_HOOK, symbol="handle_decode_context_parallelism", release="0.5.23", line=line, basis=Basis.RECORDED
    )


# Found by the command-line parser, not by a condition on values: the value that would be tested is not there.
CLI_DCP_SIZE = Rule(
    code="DCP101",
    slug="cli-dcp-size-int",
    effect=Effect.REFUSES,
    stage=Stage.CLI,
    order=10,
    when=NEVER,
    says="--dcp-size needs a whole number.",
    because="The argument parser converts it with int() and stops at anything else.",
    fixes=(Choose("dcp_size"), Unset("dcp_size")),
    source=Source(path=_CLI, symbol="ServerArgs.add_cli_args", release="0.5.23", basis=Basis.RECORDED),
    upstream_signature="argument --dcp-size/--decode-context-parallel-size: invalid int",
    example=Example(argv="--tp-size 8 --dcp-size four"),
    accept=Example(argv="--tp-size 8 --dcp-size 4 --attention-backend flashinfer"),
)

CLI_COMM_BACKEND = Rule(
    code="DCP201",
    slug="cli-comm-backend-choice",
    effect=Effect.REFUSES,
    stage=Stage.CLI,
    order=11,
    when=NEVER,
    says="--dcp-comm-backend takes ag_rs, a2a or fi_a2a, in lower case.",
    because="The argument parser accepts these spellings and no other.",
    fixes=(Choose("dcp_comm_backend"), Unset("dcp_comm_backend")),
    source=Source(path=_CLI, symbol="ServerArgs.add_cli_args", release="0.5.23", basis=Basis.RECORDED),
    upstream_signature="argument --dcp-comm-backend: invalid choice",
    example=Example(argv="--tp-size 8 --dcp-size 4 --dcp-comm-backend A2A"),
    accept=Example(argv="--tp-size 8 --dcp-size 4 --dcp-comm-backend a2a --attention-backend flashinfer"),
)

DCP_SIZE_MIN = Rule(
    code="DCP102",
    slug="dcp-size-min",
    effect=Effect.REFUSES,
    stage=Stage.SERVER_ARGS,
    order=200,
    when=flag.dcp_size.less_than(1),
    says="--dcp-size {asked.dcp_size} is below 1.",
    because="1 means that the KV cache is not striped; there is no smaller group of ranks.",
    fixes=(Set("dcp_size", 1), Choose("dcp_size"), Unset("dcp_size")),
    source=_handled(245),
    upstream_signature="Decode context parallel size (--dcp-size / ",
    example=Example(argv="--tp-size 8 --dcp-size 0"),
    accept=Example(argv="--tp-size 8 --dcp-size 1"),
)

PLATFORM_HIP_OR_CUDA = Rule(
    code="DCP103",
    slug="dcp-platform-hip-or-cuda",
    effect=Effect.REFUSES,
    stage=Stage.SERVER_ARGS,
    order=201,
    when=DCP_ON & ~(HIP | CUDA),
    says="--dcp-size {asked.dcp_size} needs CUDA or ROCm, and this platform is {hardware.platform}.",
    because="0.5.15 and 0.5.16 have it for CUDA and ROCm only.",
    fixes=(Set("dcp_size", 1),),
    source=Source(path=_CLI, symbol="_handle_dcp_validation", release="0.5.16", line=3176, basis=Basis.RECORDED),
    upstream_signature="supported on the AMD HIP platform, but got dcp_size=",
    example=Example(argv="--tp-size 8 --dcp-size 4", hardware="max1550x8", model="llama-3.1-70b"),
    accept=Example(argv="--tp-size 8 --dcp-size 4 --attention-backend flashinfer", hardware="h100x8"),
)

CUDA_NO_SPEC = Rule(
    code="DCP104",
    slug="dcp-cuda-no-spec",
    effect=Effect.REFUSES,
    stage=Stage.SERVER_ARGS,
    order=202,
    when=DCP_ON & CUDA & flag.speculative_algorithm.is_set(),
    says="--dcp-size {asked.dcp_size} cannot be combined with --speculative-algorithm {asked.speculative_algorithm} on CUDA.",
    because="0.5.15 and 0.5.16 refuse every speculative algorithm under DCP on CUDA; 0.5.17 dropped the check.",
    fixes=(Unset("speculative_algorithm"), Set("dcp_size", 1)),
    source=Source(path=_CLI, symbol="_handle_dcp_validation", release="0.5.16", line=3168, basis=Basis.RECORDED),
    upstream_signature="does not support any speculative algorithm, but got ",
    example=Example(argv="--tp-size 8 --dcp-size 4 --attention-backend flashinfer --speculative-algorithm NEXTN"),
    accept=Example(argv="--tp-size 8 --dcp-size 4 --attention-backend flashinfer"),
)

NO_PREFILL_CP = Rule(
    code="DCP105",
    slug="dcp-no-prefill-cp",
    effect=Effect.REFUSES,
    stage=Stage.SERVER_ARGS,
    order=210,
    when=DCP_ON & flag.enable_prefill_cp.holds(),
    says="--dcp-size {asked.dcp_size} cannot be combined with --enable-prefill-cp.",
    because="Both would split the context over the same ranks; from 0.5.22 the server takes only one of them.",
    fixes=(Unset("enable_prefill_cp"), Set("dcp_size", 1)),
    source=_handled(250),
    upstream_signature="--dcp-size > 1 does not support --enable-prefill-cp.",
    example=Example(argv="--tp-size 8 --dcp-size 4 --attention-backend flashinfer --enable-prefill-cp"),
    accept=Example(argv="--tp-size 8 --dcp-size 4 --attention-backend flashinfer"),
)

COMM_BACKEND_NEEDS_DCP = Rule(
    code="DCP202",
    slug="comm-backend-needs-dcp",
    effect=Effect.REFUSES,
    stage=Stage.SERVER_ARGS,
    order=220,
    when=resolved.dcp_comm_backend.is_in("a2a", "fi_a2a"),
    require=DCP_ON,
    says="--dcp-comm-backend {resolved.dcp_comm_backend} needs --dcp-size above 1, and it is {asked.dcp_size}.",
    because="The backend only carries the exchange between the ranks of a DCP group; without a group there is none.",
    fixes=(Choose("dcp_size"), Unset("dcp_comm_backend"), Set("dcp_comm_backend", "ag_rs")),
    source=_handled(253),
    upstream_signature="only affects the decode context-parallel attention",
    example=Example(argv="--tp-size 8 --dcp-comm-backend a2a"),
    accept=Example(argv="--tp-size 8 --dcp-comm-backend ag_rs"),
)

FI_A2A_NEEDS_CUDA = Rule(
    code="DCP203",
    slug="fi-a2a-needs-cuda",
    effect=Effect.REFUSES,
    stage=Stage.SERVER_ARGS,
    order=230,
    # As it was asked for: Kimi-K3 changes it only after this check.
    when=flag.dcp_comm_backend.equals("fi_a2a"),
    require=CUDA,
    says="--dcp-comm-backend fi_a2a does not run on this platform ({hardware.platform}).",
    because="fi_a2a hands the exchange to a FlashInfer kernel, which exists for NVIDIA GPUs only.",
    fixes=(Set("dcp_comm_backend", "a2a"), Set("dcp_comm_backend", "ag_rs"), Unset("dcp_comm_backend")),
    source=_handled(260),
    upstream_signature="--dcp-comm-backend fi_a2a delegates the exchange to FlashInfe",
    example=Example(argv="--tp-size 8 --dcp-size 4 --dcp-comm-backend fi_a2a", hardware="mi300x8"),
    accept=Example(argv="--tp-size 8 --dcp-size 4 --dcp-comm-backend fi_a2a", hardware="b200x8"),
)

REPLICATE_Q_NEEDS_DCP = Rule(
    code="DCP205",
    slug="replicate-q-needs-dcp",
    effect=Effect.REFUSES,
    stage=Stage.SERVER_ARGS,
    order=240,
    when=flag.dcp_replicate_q_proj.holds(),
    require=DCP_ON,
    says="--dcp-replicate-q-proj needs --dcp-size above 1, and it is {asked.dcp_size}.",
    because="It copies the Q projection to every rank of a DCP group; without a group there is nothing to copy to.",
    fixes=(Choose("dcp_size"), Unset("dcp_replicate_q_proj")),
    source=_handled(267),
    upstream_signature="--dcp-replicate-q-proj requires --dcp-size > 1.",
    example=Example(argv="--tp-size 8 --dcp-replicate-q-proj"),
    accept=Example(argv="--tp-size 8 --no-dcp-replicate-q-proj"),
)

_NEEDS_A2A_WHY = (
    "Replicating the Q projection removes the all-gather of Q before attention, "
    "and SGLang does that only on the a2a and fi_a2a paths."
)

REPLICATE_Q_NEEDS_A2A_STATIC = Rule(
    code="DCP204",
    slug="replicate-q-needs-a2a",
    effect=Effect.REFUSES,
    stage=Stage.SERVER_ARGS,
    order=250,
    # Up to 0.5.19 the flag's value is tested as written: unset is ag_rs, and no model has changed it yet.
    when=flag.dcp_replicate_q_proj.holds() & DCP_ON,
    require=flag.dcp_comm_backend.is_in("a2a", "fi_a2a"),
    says="--dcp-replicate-q-proj needs a2a or fi_a2a, and --dcp-comm-backend is {asked.dcp_comm_backend}.",
    because=_NEEDS_A2A_WHY + " Up to 0.5.19 an unset backend is ag_rs.",
    fixes=(Set("dcp_comm_backend", "a2a"), Set("dcp_comm_backend", "fi_a2a"), Unset("dcp_replicate_q_proj")),
    source=Source(path=_HOOK, symbol="handle_dcp_validation", release="0.5.19", basis=Basis.RECORDED),
    upstream_signature="--dcp-replicate-q-proj only applies to the a2a/fi_a2a DCP",
    example=Example(argv="--tp-size 8 --dcp-size 4 --dcp-replicate-q-proj"),
    accept=Example(
        argv="--tp-size 8 --dcp-size 4 --dcp-replicate-q-proj --dcp-comm-backend a2a --attention-backend flashinfer"
    ),
)

REPLICATE_Q_NEEDS_A2A = Rule(
    code="DCP206",
    slug="replicate-q-needs-a2a",
    effect=Effect.REFUSES,
    stage=Stage.SERVER_ARGS,
    order=250,
    when=flag.dcp_replicate_q_proj.holds() & DCP_ON,
    require=resolved.dcp_comm_backend.is_in("a2a", "fi_a2a"),
    says="--dcp-replicate-q-proj needs a2a or fi_a2a, and --dcp-comm-backend is {resolved.dcp_comm_backend}.",
    because=_NEEDS_A2A_WHY,
    fixes=(
        Set("dcp_comm_backend", "a2a"),
        Unset("dcp_comm_backend"),
        Set("dcp_comm_backend", "fi_a2a"),
        Unset("dcp_replicate_q_proj"),
    ),
    source=_handled(270),
    upstream_signature="--dcp-replicate-q-proj only applies to the a2a/fi_a2a DCP",
    example=Example(argv="--tp-size 8 --dcp-size 4 --dcp-comm-backend ag_rs --dcp-replicate-q-proj"),
    accept=Example(
        argv="--tp-size 8 --dcp-size 4 --dcp-comm-backend a2a --dcp-replicate-q-proj --attention-backend flashinfer"
    ),
)
