"""The hierarchical cache, LMCache and HiSparse, alone and together with DCP."""

from __future__ import annotations

from configurator.catalog import order
from configurator.catalog.declare import fills, later, read_in, refuses, wheel
from configurator.catalog.terms import DCP_ON, HICACHE, LATENT, PD_DECODE, SPECULATION
from configurator.core.expr import ALWAYS, Expr, flag, resolved
from configurator.core.rule import Example, Rule, Set, Stage, Unset

_HOOK = "arg_groups/hicache_hook.py"
_CACHE = "arg_groups/kv_cache_hook.py"
_SYMBOL = "resolve_hicache_dcp_compatibility"
_DCP = "--tp-size 8 --dcp-size 4 --attention-backend flashinfer"
_TIERS = f"{_DCP} --enable-hierarchical-cache"
_GOOD = Example(argv=_TIERS)
_BOTH: Expr = DCP_ON & HICACHE
_LMCACHE: Expr = flag.enable_lmcache.holds()
_HISPARSE: Expr = flag.enable_hisparse.holds()
_HOST_POOL: Expr = resolved.disaggregation_decode_retraction_backup.equals("host_pool")

L3 = refuses(
    "KVC510",
    "hicache-l3",
    order.HICACHE + 5,
    when=_BOTH & flag.hicache_storage_backend.is_set(),
    says="--hicache-storage-backend {asked.hicache_storage_backend} cannot be combined with --dcp-size {asked.dcp_size}.",
    because="Each rank of a DCP group holds other tokens, and up to 0.5.22 the store's keys do not tell ranks apart. "
    "GPU and host memory work.",
    fixes=(Unset("hicache_storage_backend"), Set("dcp_size", 1)),
    source=wheel(_HOOK, _SYMBOL, 117, "0.5.22"),
    signature="--hicache-storage-backend (L3) with --dcp-size > 1 is not",
    bad=Example(argv=f"{_TIERS} --hicache-storage-backend file"),
    good=_GOOD,
)
L3_BUFFER_ONLY = refuses(
    "KVC511",
    "hicache-l3-buffer-only",
    order.HICACHE + 5,
    when=_BOTH & flag.hicache_storage_backend.is_set(),
    require=flag.hicache_host_memory_mode.differs("buffer_only"),
    says="--hicache-host-memory-mode buffer_only cannot be combined with --dcp-size {asked.dcp_size} and a store.",
    because="From 0.5.23 the store knows DCP ranks, but only through a host tier that keeps what it holds.",
    fixes=(Unset("hicache_host_memory_mode"), Unset("hicache_storage_backend"), Set("dcp_size", 1)),
    source=wheel(_HOOK, _SYMBOL, 139),
    signature="HiCache L3 with DCP does not support buffer_only host memory.",
    bad=Example(argv=f"{_TIERS} --hicache-storage-backend file --hicache-host-memory-mode buffer_only"),
    good=Example(argv=f"{_TIERS} --hicache-storage-backend file"),
)
BUFFER_NEEDS_STORE = refuses(
    "KVC517",
    "buffer-only-needs-store",
    order.HICACHE + 1,
    when=HICACHE & flag.hicache_host_memory_mode.equals("buffer_only"),
    require=flag.hicache_storage_backend.is_set(),
    says="--hicache-host-memory-mode buffer_only needs --hicache-storage-backend, which is not given.",
    because="As a buffer, host memory only passes data on, and there is nothing to pass it to.",
    fixes=(Unset("hicache_host_memory_mode"), Set("hicache_storage_backend", "file")),
    source=wheel(_HOOK, "validate_hicache_host_memory_mode", 266),
    signature="--hicache-host-memory-mode buffer_only requires a storage backend",
    bad=Example(argv="--tp-size 8 --enable-hierarchical-cache --hicache-host-memory-mode buffer_only"),
    good=Example(argv="--tp-size 8 --enable-hierarchical-cache"),
)


BUFFER_NOT_DECODE = refuses(
    "KVC596",
    "buffer-only-not-on-decode",
    order.HICACHE + 2,
    when=HICACHE & flag.hicache_host_memory_mode.equals("buffer_only") & PD_DECODE,
    says="--hicache-host-memory-mode buffer_only is not for decode servers, and this is one.",
    because="A decode server fetches and offloads past the buffer.",
    fixes=(Unset("hicache_host_memory_mode"), Unset("enable_hierarchical_cache")),
    source=wheel(_HOOK, "validate_hicache_host_memory_mode", 281),
    signature="--hicache-host-memory-mode buffer_only is not supported on",
    bad=Example(
        argv="--tp-size 8 --enable-hierarchical-cache --hicache-storage-backend file --hicache-host-memory-mode "
        "buffer_only --disaggregation-mode decode --disaggregation-decode-enable-radix-cache"
    ),
    good=Example(
        argv="--tp-size 8 --enable-hierarchical-cache --hicache-storage-backend file --hicache-host-memory-mode "
        "buffer_only"
    ),
)


def _no_spec(code: str, slug: str, when: Expr, because: str, line: int, release: str, signature: str) -> Rule:
    return refuses(
        code,
        slug,
        order.HICACHE + 6,
        when=_BOTH & SPECULATION & when,
        says="--enable-hierarchical-cache, --dcp-size {asked.dcp_size} and --speculative-algorithm "
        "{asked.speculative_algorithm} cannot be combined.",
        because=because,
        fixes=(Unset("enable_hierarchical_cache"), Unset("speculative_algorithm"), Set("dcp_size", 1)),
        source=wheel(_HOOK, _SYMBOL, line, release),
        signature=signature,
        bad=Example(argv=f"{_TIERS} --speculative-algorithm EAGLE"),
        good=_GOOD,
    )


NO_SPEC = _no_spec(
    "KVC512",
    "hicache-no-spec",
    ALWAYS,
    "In 0.5.17 the draft's host pool cannot translate a DCP group's indices.",
    7174,
    "0.5.17",
    "HiCache with --dcp-size > 1 does not support speculative",
)
DSPARK_ONLY = _no_spec(
    "KVC513",
    "hicache-spec-dspark-only",
    flag.speculative_algorithm.differs("DSPARK"),
    "Only DSPARK's draft has a host pool that translates a DCP group's indices.",
    143,
    "0.5.23",
    "HiCache with --dcp-size > 1 only supports DSPARK speculative",
)
LMCACHE = refuses(
    "KVC514",
    "hicache-lmcache",
    order.HICACHE + 7,
    when=_BOTH & _LMCACHE,
    says="--enable-lmcache cannot be combined with --enable-hierarchical-cache and --dcp-size {asked.dcp_size}.",
    because="LMCache takes a token's slot as it is; under DCP slots are counted over the group.",
    fixes=(Unset("enable_lmcache"), Set("dcp_size", 1)),
    source=wheel(_HOOK, _SYMBOL, 149),
    signature="--enable-lmcache with --dcp-size > 1 is not supported",
    bad=Example(argv=f"{_TIERS} --enable-lmcache"),
    good=_GOOD,
)
HISPARSE = refuses(
    "KVC515",
    "hicache-hisparse",
    order.HICACHE + 8,
    when=_BOTH & _HISPARSE,
    says="--enable-hisparse cannot be combined with --enable-hierarchical-cache and --dcp-size {asked.dcp_size}.",
    because="HiSparse builds its host pool without knowing of DCP.",
    fixes=(Unset("enable_hisparse"), Set("dcp_size", 1)),
    source=wheel(_HOOK, _SYMBOL, 154),
    signature="--enable-hisparse with --dcp-size > 1 is not supported",
    bad=Example(argv=f"{_TIERS} --enable-hisparse"),
    good=_GOOD,
)
MLA_ONLY = refuses(
    "KVC516",
    "hicache-mla-only",
    order.HICACHE + 9,
    when=_BOTH,
    require=LATENT,
    says="--enable-hierarchical-cache with --dcp-size {asked.dcp_size} needs a model with a latent cache; this one is "
    "{model.architecture}.",
    because="Only the host pool of MLA models translates a DCP group's indices.",
    fixes=(Unset("enable_hierarchical_cache"), Set("dcp_size", 1)),
    source=wheel(_HOOK, _SYMBOL, 159),
    signature="HiCache with --dcp-size > 1 is only supported for MLA models",
    bad=Example(
        argv="--tp-size 8 --dcp-size 2 --attention-backend triton --enable-hierarchical-cache", model="llama-3.1-70b"
    ),
    good=_GOOD,
)


HOST_POOL_DCP = refuses(
    "PDD616",
    "pd-retraction-host-pool",
    order.CACHE + 1,
    when=_HOST_POOL & PD_DECODE & DCP_ON,
    says="--disaggregation-decode-retraction-backup host_pool cannot be combined with --dcp-size {asked.dcp_size}.",
    because="The host pool for taken-back requests does not translate a DCP group's indices. A "
    "--disaggregation-decode-host-receive-threshold below 1 brings the pool with it.",
    fixes=(
        Unset("disaggregation_decode_retraction_backup"),
        Unset("disaggregation_decode_host_receive_threshold"),
        Set("dcp_size", 1),
    ),
    source=wheel(_CACHE, "handle_cache_compatibility", 363),
    signature="--disaggregation-decode-retraction-backup=host_pool does not",
    bad=Example(argv=f"{_DCP} --disaggregation-mode decode --disaggregation-decode-retraction-backup host_pool"),
    good=Example(argv=f"{_DCP} --disaggregation-mode decode"),
)
HOST_POOL_DECODE = refuses(
    "PDD617",
    "host-pool-on-decode-server",
    order.CACHE,
    when=_HOST_POOL,
    require=PD_DECODE,
    says="--disaggregation-decode-retraction-backup host_pool needs a decode server, and this is none.",
    because="Only a decode server takes requests back into a host pool.",
    fixes=(Unset("disaggregation_decode_retraction_backup"), Set("disaggregation_mode", "decode")),
    source=wheel(_CACHE, "handle_cache_compatibility", 355),
    signature="--disaggregation-decode-retraction-backup=host_pool is only",
    bad=Example(argv="--tp-size 8 --disaggregation-decode-retraction-backup host_pool"),
    good=Example(argv="--tp-size 8 --disaggregation-mode decode --disaggregation-decode-retraction-backup host_pool"),
)
HICACHE_NEEDS_RADIX = refuses(
    "KVC523",
    "hicache-needs-radix",
    order.CACHE + 3,
    when=HICACHE,
    require=~resolved.disable_radix_cache.holds(),
    says="--enable-hierarchical-cache needs prefix reuse, which is off here.",
    because="Tiers keep prefixes for reuse. --disable-radix-cache turns reuse off, and so does a decode server without "
    "--disaggregation-decode-enable-radix-cache.",
    fixes=(
        Unset("disable_radix_cache"),
        Set("disaggregation_decode_enable_radix_cache", value=True),
        Unset("enable_hierarchical_cache"),
    ),
    source=wheel(_CACHE, "handle_cache_compatibility", 398),
    signature="enable-hierarchical-cache and disable-radix-cache are mutually exclusive",
    bad=Example(argv="--tp-size 8 --enable-hierarchical-cache --disable-radix-cache"),
    good=Example(argv="--tp-size 8 --enable-hierarchical-cache"),
)

STORAGE_KIND = later(
    "KVC524",
    "hicache-l3-storage-kind",
    130,
    stage=Stage.INIT,
    when=_BOTH & flag.hicache_storage_backend.is_set(),
    require=flag.hicache_storage_backend.is_in("file", "mooncake"),
    says="--hicache-storage-backend {asked.hicache_storage_backend} cannot be combined with --dcp-size {asked.dcp_size}.",
    because="From 0.5.23 files and Mooncake keep a DCP group's shards apart; other stores raise when they are attached.",
    fixes=(
        Set("hicache_storage_backend", "file"),
        Set("hicache_storage_backend", "mooncake"),
        Unset("hicache_storage_backend"),
    ),
    source=read_in("managers/cache_controller.py", "attach_storage_backend", 561),
    signature="HiCache L3 with DCP requires file or Mooncake storage.",
    bad=Example(argv=f"{_TIERS} --hicache-storage-backend hf3fs"),
    good=Example(argv=f"{_TIERS} --hicache-storage-backend file"),
)
MOONCAKE_LAYOUT = fills(
    "KVC551",
    "hicache-mooncake-layout-kept",
    order.HICACHE + 3,
    when=DCP_ON & flag.hicache_storage_backend.equals("mooncake"),
    sets={"step.hicache_layout_kept": True},
    because="Under DCP a layer_first host layout stays as it is for Mooncake; without DCP it is rewritten.",
    source=read_in(_HOOK, "resolve_storage_layout_compatibility", 199),
)
