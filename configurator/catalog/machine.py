"""What the machine itself must have, whatever the flags."""

from __future__ import annotations

from configurator.catalog.terms import GPUS_NEEDED, WORLD_SIZE
from configurator.core.expr import flag, hardware
from configurator.core.rule import Basis, Choose, Effect, Example, Rule, Source, Stage

RANKS_EXCEED_GPUS = Rule(
    code="HWR410",
    slug="ranks-exceed-gpus",
    effect=Effect.CRASHES,
    stage=Stage.INIT,
    order=50,
    when=hardware.gpus_per_node.more_than(0),
    require=~hardware.gpus_per_node.less_than(GPUS_NEEDED),
    says=(
        "--tp-size {asked.tp_size} with --pp-size {asked.pp_size} on {asked.nnodes} node(s) needs {gpus} GPUs in each, "
        "and this hardware has {hardware.gpus_per_node}."
    ),
    values={"gpus": GPUS_NEEDED},
    because="Every rank takes a GPU of its own; a rank without one fails when it selects its device.",
    fixes=(Choose("tp_size"), Choose("nnodes"), Choose("pp_size")),
    source=Source(path="sglang/srt/model_executor/model_runner.py", symbol="init_torch_distributed", release="0.5.23"),
    upstream_signature="invalid device ordinal",
    example=Example(argv="--tp-size 16"),
    accept=Example(argv="--tp-size 16 --nnodes 2 --node-rank 0 --dist-init-addr 10.0.0.1:5000"),
)

TP_SIZE_MIN = Rule(
    code="DCP120",
    slug="tp-size-min",
    effect=Effect.CRASHES,
    stage=Stage.INIT,
    order=40,
    when=flag.tp_size.less_than(1) | flag.pp_size.less_than(1) | flag.nnodes.less_than(1),
    says="--tp-size {asked.tp_size}, --pp-size {asked.pp_size} and --nnodes {asked.nnodes} must each be 1 or more.",
    because="A group of no ranks cannot be built.",
    fixes=(Choose("tp_size"), Choose("pp_size"), Choose("nnodes")),
    source=Source(
        path="sglang/srt/distributed/parallel_state.py", symbol="initialize_model_parallel", release="0.5.23"
    ),
    example=Example(argv="--tp-size 0"),
    accept=Example(argv="--tp-size 1"),
)

NNODES_DIVIDE = Rule(
    code="DCP121",
    slug="nnodes-divide-ranks",
    effect=Effect.REFUSES,
    stage=Stage.SERVER_ARGS,
    order=950,
    # The server divides by it before it looks: 0 raises too.
    when=flag.nnodes.more_than(1) | flag.nnodes.equals(0),
    require=flag.nnodes.divides(WORLD_SIZE),
    says="--tp-size {asked.tp_size} times --pp-size {asked.pp_size} is not a multiple of --nnodes {asked.nnodes}.",
    because="Every node starts the same number of ranks.",
    fixes=(Choose("tp_size"), Choose("nnodes"), Choose("pp_size")),
    source=Source(
        path="sglang/srt/arg_groups/validation_hook.py",
        symbol="check_server_args",
        release="0.5.23",
        line=179,
        basis=Basis.RECORDED,
    ),
    upstream_signature="must be divisible by number of nodes",
    example=Example(argv="--tp-size 8 --nnodes 3 --node-rank 0 --dist-init-addr 10.0.0.1:5000"),
    accept=Example(argv="--tp-size 8 --nnodes 2 --node-rank 0 --dist-init-addr 10.0.0.1:5000"),
)
