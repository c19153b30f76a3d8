"""Decode servers that write their KV cache out to a store."""

from __future__ import annotations

from configurator.catalog import order
from configurator.catalog.declare import refuses, wheel
from configurator.catalog.terms import PD_DECODE
from configurator.core.expr import flag, resolved
from configurator.core.rule import Example, Set, Unset

_OFFLOAD = flag.disaggregation_decode_enable_offload_kvcache.holds()
_OFF = Unset("disaggregation_decode_enable_offload_kvcache")
_SWITCH = "--disaggregation-decode-enable-offload-kvcache"
_GOOD = Example(argv=f"--tp-size 8 --disaggregation-mode decode {_SWITCH} --hicache-storage-backend file")
_CACHE = "arg_groups/kv_cache_hook.py"

DECODE_ONLY = refuses(
    "PDD632",
    "offload-on-decode-server",
    order.CACHE + 4,
    when=_OFFLOAD,
    require=PD_DECODE,
    says=f"{_SWITCH} needs a decode server, and --disaggregation-mode is {{asked.disaggregation_mode}}.",
    because="Only a decode server writes out what it made.",
    fixes=(_OFF, Set("disaggregation_mode", "decode")),
    source=wheel(_CACHE, "handle_cache_compatibility", 400),
    signature="disaggregation-decode-enable-offload-kvcache is only supported for decode side",
    bad=Example(argv=f"--tp-size 8 {_SWITCH} --hicache-storage-backend file"),
    good=_GOOD,
)
STORE = refuses(
    "PDD633",
    "offload-needs-store",
    order.CACHE + 5,
    when=_OFFLOAD,
    require=flag.hicache_storage_backend.is_set(),
    says=f"{_SWITCH} needs --hicache-storage-backend, which is not given.",
    because="What is written out goes into a store.",
    fixes=(Set("hicache_storage_backend", "file"), _OFF),
    source=wheel(_CACHE, "handle_cache_compatibility", 404),
    signature="is only supported when hicache-storage-backend is provided",
    bad=Example(argv=f"--tp-size 8 --disaggregation-mode decode {_SWITCH}"),
    good=_GOOD,
)
NO_HOST_POOL = refuses(
    "PDD634",
    "offload-no-host-pool",
    order.CACHE + 6,
    when=_OFFLOAD & resolved.disaggregation_decode_retraction_backup.equals("host_pool"),
    says=f"{_SWITCH} does not go with --disaggregation-decode-retraction-backup host_pool.",
    because="Both make a pool in host memory.",
    fixes=(Unset("disaggregation_decode_retraction_backup"), _OFF),
    source=wheel(_CACHE, "handle_cache_compatibility", 408),
    signature="both build a decode host pool",
    bad=Example(
        argv=f"--tp-size 8 --disaggregation-mode decode {_SWITCH} --hicache-storage-backend file "
        "--disaggregation-decode-retraction-backup host_pool"
    ),
    good=_GOOD,
)
