"""SGLang 0.5.18: the DCP rules of 0.5.17 stay."""

from configurator.catalog.flag_table import flag_table
from configurator.catalog.releases import v0_5_17

RELEASE = v0_5_17.RELEASE.derive(
    version="0.5.18",
    table=flag_table("0.5.18"),
    evidence="wheel sglang==0.5.18, srt/server_args.py",
)
