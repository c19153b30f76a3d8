"""SGLang 0.5.23: tokenspeed_mla is gone."""

from configurator.catalog import attention
from configurator.catalog.flag_table import flag_table
from configurator.catalog.releases import v0_5_22

RELEASE = v0_5_22.RELEASE.derive(
    version="0.5.23",
    table=flag_table("0.5.23"),
    evidence="wheel sglang==0.5.23, srt/arg_groups/parallel_hook.py, overrides.py and distributed/parallel_state.py",
    retire=("ATT305",),
    add_rules=(attention.without_dcp(306, attention.SUPPORT_23, "0.5.23", "0.5.23"),),
)
