"""DFLASH and DSPARK drafts: the platforms and kinds of parallelism they go with, release by release."""

from __future__ import annotations

from configurator.catalog import order
from configurator.catalog.declare import NEWEST, refuses, wheel
from configurator.catalog.terms import CUDA, HIP, NPU, PD_PREFILL, XPU
from configurator.core.expr import NEVER, Expr, flag, step
from configurator.core.rule import Example, Fix, Rule, Set, Unset

_HOOK = "arg_groups/speculative_hook.py"
_DRAFT = "--speculative-draft-model-path draft"
_GPU: Expr = CUDA | HIP
_DP: Expr = step.attn_dp_size.more_than(1)
_NO_DRAFT: Fix = Unset("speculative_algorithm")


def _rule(  # noqa: PLR0913, PLR0917 - the fields that differ
    code: str,
    algorithm: str,
    subject: str,
    at: int,
    when: Expr,
    require: Expr,
    says: str,
    because: str,
    fixes: tuple[Fix, ...],
    place: tuple[int, str],
    signature: str,
    bad: str,
    hardware: str = "h100x8",
) -> Rule:
    argv = f"--tp-size 8 --speculative-algorithm {algorithm} {_DRAFT}"
    return refuses(
        code,
        f"{algorithm.lower()}-{subject}",
        order.SPECULATIVE + at,
        when=flag.speculative_algorithm.equals(algorithm) & when,
        require=require,
        says=f"--speculative-algorithm {algorithm} {says}",
        because=because,
        fixes=(*fixes, _NO_DRAFT),
        source=wheel(_HOOK, f"_handle_{algorithm.lower()}", *place),
        signature=signature,
        bad=Example(argv=f"{argv} {bad}".strip(), hardware=hardware),
        good=Example(argv=argv),
    )


def _platform(
    code: str, algorithm: str, platforms: Expr, names: str, place: tuple[int, str], signature: str, bad: str
) -> Rule:
    return _rule(
        code,
        algorithm,
        "platform",
        2,
        ~platforms,
        NEVER,
        f"runs on {names} here, and this platform is {{hardware.platform}}.",
        "Its draft is not written for other platforms in this release.",
        (),
        place,
        signature,
        "",
        bad,
    )


DFLASH_PLATFORM_16 = _platform(
    "SPC739",
    "DFLASH",
    _GPU,
    "CUDA and ROCm",
    (153, "0.5.16"),
    "DFLASH speculative decoding only supports CUDA device.",
    "cpu",
)
DFLASH_PLATFORM_17 = _platform(
    "SPC740",
    "DFLASH",
    _GPU | NPU,
    "CUDA, ROCm and Ascend",
    (200, "0.5.19"),
    "DFLASH speculative decoding only supports CUDA and NPU devices.",
    "cpu",
)
DFLASH_PLATFORM_20 = _platform(
    "SPC741",
    "DFLASH",
    _GPU | NPU | XPU,
    "CUDA, ROCm, Ascend and Intel XPU",
    (207, "0.5.20"),
    "DFLASH speculative decoding only supports CUDA, NPU and XPU devices.",
    "cpu",
)
DFLASH_PLATFORM = _platform(
    "SPC742",
    "DFLASH",
    _GPU | NPU | XPU,
    "CUDA, ROCm, Ascend and Intel XPU",
    (299, NEWEST),
    "DFLASH speculative decoding is not supported by",
    "cpu",
)
DSPARK_PLATFORM_16 = _platform(
    "SPC743",
    "DSPARK",
    _GPU,
    "CUDA and ROCm",
    (280, "0.5.17"),
    "DSpark speculative decoding only supports CUDA device.",
    "cpu",
)
DSPARK_PLATFORM_18 = _platform(
    "SPC744",
    "DSPARK",
    _GPU | NPU,
    "CUDA, ROCm and Ascend",
    (609, "0.5.22"),
    "DSpark speculative decoding only supports CUDA or NPU device.",
    "cpu",
)
DSPARK_PLATFORM = _platform(
    "SPC745",
    "DSPARK",
    _GPU | NPU | XPU,
    "CUDA, ROCm, Ascend and Intel XPU",
    (671, NEWEST),
    "DSpark speculative decoding only supports CUDA, NPU or XPU device.",
    "cpu",
)

# --- attention replicas ---------------------------------------------------------------------------------------------

_ONE_REPLICA: tuple[Fix, ...] = (Unset("enable_dp_attention"), Unset("attn_dp_size"))
_WITH_DP = "--dp-size 2 --enable-dp-attention"


def _no_dp(code: str, spared: Expr, place: tuple[int, str]) -> Rule:
    return _rule(
        code,
        "DFLASH",
        "no-dp-attention",
        3,
        _DP,
        spared,
        "cannot be combined with DP attention.",
        "Its draft does not follow the replicas of attention in this release.",
        _ONE_REPLICA,
        place,
        "Currently DFLASH speculative decoding does not support dp",
        _WITH_DP,
    )


DFLASH_NO_DP_15 = _no_dp("SPC746", NEVER, (205, "0.5.19"))
DFLASH_NO_DP_20 = _no_dp("SPC747", NPU, (211, "0.5.20"))


def _lm_head(code: str, algorithm: str, spared: Expr, place: tuple[int, str], signature: str) -> Rule:
    return _rule(
        code,
        algorithm,
        "dp-lm-head",
        3,
        _DP,
        flag.enable_dp_lm_head.holds() | spared,
        "with DP attention needs --enable-dp-lm-head, which is not given.",
        "The draft borrows the model's last layer, which must then exist in every replica.",
        (Set("enable_dp_lm_head", value=True), *_ONE_REPLICA),
        place,
        signature,
        _WITH_DP,
    )


DFLASH_LM_HEAD = _lm_head(
    "SPC748", "DFLASH", NPU, (308, NEWEST), "DFLASH with dp attention requires --enable-dp-lm-head"
)
DSPARK_LM_HEAD = _lm_head(
    "SPC749", "DSPARK", NEVER, (676, NEWEST), "DSpark with dp attention requires --enable-dp-lm-head"
)


def _no_cp(code: str, algorithm: str, place: tuple[int, str], signature: str) -> Rule:
    return _rule(
        code,
        algorithm,
        "dp-no-attn-cp",
        5,
        _DP & flag.attn_cp_size.more_than(1),
        NEVER if algorithm == "DSPARK" else NPU,
        "with DP attention cannot be combined with --attn-cp-size {asked.attn_cp_size}.",
        "A draft does not split its context in prefill.",
        (Set("attn_cp_size", 1), *_ONE_REPLICA),
        place,
        signature,
        f"{_WITH_DP} --enable-dp-lm-head --attn-cp-size 2",
    )


DFLASH_NO_CP = _no_cp("SPC754", "DFLASH", (310, NEWEST), "DFLASH with dp attention does not support context parallel")
DSPARK_NO_CP = _no_cp("SPC755", "DSPARK", (698, NEWEST), "DSpark with dp attention does not support context parallel")


def _a2a(code: str, spared: Expr, backends: tuple[str, ...], place: tuple[int, str], signature: str) -> Rule:
    return _rule(
        code,
        "DSPARK",
        "dp-moe-a2a",
        4,
        _DP,
        flag.moe_a2a_backend.is_in(*backends) | spared,
        "with DP attention does not go with --moe-a2a-backend {asked.moe_a2a_backend}.",
        f"Its draft knows {', '.join(backends)}.",
        (Unset("moe_a2a_backend"), *_ONE_REPLICA),
        place,
        signature,
        f"{_WITH_DP} --enable-dp-lm-head --moe-a2a-backend deepep",
    )


DSPARK_A2A_16 = _a2a(
    "SPC756", NEVER, ("none",), (286, "0.5.17"), "DSpark with dp attention only supports the built-in TP MoE"
)
DSPARK_A2A_18 = _a2a(
    "SPC757", NPU, ("none", "megamoe"), (530, "0.5.20"), "DSpark with dp attention supports moe_a2a_backend"
)
DSPARK_A2A = _a2a(
    "SPC758", NPU, ("none", "megamoe", "mori"), (678, NEWEST), "DSpark with dp attention supports moe_a2a_backend"
)

# --- pipeline stages ------------------------------------------------------------------------------------------------


def _no_pp(code: str, algorithm: str, spared: Expr, text: tuple[str, str], place: tuple[int, str]) -> Rule:
    says, signature = text
    return _rule(
        code,
        algorithm,
        "no-pipeline",
        6,
        flag.pp_size.more_than(1),
        spared,
        f"{says} --pp-size {{asked.pp_size}}.",
        "Its draft runs where the whole model is.",
        (Set("pp_size", 1),),
        place,
        signature,
        "--pp-size 2",
    )


DFLASH_NO_PP = _no_pp(
    "SPC759",
    "DFLASH",
    NEVER,
    ("cannot be combined with", "Currently DFLASH speculative decoding only supports pp_size == 1."),
    (320, NEWEST),
)
DSPARK_NO_PP_16 = _no_pp(
    "SPC760",
    "DSPARK",
    NEVER,
    ("cannot be combined with", "Currently DSpark speculative decoding only supports pp_size == 1."),
    (565, "0.5.20"),
)
DSPARK_NO_PP = _no_pp(
    "SPC761",
    "DSPARK",
    PD_PREFILL,
    ("outside a prefill server cannot be combined with", "DSpark pipeline parallelism requires PD prefill"),
    (715, NEWEST),
)
