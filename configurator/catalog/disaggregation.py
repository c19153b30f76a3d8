"""Prefill and decode on different servers: transfer backends, caches on decode servers, and what DCP does to both."""

from __future__ import annotations

from dataclasses import replace

from configurator.catalog import order
from configurator.catalog.declare import NEWEST, fills, later, refuses, wheel
from configurator.catalog.terms import DCP_ON, HICACHE, PD_ANY, PD_DECODE, PD_PREFILL, SPECULATION
from configurator.core.expr import Expr, flag, resolved, step
from configurator.core.rule import Effect, Example, Resolution, Rule, Set, Stage, Unset

_HOOK = "arg_groups/pd_disaggregation_hook.py"
_DCP = "--tp-size 8 --dcp-size 4 --attention-backend flashinfer"
_DECODE = f"{_DCP} --disaggregation-mode decode"
_GOOD = Example(argv=_DECODE)
_RADIX: Expr = flag.disaggregation_decode_enable_radix_cache.holds()

MOONCAKE_TCP = fills(
    "PDD650",
    "mooncake-over-tcp",
    order.PD,
    when=flag.disaggregation_transfer_backend.equals("mooncake_tcp"),
    sets={"disaggregation_transfer_backend": "mooncake"},
    because="mooncake_tcp is mooncake told to use TCP.",
    source=wheel(_HOOK, "handle_pd_disaggregation", 30),
)
DECODE_RADIX_ON = fills(
    "PDD651",
    "decode-server-radix-on",
    order.PD + 20,
    when=PD_DECODE & _RADIX,
    sets={"disable_radix_cache": False},
    because="A decode server reuses prefixes where that is asked for.",
    source=wheel(_HOOK, "handle_pd_disaggregation", 122),
)
DECODE_RADIX_OFF = fills(
    "PDD652",
    "decode-server-radix-off",
    order.PD + 20,
    when=PD_DECODE & ~_RADIX,
    sets={"disable_radix_cache": True},
    because="A decode server receives its prefixes; it reuses none unless that is asked for.",
    source=wheel(_HOOK, "handle_pd_disaggregation", 129),
    signature="Radix cache is disabled for decode server",
)
HOST_RECEIVE: Expr = flag.disaggregation_decode_host_receive_threshold.less_than(1)
HOST_RECEIVE_21: Expr = flag.disaggregation_decode_host_receive_threshold.more_than(0)


def _host_pool(code: str, slug: str, active: Expr, line: int, release: str) -> Resolution:
    """Return that receiving KV in host memory brings the host pool with it."""
    return fills(
        code,
        slug,
        order.PD + 8,
        when=active,
        sets={"disaggregation_decode_retraction_backup": "host_pool"},
        because="KV received in host memory lives in the host pool, which retraction then uses too.",
        source=wheel(_HOOK, "handle_pd_disaggregation", line, release),
    )


HOST_POOL_21 = _host_pool("PDD653", "host-receive-pool-21", HOST_RECEIVE_21, 47, "0.5.21")
HOST_POOL = _host_pool("PDD654", "host-receive-pool", HOST_RECEIVE, 76, "0.5.23")

PREFILL_WARNS = later(
    "PDD601",
    "pd-prefill-dcp-warn",
    100,
    effect=Effect.SLOWS,
    stage=Stage.SERVER_ARGS,
    when=PD_PREFILL & DCP_ON,
    says="This prefill server runs with --dcp-size {asked.dcp_size}.",
    because="DCP shortens decode. A prefill server only pays its communication, unless the decode server needs the "
    "same layout.",
    fixes=(Set("dcp_size", 1),),
    source=wheel(_HOOK, "handle_pd_disaggregation", 59),
    signature="DCP on a PD prefill server is supported when prefill and decode",
    bad=Example(argv=f"{_DCP} --disaggregation-mode prefill"),
    good=_GOOD,
)


def _transfer(code: str, slug: str, line: int, release: str, *backends: str) -> Rule:
    *others, last = backends
    return refuses(
        code,
        slug,
        order.PD + 10,
        when=PD_DECODE & DCP_ON,
        require=resolved.disaggregation_transfer_backend.is_in(*backends),
        says=(
            "A decode server with --dcp-size {asked.dcp_size} cannot receive by --disaggregation-transfer-backend "
            "{resolved.disaggregation_transfer_backend}."
        ),
        because=f"Laying a prefill server's KV out over a DCP group is written for {', '.join(others)} and {last}"
        f"{' (a stand-in for benchmarks)' if last == 'fake' else ''}.",
        fixes=(
            Set("disaggregation_transfer_backend", "mooncake"),
            Set("disaggregation_transfer_backend", "nixl"),
            Set("dcp_size", 1),
        ),
        source=wheel(_HOOK, "handle_pd_disaggregation", line, release),
        signature="PD decode DCP requires --disaggregation-transfer-backend",
        bad=Example(
            argv=f"{_DECODE} --disaggregation-transfer-backend {'mori' if 'mori' not in backends else 'mooncake'}"
        ),
        good=_GOOD,
    )


TRANSFER_17 = _transfer("PDD602", "pd-decode-transfer", 31, "0.5.18", "mooncake", "nixl")
TRANSFER_19 = _transfer("PDD603", "pd-decode-transfer", 62, "0.5.19", "mooncake", "nixl", "fake")
TRANSFER_20 = _transfer("PDD604", "pd-decode-transfer-fake", 80, "0.5.21", "mooncake", "nixl", "fake")
_ALL = ("mooncake", "nixl", "mori", "ascend", "fake")

TRANSFER_22 = replace(
    _transfer("PDD605", "pd-decode-transfer-mori-ascend", 93, "0.5.23", *_ALL),
    # The parser takes no backend beyond these, so no command line reaches it.
    example=None,
    accept=None,
)

_CHUNK_CACHE = "PD decode DCP currently requires chunk cache; "


def _chunk_cache(code: str, slug: str, at: int, dest: str, when: Expr, flags: str, signature: str) -> Rule:
    return refuses(
        code,
        slug,
        order.PD + at,
        when=PD_DECODE & DCP_ON & when,
        says=f"A decode server with --dcp-size {{asked.dcp_size}} does not take {flags}.",
        because="Up to 0.5.20 a decode server under DCP keeps KV for running requests only: prefixes are neither kept "
        "nor offloaded. 0.5.21 lifted that.",
        fixes=(Unset(dest), Set("dcp_size", 1)),
        source=wheel(_HOOK, "handle_pd_disaggregation", 73, "0.5.20"),
        signature=f"{_CHUNK_CACHE}{signature}",
        bad=Example(argv=f"{_DECODE} {flags}"),
        good=_GOOD,
    )


NO_RADIX = _chunk_cache(
    "PDD606",
    "pd-decode-no-radix",
    11,
    "disaggregation_decode_enable_radix_cache",
    _RADIX,
    "--disaggregation-decode-enable-radix-cache",
    "--disaggregation-de",
)
NO_HICACHE = _chunk_cache(
    "PDD607",
    "pd-decode-no-hicache",
    12,
    "enable_hierarchical_cache",
    HICACHE,
    "--enable-hierarchical-cache",
    "--enable-hierarchi",
)


def _decode_radix(  # noqa: PLR0917 - the fields that differ
    code: str, slug: str, at: int, when: Expr, says: str, fixes: tuple[str, ...], extra: str, release: str = NEWEST
) -> Rule:
    return refuses(
        code,
        slug,
        order.PD + at,
        when=PD_DECODE & _RADIX & when,
        says=says,
        because="Prefix reuse on a decode server is not written for it.",
        fixes=(*(Unset(dest) for dest in fixes), Unset("disaggregation_decode_enable_radix_cache")),
        source=wheel(_HOOK, "handle_pd_disaggregation", 108 if release == NEWEST else None, release),
        signature="--disaggregation-decode-enable-radix-cache is incompatible",
        bad=Example(
            argv=f"--tp-size 8 --disaggregation-mode decode --disaggregation-decode-enable-radix-cache {extra}"
        ),
        good=Example(argv="--tp-size 8 --disaggregation-mode decode --disaggregation-decode-enable-radix-cache"),
    )


RADIX_HISPARSE = _decode_radix(
    "PDD608",
    "decode-radix-no-hisparse",
    15,
    flag.enable_hisparse.holds(),
    "--disaggregation-decode-enable-radix-cache cannot be combined with --enable-hisparse.",
    ("enable_hisparse",),
    "--enable-hisparse",
)
RADIX_FAKE = _decode_radix(
    "PDD609",
    "decode-radix-no-fake",
    16,
    resolved.disaggregation_transfer_backend.equals("fake"),
    "--disaggregation-decode-enable-radix-cache cannot be combined with --disaggregation-transfer-backend fake.",
    ("disaggregation_transfer_backend",),
    "--disaggregation-transfer-backend fake",
)
_NO_SPEC = (
    "--disaggregation-decode-enable-radix-cache cannot be combined with --speculative-algorithm "
    "{asked.speculative_algorithm}."
)
RADIX_SPEC_15 = _decode_radix(
    "PDD610",
    "decode-radix-no-spec",
    17,
    SPECULATION,
    _NO_SPEC,
    ("speculative_algorithm",),
    "--speculative-algorithm EAGLE",
    "0.5.20",
)
RADIX_SPEC_21 = _decode_radix(
    "PDD611",
    "decode-radix-dspark-only",
    17,
    SPECULATION & flag.speculative_algorithm.differs("DSPARK"),
    _NO_SPEC,
    ("speculative_algorithm",),
    "--speculative-algorithm EAGLE",
    "0.5.22",
)
PREFILL_NOT_FAKE = refuses(
    "PDD612",
    "prefill-server-no-fake",
    order.PD + 22,
    when=PD_PREFILL & resolved.disaggregation_transfer_backend.equals("fake"),
    says="--disaggregation-transfer-backend fake is for decode servers, and this is a prefill server.",
    because="The stand-in only makes up what a decode server would receive.",
    fixes=(Unset("disaggregation_transfer_backend"),),
    source=wheel(_HOOK, "handle_pd_disaggregation", 147),
    signature="Prefill server does not support 'fake' as the transfer backend",
    bad=Example(argv="--tp-size 8 --disaggregation-mode prefill --disaggregation-transfer-backend fake"),
    good=Example(argv="--tp-size 8 --disaggregation-mode prefill"),
)
ROLE_SWITCH = refuses(
    "PDD613",
    "pd-role-switch",
    order.PD + 26,
    when=PD_ANY & flag.enable_pd_role_switch.holds() & DCP_ON,
    says="--enable-pd-role-switch cannot be combined with --dcp-size {asked.dcp_size}.",
    because="A change of role rebuilds caches, but not DCP groups.",
    fixes=(Unset("enable_pd_role_switch"), Set("dcp_size", 1)),
    source=wheel(_HOOK, "handle_pd_disaggregation", 192),
    signature="--enable-pd-role-switch does not rebuild role-specific",
    bad=Example(argv=f"{_DECODE} --enable-pd-role-switch"),
    good=_GOOD,
)
_COMPLETE: Expr = flag.disaggregation_decode_allocation_policy.equals("prefill_complete")
PREFILL_COMPLETE = refuses(
    "PDD614",
    "pd-alloc-prefill-complete",
    order.PD + 2,
    when=_COMPLETE,
    require=flag.pp_size.equals(1) & flag.attn_cp_size.equals(1) & flag.dcp_size.equals(1),
    says=(
        "--disaggregation-decode-allocation-policy prefill_complete cannot be combined with --dcp-size {asked.dcp_size}, "
        "--pp-size {asked.pp_size} and --attn-cp-size {asked.attn_cp_size}."
    ),
    because="Allocating after prefill is written for servers without pipeline stages and without context parallelism.",
    fixes=(Unset("disaggregation_decode_allocation_policy"), Set("dcp_size", 1)),
    source=wheel(_HOOK, "_validate_prefill_complete", 207),
    signature="pipeline or attention context parallelism",
    bad=Example(argv=f"{_DECODE} --disaggregation-decode-allocation-policy prefill_complete"),
    good=_GOOD,
)

PREFILL_COMPLETE_LIMITS = refuses(
    "PDD615",
    "prefill-complete-limits",
    order.PD + 3,
    when=_COMPLETE,
    require=PD_ANY
    & resolved.disaggregation_transfer_backend.equals("mooncake")
    & flag.tp_size.equals(step.attn_dp_size)
    & ~flag.enable_hisparse.holds()
    & ~flag.enable_pd_role_switch.holds()
    & ~(PD_DECODE & (_RADIX | HICACHE)),
    says=(
        "--disaggregation-decode-allocation-policy prefill_complete does not go with what else is given; "
        "--disaggregation-mode is {asked.disaggregation_mode}, --tp-size {asked.tp_size} and "
        "--disaggregation-transfer-backend {resolved.disaggregation_transfer_backend}."
    ),
    because="It is written for PD servers on mooncake whose attention is fully data-parallel, without HiSparse, "
    "without role switching, and on decode servers without prefix reuse or tiers.",
    fixes=(Unset("disaggregation_decode_allocation_policy"),),
    source=wheel(_HOOK, "_validate_prefill_complete", 201),
    signature="--disaggregation-decode-allocation-policy prefill_complete does not",
    bad=Example(
        argv="--tp-size 8 --disaggregation-mode decode --disaggregation-decode-allocation-policy prefill_complete"
    ),
    good=Example(
        argv="--tp-size 8 --dp-size 8 --enable-dp-attention --disaggregation-mode decode "
        "--disaggregation-decode-allocation-policy prefill_complete"
    ),
)

COMMON_RULES = (RADIX_HISPARSE, RADIX_FAKE, PREFILL_NOT_FAKE)
COMMON_RESOLUTIONS = (MOONCAKE_TCP, DECODE_RADIX_ON, DECODE_RADIX_OFF)
