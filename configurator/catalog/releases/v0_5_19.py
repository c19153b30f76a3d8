"""SGLang 0.5.19: trtllm_mla gains a DCP decode path; the checks move to arg_groups."""

from configurator.catalog import (
    aliases,
    attention,
    attention_limits,
    disaggregation,
    families,
    graph_limits,
    hicache,
    lora,
    page_major,
    unified,
)
from configurator.catalog.flag_table import flag_table
from configurator.catalog.flags import modelled_in
from configurator.catalog.releases import v0_5_18

_TABLE = flag_table("0.5.19")

RELEASE = v0_5_18.RELEASE.derive(
    version="0.5.19",
    table=_TABLE,
    evidence="wheel sglang==0.5.19, srt/arg_groups/parallel_hook.py",
    modelled=modelled_in(_TABLE),
    software={"software.flashinfer": "0.6.18"},
    retire=("SPC737", "MDL843", "MDL844", "ATT302", "ATT323", "HWR475", "PDD602", "KVC528", "MDL881", "MDL896"),
    add_rules=(
        lora.DRAFTS,
        hicache.BUFFER_NOT_DECODE,
        aliases.SYMM_MEM,
        attention.without_dcp(303, attention.SUPPORT_19, "0.5.19"),
        attention_limits.TRTLLM_MHA_PREFILL,
        attention_limits.TRTLLM_MHA_SM120,
        disaggregation.TRANSFER_19,
        hicache.BUFFER_NEEDS_STORE,
        page_major.PAGE_MAJOR_ALONE,
        page_major.EQUAL_ROWS,
        page_major.PAGE_MAJOR_19,
        unified.PREFILL_GRAPH_ASKED,
    ),
    add_resolutions=(
        graph_limits.PP_OFF,
        aliases.SYMM_MEM_OFF,
        families.FAMILY_19,
        graph_limits.MULTIMODAL_19,
        unified.PREFILL_GRAPH,
    ),
)
