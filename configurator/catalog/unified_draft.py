"""Drafts with the unified memory pool: what the server checks, release by release."""

from __future__ import annotations

from configurator.catalog import order
from configurator.catalog.declare import NEWEST, refuses, wheel
from configurator.catalog.terms import DCP_OFF, DECODE_BACKEND, HICACHE, LATENT, PREFILL_BACKEND
from configurator.catalog.unified import ON, both_in
from configurator.core.expr import Expr, flag, model, resolved
from configurator.core.rule import Choose, Example, Fix, Rule, Set, Unset

_HOOK = "arg_groups/kv_cache_hook.py"
_OFF: Fix = Unset("enable_unified_memory")
_EAGLE: Expr = resolved.speculative_algorithm.is_in("EAGLE", "EAGLE3")
_DSPARK: Expr = flag.speculative_algorithm.equals("DSPARK")
_STEPS = "--speculative-num-steps 3 --speculative-num-draft-tokens 4"
_QWEN = "qwen3.5-397b-a17b"
_KIMI = "kimi-linear-48b"


def _argv(backend: str, algorithm: str, topk: int = 1) -> str:
    return (
        f"--tp-size 8 --enable-unified-memory --attention-backend {backend} --speculative-algorithm {algorithm} "
        f"{_STEPS} --speculative-eagle-topk {topk}"
    )


def checked(  # noqa: PLR0913, PLR0917 - the fields that differ
    code: str,
    slug: str,
    at: int,
    when: Expr,
    require: Expr,
    says: str,
    because: str,
    fixes: tuple[Fix, ...],
    place: tuple[int, str],
    signature: str,
    bad: Example,
    good: Example,
    symbol: str = "handle_unified_memory_pool",
) -> Rule:
    """Return a rule about the pool, at position *at* among its checks."""
    return refuses(
        code,
        slug,
        order.UNIFIED + at,
        when=ON & when,
        require=require,
        says=says,
        because=because,
        fixes=(*fixes, _OFF),
        values={"prefill": PREFILL_BACKEND, "decode": DECODE_BACKEND},
        source=wheel(_HOOK, symbol, *place),
        signature=signature,
        bad=bad,
        good=good,
    )


# --- the shape of the draft -----------------------------------------------------------------------------------------


def _chain(code: str, when: Expr, place: tuple[int, str], signature: str, algorithm: str) -> Rule:
    return checked(
        code,
        "unified-draft-chain",
        9,
        when,
        flag.speculative_eagle_topk.is_in(None, 1),
        "--enable-unified-memory does not go with --speculative-eagle-topk {asked.speculative_eagle_topk}, only with 1.",
        "The pool moves whole pages; accepting a branch of a draft moves single tokens.",
        (Set("speculative_eagle_topk", 1),),
        place,
        signature,
        Example(argv=_argv("triton", algorithm, 2), model=_QWEN),
        Example(argv=_argv("triton", algorithm), model=_QWEN),
    )


CHAIN_18 = _chain("SPC720", _DSPARK, (552, "0.5.21"), "DSPARK supports a linear draft", "DSPARK")
CHAIN = _chain(
    "SPC721",
    flag.speculative_algorithm.is_in("DSPARK", "DFLASH", "EAGLE", "EAGLE3", "NEXTN"),
    (601, NEWEST),
    "--enable-unified-memory supports a linear draft chain only",
    "EAGLE",
)

# --- backends that verify -------------------------------------------------------------------------------------------

_VERIFY_21 = ("triton", "trtllm_mla", "cutedsl_mla", "tokenspeed_mla")
_VERIFY_22 = ("triton", "trtllm_mla", "cutedsl_mla", "tokenspeed_mla", "flashmla", "flashinfer", "fa3")
_VERIFY = ("triton", "trtllm_mla", "cutedsl_mla", "flashmla", "flashinfer", "fa3")
_MHA_22 = ("triton", "flashinfer", "fa3")
_MHA = ("triton", "flashinfer", "fa3", "trtllm_mha")


def _without_flashinfer(backends: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(backend for backend in backends if backend != "flashinfer")


def _verifies(
    code: str,
    algorithm: str,
    backends: tuple[str, ...],
    place: tuple[int, str],
    symbol: str,
    bad: str = "fa4",
    model_name: str = _QWEN,
) -> Rule:
    dcp = both_in(*_without_flashinfer(backends))
    return checked(
        code,
        f"unified-{algorithm.lower()}-backends",
        13,
        flag.speculative_algorithm.equals(algorithm),
        dcp | DCP_OFF & both_in(*backends),
        f"--enable-unified-memory cannot verify {algorithm} drafts on {{prefill}} for prefill and {{decode}} for decode.",
        f"Of a draft's tokens only {', '.join(backends[:-1])} and {backends[-1]} find the pages through the pool's tables"
        + ("; under DCP flashinfer does not." if "flashinfer" in backends else "."),
        (Set("attention_backend", "triton"), Choose("attention_backend"), Choose("decode_attention_backend")),
        place,
        f"--enable-unified-memory + {algorithm} requires spec-verify-audited",
        Example(argv=_argv(bad, algorithm), model=model_name),
        Example(argv=_argv("triton", algorithm), model=model_name),
        symbol,
    )


_ASSERT = "_assert_spec_verify_backends"
DSPARK_18 = _verifies(
    "SPC722", "DSPARK", _VERIFY_21, (563, "0.5.21"), "handle_unified_memory_pool", "flashinfer", _KIMI
)
DSPARK_22 = _verifies("SPC723", "DSPARK", _VERIFY_22, (516, "0.5.22"), _ASSERT)
DSPARK = _verifies("SPC724", "DSPARK", (*_VERIFY, "fa4"), (519, NEWEST), _ASSERT, "trtllm_mha")
DFLASH_22 = _verifies("SPC725", "DFLASH", _MHA_22, (516, "0.5.22"), _ASSERT)
DFLASH = _verifies("SPC726", "DFLASH", _MHA, (519, NEWEST), _ASSERT)

# --- EAGLE, from 0.5.22 ---------------------------------------------------------------------------------------------

EAGLE_TARGET = checked(
    "SPC727",
    "unified-eagle-target",
    10,
    _EAGLE,
    model.is_hybrid_swa.holds() | model.has_linear_attention.holds(),
    "--enable-unified-memory does not take --speculative-algorithm {asked.speculative_algorithm} for {model.architecture}.",
    "The draft's cache lies inside the pages of a model that has several kinds of layers; this one has one kind.",
    (Unset("speculative_algorithm"),),
    (610, NEWEST),
    "requires a unified target (hybrid-SWA or a mamba hybrid)",
    Example(argv=_argv("triton", "EAGLE"), model="deepseek-v3.1"),
    Example(argv=_argv("triton", "EAGLE"), model=_QWEN),
)
_TO_TRITON: tuple[Fix, ...] = (
    Set("attention_backend", "triton"),
    Choose("attention_backend"),
    Choose("decode_attention_backend"),
    Unset("speculative_algorithm"),
)


def _eagle(code: str, latent: tuple[str, ...], other: tuple[str, ...], place: tuple[int, str]) -> Rule:
    return checked(
        code,
        "unified-eagle-backends",
        11,
        _EAGLE,
        LATENT & both_in(*latent) | ~LATENT & both_in(*other),
        "--enable-unified-memory cannot verify {asked.speculative_algorithm} drafts on {prefill} for prefill and {decode} "
        "for decode.",
        "Only backends that find a draft's pages through the pool's tables may verify.",
        _TO_TRITON,
        place,
        "requires the target on the spec-verify-audited attention backends",
        Example(argv=_argv("fa4", "EAGLE"), model=_QWEN),
        Example(argv=_argv("triton", "EAGLE"), model=_QWEN),
    )


EAGLE_BACKENDS_22 = _eagle("SPC728", _VERIFY_22, _MHA_22, (618, "0.5.22"))
EAGLE_BACKENDS = _eagle("SPC729", _VERIFY, _MHA, (621, NEWEST))
_DRAFT_BACKEND = flag.speculative_draft_attention_backend


def _draft(code: str, rails: tuple[str, ...], place: tuple[int, str]) -> Rule:
    return checked(
        code,
        "unified-eagle-draft-backend",
        12,
        _EAGLE,
        _DRAFT_BACKEND.is_in(*rails) | _DRAFT_BACKEND.is_unset() & both_in(*rails),
        "--enable-unified-memory cannot run the draft with --speculative-draft-attention-backend "
        "{asked.speculative_draft_attention_backend}, where prefill runs {prefill} and decode {decode}.",
        f"A draft reads its cache with {', '.join(rails[:-1])} or {rails[-1]}; unset, it takes the model's backends.",
        (Set("speculative_draft_attention_backend", "triton"), *_TO_TRITON),
        place,
        "but a fused draft is MHA-shaped",
        Example(argv=_argv("trtllm_mla", "EAGLE"), model=_KIMI, hardware="b200x8"),
        Example(
            argv=f"{_argv('trtllm_mla', 'EAGLE')} --speculative-draft-attention-backend triton",
            model=_KIMI,
            hardware="b200x8",
        ),
    )


EAGLE_DRAFT_22 = _draft("SPC730", _MHA_22, (630, "0.5.22"))
EAGLE_DRAFT = _draft("SPC731", _MHA, (633, NEWEST))
EAGLE_NO_TIERS = checked(
    "SPC732",
    "unified-eagle-no-hicache",
    18,
    _EAGLE & HICACHE,
    ~HICACHE,
    "--enable-unified-memory and --enable-hierarchical-cache cannot be combined with {asked.speculative_algorithm}.",
    "HiCache keeps a draft's cache in a pool of its own, which a draft inside the model's pages does not have.",
    (Unset("enable_hierarchical_cache"), Unset("speculative_algorithm")),
    (685, NEWEST),
    "EAGLE/EAGLE3 does not support --enable-hierarchical-cache",
    Example(argv=f"{_argv('triton', 'EAGLE')} --enable-hierarchical-cache", model=_QWEN),
    Example(argv=_argv("triton", "EAGLE"), model=_QWEN),
)
_HOST_POOL: Expr = resolved.disaggregation_decode_retraction_backup.equals("host_pool")
_RETRACTS = "--disaggregation-decode-retraction-backup host_pool"
EAGLE_NO_HOST_POOL = checked(
    "SPC733",
    "unified-eagle-no-host-pool",
    17,
    _EAGLE & _HOST_POOL,
    ~_HOST_POOL,
    "--enable-unified-memory and {asked.speculative_algorithm} cannot be combined with "
    "--disaggregation-decode-retraction-backup host_pool.",
    "The host pool is made for a draft's own pool, which a draft inside the model's pages does not have.",
    (Set("disaggregation_decode_retraction_backup", "cpu_tensor"), Unset("speculative_algorithm")),
    (672, NEWEST),
    "--disaggregation-decode-retraction-backup=host_pool: the backup builds",
    Example(argv=f"{_argv('triton', 'EAGLE')} {_RETRACTS}", model=_QWEN),
    Example(argv=_argv("triton", "EAGLE"), model=_QWEN),
)
DRAFTS_22 = (CHAIN, DSPARK_22, DFLASH_22, EAGLE_TARGET, EAGLE_BACKENDS_22, EAGLE_DRAFT_22, EAGLE_NO_TIERS)
