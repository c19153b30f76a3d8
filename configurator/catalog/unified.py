"""The unified memory pool and the page-major layout it brings: who may use them, alone and under DCP."""

from __future__ import annotations

from configurator.catalog import order
from configurator.catalog.declare import NEWEST, fills, refuses, wheel
from configurator.catalog.terms import (
    DCP_ON,
    DECODE_BACKEND,
    HICACHE,
    LATENT,
    PD_ANY,
    PREFILL_BACKEND,
    SPECULATION,
)
from configurator.core.expr import Expr, flag, model, resolved
from configurator.core.rule import Example, Fix, Rule, Set, Unset

_HOOK = "arg_groups/kv_cache_hook.py"
ON: Expr = flag.enable_unified_memory.holds()
_PLAIN = "--tp-size 8 --enable-unified-memory --attention-backend flashinfer"
_DCP = "--tp-size 8 --dcp-size 4 --enable-unified-memory --attention-backend flashinfer"
_OFF: Fix = Unset("enable_unified_memory")
_KIMI = "kimi-linear-48b"
_SINGLE: tuple[Fix, ...] = (_OFF, Set("dcp_size", 1))


def both_in(*backends: str) -> Expr:
    """Return that prefill and decode are served by *backends*."""
    return PREFILL_BACKEND.is_in(*backends) & DECODE_BACKEND.is_in(*backends)


# --- before DCP was let in ------------------------------------------------------------------------------------------


def _alone(  # noqa: PLR0913, PLR0917 - the fields that differ
    code: str,
    slug: str,
    at: int,
    when: Expr,
    text: str,
    words: str,
    because: str,
    line: int,
    release: str,
    signature: str,
) -> Rule:
    dests = tuple(Unset(word[2:].replace("-", "_")) for word in text.split() if word.startswith("--"))
    return refuses(
        code,
        slug,
        order.UNIFIED + at,
        when=ON & when,
        says=f"--enable-unified-memory cannot be combined with {words}.",
        because=because,
        fixes=(_OFF, *dests),
        source=wheel(_HOOK, "handle_unified_memory_pool", line, release),
        signature=signature,
        bad=Example(argv=f"--tp-size 8 --enable-unified-memory --attention-backend triton {text}"),
        good=Example(argv="--tp-size 8 --enable-unified-memory --attention-backend triton"),
    )


NO_PD_15 = _alone(
    "KVC570",
    "unified-no-pd-15",
    0,
    PD_ANY,
    "--disaggregation-mode decode",
    "--disaggregation-mode {asked.disaggregation_mode}",
    "Up to 0.5.17 its slots are not translated for transfer.",
    5886,
    "0.5.17",
    "--enable-unified-memory is not yet compatible with PD",
)
_TRANSFER: Expr = resolved.disaggregation_transfer_backend.equals("mooncake")
PD_TRANSFER = _alone(
    "KVC505",
    "unified-pd-transfer",
    0,
    PD_ANY & ~_TRANSFER,
    "--disaggregation-mode decode --disaggregation-transfer-backend nixl",
    "--disaggregation-transfer-backend {resolved.disaggregation_transfer_backend}",
    "Whole pages travel, and Mooncake's transfer is written for that.",
    486,
    "0.5.20",
    "--enable-unified-memory with PD disaggregation supports only",
)
PD_PP = _alone(
    "KVC506",
    "unified-pd-pp",
    1,
    PD_ANY & flag.pp_size.differs(1),
    "--disaggregation-mode decode --pp-size 2 --disable-overlap-schedule",
    "--pp-size {asked.pp_size} on a PD server",
    "Whole pages travel, which hold every layer; a pipeline stage has only some.",
    540,
    "0.5.23",
    "--enable-unified-memory with PD disaggregation does not support",
)
PD_SPEC = _alone(
    "KVC507",
    "unified-pd-no-spec",
    2,
    PD_ANY & _TRANSFER & SPECULATION,
    "--disaggregation-mode decode --speculative-algorithm DSPARK",
    "--speculative-algorithm {asked.speculative_algorithm} on a PD server",
    "A draft's KV does not travel with the pages.",
    545,
    "0.5.23",
    "speculative decoding with the Mooncake transfer backend",
)
NO_SPEC_15 = _alone(
    "KVC508",
    "unified-no-spec-15",
    8,
    SPECULATION,
    "--speculative-algorithm EAGLE",
    "--speculative-algorithm {asked.speculative_algorithm}",
    "Up to 0.5.17 a draft's slots are not translated.",
    5889,
    "0.5.17",
    "--enable-unified-memory is not yet compatible with speculative",
)
DSPARK_ONLY = _alone(
    "KVC509",
    "unified-dspark-only",
    8,
    SPECULATION & flag.speculative_algorithm.differs("DSPARK"),
    "--speculative-algorithm EAGLE",
    "--speculative-algorithm {asked.speculative_algorithm}",
    "From 0.5.18 to 0.5.21 only DSPARK's slots are translated.",
    500,
    "0.5.21",
    "--enable-unified-memory only supports --speculative-algorithm",
)
ALGORITHMS_22 = _alone(
    "KVC571",
    "unified-spec-algorithms",
    8,
    SPECULATION & ~flag.speculative_algorithm.is_in("DSPARK", "EAGLE", "EAGLE3", "DFLASH", "NEXTN"),
    "--speculative-algorithm NGRAM",
    "--speculative-algorithm {asked.speculative_algorithm}",
    "From 0.5.22 the slots of DSPARK, EAGLE, EAGLE3 and DFLASH are translated.",
    580,
    "0.5.23",
    "--enable-unified-memory only supports --speculative-algorithm",
)
NO_TIERS = _alone(
    "KVC572",
    "unified-no-tiers",
    15,
    HICACHE | flag.enable_lmcache.holds(),
    "--enable-hierarchical-cache",
    "--enable-hierarchical-cache or --enable-lmcache",
    "Up to 0.5.20 the pool has no host tiers.",
    527,
    "0.5.20",
    "--enable-unified-memory is not yet compatible with hierarchical",
)
NO_LMCACHE = _alone(
    "KVC573",
    "unified-no-lmcache",
    15,
    flag.enable_lmcache.holds(),
    "--enable-lmcache",
    "--enable-lmcache",
    "LMCache reads the pool's virtual slots as if they were real ones.",
    652,
    "0.5.23",
    "--enable-unified-memory is not yet compatible with --enable-lmcache",
)
NO_TBO = _alone(
    "KVC574",
    "unified-no-two-batch-overlap",
    14,
    flag.enable_two_batch_overlap.holds(),
    "--enable-two-batch-overlap",
    "--enable-two-batch-overlap",
    "Half a batch does not know where in the pool's tables it begins.",
    646,
    "0.5.23",
    "--enable-unified-memory does not support --enable-two-batch-overlap",
)
NO_DCP = refuses(
    "KVC575",
    "unified-no-dcp",
    order.UNIFIED + 16,
    when=ON & flag.dcp_size.differs(1),
    says="--enable-unified-memory cannot be combined with --dcp-size {asked.dcp_size}.",
    because="Up to 0.5.19 the pool does not write only the tokens a rank owns.",
    fixes=_SINGLE,
    source=wheel(_HOOK, "handle_unified_memory_pool", 257, "0.5.19"),
    signature="--enable-unified-memory is not yet compatible with decode con",
    bad=Example(argv="--tp-size 8 --dcp-size 4 --enable-unified-memory --attention-backend triton"),
    good=Example(argv="--tp-size 8 --enable-unified-memory --attention-backend triton"),
)

PREFILL_GRAPH = fills(
    "KVC558",
    "unified-prefill-graph-off",
    order.UNIFIED + 30,
    when=ON & flag.cuda_graph_backend_prefill.is_unset(),
    sets={"cuda_graph_prefill_backend": "disabled"},
    because="In 0.5.19 the pool's slots are not translated while prefill is captured.",
    source=wheel(_HOOK, "handle_unified_memory_pool", 262, "0.5.19"),
)
PREFILL_GRAPH_ASKED = refuses(
    "KVC594",
    "unified-prefill-graph",
    order.UNIFIED + 30,
    when=ON & ~flag.cuda_graph_backend_prefill.is_in(None, "disabled"),
    says="--enable-unified-memory cannot be combined with --cuda-graph-backend-prefill {asked.cuda_graph_backend_prefill}.",
    because="In 0.5.19 the pool's slots are not translated while prefill is captured.",
    fixes=(Set("cuda_graph_backend_prefill", "disabled"), Unset("cuda_graph_backend_prefill"), _OFF),
    source=wheel(_HOOK, "handle_unified_memory_pool", 264, "0.5.19"),
    signature="--enable-unified-memory supports decode cuda-graph",
    bad=Example(argv=f"{_PLAIN} --cuda-graph-backend-prefill full"),
    good=Example(argv=_PLAIN),
)
PREFILL_GRAPH_FULL = fills(
    "KVC559",
    "unified-full-prefill-graph-off",
    order.UNIFIED + 30,
    when=ON & resolved.cuda_graph_prefill_backend.equals("full") & ~both_in("fa3", "fa4"),
    sets={"cuda_graph_prefill_backend": "disabled"},
    because="From 0.5.20 only fa3 and fa4 capture a whole prefill from the pool.",
    source=wheel(_HOOK, "handle_unified_memory_pool", 707),
)

# --- with DCP, from 0.5.20 ------------------------------------------------------------------------------------------


def _dcp(  # noqa: PLR0913, PLR0917 - the fields that differ
    code: str,
    slug: str,
    at: int,
    require: Expr,
    says: str,
    because: str,
    line: int,
    signature: str,
    bad: Example,
    release: str = NEWEST,
) -> Rule:
    return refuses(
        code,
        slug,
        order.UNIFIED + 20 + at,
        when=ON & DCP_ON,
        require=require,
        says=says,
        because=because,
        fixes=(Set("attention_backend", "flashinfer"), *_SINGLE),
        values={"prefill": PREFILL_BACKEND, "decode": DECODE_BACKEND},
        source=wheel(_HOOK, "_validate_unified_memory_dcp", line, release),
        signature=signature,
        bad=bad,
        good=Example(argv=_DCP, model=_KIMI),
    )


DCP_MLA_ONLY = _dcp(
    "KVC576",
    "unified-dcp-mla-only",
    0,
    LATENT,
    "--enable-unified-memory with --dcp-size {asked.dcp_size} needs a model with a latent cache; this one is "
    "{model.architecture}.",
    "Only the pool of MLA models writes just the tokens a rank owns.",
    729,
    "supports MLA models only (e.g. kimi-linear)",
    Example(argv="--tp-size 8 --dcp-size 2 --enable-unified-memory --attention-backend triton", model="llama-3.1-70b"),
)
DCP_NO_SWA = _dcp(
    "KVC577",
    "unified-dcp-no-swa",
    1,
    ~model.is_hybrid_swa.holds(),
    "--enable-unified-memory with --dcp-size {asked.dcp_size} cannot serve sliding-window layers.",
    "The window's pool is not striped over a DCP group.",
    735,
    "does not support hybrid sliding-window models",
    Example(argv="--tp-size 8 --dcp-size 2 --enable-unified-memory --attention-backend triton", model="gpt-oss-120b"),
)
DCP_NO_PD = _dcp(
    "KVC578",
    "unified-dcp-no-pd",
    2,
    ~PD_ANY,
    "--enable-unified-memory with --dcp-size {asked.dcp_size} cannot be given on a PD {asked.disaggregation_mode} server.",
    "Whole pages travel, and under DCP a page holds only one rank's share.",
    742,
    "does not support PD disaggregation: the transfer",
    Example(argv=f"{_DCP} --disaggregation-mode decode", model=_KIMI),
)


def _dcp_backends(code: str, line: int, release: str, *backends: str) -> Rule:
    return _dcp(
        code,
        "unified-dcp-backends",
        3,
        both_in(*backends),
        "--enable-unified-memory with --dcp-size {asked.dcp_size} cannot run attention on {prefill} for prefill and "
        "{decode} for decode.",
        f"Only {', '.join(backends[:-1])} and {backends[-1]} find a group's pages through the pool's tables.",
        line,
        "full-attention layers; got",
        Example(argv="--tp-size 8 --dcp-size 4 --enable-unified-memory --attention-backend triton", model=_KIMI),
        release,
    )


DCP_BACKENDS_20 = _dcp_backends("KVC579", 750, "0.5.22", "flashinfer", "trtllm_mla", "cutedsl_mla", "tokenspeed_mla")
DCP_BACKENDS = _dcp_backends("KVC580", 757, NEWEST, "flashinfer", "trtllm_mla", "cutedsl_mla")
