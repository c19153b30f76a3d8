"""Data parallelism, attention width, prefill context parallelism, elastic experts: the shapes around a DCP group."""

from __future__ import annotations

from configurator.catalog import order
from configurator.catalog.declare import fills, later, read_in, refuses, wheel
from configurator.catalog.families import QWEN35
from configurator.catalog.terms import ATTN_TP_SIZE, DCP_ON, GQA
from configurator.core.expr import ALWAYS, Derived, Expr, flag, model, resolved, step
from configurator.core.rule import Choose, Effect, Example, Rule, Set, Unset

_HOOK = "arg_groups/parallel_hook.py"

# --- data parallelism -----------------------------------------------------------------------------------------------

NO_ATTN_DP = fills(
    "DCP140",
    "attention-dp-none",
    order.DP_ALIAS,
    when=ALWAYS,
    sets={"step.attn_dp_size": 1},
    because="Without DP attention every tensor-parallel rank sees every request.",
    source=wheel("arg_groups/overrides.py", "_data_parallelism_defaults", 1330, "0.5.21"),
)
ATTN_DP_IS_DP = fills(
    "DCP141",
    "attention-dp-is-dp",
    order.DP_ALIAS + 1,
    when=flag.enable_dp_attention.holds() & flag.dp_size.more_than(1),
    sets={"step.attn_dp_size": flag.dp_size},
    because="Up to 0.5.21 --dp-size counts the replicas of attention where --enable-dp-attention is given.",
    source=wheel("arg_groups/parallel_hook.py", "handle_data_parallelism", 226, "0.5.21"),
)
DP_ALIAS = fills(
    "DCP142",
    "dp-attention-renamed",
    order.DP_ALIAS + 1,
    when=flag.enable_dp_attention.holds() & flag.attn_dp_size.equals(1),
    sets={"attn_dp_size": flag.dp_size, "dp_size": 1},
    because="From 0.5.22 --enable-dp-attention --dp-size N is another spelling of --attn-dp-size N.",
    source=wheel(_HOOK, "handle_deprecated_dp_attention", 34),
)
ATTN_DP = fills(
    "DCP143",
    "attention-dp-size",
    order.DP_ALIAS + 2,
    when=resolved.attn_dp_size.more_than(1),
    sets={"step.attn_dp_size": resolved.attn_dp_size},
    because="From 0.5.22 --attn-dp-size counts the replicas of attention.",
    source=wheel(_HOOK, "handle_data_parallelism", 313),
)

ATTN_DP_WITH_DP = refuses(
    "DCP123",
    "attn-dp-with-dp",
    order.DATA_PARALLEL,
    when=resolved.attn_dp_size.more_than(1) & resolved.dp_size.more_than(1),
    says="--attn-dp-size {resolved.attn_dp_size} cannot be combined with --dp-size {resolved.dp_size}.",
    because="Replicas of the whole model and replicas of its attention cannot be had at once.",
    fixes=(Unset("dp_size"), Unset("attn_dp_size")),
    source=wheel(_HOOK, "handle_data_parallelism", 288),
    signature="data-parallel replicas combined with attention data parallelism",
    bad=Example(argv="--tp-size 8 --attn-dp-size 2 --dp-size 2"),
    good=Example(argv="--tp-size 8 --attn-dp-size 2"),
)
ATTN_DP_POSITIVE = refuses(
    "DCP124",
    "attn-dp-positive",
    order.DATA_PARALLEL - 1,
    when=resolved.attn_dp_size.less_than(1),
    says="--attn-dp-size {resolved.attn_dp_size} is below 1.",
    because="There is no less than one replica of attention.",
    fixes=(Set("attn_dp_size", 1), Choose("dp_size")),
    source=wheel(_HOOK, "handle_data_parallelism", 285),
    signature="--attn-dp-size must be positive",
    bad=Example(argv="--tp-size 8 --attn-dp-size 0"),
    good=Example(argv="--tp-size 8 --attn-dp-size 1"),
)
DP_ATTENTION_DIVIDES_TP = refuses(
    "DCP122",
    "dp-attention-divides-tp",
    order.DATA_PARALLEL + 2,
    when=step.attn_dp_size.more_than(1),
    require=step.attn_dp_size.divides(flag.tp_size),
    says="--tp-size {asked.tp_size} is not a multiple of the {replicas} replicas of attention.",
    values={"replicas": step.attn_dp_size},
    because="Every replica of attention takes an equal share of the tensor-parallel ranks. The server raises an "
    "AssertionError without a message.",
    fixes=(Choose("dp_size"), Choose("attn_dp_size"), Choose("tp_size")),
    source=wheel(_HOOK, "handle_data_parallelism", 334),
    signature="assert cfg.tp_size % cfg.attn_dp_size == 0",
    bad=Example(argv="--tp-size 8 --dp-size 3 --enable-dp-attention"),
    good=Example(argv="--tp-size 8 --dp-size 4 --enable-dp-attention"),
)
_MULTI_NODE_WHY = "Each replica of the whole model must lie inside one node; only attention is replicated across nodes."


def _multi_node(code: str, when: Expr, line: int, release: str, signature: str) -> Rule:
    return refuses(
        code,
        "multi-node-dp",
        order.FINAL + 3,
        when=when & flag.nnodes.differs(1),
        says="--dp-size {resolved.dp_size} cannot be combined with --nnodes {asked.nnodes}.",
        because=_MULTI_NODE_WHY,
        fixes=(Unset("dp_size"), Set("enable_dp_attention", value=True), Choose("nnodes")),
        source=wheel("arg_groups/validation_hook.py", "check_server_args", line, release),
        signature=signature,
        bad=Example(argv="--tp-size 8 --dp-size 2 --nnodes 2 --node-rank 0 --dist-init-addr 10.0.0.1:5000"),
        good=Example(
            argv="--tp-size 8 --dp-size 2 --enable-dp-attention --nnodes 2 --node-rank 0 --dist-init-addr 10.0.0.1:5000"
        ),
    )


MULTI_NODE_DP_OLD = _multi_node(
    "DCP133",
    resolved.dp_size.more_than(1) & ~flag.enable_dp_attention.holds(),
    117,
    "0.5.21",
    "multi-node data parallel is not supported unless dp attention",
)
MULTI_NODE_DP = _multi_node(
    "DCP134",
    resolved.dp_size.more_than(1),
    196,
    "0.5.23",
    "multi-node data-parallel replicas are not supported",
)

# --- DCP groups and the width of attention --------------------------------------------------------------------------

DP_CROSSING = later(
    "DCP110",
    "dp-attention-crossing",
    160,
    effect=Effect.CORRUPTS,
    when=DCP_ON & step.attn_dp_size.more_than(1),
    require=flag.dcp_size.divides(ATTN_TP_SIZE),
    says=(
        "Attention is {width} ranks wide in each data-parallel replica, and --dcp-size {asked.dcp_size} "
        "does not divide that."
    ),
    values={"width": ATTN_TP_SIZE},
    because="DCP groups are slices of the whole tensor-parallel group, so they reach into replicas that serve other "
    "requests: Q of different batches is gathered, which hangs or mixes them up. Nothing checks it at start.",
    fixes=(Choose("dcp_size"), Choose("dp_size"), Choose("attn_dp_size"), Choose("tp_size")),
    source=read_in("distributed/parallel_state.py", "initialize_model_parallel", 2720),
    signature=None,
    bad=Example(argv="--tp-size 8 --dcp-size 4 --dp-size 4 --enable-dp-attention --attention-backend flashinfer"),
    good=Example(argv="--tp-size 8 --dcp-size 4 --dp-size 2 --enable-dp-attention --attention-backend flashinfer"),
)


def _holds_group_heads(kv_heads: int, width: int, dcp_size: int) -> bool:
    """Tell whether all ranks of a DCP group hold the same KV heads, when heads are dealt out over *width* ranks."""
    return kv_heads > 0 and dcp_size > 0 and kv_heads <= width and width // kv_heads % dcp_size == 0


SAME_KV_HEADS: Expr = Derived(
    "KV heads shared by a DCP group", _holds_group_heads, (model.num_kv_heads, ATTN_TP_SIZE, flag.dcp_size)
).holds()


def _kv_layout(code: str, models: Expr, note: str, line: int | None, release: str) -> Rule:
    return later(
        code,
        "gqa-kv-layout",
        150,
        effect=Effect.CORRUPTS,
        when=DCP_ON & models,
        require=SAME_KV_HEADS,
        says=(
            "All ranks of a DCP group of {asked.dcp_size} must hold the same KV heads; the model's number of them is "
            "{model.num_kv_heads}, dealt out over {width} ranks."
        ),
        values={"width": ATTN_TP_SIZE},
        because="The cache is striped by token and every rank answers for its tokens with its own heads, so all ranks "
        f"of a group must hold the same ones: the width must be a multiple of KV heads times --dcp-size. {note} "
        "Output is wrong from the second token, and nothing says so.",
        fixes=(Choose("dcp_size"), Choose("tp_size")),
        source=read_in("configs/model_config.py", "get_num_kv_heads", line, release),
        signature=None,
        bad=Example(argv="--tp-size 8 --dcp-size 4 --attention-backend triton", model="llama-3.1-70b"),
        good=Example(argv="--tp-size 32 --dcp-size 4 --attention-backend triton --nnodes 4", model="llama-3.1-70b"),
    )


KV_LAYOUT_15 = _kv_layout(
    "DCP112", GQA, "Up to 0.5.17 this holds for every model without a latent cache.", None, "0.5.17"
)
KV_LAYOUT = _kv_layout(
    "DCP113", GQA & ~QWEN35, "From 0.5.18 Qwen3.5 alone deals its KV heads out by group.", 1700, "0.5.23"
)

# --- prefill context parallelism ------------------------------------------------------------------------------------


def _tbo(code: str, line: int, release: str, signature: str) -> Rule:
    return refuses(
        code,
        "two-batch-overlap-needs-dp",
        order.FINAL + 30,
        when=flag.enable_two_batch_overlap.holds() & flag.moe_a2a_backend.equals("none"),
        require=step.attn_dp_size.more_than(1),
        says="--enable-two-batch-overlap needs an MoE all-to-all backend or DP attention, and neither is given.",
        because="What the second batch hides is either the all-to-all or the gathering of replicas.",
        fixes=(
            Unset("enable_two_batch_overlap"),
            Set("moe_a2a_backend", "deepep"),
            Set("enable_dp_attention", value=True),
        ),
        source=wheel("arg_groups/validation_hook.py", "check_two_batch_overlap", line, release),
        signature=signature,
        bad=Example(argv="--tp-size 8 --enable-two-batch-overlap"),
        good=Example(argv="--tp-size 8 --enable-two-batch-overlap --moe-a2a-backend deepep"),
    )


TWO_BATCH_15 = _tbo("DCP154", 481, "0.5.21", "--enable-dp-attention is required")
TWO_BATCH = _tbo("DCP155", 703, "0.5.23", "attention DP (--attn-dp-size) is")
