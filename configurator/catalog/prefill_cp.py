"""Context parallelism in prefill: what it needs, and what DeepSeek models make of it."""

from __future__ import annotations

from configurator.catalog import order
from configurator.catalog.declare import fills, refuses, wheel
from configurator.catalog.families import DEEPSEEK, DEEPSEEK_V4, GLM_DSA
from configurator.catalog.terms import CUDA, DSA, HIP, MLA, NPU
from configurator.core.expr import Derived, Expr, Term, flag, model, resolved, step
from configurator.core.rule import Choose, Example, Rule, Set, Stage, Unset

_HOOK = "arg_groups/parallel_hook.py"

PREFILL_CP_HIP = refuses(
    "DCP129",
    "prefill-cp-on-rocm",
    order.PREFILL_CP - 1,
    when=flag.enable_prefill_cp.holds() & HIP & ~DEEPSEEK_V4,
    says="On ROCm --enable-prefill-cp needs DeepSeek-V4, and this model is {model.architecture}.",
    because="On ROCm only DeepSeek-V4 has it.",
    fixes=(Unset("enable_prefill_cp"),),
    source=wheel(_HOOK, "handle_context_parallelism", 110),
    signature="Prefill CP on HIP is only supported for",
    bad=Example(argv="--tp-size 8 --enable-prefill-cp --cp-strategy zigzag", hardware="mi300x8", model="llama-3.1-70b"),
    good=Example(argv="--tp-size 8", hardware="mi300x8", model="llama-3.1-70b"),
)

CP_STRATEGY = refuses(
    "DCP127",
    "cp-strategy-needed",
    order.PREFILL_CP,
    when=flag.enable_prefill_cp.holds(),
    require=flag.cp_strategy.is_set(),
    says="--enable-prefill-cp needs --cp-strategy, which is not given.",
    because="The server does not choose how a prompt's tokens are dealt out.",
    fixes=(Set("cp_strategy", "zigzag"), Set("cp_strategy", "interleave"), Unset("enable_prefill_cp")),
    source=wheel(_HOOK, "handle_context_parallelism", 151),
    signature="--cp-strategy must be set when --enable-prefill-cp is enabled",
    bad=Example(argv="--tp-size 8 --enable-prefill-cp --attn-cp-size 2", model="llama-3.1-70b"),
    good=Example(argv="--tp-size 8 --enable-prefill-cp --attn-cp-size 2 --cp-strategy zigzag", model="llama-3.1-70b"),
)

_CP = resolved.attn_cp_size
ATTN_CP_DIVIDES = refuses(
    "DCP125",
    "attn-cp-divides-tp",
    order.PREFILL_CP + 1,
    when=_CP.more_than(1),
    require=_CP.divides(flag.tp_size),
    says="--tp-size {asked.tp_size} is not a multiple of --attn-cp-size {resolved.attn_cp_size}.",
    because="Attention's ranks are dealt out in equal shares.",
    fixes=(Choose("attn_cp_size"), Choose("tp_size")),
    source=wheel(_HOOK, "handle_context_parallelism", 158),
    signature="tp_size must be divisible by attn_cp_size",
    bad=Example(argv="--tp-size 8 --attn-cp-size 3", model="llama-3.1-70b"),
    good=Example(argv="--tp-size 8 --attn-cp-size 2", model="llama-3.1-70b"),
)


def _product(replicas: int | None, cp_size: int) -> int:
    return max(replicas or 1, 1) * max(cp_size, 1)


def _with_dp(code: str, replicas: Term, line: int, release: str, signature: str) -> Rule:
    return refuses(
        code,
        "attn-cp-and-dp-divide-tp",
        order.PREFILL_CP + 2,
        when=_CP.more_than(1),
        require=Derived("ranks of attention DP and CP", _product, (replicas, _CP)).divides(flag.tp_size),
        says="--tp-size {asked.tp_size} is not a multiple of {replicas} replicas times --attn-cp-size "
        "{resolved.attn_cp_size}.",
        values={"replicas": replicas},
        because="Attention's ranks are dealt out in equal shares over replicas and context.",
        fixes=(Choose("attn_cp_size"), Choose("tp_size"), Choose("dp_size"), Unset("attn_dp_size")),
        source=wheel(_HOOK, "handle_context_parallelism", line, release),
        signature=signature,
        bad=Example(argv="--tp-size 8 --attn-cp-size 4 --dp-size 4 --enable-dp-attention", model="llama-3.1-70b"),
        good=Example(argv="--tp-size 8 --attn-cp-size 2 --dp-size 4 --enable-dp-attention", model="llama-3.1-70b"),
    )


CP_DP_DIVIDE_15 = _with_dp("DCP145", flag.dp_size, 112, "0.5.21", "tp_size must be divisible by dp_size * attn_cp_size")
CP_DP_DIVIDE = _with_dp(
    "DCP146", step.attn_dp_size, 159, "0.5.23", "tp_size must be divisible by attn_dp_size * attn_cp_size"
)
AITER_FUSION = refuses(
    "DCP156",
    "attn-cp-no-aiter-fusion",
    order.PREFILL_CP + 2,
    when=_CP.more_than(1) & flag.enable_aiter_allreduce_fusion.holds() & ~flag.enable_deterministic_inference.holds(),
    says="--attn-cp-size {resolved.attn_cp_size} cannot be combined with --enable-aiter-allreduce-fusion.",
    because="The fused all-reduce of AITER runs over all tensor-parallel ranks.",
    fixes=(Unset("enable_aiter_allreduce_fusion"), Set("attn_cp_size", 1)),
    source=wheel(_HOOK, "handle_context_parallelism", 165),
    signature="Aiter allreduce fusion is not supported with context parallelism",
    bad=Example(argv="--tp-size 8 --attn-cp-size 2 --enable-aiter-allreduce-fusion", model="llama-3.1-70b"),
    good=Example(argv="--tp-size 8 --attn-cp-size 2", model="llama-3.1-70b"),
)
_FUSES: Expr = HIP & GLM_DSA & flag.nnodes.less_than(2)


def _glm_fusion(code: str, alone: Expr, release: str, line: int) -> Rule:
    return refuses(
        code,
        "attn-cp-glm-rocm",
        order.PREFILL_CP + 2,
        when=_CP.more_than(1) & _FUSES & alone & ~flag.enable_deterministic_inference.holds(),
        says="On ROCm --attn-cp-size {resolved.attn_cp_size} does not go with this model, which is {model.architecture}.",
        because="From 0.5.21 GLM models fuse their all-reduce there, over all tensor-parallel ranks.",
        fixes=(Set("attn_cp_size", 1), Unset("enable_prefill_cp")),
        source=wheel(_HOOK, "handle_context_parallelism", line, release),
        signature="Aiter allreduce fusion is not supported with context parallelism",
        bad=Example(argv="--tp-size 8 --attn-cp-size 2", hardware="mi355x8", model="glm-5"),
        good=Example(argv="--tp-size 8", hardware="mi355x8", model="glm-5"),
    )


GLM_FUSION_21 = _glm_fusion("DCP157", ~flag.enable_dp_attention.holds(), "0.5.21", 115)
GLM_FUSION = _glm_fusion("DCP158", step.attn_dp_size.less_than(2), "0.5.23", 165)
MOE_DP_ALONE = refuses(
    "DCP126",
    "moe-dp-alone",
    order.PREFILL_CP + 3,
    when=flag.moe_dp_size.differs(1),
    require=flag.attn_cp_size.equals(flag.moe_dp_size),
    says="--moe-dp-size {asked.moe_dp_size} must be 1 or as --attn-cp-size, which is {asked.attn_cp_size}.",
    because="Replicas of the experts follow the context-parallel ranks of attention.",
    fixes=(Unset("moe_dp_size"), Choose("attn_cp_size")),
    source=wheel(_HOOK, "handle_context_parallelism", 188),
    signature="attn_cp_size != moe_dp_size is only supported when moe_dp_size == 1",
    bad=Example(argv="--tp-size 8 --moe-dp-size 2"),
    good=Example(argv="--tp-size 8 --moe-dp-size 1"),
)


def _platform(code: str, platforms: Expr, release: str, line: int, signature: str) -> Rule:
    return refuses(
        code,
        "prefill-cp-platform",
        50,
        when=flag.enable_prefill_cp.holds() & platforms,
        says="--enable-prefill-cp does not run on this platform ({hardware.platform}).",
        because="The release takes it back there, before it looks at anything else.",
        fixes=(Unset("enable_prefill_cp"),),
        source=wheel(_HOOK, "validate_prefill_cp_platform", line, release),
        signature=signature,
        bad=Example(
            argv="--tp-size 8 --enable-prefill-cp --cp-strategy zigzag", hardware="mi300x8", model="llama-3.1-70b"
        ),
        good=Example(argv="--tp-size 8", hardware="mi300x8", model="llama-3.1-70b"),
    )


PLATFORM_20 = _platform("DCP147", HIP | NPU, "0.5.20", 620, "Prefill CP on HIP/NPU/MUSA is deprecated")
PLATFORM_21 = _platform("DCP148", HIP, "0.5.21", 687, "Prefill CP on HIP/MUSA is deprecated")

# --- DeepSeek models ------------------------------------------------------------------------------------------------

_FAMILY = "arg_groups/model_overrides/deepseek_v2.py"
_ON: Expr = flag.enable_prefill_cp.holds() & DEEPSEEK
_GPU: Expr = CUDA | HIP
_HERE: Expr = _ON & ((DSA & _GPU) | MLA)


def _share(tp_size: int, replicas: int) -> int:
    return tp_size // max(replicas, 1)


def _share_or_asked(tp_size: int, replicas: int, asked: int, strategy: object, sparse: object) -> int:
    return asked if sparse is True and strategy == "interleave" and asked > 1 else _share(tp_size, replicas)


CP_WIDTH_15 = fills(
    "DCP149",
    "prefill-cp-width-15",
    order.MODEL + 24,
    when=_HERE,
    sets={
        "attn_cp_size": Derived("ranks of one replica", _share, (flag.tp_size, flag.dp_size)),
        "step.attn_dp_size": flag.dp_size,
    },
    because="DeepSeek models split a prompt over all ranks of a replica, whatever --attn-cp-size says.",
    source=wheel(_FAMILY, "_deepseek_family_overrides", 90, "0.5.21"),
)
_REPLICAS = Derived(
    "replicas of attention", lambda dp, attn: max(dp, 1) * max(attn, 1), (resolved.dp_size, resolved.attn_dp_size)
)
CP_WIDTH = fills(
    "DCP150",
    "prefill-cp-width",
    order.MODEL + 24,
    when=_HERE,
    sets={
        "attn_dp_size": _REPLICAS,
        "dp_size": 1,
        "step.attn_dp_size": _REPLICAS,
        "attn_cp_size": Derived(
            "ranks of one replica",
            _share_or_asked,
            (flag.tp_size, _REPLICAS, flag.attn_cp_size, flag.cp_strategy, model.is_dsa),
        ),
    },
    because="DeepSeek models split a prompt over all ranks of a replica; sparse ones dealt out by interleave keep "
    "--attn-cp-size.",
    source=wheel(_FAMILY, "_deepseek_family_overrides", 124),
)


def _sparse(
    code: str, slug: str, at: int, when: Expr, text: tuple[str, str, str], place: tuple[int, str], pair: tuple[str, str]
) -> Rule:
    says, because, signature = text
    line, release = place
    bad, good = pair
    return refuses(
        code,
        slug,
        order.MODEL + at,
        stage=Stage.MODEL_ARGS,
        when=_ON & DSA & _GPU & when,
        says=says,
        because=because,
        fixes=(
            Unset("enable_prefill_cp"),
            Set("cp_strategy", "zigzag"),
            Choose("tp_size"),
            Unset("disaggregation_mode"),
        ),
        source=wheel(_FAMILY, "_deepseek_family_overrides", line, release),
        signature=signature,
        bad=Example(argv=bad, model="deepseek-v3.2"),
        good=Example(argv=good, model="deepseek-v3.2"),
    )


SPARSE_NO_DP = _sparse(
    "DCP151",
    "dsa-prefill-cp-no-dp",
    22,
    flag.cp_strategy.differs("zigzag") & flag.dp_size.differs(1),
    (
        "--enable-prefill-cp dealt out by interleave cannot be combined with --dp-size {asked.dp_size}.",
        "Up to 0.5.21 sparse models deal a prompt out so within one replica only.",
        "interleave DSA CP does not support DP attention",
    ),
    (88, "0.5.21"),
    (
        "--tp-size 8 --enable-prefill-cp --cp-strategy interleave --dp-size 2 --enable-dp-attention",
        "--tp-size 8 --enable-prefill-cp --cp-strategy interleave",
    ),
)
SPARSE_ONE_MACHINE = _sparse(
    "DCP152",
    "dsa-prefill-cp-one-machine",
    23,
    flag.tp_size.more_than(8),
    (
        "--enable-prefill-cp does not go with --tp-size {asked.tp_size}.",
        "Sparse models split a prompt over at most 8 ranks of one machine.",
        "Context parallel only supports single machine (tp_size <= 8)",
    ),
    (118, "0.5.23"),
    (
        "--tp-size 16 --enable-prefill-cp --cp-strategy interleave",
        "--tp-size 8 --enable-prefill-cp --cp-strategy interleave",
    ),
)
SPARSE_NOT_DECODE = _sparse(
    "DCP153",
    "dsa-prefill-cp-not-on-decode",
    50,
    flag.disaggregation_mode.equals("decode"),
    (
        "--enable-prefill-cp is not for decode servers, and this is one.",
        "A decode server does not prefill.",
        "CP is only supported for prefill when PD disaggregation",
    ),
    (356, "0.5.23"),
    (
        "--tp-size 8 --enable-prefill-cp --cp-strategy interleave --disaggregation-mode decode",
        "--tp-size 8 --enable-prefill-cp --cp-strategy interleave --disaggregation-mode prefill",
    ),
)
GRAPH_OFF = fills(
    "HWR488",
    "prefill-graph-off-prefill-cp",
    order.MODEL + 49,
    when=_HERE,
    sets={"cuda_graph_prefill_backend": "disabled"},
    because="Prefill of a DeepSeek model is not captured where its prompts are split, whatever was asked for.",
    source=wheel("arg_groups/model_hook.py", "handle_model_specific_adjustments", 422),
)
