"""SGLang 0.5.18: prefill of MLA models is captured; HiCache goes with DSPARK; decode servers keep a host pool."""

from configurator.catalog import (
    block_drafts,
    deterministic,
    graph_limits,
    hicache,
    hybrid_state,
    kimi_k3,
    offload,
    pages,
    parallel,
    quiet,
    unified,
    unified_draft,
)
from configurator.catalog.flag_table import flag_table
from configurator.catalog.flags import modelled_in
from configurator.catalog.releases import v0_5_17

_TABLE = flag_table("0.5.18")

RELEASE = v0_5_17.RELEASE.derive(
    version="0.5.18",
    table=_TABLE,
    evidence="wheel sglang==0.5.18, srt/server_args.py",
    modelled=modelled_in(_TABLE),
    software={"software.flashinfer": "0.6.17", "software.sglang_kernel": "0.4.6.post1"},
    retire=(
        "SPC743",
        "SPC756",
        "MDL814",
        "HWR462",
        "HWR469",
        "HWR474",
        "KVC512",
        "KVC508",
        "KVC570",
        "DCP112",
        "ATT315",
        "HWR484",
        "HWR485",
        "MDL895",
    ),
    add_rules=(
        block_drafts.DSPARK_PLATFORM_18,
        block_drafts.DSPARK_A2A_18,
        deterministic.DETERMINISTIC_FA4,
        offload.NO_HOST_POOL,
        unified_draft.CHAIN_18,
        unified_draft.DSPARK_18,
        hybrid_state.HYBRID_18,
        hicache.DSPARK_ONLY,
        hicache.HOST_POOL_DECODE,
        hicache.HOST_POOL_DCP,
        unified.PD_TRANSFER,
        unified.PD_PP,
        unified.DSPARK_ONLY,
        parallel.KV_LAYOUT,
        kimi_k3.CUTEDSL_FLASHINFER,
        quiet.FAST_LOAD,
        hybrid_state.HYBRID_STATE_18,
    ),
    add_resolutions=(graph_limits.MULTIMODAL_18, pages.KV_EVENT_BLOCK),
)
