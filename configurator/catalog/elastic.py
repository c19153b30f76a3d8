"""Elastic expert parallelism: a server whose group of ranks may grow."""

from __future__ import annotations

from configurator.catalog import order
from configurator.catalog.declare import NEWEST, refuses, wheel
from configurator.catalog.terms import ATTN_TP_SIZE
from configurator.core.expr import Expr, flag, resolved
from configurator.core.rule import Choose, Example, Rule, Set, Unset

_HOOK = "arg_groups/parallel_hook.py"
_GROWS: Expr = flag.elastic_ep_backend.is_set() & flag.max_ep_size.more_than(flag.tp_size)
_BASE = "--tp-size 8 --dp-size 2 --enable-dp-attention --elastic-ep-backend mooncake --ep-size 8"
_GROWING = f"{_BASE} --max-ep-size 16 --load-balance-method round_robin --disable-cuda-graph"
_GOOD = Example(argv=_BASE)


def _grown(  # noqa: PLR0913, PLR0917 - the fields that differ
    code: str,
    slug: str,
    at: int,
    require: Expr,
    says: str,
    because: str,
    line: int,
    signature: str,
    bad: str,
    release: str = NEWEST,
) -> Rule:
    return refuses(
        code,
        slug,
        order.ELASTIC + at,
        when=_GROWS,
        require=require,
        says=says,
        because=because,
        fixes=(Unset("max_ep_size"), Unset("elastic_ep_backend"), Choose("dcp_size")),
        source=wheel(_HOOK, "handle_elastic_ep", line, release),
        signature=signature,
        bad=Example(argv=bad),
        good=_GOOD,
    )


PP_1 = refuses(
    "DCP135",
    "elastic-ep-pp",
    order.ELASTIC,
    when=flag.elastic_ep_backend.is_set(),
    require=flag.pp_size.equals(1),
    says="--elastic-ep-backend {asked.elastic_ep_backend} cannot be combined with --pp-size {asked.pp_size}.",
    because="An elastic group is one pipeline stage.",
    fixes=(Set("pp_size", 1), Unset("elastic_ep_backend")),
    source=wheel(_HOOK, "handle_elastic_ep", 538),
    signature="PP size should be set to 1 under elastic EP",
    bad=Example(argv="--tp-size 4 --pp-size 2 --elastic-ep-backend mooncake --disable-overlap-schedule"),
    good=Example(argv="--tp-size 8 --elastic-ep-backend mooncake"),
)
NEEDS_BACKEND = refuses(
    "DCP136",
    "max-ep-needs-elastic",
    order.ELASTIC + 1,
    when=flag.max_ep_size.is_set(),
    require=flag.elastic_ep_backend.is_set(),
    says="--max-ep-size {asked.max_ep_size} needs --elastic-ep-backend, which is not given.",
    because="Only an elastic group grows.",
    fixes=(Unset("max_ep_size"), Set("elastic_ep_backend", "mooncake")),
    source=wheel(_HOOK, "handle_elastic_ep", 566),
    signature="--max-ep-size requires --elastic-ep-backend to be set",
    bad=Example(argv="--tp-size 8 --max-ep-size 16"),
    good=_GOOD,
)
DENSE_TP = _grown(
    "DCP137",
    "elastic-ep-dense-tp",
    5,
    ATTN_TP_SIZE.equals(1) | flag.moe_dense_tp_size.equals(1),
    "Elastic expert parallelism that may grow, with attention {asked.tp_size} ranks wide, does not go with --moe-dense-tp-size "
    "{asked.moe_dense_tp_size}.",
    "Dense layers must not be spread over ranks whose number changes.",
    615,
    "Elastic EP scale-up with attention TP greater than one requires",
    _GROWING,
)
BALANCE = _grown(
    "DCP138",
    "elastic-ep-round-robin",
    8,
    resolved.load_balance_method.equals("round_robin"),
    "Elastic expert parallelism that may grow does not go with --load-balance-method {asked.load_balance_method}.",
    "Balancing by load needs to hear of every rank, also of those that join later.",
    660,
    "Elastic EP scale-up requires --load-balance-method round_robin",
    f"{_BASE} --max-ep-size 16 --disable-cuda-graph --moe-dense-tp-size 1",
)
DCP_WIDTH = _grown(
    "DCP114",
    "elastic-ep-scale-dcp",
    12,
    flag.dcp_size.divides(ATTN_TP_SIZE),
    "Elastic expert parallelism that may grow has --dcp-size {asked.dcp_size}, which does not divide the width of "
    "attention.",
    "The width of attention stays when ranks join, and DCP groups must fit into it.",
    683,
    "Elastic EP scale-up requires --dcp-size to divide the fixed",
    f"{_GROWING} --moe-dense-tp-size 1 --dcp-size 8",
)
LM_HEAD_22 = _grown(
    "DCP139",
    "elastic-ep-lm-head",
    14,
    resolved.enable_dp_lm_head.holds(),
    "Elastic expert parallelism that may grow needs --enable-dp-lm-head, which is not given.",
    "In 0.5.22 the output projection must not depend on how many ranks there are.",
    662,
    "Elastic EP scale-up requires --enable-dp-lm-head",
    _GROWING,
    "0.5.22",
)
RULES_23 = (PP_1, NEEDS_BACKEND, DENSE_TP, BALANCE, DCP_WIDTH)
RULES_22 = (PP_1, NEEDS_BACKEND, BALANCE, LM_HEAD_22)
