"""SGLang 0.5.19: trtllm_mla gains a DCP decode path; the checks move to arg_groups."""

from configurator.catalog import attention
from configurator.catalog.flag_table import flag_table
from configurator.catalog.releases import v0_5_18

RELEASE = v0_5_18.RELEASE.derive(
    version="0.5.19",
    table=flag_table("0.5.19"),
    evidence="wheel sglang==0.5.19, srt/arg_groups/parallel_hook.py",
    retire=("ATT302",),
    add_rules=(attention.without_dcp(303, attention.SUPPORT_19, "0.5.19", "0.5.19"),),
)
