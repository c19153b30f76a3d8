"""SGLang 0.5.21: decode servers may reuse and offload prefixes under DCP; roles that switch may not."""

from configurator.catalog import (
    attention_defaults,
    attention_limits,
    block_drafts,
    disaggregation,
    kv_types,
    lmcache,
    model_rules,
    pipelines,
    prefill_cp,
    speculative,
    unified,
    unified_decode,
)
from configurator.catalog.flag_table import flag_table
from configurator.catalog.flags import modelled_in
from configurator.catalog.releases import v0_5_20

_TABLE = flag_table("0.5.21")

RELEASE = v0_5_20.RELEASE.derive(
    version="0.5.21",
    table=_TABLE,
    evidence="wheel sglang==0.5.21, srt/arg_groups/parallel_hook.py and overrides.py",
    modelled=modelled_in(_TABLE),
    retire=(
        "SPC741",
        "SPC757",
        "SPC760",
        "SPC718",
        "SPC719",
        "DCP147",
        "SPC709",
        "SPC715",
        "ATT317",
        "PDD606",
        "PDD607",
        "PDD610",
        "KVC572",
        "KVC583",
        "KVC585",
    ),
    add_rules=(
        block_drafts.DFLASH_PLATFORM,
        block_drafts.DSPARK_A2A,
        block_drafts.DSPARK_NO_PP,
        unified_decode.PD_HISPARSE,
        unified_decode.OFFLOAD_FILE,
        unified_decode.OFFLOAD_MODELS,
        unified_decode.RETRACTS_21,
        prefill_cp.GLM_FUSION_21,
        pipelines.PIPELINE_PREFILL,
        prefill_cp.PLATFORM_21,
        speculative.NGRAM_21,
        pipelines.PIPELINE_EAGLE,
        attention_limits.TRTLLM_MLA_KV,
        disaggregation.RADIX_SPEC_21,
        disaggregation.ROLE_SWITCH,
        *lmcache.LMCACHE_RULES,
        kv_types.FP4,
        kv_types.MLA_FP4,
        model_rules.IQUEST_FA3,
        model_rules.IQUEST_NO_CP,
        model_rules.IQUEST_PLAIN,
        model_rules.GEMMA_NO_CP,
        unified.NO_LMCACHE,
        unified.PD_SPEC,
    ),
    add_resolutions=(attention_defaults.IQUEST_FA3, disaggregation.HOST_POOL_21),
)
