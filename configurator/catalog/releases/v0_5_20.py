"""SGLang 0.5.20: an unset communication backend is chosen by hardware; fi_a2a works inside one Blackwell node."""

from configurator.catalog import attention, dcp
from configurator.catalog.flag_table import flag_table
from configurator.catalog.releases import v0_5_19

RELEASE = v0_5_19.RELEASE.derive(
    version="0.5.20",
    table=flag_table("0.5.20"),
    evidence="wheel sglang==0.5.20, srt/arg_groups/parallel_hook.py and overrides.py",
    retire=("DCP204", "DCP211", "HWR401", "ATT303"),
    add_rules=(
        dcp.REPLICATE_Q_NEEDS_A2A,
        dcp.FI_A2A_FABRIC,
        attention.without_dcp(304, attention.SUPPORT_20, "0.5.20", "0.5.21"),
    ),
    add_resolutions=(dcp.AUTO_OFF, dcp.AUTO_FI_A2A, dcp.AUTO_A2A, dcp.AUTO_AG_RS),
)
