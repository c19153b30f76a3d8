"""What a draft needs of a server with pipeline stages."""

from __future__ import annotations

from configurator.catalog import order
from configurator.catalog.declare import refuses, wheel
from configurator.catalog.terms import NPU, PD_PREFILL, SPECULATION
from configurator.core.expr import NEVER, Expr, flag
from configurator.core.rule import Example, Rule, Set, Unset

_ARGV = "--tp-size 8 --speculative-algorithm EAGLE --speculative-num-steps 3 --speculative-num-draft-tokens 4"
_PLAIN = Example(argv=f"{_ARGV} --speculative-eagle-topk 1")
_PP: Expr = SPECULATION & flag.pp_size.more_than(1)
_MTP: Expr = flag.speculative_algorithm.is_in("EAGLE", "NEXTN")
_CHECK = "arg_groups/validation_hook.py"
_PP_BAD = Example(argv="--tp-size 8 --pp-size 2 --speculative-algorithm NGRAM --disaggregation-mode prefill")
_NPU_BAD = Example(
    argv="--tp-size 8 --pp-size 2 --speculative-algorithm NGRAM --disaggregation-mode prefill", hardware="ascend910bx8"
)


def _pipeline(  # noqa: PLR0917 - the fields that differ
    code: str,
    slug: str,
    at: int,
    require: Expr,
    text: tuple[str, str],
    place: tuple[int, str],
    bad: Example,
    good: Example = _PLAIN,
) -> Rule:
    because, signature = text
    return refuses(
        code,
        slug,
        order.FINAL + at,
        when=_PP,
        require=require,
        says="--speculative-algorithm {asked.speculative_algorithm} cannot be combined with --pp-size {asked.pp_size}.",
        because=because,
        fixes=(Set("pp_size", 1), Unset("speculative_algorithm")),
        source=wheel(_CHECK, "check_pipeline_parallel_compat", *place),
        signature=signature,
        bad=bad,
        good=good,
    )


PIPELINE_15 = _pipeline(
    "SPC713",
    "speculative-no-pipeline",
    1,
    NEVER,
    (
        "Up to 0.5.19 a draft does not go with pipeline stages.",
        "Pipeline parallelism is not compatible with overlap schedule, speculative decoding",
    ),
    (52, "0.5.19"),
    _PP_BAD,
)
PIPELINE_20 = _pipeline(
    "SPC718",
    "speculative-no-pipeline",
    1,
    NPU,
    (
        "In 0.5.20 a draft goes with pipeline stages on Ascend NPUs only.",
        "Pipeline parallelism is not compatible with overlap schedule, speculative decoding",
    ),
    (82, "0.5.20"),
    _PP_BAD,
)
PIPELINE_EAGLE_20 = _pipeline(
    "SPC709",
    "speculative-pipeline-eagle-20",
    2,
    _MTP | ~NPU,
    (
        "In 0.5.20 only EAGLE drafts go with pipeline stages.",
        "Pipeline parallelism currently only supports EAGLE",
    ),
    (73, "0.5.20"),
    _NPU_BAD,
    Example(argv="--tp-size 8 --pp-size 2 --disaggregation-mode prefill", hardware="ascend910bx8"),
)
PIPELINE_PREFILL_20 = _pipeline(
    "SPC719",
    "speculative-pipeline",
    3,
    ~_MTP | PD_PREFILL | ~NPU,
    (
        "With pipeline stages a draft runs on prefill servers only.",
        "NPU PP + speculative decoding (MTP) is only supported on prefill nodes",
    ),
    (77, "0.5.20"),
    Example(argv="--tp-size 8 --pp-size 2 --speculative-algorithm EAGLE", hardware="ascend910bx8"),
)
PIPELINE_EAGLE = _pipeline(
    "SPC717",
    "speculative-pipeline-eagle",
    1,
    _MTP | flag.speculative_algorithm.equals("DSPARK"),
    (
        "From 0.5.21 EAGLE and DSPARK drafts go with pipeline stages.",
        "Pipeline parallelism currently only supports EAGLE",
    ),
    (137, "0.5.23"),
    _PP_BAD,
)
PIPELINE_PREFILL = _pipeline(
    "SPC707",
    "speculative-pipeline",
    2,
    ~_MTP | PD_PREFILL,
    (
        "With pipeline stages a draft runs on prefill servers only.",
        "PP + speculative decoding (MTP) is only supported on prefill nodes",
    ),
    (154, "0.5.23"),
    Example(argv="--tp-size 8 --pp-size 2 --speculative-algorithm EAGLE"),
)
