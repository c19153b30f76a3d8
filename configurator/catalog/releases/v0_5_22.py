"""SGLang 0.5.22: DCP for sparse attention, Ascend and Intel XPU; together with prefill CP it is refused."""

from configurator.catalog import attention, dcp
from configurator.catalog.flag_table import flag_table
from configurator.catalog.releases import v0_5_21

RELEASE = v0_5_21.RELEASE.derive(
    version="0.5.22",
    table=flag_table("0.5.22"),
    evidence="wheel sglang==0.5.22, srt/arg_groups/parallel_hook.py, overrides.py and distributed/parallel_state.py",
    retire=("DCP214", "HWR403", "ATT304"),
    add_rules=(
        dcp.NO_PREFILL_CP,
        dcp.PLATFORM_INIT_NPU_XPU,
        attention.without_dcp(305, attention.SUPPORT_22, "0.5.22", "0.5.22"),
    ),
    add_resolutions=(dcp.AUTO_A2A_XPU,),
)
