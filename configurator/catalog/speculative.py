"""Speculative decoding: what argument handling makes of it, what it refuses, and where it does not go with DCP."""

from __future__ import annotations

from configurator.catalog import order
from configurator.catalog.declare import fills, later, refuses, wheel
from configurator.catalog.families import ARCHITECTURE, DEEPSEEK_V4
from configurator.catalog.terms import (
    CPU,
    CUDA,
    DECODE_BACKEND,
    HIP,
    PD_DECODE,
    PREFILL_BACKEND,
    SPECULATION,
    XPU,
    asked_for,
)
from configurator.core.expr import Expr, flag, resolved, step
from configurator.core.rule import Choose, Effect, Example, Rule, Set, Stage, Unset

_HOOK = "arg_groups/speculative_hook.py"
_EAGLE: Expr = flag.speculative_algorithm.is_in("EAGLE", "EAGLE3", "NEXTN", "STANDALONE")
_ARGV = "--tp-size 8 --speculative-algorithm EAGLE --speculative-num-steps 3 --speculative-num-draft-tokens 4"
_PLAIN = Example(argv=f"{_ARGV} --speculative-eagle-topk 1")

NEXTN_IS_EAGLE = fills(
    "SPC750",
    "nextn-is-eagle",
    order.SPECULATIVE,
    when=flag.speculative_algorithm.equals("NEXTN"),
    sets={"speculative_algorithm": "EAGLE"},
    because="NEXTN is EAGLE with the draft layers of the checkpoint itself.",
    source=wheel(_HOOK, "_resolve_speculative_algorithm_alias", 81),
)
_TOPK_UNSET: Expr = _EAGLE & flag.speculative_num_steps.is_unset()
AUTO_LLAMA = fills(
    "SPC751",
    "speculative-parameters-llama",
    order.SPECULATIVE + 4,
    when=_TOPK_UNSET
    & ARCHITECTURE.is_in("LlamaForCausalLM", "Grok1ForCausalLM", "Grok1VForCausalLM")
    & flag.speculative_algorithm.differs("STANDALONE"),
    sets={"speculative_num_steps": 5, "speculative_eagle_topk": 4, "speculative_num_draft_tokens": 8},
    because="Nobody chose how far the draft looks ahead; Llama models get 5 steps of 4 branches.",
    source=wheel(_HOOK, "_auto_choose_speculative_params", 1430),
)
AUTO = fills(
    "SPC752",
    "speculative-parameters",
    order.SPECULATIVE + 5,
    when=_TOPK_UNSET & resolved.speculative_num_steps.is_unset(),
    sets={"speculative_num_steps": 3, "speculative_eagle_topk": 1, "speculative_num_draft_tokens": 4},
    because="Nobody chose how far the draft looks ahead; it takes 3 steps of one chain.",
    source=wheel(_HOOK, "_auto_choose_speculative_params", 1430),
)

STEPS_NEEDED = refuses(
    "SPC702",
    "speculative-steps-needed",
    order.SPECULATIVE + 3,
    when=_TOPK_UNSET,
    require=flag.speculative_eagle_topk.is_unset() & flag.speculative_num_draft_tokens.is_unset(),
    says="--speculative-eagle-topk and --speculative-num-draft-tokens need --speculative-num-steps, which is not given.",
    because="The three belong together: all given, or none. The server raises an AssertionError without a message.",
    fixes=(
        Choose("speculative_num_steps"),
        Unset("speculative_eagle_topk"),
        Unset("speculative_num_draft_tokens"),
    ),
    source=wheel(_HOOK, "_handle_eagle_family", 1160),
    signature="cfg.speculative_eagle_topk is None",
    bad=Example(argv="--tp-size 8 --speculative-algorithm EAGLE --speculative-eagle-topk 1"),
    good=_PLAIN,
)
TOPK_TRTLLM_MHA = refuses(
    "SPC703",
    "topk-trtllm-mha",
    order.SPECULATIVE + 7,
    when=_EAGLE
    & (asked_for("trtllm_mha") | flag.speculative_eagle_topk.is_set())
    & resolved.speculative_eagle_topk.more_than(1)
    & (PREFILL_BACKEND.equals("trtllm_mha") | DECODE_BACKEND.equals("trtllm_mha")),
    says="--speculative-eagle-topk {resolved.speculative_eagle_topk} cannot be combined with trtllm_mha.",
    because="TensorRT-LLM's kernels verify one chain of tokens, not a tree.",
    fixes=(Set("speculative_eagle_topk", 1), Choose("attention_backend")),
    source=wheel(_HOOK, "_handle_eagle_family", 1178),
    signature="trtllm_mha backend only supports topk = 1 for speculative decoding",
    bad=Example(
        argv=f"{_ARGV} --speculative-eagle-topk 4 --attention-backend trtllm_mha",
        hardware="b200x8",
        model="qwen3-32b",
    ),
    good=Example(
        argv=f"{_ARGV} --speculative-eagle-topk 1 --attention-backend trtllm_mha",
        hardware="b200x8",
        model="qwen3-32b",
    ),
)
# Only Llama's models get a tree of guesses of themselves, and pages of one token with it on NVIDIA and AMD GPUs.
_TREE: Expr = (
    flag.speculative_eagle_topk.is_set()
    | flag.page_size.is_set()
    | flag.attention_backend.is_set()
    | flag.decode_attention_backend.is_set()
    | flag.prefill_attention_backend.is_set()
    | ~(CUDA | HIP)
)
TREE_PAGES = refuses(
    "SPC704",
    "topk-tree-pages",
    order.SPECULATIVE + 9,
    when=_EAGLE & _TREE & resolved.speculative_eagle_topk.more_than(1) & resolved.page_size.more_than(1),
    require=resolved.attention_backend.is_in("flashinfer", "fa3", "triton"),
    says=(
        "--speculative-eagle-topk {resolved.speculative_eagle_topk} does not go with pages of {resolved.page_size} tokens on "
        "{resolved.attention_backend}."
    ),
    because="A tree of guesses ends in the middle of pages, which only flashinfer, fa3 and triton handle.",
    fixes=(Set("speculative_eagle_topk", 1), Set("page_size", 1), Choose("attention_backend")),
    source=wheel(_HOOK, "_handle_eagle_family", 1278),
    signature="speculative_eagle_topk > 1 with page_size > 1 is only supported on",
    bad=Example(argv=f"{_ARGV} --speculative-eagle-topk 2", model="deepseek-v3.2"),
    good=Example(argv=f"{_ARGV} --speculative-eagle-topk 1", model="deepseek-v3.2"),
)


def _no_dp(code: str, algorithm: str, at: int, line: int) -> Rule:
    return refuses(
        code,
        f"{algorithm.lower()}-no-dp-attention" if algorithm == "NGRAM" else "speculative-no-dp-attention",
        order.SPECULATIVE + at,
        when=flag.speculative_algorithm.equals(algorithm) & step.attn_dp_size.more_than(1),
        says=f"--speculative-algorithm {algorithm} cannot be combined with DP attention.",
        because="Its draft does not follow the replicas of attention.",
        fixes=(Unset("enable_dp_attention"), Choose("speculative_algorithm"), Unset("attn_dp_size")),
        source=wheel(_HOOK, f"_handle_{'ngram' if algorithm == 'NGRAM' else 'eagle_family'}", line),
        signature=f"{algorithm.lower()} speculative decoding does not support dp attention",
        bad=Example(argv=f"--tp-size 8 --dp-size 2 --enable-dp-attention --speculative-algorithm {algorithm}"),
        good=Example(argv="--tp-size 8 --speculative-algorithm NGRAM"),
    )


NO_DP = _no_dp("SPC705", "STANDALONE", 2, 1082)
NGRAM_NO_DP = _no_dp("SPC736", "NGRAM", 10, 1369)
DRAFT_NEEDED = refuses(
    "SPC706",
    "draft-path-needed",
    order.SPECULATIVE + 7,
    when=flag.speculative_algorithm.equals("DFLASH"),
    require=flag.speculative_draft_model_path.is_set(),
    says="--speculative-algorithm DFLASH needs --speculative-draft-model-path, which is not given.",
    because="Its draft is a model of its own.",
    fixes=(Unset("speculative_algorithm"), Choose("speculative_algorithm")),
    source=wheel(_HOOK, "_handle_dflash", 325),
    signature="DFLASH speculative decoding requires setting --speculative-draft-model-path",
    bad=Example(argv="--tp-size 8 --speculative-algorithm DFLASH"),
    good=Example(argv="--tp-size 8 --speculative-algorithm EAGLE"),
)
DSPARK_DRAFT = refuses(
    "SPC734",
    "dspark-draft-path-needed",
    order.SPECULATIVE + 7,
    when=flag.speculative_algorithm.equals("DSPARK") & ~DEEPSEEK_V4,
    require=flag.speculative_draft_model_path.is_set(),
    says="--speculative-algorithm DSPARK needs --speculative-draft-model-path, which is not given.",
    because="Its draft is a model of its own, which only some DeepSeek-V4 checkpoints bring along.",
    fixes=(Unset("speculative_algorithm"), Choose("speculative_algorithm")),
    source=wheel(_HOOK, "_handle_dspark", 677, "0.5.22"),
    signature="DSpark dense speculative decoding requires setting",
    bad=Example(argv="--tp-size 8 --speculative-algorithm DSPARK"),
    good=Example(argv="--tp-size 8 --speculative-algorithm DSPARK --speculative-draft-model-path draft"),
)
DSPARK_FOLDER = later(
    "SPC735",
    "dspark-draft-path-needed",
    192,
    effect=Effect.UNVERIFIED,
    stage=Stage.SERVER_ARGS,
    when=flag.speculative_algorithm.equals("DSPARK") & ~DEEPSEEK_V4,
    require=flag.speculative_draft_model_path.is_set(),
    says="--speculative-algorithm DSPARK needs --speculative-draft-model-path or a draft in the checkpoint's folder dspark/.",
    because="From 0.5.23 the server looks for that folder and stops where there is none; what is in a checkpoint is not "
    "known here.",
    fixes=(Unset("speculative_algorithm"), Choose("speculative_algorithm")),
    source=wheel(_HOOK, "_handle_dspark", 752),
    signature="DSpark dense speculative decoding requires setting",
    bad=Example(argv="--tp-size 8 --speculative-algorithm DSPARK"),
    good=Example(argv="--tp-size 8 --speculative-algorithm DSPARK --speculative-draft-model-path draft"),
)
_NGRAM: Expr = flag.speculative_algorithm.equals("NGRAM")
NGRAM_PAGES = refuses(
    "SPC708",
    "ngram-pages",
    order.SPECULATIVE + 9,
    when=_NGRAM & resolved.page_size.more_than(1),
    require=resolved.attention_backend.equals("flashinfer"),
    says="--speculative-algorithm NGRAM does not go with pages of {resolved.page_size} tokens on {resolved.attention_backend}.",
    because="Its guesses branch in the middle of pages, which only flashinfer handles.",
    fixes=(Set("page_size", 1), Set("attention_backend", "flashinfer"), Unset("speculative_algorithm")),
    source=wheel(_HOOK, "_handle_ngram", 1361),
    signature="is unstable and produces incorrect results for paged attention backends",
    bad=Example(argv="--tp-size 8 --speculative-algorithm NGRAM --page-size 64 --attention-backend triton"),
    good=Example(argv="--tp-size 8 --speculative-algorithm NGRAM --page-size 1 --attention-backend triton"),
)


def _ngram(code: str, slug: str, platforms: Expr, line: int, release: str, signature: str) -> Rule:
    return refuses(
        code,
        slug,
        order.SPECULATIVE + 1,
        when=_NGRAM,
        require=platforms,
        says="--speculative-algorithm NGRAM does not run on this platform ({hardware.platform}).",
        because="Its matching is not written for that platform in this release.",
        fixes=(Unset("speculative_algorithm"), Choose("speculative_algorithm")),
        source=wheel(_HOOK, "_handle_ngram", line, release),
        signature=signature,
        bad=Example(argv="--tp-size 8 --speculative-algorithm NGRAM", hardware="ascend910bx8"),
        good=Example(argv="--tp-size 8 --speculative-algorithm NGRAM"),
    )


NGRAM_15 = _ngram(
    "SPC714", "ngram-platform-15", CUDA | HIP, 467, "0.5.15", "Ngram speculative decoding only supports CUDA"
)
NGRAM_16 = _ngram(
    "SPC715",
    "ngram-platform-16",
    CUDA | HIP | CPU,
    1001,
    "0.5.20",
    "Ngram speculative decoding only supports CUDA or CPU",
)
NGRAM_21 = _ngram(
    "SPC716",
    "ngram-platform",
    CUDA | HIP | CPU | XPU,
    1287,
    "0.5.23",
    "Ngram speculative decoding only supports CUDA, CPU, or XPU",
)
DECODE_RADIX = refuses(
    "PDD618",
    "decode-radix-spec-eagle",
    order.SPECULATIVE + 1,
    when=PD_DECODE & flag.disaggregation_decode_enable_radix_cache.holds() & SPECULATION,
    require=flag.speculative_algorithm.is_in("DSPARK", "EAGLE", "EAGLE3", "NEXTN"),
    says="--disaggregation-decode-enable-radix-cache cannot be combined with --speculative-algorithm "
    "{asked.speculative_algorithm}.",
    because="From 0.5.23 prefixes are reused on decode servers with DSPARK, EAGLE and EAGLE3 drafts.",
    fixes=(Unset("speculative_algorithm"), Unset("disaggregation_decode_enable_radix_cache")),
    source=wheel(_HOOK, "handle_speculative_decoding", 169),
    signature="--disaggregation-decode-enable-radix-cache is incompatible",
    bad=Example(
        argv="--tp-size 8 --disaggregation-mode decode --disaggregation-decode-enable-radix-cache "
        "--speculative-algorithm NGRAM"
    ),
    good=Example(argv="--tp-size 8 --disaggregation-mode decode --disaggregation-decode-enable-radix-cache"),
)
RESOLUTIONS = (NEXTN_IS_EAGLE, AUTO_LLAMA, AUTO)
RULES = (STEPS_NEEDED, TOPK_TRTLLM_MHA, TREE_PAGES, NO_DP, NGRAM_NO_DP, DRAFT_NEEDED, NGRAM_PAGES)
"""The same in every release with DCP."""
