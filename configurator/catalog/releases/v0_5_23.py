"""SGLang 0.5.23: tokenspeed_mla is gone; the store behind HiCache knows DCP ranks; block-fp8 Q is replicated."""

from configurator.catalog import (
    aliases,
    attention,
    attention_defaults,
    elastic,
    hicache,
    kimi_k3,
    kv_types,
    page_major,
    quiet,
    speculative,
    transfer,
    unified,
)
from configurator.catalog.flag_table import flag_table
from configurator.catalog.flags import modelled_in
from configurator.catalog.releases import v0_5_22

_TABLE = flag_table("0.5.23")

RELEASE = v0_5_22.RELEASE.derive(
    version="0.5.23",
    table=_TABLE,
    evidence="wheel sglang==0.5.23, srt/arg_groups/parallel_hook.py, overrides.py and distributed/parallel_state.py",
    modelled=modelled_in(_TABLE),
    software={"software.flashinfer": "0.7.2", "software.sglang_kernel": "0.4.10"},
    retire=(
        "ATT305",
        "ATT313",
        "ATT319",
        "ATT320",
        "ATT345",
        "ATT346",
        "DCP139",
        "DCP220",
        "DCP223",
        "KVC504",
        "KVC510",
        "KVC529",
        "KVC537",
        "KVC579",
        "KVC590",
        "MDL834",
        "PDD611",
    ),
    add_rules=(
        aliases.KV_REWRITTEN,
        attention.without_dcp(306, attention.SUPPORT_23, "0.5.23"),
        elastic.DENSE_TP,
        elastic.DCP_WIDTH,
        hicache.L3_BUFFER_ONLY,
        hicache.STORAGE_KIND,
        kimi_k3.DECODE_23,
        kv_types.SHARDING_MTP,
        quiet.SKIP_QUANT,
        quiet.LORA,
        quiet.MEGAKERNEL,
        speculative.DECODE_RADIX,
        transfer.PREFILL_SHARDED,
        page_major.PAGE_MAJOR_23,
        unified.DCP_BACKENDS,
    ),
    add_resolutions=(
        *aliases.TOKENSPEED,
        attention_defaults.BLACKWELL_GQA_23,
        attention_defaults.BLACKWELL_ASYMMETRIC_23,
        hicache.MOONCAKE_LAYOUT,
    ),
)
