"""SGLang 0.5.20: an unset communication backend is chosen by hardware; fi_a2a works inside one Blackwell node."""

from configurator.catalog import (
    attention,
    dcp,
    disaggregation,
    dsa,
    dsa_rules,
    graphs,
    kimi_k3,
    model_rules,
    pages,
    parallel,
    quiet,
    unified,
)
from configurator.catalog.flag_table import flag_table
from configurator.catalog.flags import modelled_in
from configurator.catalog.releases import v0_5_19

_TABLE = flag_table("0.5.20")

RELEASE = v0_5_19.RELEASE.derive(
    version="0.5.20",
    table=_TABLE,
    evidence="wheel sglang==0.5.20, srt/arg_groups/parallel_hook.py and overrides.py",
    modelled=modelled_in(_TABLE),
    software={"software.sglang_kernel": "0.4.7"},
    retire=(
        "DCP204",
        "DCP208",
        "DCP211",
        "HWR401",
        "ATT303",
        "ATT312",
        "PDD603",
        "MDL836",
        "MDL838",
        "MDL839",
        "MDL862",
        "MDL863",
        "KVC535",
        "KVC543",
        "KVC575",
    ),
    add_rules=(
        dcp.REPLICATE_Q_NEEDS_A2A,
        dcp.FI_A2A_FABRIC,
        attention.without_dcp(304, attention.SUPPORT_20, "0.5.20", "0.5.21"),
        disaggregation.TRANSFER_20,
        dsa_rules.TRITON_ROCM,
        kimi_k3.DECODE_20,
        model_rules.HYV4_NO_CP,
        model_rules.HYV4_NO_DCP,
        model_rules.DSV4_TRTLLM,
        model_rules.EXTRA_BUFFER_CPU,
        parallel.PREFILL_CP_HIP,
        unified.NO_TBO,
        unified.DCP_MLA_ONLY,
        unified.DCP_NO_SWA,
        unified.DCP_NO_PD,
        unified.DCP_BACKENDS_20,
        quiet.LINKER,
    ),
    add_resolutions=(
        dcp.AUTO_OFF,
        dcp.AUTO_FI_A2A,
        dcp.AUTO_A2A,
        dcp.AUTO_AG_RS,
        dsa.KV_XPU,
        *dsa.ROCM_TRITON,
        *dsa.INTEL,
        graphs.KDA_OFF,
        kimi_k3.BACKEND_AITER,
        kimi_k3.REPLICATE,
        pages.DSA_XPU,
        pages.INTEL_XPU,
    ),
)
