"""SGLang 0.5.16: the prefill CUDA graph goes off under DCP."""

from configurator.catalog import dcp
from configurator.catalog.flag_table import flag_table
from configurator.catalog.releases import v0_5_15
from configurator.core.unknown import Unknown

RELEASE = v0_5_15.RELEASE.derive(
    version="0.5.16",
    table=flag_table("0.5.16"),
    evidence="wheel sglang==0.5.16, srt/server_args.py",
    add_resolutions=(dcp.PREFILL_GRAPH_OFF,),
    results={"cuda_graph_prefill_backend": Unknown("it depends on more than this catalogue follows")},
)
