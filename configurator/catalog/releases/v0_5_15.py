"""SGLang 0.5.15: --dcp-size appears, on CUDA without speculation and on ROCm."""

from configurator.catalog import attention, command_line, dcp, machine
from configurator.catalog.flag_table import flag_table
from configurator.catalog.flags import FLAGS, SINCE_17
from configurator.core.release import Release, by_code

RELEASE = Release(
    version="0.5.15",
    table=flag_table("0.5.15"),
    evidence="wheel sglang==0.5.15, srt/server_args.py",
    modelled={flag.dest: flag for flag in FLAGS if flag.dest not in SINCE_17},
    rules=by_code(
        (
            *command_line.RULES,
            dcp.CLI_DCP_SIZE,
            dcp.DCP_SIZE_MIN,
            dcp.PLATFORM_HIP_OR_CUDA,
            dcp.CUDA_NO_SPEC,
            dcp.TP_MOD_DCP,
            dcp.PLATFORM_INIT,
            attention.without_dcp(301, attention.SUPPORT_15, "0.5.15", "0.5.16"),
            attention.TRTLLM_MLA_NEEDS_BLACKWELL,
            attention.CUTEDSL_NEEDS_SM100,
            machine.RANKS_EXCEED_GPUS,
            machine.TP_SIZE_MIN,
            machine.NNODES_DIVIDE,
        )
    ),
    resolutions=by_code((*attention.DEFAULTS, attention.FP8_E5M2)),
)
