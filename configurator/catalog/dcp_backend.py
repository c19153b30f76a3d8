"""What an unset --dcp-comm-backend becomes, and what else DCP fills in."""

from __future__ import annotations

from configurator.catalog.graphs import PREFILL_CHOSEN
from configurator.catalog.terms import (
    CUDA,
    DCP_OFF,
    DCP_ON,
    GROUP_IN_ONE_NODE,
    HIP,
    MNNVL,
    SM100,
    XPU,
)
from configurator.core.expr import Given, resolved
from configurator.core.rule import (
    Basis,
    Resolution,
    Source,
)

_CLI = "sglang/srt/server_args.py"

STATIC_BACKEND = Resolution(
    code="DCP211",
    slug="comm-backend-default-static",
    order=150,
    when=~Given("dcp_comm_backend"),
    sets={"dcp_comm_backend": "ag_rs"},
    because="The flag's own default is ag_rs, whatever the hardware.",
    source=Source(path=_CLI, symbol="ServerArgs.dcp_comm_backend", release="0.5.19", line=1017, basis=Basis.RECORDED),
)

_OVERRIDES = "sglang/srt/arg_groups/overrides.py"

_UNSET = resolved.dcp_comm_backend.is_unset()

FI_A2A_FITS = SM100 & (MNNVL | GROUP_IN_ONE_NODE)


def _auto(line: int, release: str = "0.5.23") -> Source:
    return Source(path=_OVERRIDES, symbol="_dcp_comm_backend_default", release=release, line=line, basis=Basis.RECORDED)


AUTO_OFF = Resolution(
    code="DCP212",
    slug="comm-backend-auto-off",
    order=150,
    when=_UNSET & DCP_OFF,
    sets={"dcp_comm_backend": "ag_rs"},
    because="Without a DCP group the value has no meaning; ag_rs is put down.",
    source=_auto(1374),
)

AUTO_FI_A2A = Resolution(
    code="DCP213",
    slug="comm-backend-auto-fi-a2a",
    order=151,
    when=_UNSET & DCP_ON & FI_A2A_FITS,
    sets={"dcp_comm_backend": "fi_a2a"},
    because="Data-centre Blackwell, and the group shares an NVLink fabric or lies inside one node.",
    source=_auto(1392),
    upstream_signature="selects communication backend",
)

AUTO_A2A = Resolution(
    code="DCP214",
    slug="comm-backend-auto-a2a",
    order=152,
    when=_UNSET & DCP_ON & (CUDA | HIP),
    sets={"dcp_comm_backend": "a2a"},
    because="fi_a2a does not fit, and a2a runs on CUDA and ROCm.",
    source=_auto(1331, "0.5.21"),
    upstream_signature="selects communication backend",
)

AUTO_A2A_XPU = Resolution(
    code="DCP215",
    slug="comm-backend-auto-a2a-xpu",
    order=152,
    when=_UNSET & DCP_ON & (CUDA | HIP | XPU),
    sets={"dcp_comm_backend": "a2a"},
    because="fi_a2a does not fit, and from 0.5.22 a2a runs on CUDA, ROCm and Intel XPU.",
    source=_auto(1392),
    upstream_signature="selects communication backend",
)

AUTO_AG_RS = Resolution(
    code="DCP216",
    slug="comm-backend-auto-ag-rs",
    order=153,
    when=_UNSET & DCP_ON,
    sets={"dcp_comm_backend": "ag_rs"},
    because="Neither fi_a2a nor a2a runs on this platform.",
    source=_auto(1392),
    upstream_signature="selects communication backend",
)

PREFILL_GRAPH_OFF = Resolution(
    code="DCP111",
    slug="prefill-cuda-graph-off",
    order=311,
    when=DCP_ON & ~PREFILL_CHOSEN & resolved.cuda_graph_prefill_backend.differs("disabled"),
    sets={"cuda_graph_prefill_backend": "disabled"},
    because="Prefill under DCP is not captured unless that is asked for; the decode graph stays.",
    source=Source(
        path="sglang/srt/arg_groups/cuda_graph_hook.py",
        symbol="prefill graph backend",
        release="0.5.23",
        line=214,
        basis=Basis.RECORDED,
    ),
    upstream_signature="is incompatible with decode context parallel (dcp_size > 1)",
)
