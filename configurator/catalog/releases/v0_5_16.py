"""SGLang 0.5.16: the prefill CUDA graph goes off under DCP."""

from configurator.catalog import (
    block_drafts,
    dcp_backend,
    elastic,
    graph_limits,
    hybrid_state,
    kv_types,
    model_rules,
    quiet,
    speculative,
)
from configurator.catalog.flag_table import flag_table
from configurator.catalog.flags import modelled_in
from configurator.catalog.releases import v0_5_15

_TABLE = flag_table("0.5.16")

RELEASE = v0_5_15.RELEASE.derive(
    version="0.5.16",
    table=_TABLE,
    evidence="wheel sglang==0.5.16, srt/server_args.py",
    modelled=modelled_in(_TABLE),
    software={"software.flashinfer": "0.6.14", "software.sglang_kernel": "0.4.5"},
    retire=("MDL813", "SPC714", "HWR473", "HWR483", "KVC582", "MDL890"),
    add_rules=(
        block_drafts.DFLASH_PLATFORM_16,
        block_drafts.DSPARK_PLATFORM_16,
        block_drafts.DSPARK_LM_HEAD,
        block_drafts.DSPARK_NO_CP,
        block_drafts.DSPARK_A2A_16,
        block_drafts.DSPARK_NO_PP_16,
        speculative.DSPARK_DRAFT,
        hybrid_state.HYBRID_16,
        speculative.NGRAM_16,
        elastic.PP_1,
        elastic.NEEDS_BACKEND,
        kv_types.FP4_16,
        kv_types.MXFP8,
        model_rules.WITHOUT_HOOK_16,
    ),
    add_resolutions=(
        dcp_backend.PREFILL_GRAPH_OFF,
        graph_limits.MULTIMODAL_16,
        graph_limits.K25_COMPILED,
        graph_limits.K25_OFF,
        *graph_limits.ROLES,
        quiet.SIZING,
    ),
)
