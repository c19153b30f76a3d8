"""SGLang 0.5.21: the core DCP rules of 0.5.20 stay."""

from configurator.catalog.flag_table import flag_table
from configurator.catalog.releases import v0_5_20

RELEASE = v0_5_20.RELEASE.derive(
    version="0.5.21",
    table=flag_table("0.5.21"),
    evidence="wheel sglang==0.5.21, srt/arg_groups/parallel_hook.py and overrides.py",
)
