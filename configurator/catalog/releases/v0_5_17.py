"""SGLang 0.5.17: communication backend and replicated Q projection appear; platform checks move to start-up."""

from configurator.catalog import attention, dcp
from configurator.catalog.flag_table import flag_table
from configurator.catalog.flags import FLAGS, SINCE_17
from configurator.catalog.releases import v0_5_16

RELEASE = v0_5_16.RELEASE.derive(
    version="0.5.17",
    table=flag_table("0.5.17"),
    evidence="wheel sglang==0.5.17, srt/server_args.py",
    modelled=tuple(flag for flag in FLAGS if flag.dest in SINCE_17),
    retire=("DCP103", "DCP104", "ATT301"),
    add_rules=(
        dcp.CLI_COMM_BACKEND,
        dcp.COMM_BACKEND_NEEDS_DCP,
        dcp.FI_A2A_NEEDS_CUDA,
        dcp.REPLICATE_Q_NEEDS_DCP,
        dcp.REPLICATE_Q_NEEDS_A2A_STATIC,
        dcp.A2A_HEADS,
        dcp.FI_A2A_FABRIC_OLD,
        attention.without_dcp(302, attention.SUPPORT_17, "0.5.17", "0.5.18"),
    ),
    add_resolutions=(dcp.STATIC_BACKEND,),
)
