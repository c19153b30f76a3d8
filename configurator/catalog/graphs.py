"""CUDA graphs: which backend captures prefill and decode, by flag, platform, model and what does not go with it."""

from __future__ import annotations

import json

from configurator.catalog import order
from configurator.catalog.declare import NEWEST, wheel
from configurator.catalog.terms import (
    CUDA,
)
from configurator.core.expr import Derived, Expr, Term, flag
from configurator.core.flag import FlagValue
from configurator.core.rule import Resolution


def path_in(release: str) -> str:
    """Return where a release has its graph handling: in one file up to 0.5.18, in a file of its own after."""
    return "arg_groups/cuda_graph_hook.py" if release >= "0.5.19" else "server_args.py"


PREFILL = "cuda_graph_prefill_backend"
DECODE = "cuda_graph_decode_backend"


def _phase_of_json(text: object, phase: str) -> str | None:
    """Return the backend that ``--cuda-graph-config`` names for *phase*; ``None`` where it names none."""
    if not isinstance(text, str):
        return None
    try:
        document = json.loads(text)
    except ValueError:
        return None
    settings = document.get(phase) if isinstance(document, dict) else None
    backend = settings.get("backend") if isinstance(settings, dict) else None
    return backend if isinstance(backend, str) else None


JSON_PREFILL = Derived(
    "prefill backend of --cuda-graph-config", lambda text: _phase_of_json(text, "prefill"), (flag.cuda_graph_config,)
)
JSON_DECODE = Derived(
    "decode backend of --cuda-graph-config", lambda text: _phase_of_json(text, "decode"), (flag.cuda_graph_config,)
)

PREFILL_CHOSEN: Expr = (
    flag.disable_cuda_graph.holds()
    | flag.disable_prefill_cuda_graph.holds()
    | flag.cuda_graph_backend_prefill.is_set()
    | JSON_PREFILL.is_set()
)
"""The user said how prefill is captured, so nothing takes it back."""
DECODE_CHOSEN: Expr = (
    flag.disable_cuda_graph.holds()
    | flag.disable_decode_cuda_graph.holds()
    | flag.cuda_graph_backend_decode.is_set()
    | JSON_DECODE.is_set()
)


def captured(  # noqa: PLR0913, PLR0917 - one keyword per field that differs
    number: int,
    slug: str,
    at: int,
    when: Expr,
    because: str,
    sets: dict[str, FlagValue | Term],
    symbol: str = "parse_cuda_graph_config",
    line: int = 32,
    signature: str | None = None,
    release: str = NEWEST,
) -> Resolution:
    """Return a resolution about graphs at position *at* of their handling."""
    return Resolution(
        code=f"HWR{number}",
        slug=slug,
        order=order.GRAPHS + at,
        when=when,
        sets=sets,
        because=because,
        source=wheel(path_in(release), symbol, line, release),
        upstream_signature=signature,
    )


CHOICES = (
    captured(
        450, "prefill-graph-default", 0, CUDA, "CUDA captures prefill in breakable pieces.", {PREFILL: "breakable"}
    ),
    captured(
        451,
        "cuda-graph-disabled",
        1,
        flag.disable_cuda_graph.holds(),
        "--disable-cuda-graph turns both phases off.",
        {PREFILL: "disabled", DECODE: "disabled"},
    ),
    captured(
        452,
        "prefill-graph-disabled",
        2,
        flag.disable_prefill_cuda_graph.holds(),
        "--disable-prefill-cuda-graph turns prefill off.",
        {PREFILL: "disabled"},
    ),
    captured(
        453,
        "decode-graph-disabled",
        2,
        flag.disable_decode_cuda_graph.holds(),
        "--disable-decode-cuda-graph turns decode off.",
        {DECODE: "disabled"},
    ),
    captured(
        454,
        "decode-graph-chosen",
        3,
        flag.cuda_graph_backend_decode.is_set(),
        "--cuda-graph-backend-decode wins over the switches.",
        {DECODE: flag.cuda_graph_backend_decode},
    ),
    captured(
        455,
        "prefill-graph-chosen",
        3,
        flag.cuda_graph_backend_prefill.is_set(),
        "--cuda-graph-backend-prefill wins over the switches.",
        {PREFILL: flag.cuda_graph_backend_prefill},
    ),
    captured(
        456,
        "prefill-graph-configured",
        4,
        JSON_PREFILL.is_set(),
        "--cuda-graph-config wins over the other flags.",
        {PREFILL: JSON_PREFILL},
    ),
    captured(
        457,
        "decode-graph-configured",
        4,
        JSON_DECODE.is_set(),
        "--cuda-graph-config wins over the other flags.",
        {DECODE: JSON_DECODE},
    ),
)
"""What the flags say, the strongest last."""
