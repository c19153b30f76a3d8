"""Old names of attention backends, and what they turn into."""

from __future__ import annotations

from configurator.catalog.declare import fills, wheel
from configurator.core.expr import Expr, flag, resolved
from configurator.core.rule import Resolution

_SOURCE = wheel("arg_groups/serving_hook.py", "handle_deprecated_args", 304)
_AT = 90
_TOKENSPEED: Expr = flag.attention_backend.equals("tokenspeed_mla") | flag.decode_attention_backend.equals(
    "tokenspeed_mla"
)


def _renamed(number: int, role: str, dest: str, to: str) -> Resolution:
    return fills(
        f"ATT{number}",
        f"tokenspeed-renamed-{role}",
        _AT,
        when=getattr(resolved, dest).equals("tokenspeed_mla"),
        sets={dest: to},
        because="In 0.5.23 tokenspeed_mla is an old name for cutedsl_mla, which does not prefill.",
        source=_SOURCE,
        signature="is deprecated; use",
    )


TOKENSPEED = (
    fills(
        "ATT390",
        "tokenspeed-renamed-cache",
        _AT - 1,
        when=_TOKENSPEED,
        sets={"kv_cache_dtype": "fp8_e4m3"},
        because="tokenspeed_mla had an fp8 cache, and its old name still brings one.",
        source=_SOURCE,
        signature="tokenspeed_mla required FP8 KV",
    ),
    fills(
        "ATT391",
        "tokenspeed-renamed-verify",
        _AT - 1,
        when=_TOKENSPEED & flag.speculative_algorithm.is_set() & flag.speculative_attention_mode.equals("prefill"),
        sets={"speculative_attention_mode": "decode"},
        because="tokenspeed_mla verified on the decode kernels, and its old name still does.",
        source=_SOURCE,
    ),
    _renamed(392, "base", "attention_backend", "cutedsl_mla"),
    _renamed(393, "decode", "decode_attention_backend", "cutedsl_mla"),
    _renamed(394, "prefill", "prefill_attention_backend", "trtllm_mla"),
)
"""From 0.5.23 on."""
