"""Models with a recurrent state: snapshots for prefix reuse, by platform, and states under DCP."""

from __future__ import annotations

from configurator.catalog import order
from configurator.catalog.declare import later, refuses, wheel
from configurator.catalog.families import (
    ARCHITECTURE,
)
from configurator.catalog.terms import (
    CUDA,
    DCP_ON,
    HIP,
    LATENT,
    MODEL_TOLD,
    NPU,
    XPU,
)
from configurator.core.expr import Derived, Expr, flag, model, resolved
from configurator.core.rule import Basis, Choose, Effect, Example, Rule, Set, Source, Stage, Unset

_REUSES: Expr = model.has_linear_attention.holds() & ~resolved.disable_radix_cache.holds()
_SNAPSHOTS: Expr = ~flag.disable_overlap_schedule.holds() | flag.page_size.more_than(1)


def _snapshots(code: str, platforms: Expr, line: int, release: str, signature: str) -> Rule:
    return refuses(
        code,
        "hybrid-cache-needs-gpu",
        order.MODEL + 17,
        stage=Stage.MODEL_ARGS,
        when=_REUSES & _SNAPSHOTS & ~platforms,
        says="Models that reuse prefixes through snapshots of a recurrent state do not run on this platform "
        "({hardware.platform}); this one is {model.architecture}.",
        because="In this release the snapshots are not written for that platform.",
        fixes=(Set("disable_radix_cache", value=True),),
        source=wheel("arg_groups/mamba_hook.py", "validate_mamba_extra_buffer", line, release)
        if release >= "0.5.19"
        else wheel("server_args.py", "_handle_mamba_radix_cache", line, release),
        signature=signature,
        bad=Example(argv="--tp-size 1", hardware="cpu", model="qwen3.5-397b-a17b"),
        good=Example(argv="--tp-size 1 --disable-radix-cache", hardware="cpu", model="qwen3.5-397b-a17b"),
    )


_NO_SNAPSHOTS_15: Expr = ARCHITECTURE.equals("KimiLinearForCausalLM")
HYBRID_15 = _snapshots("MDL813", CUDA | NPU | _NO_SNAPSHOTS_15, 4266, "0.5.15", "extra_buffer needs CUDA/MUSA/NPU")
HYBRID_16 = _snapshots("MDL814", CUDA | NPU | HIP, 5590, "0.5.17", "extra_buffer needs CUDA/MUSA/NPU/ROCm")
HYBRID_18 = _snapshots("MDL815", CUDA | NPU | HIP | XPU, 107, "0.5.20", "extra_buffer needs CUDA/MUSA/NPU/ROCm/XPU")
HYBRID = _snapshots("MDL827", CUDA | NPU | HIP | XPU, 120, "0.5.23", "extra_buffer requires platform support")
HYBRID_XPU_PAGES = refuses(
    "MDL816",
    "hybrid-pages-on-xpu",
    order.MODEL + 17,
    stage=Stage.MODEL_ARGS,
    when=_REUSES & XPU,
    require=flag.page_size.is_in(None, 1),
    says="--page-size {asked.page_size} does not fit {model.architecture} on Intel XPU.",
    because="From 0.5.20 models with a recurrent state keep no snapshots there, and reuse prefixes token by token.",
    fixes=(Unset("page_size"), Set("disable_radix_cache", value=True)),
    source=wheel("arg_groups/mamba_hook.py", "validate_mamba_no_buffer", 153),
    signature="no_buffer only supports page_size=1.",
    bad=Example(argv="--tp-size 8 --page-size 64", hardware="max1550x8", model="qwen3.5-397b-a17b"),
    good=Example(argv="--tp-size 8", hardware="max1550x8", model="qwen3.5-397b-a17b"),
)

_GROUP_PAGE = Derived(
    "tokens of a group's page",
    lambda size, ranks: max(size or 1, 1) * max(ranks, 1),
    (resolved.page_size, flag.dcp_size),
)


def _hybrid_state(code: str, grid: int, release: str, because: str) -> Rule:
    def fits(page: int) -> bool:
        return grid % page == 0

    return later(
        code,
        "hybrid-prefix-state-dcp",
        156,
        effect=Effect.CORRUPTS,
        when=MODEL_TOLD & model.has_linear_attention.holds() & LATENT & DCP_ON & ~resolved.disable_radix_cache.holds(),
        require=Derived(f"page of the group on a grid of {grid} tokens", fits, (_GROUP_PAGE,)).holds(),
        says="A page of the DCP group holds {page} tokens, which does not fit the model's recurrent state, kept every "
        "{grid} tokens.",
        values={"page": _GROUP_PAGE, "grid": Derived("grid", lambda _page: grid, (_GROUP_PAGE,))},
        because=f"{because} A request that reuses a prefix then counts some tokens twice, without a word.",
        fixes=(Set("page_size", 1), Set("disable_radix_cache", value=True), Choose("dcp_size")),
        source=Source(
            path="sglang/srt/mem_cache/mamba_radix_cache.py",
            symbol="match_prefix",
            release=release,
            url="https://github.com/sgl-project/sglang/pull/34808",
            basis=Basis.REPORTED,
        ),
        signature=None,
        bad=Example(
            argv="--tp-size 8 --dcp-size 8 --page-size 64 --attention-backend flashinfer", model="kimi-linear-48b"
        ),
        good=Example(argv="--tp-size 8 --dcp-size 8 --attention-backend flashinfer", model="kimi-linear-48b"),
    )


HYBRID_STATE_17 = _hybrid_state(
    "MDL895", 64, "0.5.17", "In 0.5.17 prefixes end at pages of the group, states at a grid of 64 tokens."
)
HYBRID_STATE_18 = _hybrid_state(
    "MDL896",
    256,
    "0.5.18",
    "In 0.5.18 states of prefill are aligned with the group's pages, those of decode are kept every 256 tokens.",
)
