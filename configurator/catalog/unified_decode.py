"""Decode servers with the unified memory pool, from 0.5.21."""

from __future__ import annotations

from configurator.catalog.declare import NEWEST
from configurator.catalog.terms import LATENT, PD_ANY
from configurator.catalog.unified_draft import checked
from configurator.core.expr import Expr, flag, model, resolved
from configurator.core.rule import Example, Fix, Rule, Set, Unset

_QWEN = "qwen3.5-397b-a17b"
_KIMI = "kimi-linear-48b"
_DECODE = "--tp-size 8 --enable-unified-memory --attention-backend triton --disaggregation-mode decode"
_LLAMA = "llama-3.1-70b"
_OFFLOAD: Expr = flag.disaggregation_decode_enable_offload_kvcache.holds()
_OFFLOADS = "--disaggregation-decode-enable-offload-kvcache --hicache-storage-backend"
_HOST_POOL: Expr = resolved.disaggregation_decode_retraction_backup.equals("host_pool")
_RETRACTS = "--disaggregation-decode-retraction-backup host_pool"
_WINDOWS: Expr = model.is_hybrid_swa.holds()
_LINEAR: Expr = model.has_linear_attention.holds()


def _decode(  # noqa: PLR0913, PLR0917 - the fields that differ
    code: str,
    slug: str,
    at: int,
    when: Expr,
    require: Expr,
    says: str,
    because: str,
    fix: Fix,
    place: tuple[int, str],
    signature: str,
    bad: str,
    model_name: str = _LLAMA,
) -> Rule:
    return checked(
        code,
        slug,
        at,
        PD_ANY & when,
        require,
        f"--enable-unified-memory cannot be combined with {says}.",
        because,
        (fix,),
        place,
        signature,
        Example(argv=f"{_DECODE} {bad}", model=model_name),
        Example(argv=_DECODE, model=model_name),
    )


PD_HISPARSE = _decode(
    "KVC549",
    "unified-pd-no-hisparse",
    3,
    flag.enable_hisparse.holds(),
    ~flag.enable_hisparse.holds(),
    "--enable-hisparse on a PD server",
    "HiSparse writes received tokens past the pool's tables.",
    Unset("enable_hisparse"),
    (557, NEWEST),
    "with PD disaggregation is not compatible with --enable-hisparse",
    "--enable-hisparse",
)
OFFLOAD_FILE = _decode(
    "KVC560",
    "unified-offload-file",
    4,
    _OFFLOAD,
    flag.hicache_storage_backend.equals("file"),
    "--disaggregation-decode-enable-offload-kvcache and --hicache-storage-backend {asked.hicache_storage_backend}",
    "Only the store in files takes the pool's pages.",
    Set("hicache_storage_backend", "file"),
    (564, NEWEST),
    "with decode KV offload currently supports --hicache-storage-backend=file only",
    f"{_OFFLOADS} mooncake",
)
OFFLOAD_MODELS = _decode(
    "KVC561",
    "unified-offload-models",
    5,
    _OFFLOAD,
    ~LATENT & ~_LINEAR & ~_WINDOWS,
    "--disaggregation-decode-enable-offload-kvcache for {model.architecture}",
    "Caches of MLA models, recurrent states and sliding windows are not offloaded from the pool.",
    Unset("disaggregation_decode_enable_offload_kvcache"),
    (569, NEWEST),
    "--enable-unified-memory decode KV offload does not support",
    f"{_OFFLOADS} file",
    _KIMI,
)


def _retracts(code: str, require: Expr, because: str, place: tuple[int, str], bad: str = "") -> Rule:
    return _decode(
        code,
        "unified-host-pool-models",
        6,
        _HOST_POOL,
        require,
        "--disaggregation-decode-retraction-backup host_pool for {model.architecture}",
        because,
        Set("disaggregation_decode_retraction_backup", "cpu_tensor"),
        place,
        "host-pool decode retraction does not support",
        f"{_RETRACTS} {bad}".strip(),
        _QWEN,
    )


_STATES = "Recurrent states do not go back to the host from the pool."
RETRACTS_21 = _retracts(
    "KVC562",
    ~flag.disaggregation_decode_enable_radix_cache.holds() & ~_LINEAR & ~_WINDOWS,
    "Recurrent states, sliding windows and reused prefixes do not go back to the host from the pool.",
    (534, "0.5.21"),
)
RETRACTS = _retracts("KVC563", ~_LINEAR, _STATES, (580, NEWEST))
