"""LMCache and HiSparse: other tiers for KV, alone and under DCP."""

from __future__ import annotations

from configurator.catalog import order
from configurator.catalog.declare import refuses, wheel
from configurator.catalog.terms import DCP_ON, DSA, HICACHE, PD_ANY, SPECULATION
from configurator.core.expr import Expr, flag, model, resolved, step
from configurator.core.rule import Example, Rule, Set, Unset

_CACHE = "arg_groups/kv_cache_hook.py"
_DCP = "--tp-size 8 --dcp-size 4 --attention-backend flashinfer"
_LMCACHE: Expr = flag.enable_lmcache.holds()
_HISPARSE: Expr = flag.enable_hisparse.holds()

LMCACHE_ALONE = refuses(
    "KVC518",
    "lmcache-alone",
    order.CACHE + 9,
    when=DCP_ON & _LMCACHE,
    says="--enable-lmcache cannot be combined with --dcp-size {asked.dcp_size}.",
    because="LMCache takes a token's slot as it is; under DCP slots are counted over the group.",
    fixes=(Unset("enable_lmcache"), Set("dcp_size", 1)),
    source=wheel(_CACHE, "handle_cache_compatibility", 459),
    signature="--enable-lmcache with --dcp-size > 1 is not supported",
    bad=Example(argv=f"{_DCP} --enable-lmcache"),
    good=Example(argv=_DCP),
)


def _lmcache(  # noqa: PLR0913, PLR0917 - the fields that differ
    code: str, slug: str, at: int, when: Expr, dest: str, text: str, words: str, because: str, signature: str
) -> Rule:
    return refuses(
        code,
        slug,
        order.CACHE + at,
        when=_LMCACHE & when,
        says=f"--enable-lmcache cannot be combined with {words}.",
        because=because,
        fixes=(Unset("enable_lmcache"), Unset(dest)),
        source=wheel(_CACHE, "handle_cache_compatibility", 434),
        signature=signature,
        bad=Example(argv=f"--tp-size 8 --enable-lmcache {text}"),
        good=Example(argv="--tp-size 8 --enable-lmcache"),
    )


LMCACHE_HICACHE = _lmcache(
    "KVC519",
    "lmcache-or-hicache",
    4,
    HICACHE,
    "enable_hierarchical_cache",
    "--enable-hierarchical-cache",
    "--enable-hierarchical-cache",
    "From 0.5.21 there is one set of tiers: SGLang's or LMCache's.",
    "--enable-lmcache and --enable-hierarchical-cache are",
)

LMCACHE_RADIX = _lmcache(
    "KVC520",
    "lmcache-needs-radix",
    5,
    resolved.disable_radix_cache.holds(),
    "disable_radix_cache",
    "--disable-radix-cache",
    "prefix reuse turned off",
    "What is not reused needs no tiers.",
    "--enable-lmcache requires radix cache to be enabled",
)

LMCACHE_SPEC = _lmcache(
    "KVC521",
    "lmcache-no-spec",
    6,
    SPECULATION,
    "speculative_algorithm",
    "--speculative-algorithm EAGLE",
    "--speculative-algorithm {asked.speculative_algorithm}",
    "LMCache does not yet keep a draft's KV.",
    "LMCacheUnifiedRadixCache does not yet support speculative decoding",
)

LMCACHE_DP = _lmcache(
    "KVC522",
    "lmcache-no-dp-attention",
    7,
    step.attn_dp_size.more_than(1),
    "enable_dp_attention",
    "--dp-size 2 --enable-dp-attention",
    "DP attention",
    "LMCache does not yet tell replicas of attention apart.",
    "LMCacheUnifiedRadixCache does not yet support DP attention",
)

LMCACHE_PD = _lmcache(
    "KVC597",
    "lmcache-no-pd",
    11,
    PD_ANY,
    "disaggregation_mode",
    "--disaggregation-mode prefill",
    "--disaggregation-mode {asked.disaggregation_mode}",
    "LMCache keeps what one server prefills and decodes.",
    "LMCacheUnifiedRadixCache currently supports colocated",
)
LMCACHE_RULES = (LMCACHE_HICACHE, LMCACHE_RADIX, LMCACHE_SPEC, LMCACHE_DP, LMCACHE_ALONE, LMCACHE_PD)

HISPARSE_MODELS = refuses(
    "KVC525",
    "hisparse-dsa-only",
    order.FINAL + 20,
    when=_HISPARSE,
    require=DSA | model.architecture.is_in("DeepseekV4ForCausalLM", "MiniMaxM3SparseForConditionalGeneration"),
    says="--enable-hisparse needs a model with sparse attention that it was written for; this one is {model.architecture}.",
    because="Only models with sparse attention pick which tokens to fetch from host memory.",
    fixes=(Unset("enable_hisparse"),),
    source=wheel("arg_groups/hisparse_hook.py", "validate_hisparse", 103),
    signature="--enable-hisparse is only supported for DSA",
    bad=Example(argv="--tp-size 8 --enable-hisparse --disable-radix-cache"),
    good=Example(argv="--tp-size 8 --enable-hisparse --disable-radix-cache", model="deepseek-v3.2"),
)

HISPARSE_RADIX = refuses(
    "KVC526",
    "hisparse-no-radix",
    order.FINAL + 21,
    when=_HISPARSE,
    require=resolved.disable_radix_cache.holds(),
    says="--enable-hisparse needs --disable-radix-cache, which is not given.",
    because="HiSparse does not yet share KV between requests.",
    fixes=(Set("disable_radix_cache", value=True), Unset("enable_hisparse")),
    source=wheel("arg_groups/hisparse_hook.py", "validate_hisparse", 109),
    signature="Hierarchical sparse attention currently requires --disable-radix-cache",
    bad=Example(argv="--tp-size 8 --enable-hisparse", model="deepseek-v3.2"),
    good=Example(argv="--tp-size 8 --enable-hisparse --disable-radix-cache", model="deepseek-v3.2"),
)
