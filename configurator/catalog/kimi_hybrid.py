"""Symmetric memory and CUDA graphs with models of Kimi delta attention, in 0.5.17 and 0.5.18."""

from __future__ import annotations

from configurator.catalog import order
from configurator.catalog.declare import fills, later, wheel
from configurator.catalog.families import ARCHITECTURE
from configurator.core.expr import Expr, flag, resolved
from configurator.core.rule import Effect, Example, Set, Stage, Unset

_SOURCE = wheel("arg_groups/kimi_k3_hook.py", "disable_kimi_k3_symm_mem", 77, "0.5.18")
_SIGNATURE = "Kimi hybrid model: ignoring --enable-symm-mem because CUDA graphs are on."
_CAPTURED: Expr = resolved.cuda_graph_decode_backend.differs("disabled") | resolved.cuda_graph_prefill_backend.differs(
    "disabled"
)
_HERE: Expr = ARCHITECTURE.is_in("KimiLinearForCausalLM", "KimiK3ForConditionalGeneration")
_EAGER = "--cuda-graph-backend-decode disabled --cuda-graph-backend-prefill disabled"

SYMM_MEM_OFF = fills(
    "MDL843",
    "kimi-symm-mem-taken-back",
    order.GRAPHS + 9,
    when=_HERE & _CAPTURED & flag.enable_symm_mem.holds(),
    sets={"enable_symm_mem": False},
    because="Addresses of symmetric memory do not live as long as a captured graph.",
    source=_SOURCE,
    signature=_SIGNATURE,
)
SYMM_MEM_REWRITTEN = later(
    "MDL844",
    "kimi-symm-mem-off",
    208,
    effect=Effect.REWRITES,
    stage=Stage.SERVER_ARGS,
    when=_HERE & flag.enable_symm_mem.holds(),
    require=resolved.enable_symm_mem.holds(),
    says="--enable-symm-mem is taken back for {model.architecture} while CUDA graphs are captured.",
    because="Addresses of symmetric memory do not live as long as a captured graph; drafts would be accepted wrongly.",
    fixes=(
        Unset("enable_symm_mem"),
        Set("cuda_graph_backend_decode", "disabled"),
    ),
    source=_SOURCE,
    signature=_SIGNATURE,
    bad=Example(argv="--tp-size 8 --enable-symm-mem", model="kimi-k3"),
    good=Example(argv="--tp-size 8", model="kimi-k3"),
)
