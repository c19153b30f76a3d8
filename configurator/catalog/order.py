"""Where in a release's argument handling something happens: positions for rules and resolutions.

Every release with DCP runs its handlers in this order. A handler's own steps follow its position, so that of several
errors the one with the smallest order is the one the server prints.
Source: sglang/srt/arg_groups/pipeline.py from 0.5.19, ServerArgs.__post_init__ before.
"""

from __future__ import annotations

DP_ALIAS = 100
"""--enable-dp-attention turned into --attn-dp-size, from 0.5.22."""
PD = 110
"""PD disaggregation."""
DCP_BACKEND = 150
"""An unset DCP communication backend, from 0.5.20."""
DCP = 200
"""Decode context parallelism."""
GRAPHS = 300
"""CUDA graphs of both phases."""
PLATFORM = 350
"""Defaults of Ascend, Intel and CPU machines."""
MODEL = 400
"""What a model's own code asks for."""
DETERMINISTIC = 560
"""Deterministic inference chooses a backend before anything else does."""
ATTENTION = 600
"""Attention backends, and the page sizes and cache types they need."""
PAGE = 710
"""A page size nobody chose."""
HICACHE = 720
"""The hierarchical cache."""
DATA_PARALLEL = 740
"""Data parallelism."""
PREFILL_CP = 755
"""Context parallelism in prefill."""
KV_SHARDING = 770
"""KV cache sharding."""
ELASTIC = 800
"""Elastic expert parallelism."""
SPECULATIVE = 820
"""Speculative decoding."""
CACHE = 860
"""Combinations of caches."""
PAGE_MAJOR = 880
"""The page-major layout."""
UNIFIED = 885
"""The unified memory pool."""
FINAL = 950
"""The last check over everything."""
