"""Numbers that make no sense: what argument handling refuses, what breaks later, and what nobody has shown to work.

Every refusal here was recorded from all nine releases; what argument handling lets pass was read on to the line that it
reaches.
"""

from __future__ import annotations

from configurator.catalog import order
from configurator.catalog.declare import later, read_in, refuses, wheel
from configurator.catalog.terms import CUDA
from configurator.core.expr import Derived, Expr, environment, flag, hardware, model, resolved
from configurator.core.release import ModelledFlag
from configurator.core.rule import Choose, Effect, Example, Rule, Set, Source, Stage, Unset

_CHECK = "arg_groups/validation_hook.py"
_TP8 = "--tp-size 8"
_SYMBOLS = {
    "arg_groups/lora_hook.py": "check_lora_server_args",
    "arg_groups/kv_cache_hook.py": "handle_cache_compatibility",
}
_SLUGS = {"REL924": "above-1", "REL926": "above-tp-size"}


def _spelled(dest: str) -> str:
    return "--" + dest.replace("_", "-")


def _refused(  # noqa: PLR0917 - the fields that differ
    code: str, dest: str, at: int, bad: Expr, must: str, value: str, where: tuple[str, int], text: str
) -> Rule:
    path, line = where
    return refuses(
        code,
        f"{dest.replace('_', '-')}-in-range",
        order.FINAL + at,
        when=bad,
        says=f"{_spelled(dest)} {{asked.{dest}}} is out of range: it {must}.",
        because="Argument handling raises.",
        fixes=(Unset(dest),),
        source=wheel(path, _SYMBOLS.get(path, "check_server_args"), line),
        signature=text,
        bad=Example(argv=f"{_TP8} {_spelled(dest)}={value}"),
        good=Example(argv=_TP8),
    )


def _later(  # noqa: PLR0913, PLR0917 - the fields that differ
    code: str,
    dest: str,
    bad: Expr,
    what: str,
    because: str,
    value: str,
    source: Source,
    signature: str | None = None,
    effect: Effect = Effect.CRASHES,
    stage: Stage = Stage.INIT,
) -> Rule:
    return later(
        code,
        f"{dest.replace('_', '-')}-{_SLUGS.get(code, 'doubtful' if effect is Effect.UNVERIFIED else 'breaks')}",
        60,
        effect=effect,
        stage=stage,
        when=bad,
        says=f"{_spelled(dest)} {{asked.{dest}}} {what}.",
        because=because,
        fixes=(Unset(dest),),
        source=source,
        signature=signature,
        bad=Example(argv=f"{_TP8} {_spelled(dest)}={value}"),
        good=Example(argv=_TP8),
    )


def _doubtful(code: str, dest: str, bad: Expr, value: str, source: Source, because: str = "") -> Rule:
    return _later(
        code,
        dest,
        bad,
        "is not known to work",
        because or "Argument handling lets it pass, and no check was found further on. It looks like a slip.",
        value,
        source,
        effect=Effect.UNVERIFIED,
        stage=Stage.RUNTIME,
    )


_PARALLEL = "runtime_context.py"
_POOL = "mem_cache/kv_cache_configurator.py"
# RoPE scaling lengthens what a config names; no model does so by more than this.
_FAR_BEYOND = Derived("longest context by far", lambda longest: longest * 64, (model.max_position_embeddings,))
_REPLICA_GPUS = Derived(
    "GPUs of all replicas", lambda dp, tp, pp: dp * tp * pp, (resolved.dp_size, flag.tp_size, flag.pp_size)
)

REFUSED = (
    _refused(
        "REL911",
        "base_gpu_id",
        4,
        flag.base_gpu_id.less_than(0),
        "must be 0 or more",
        "-1",
        (_CHECK, 204),
        "base_gpu_id must be non-negative",
    ),
    _refused(
        "REL912",
        "gpu_id_step",
        5,
        flag.gpu_id_step.less_than(1),
        "must be 1 or more",
        "0",
        (_CHECK, 205),
        "gpu_id_step must be positive",
    ),
    _refused(
        "REL913",
        "moe_dense_tp_size",
        6,
        flag.moe_dense_tp_size.is_set()
        & ~flag.moe_dense_tp_size.equals(1)
        & ~flag.moe_dense_tp_size.equals(flag.tp_size),
        "must be 1 or as --tp-size",
        "3",
        (_CHECK, 207),
        "moe_dense_tp_size only supports None, 1, or tp_size",
    ),
    _refused(
        "REL914",
        "tokenizer_worker_num",
        12,
        flag.tokenizer_worker_num.less_than(1),
        "must be 1 or more",
        "0",
        (_CHECK, 273),
        "Tokenizer worker num must >= 1",
    ),
    _refused(
        "REL915",
        "schedule_conservativeness",
        14,
        flag.schedule_conservativeness.less_than(0),
        "must be 0 or more",
        "-1",
        (_CHECK, 314),
        "schedule_conservativeness must be non-negative",
    ),
    _refused(
        "REL916",
        "max_loras_per_batch",
        8,
        flag.max_loras_per_batch.less_than(1),
        "must be 1 or more",
        "0",
        ("arg_groups/lora_hook.py", 36),
        "max_loras_per_batch must be positive",
    ),
    _refused(
        "REL917",
        "swa_full_tokens_ratio",
        order.CACHE - order.FINAL + 8,
        flag.swa_full_tokens_ratio.more_than(1)
        | (flag.swa_full_tokens_ratio.is_set() & ~flag.swa_full_tokens_ratio.more_than(0)),
        "must be above 0 and at most 1",
        "0",
        ("arg_groups/kv_cache_hook.py", 428),
        "--swa-full-tokens-ratio should be in range",
    ),
    refuses(
        "REL918",
        "context-length-beyond-model",
        order.MODEL - 20,
        stage=Stage.MODEL_ARGS,
        when=flag.context_length.is_set()
        & flag.context_length.more_than(_FAR_BEYOND)
        & environment.SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN.is_unset(),
        says="--context-length {asked.context_length} is far beyond the model's {model.max_position_embeddings} positions.",
        because="A context longer than the model's own is refused unless SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1 says "
        "otherwise. Only what exceeds any scaling of positions is named here.",
        fixes=(Unset("context_length"),),
        source=wheel("configs/model_config.py", "ModelConfig._derive_context_length", 1314),
        signature="To allow overriding this maximum, set the env var",
        bad=Example(argv=f"{_TP8} --context-length 99999999999"),
        good=Example(argv=f"{_TP8} --context-length 32768"),
    ),
)
BREAKS = (
    _later(
        "REL921",
        "context_length",
        flag.context_length.less_than(2),
        "leaves no room for a single token",
        "The longest request is one token less than the context; the worker asserts that it is above 0, and a context of "
        "0 is divided by before that.",
        "0",
        read_in("managers/tp_worker.py", "TpModelWorker.alloc_memory_pool", 425),
        "Memory pool size is too small",
    ),
    _later(
        "REL922",
        "max_total_tokens",
        flag.max_total_tokens.less_than(1),
        "leaves no token in the KV cache",
        "It caps the pool, and a pool of no tokens raises.",
        "0",
        read_in("model_executor/pool_configurator.py", "MemoryPoolConfig.__post_init__", 94),
        None,
    ),
    _later(
        "REL923",
        "mem_fraction_static",
        ~flag.mem_fraction_static.more_than(0) & flag.mem_fraction_static.is_set(),
        "leaves no memory for weights and cache",
        "What is kept free is the rest of the GPU: all of it.",
        "0",
        read_in(_POOL, "_profile_available_bytes", 3043),
        "Loaded weights leave no GPU memory for the KV cache",
    ),
    _later(
        "REL924",
        "mem_fraction_static",
        flag.mem_fraction_static.more_than(1) & CUDA,
        "asks for more than the GPU has",
        "The cache is sized to more than what is free, and its allocation runs out of memory.",
        "7",
        read_in(_POOL, "_profile_available_bytes", 3007),
        None,
    ),
    _later(
        "REL925",
        "ep_size",
        flag.ep_size.equals(0) & flag.moe_a2a_backend.is_in(None, "none"),
        "divides the experts by nothing",
        "The width of the experts' tensor parallelism is --tp-size divided by it.",
        "0",
        read_in(_PARALLEL, "derive_parallel_widths", 154),
        None,
    ),
    _later(
        "REL926",
        "ep_size",
        flag.ep_size.more_than(flag.tp_size) & flag.moe_a2a_backend.is_in(None, "none"),
        "is more than the ranks there are",
        "The experts' tensor parallelism becomes 0 ranks wide, and ranks are counted modulo that.",
        "16",
        read_in(_PARALLEL, "derive_spawn_ranks", 133),
        None,
    ),
    _later(
        "REL927",
        "attn_cp_size",
        flag.attn_cp_size.equals(0),
        "divides attention by nothing",
        "The width of attention is --tp-size divided by it.",
        "0",
        read_in(_PARALLEL, "derive_attn_tp_size", 76),
        None,
    ),
    _later(
        "REL928",
        "port",
        flag.port.less_than(0) | flag.port.more_than(65535),
        "is no port",
        "Ports go from 0 to 65535; binding the socket raises.",
        "99999999",
        read_in("entrypoints/http_server.py", "_setup_and_run_http_server", 2992),
        "port must be 0-65535",
    ),
    later(
        "HWR411",
        "replicas-exceed-gpus",
        51,
        stage=Stage.INIT,
        when=resolved.dp_size.more_than(1)
        & ~flag.enable_dp_attention.holds()
        & flag.nnodes.equals(1)
        & hardware.gpus_per_node.more_than(0),
        require=~_REPLICA_GPUS.more_than(hardware.gpus_per_node),
        says="--dp-size {resolved.dp_size} needs {gpus} GPUs, and this hardware has {hardware.gpus_per_node}.",
        values={"gpus": _REPLICA_GPUS},
        because="Every replica of the whole model takes GPUs of its own.",
        fixes=(Unset("dp_size"), Set("enable_dp_attention", value=True), Choose("dp_size"), Choose("tp_size")),
        source=read_in("managers/data_parallel_controller.py", "launch_dp_schedulers", 445),
        signature=None,
        bad=Example(argv="--tp-size 8 --dp-size 2"),
        good=Example(argv="--tp-size 4 --dp-size 2"),
    ),
)
_SERVER = read_in("server_args.py", "ServerArgs")
DOUBTFUL = (
    _doubtful(
        "REL931",
        "page_size",
        flag.page_size.less_than(1),
        "-1",
        read_in("mem_cache/allocator/base.py", "BaseTokenToKVPoolAllocator", 264),
    ),
    _doubtful(
        "REL932",
        "dp_size",
        resolved.dp_size.less_than(1),
        "0",
        read_in("entrypoints/engine.py", "Engine._launch_subprocesses"),
    ),
    _doubtful(
        "REL933",
        "ep_size",
        flag.ep_size.less_than(0)
        | (flag.ep_size.more_than(1) & ~flag.ep_size.divides(flag.tp_size) & ~flag.ep_size.more_than(flag.tp_size)),
        "3",
        read_in(_PARALLEL, "derive_parallel_widths", 154),
    ),
    _doubtful(
        "REL934", "attn_cp_size", flag.attn_cp_size.less_than(0), "-1", read_in(_PARALLEL, "derive_attn_tp_size", 76)
    ),
    _doubtful(
        "REL935",
        "max_running_requests",
        flag.max_running_requests.less_than(1),
        "0",
        read_in(_POOL, "resolve_max_num_reqs", 3128),
        "0.5.23 takes it as 1 for each replica, as the source reads; older releases were not shown to.",
    ),
    _doubtful("REL936", "max_prefill_tokens", flag.max_prefill_tokens.less_than(1), "0", _SERVER),
    _doubtful("REL937", "max_queued_requests", flag.max_queued_requests.less_than(1), "0", _SERVER),
    _doubtful(
        "REL938",
        "mem_fraction_static",
        flag.mem_fraction_static.equals(1),
        "1",
        read_in(_POOL, "_profile_available_bytes", 3007),
        "Nothing is kept free for activations and CUDA graphs.",
    ),
    _doubtful(
        "REL939",
        "port",
        flag.port.equals(0),
        "0",
        read_in("entrypoints/http_server.py", "_setup_and_run_http_server", 2992),
        "The system picks a port, and the server's own first request goes to port 0.",
    ),
    _doubtful(
        "REL940",
        "chunked_prefill_size",
        flag.chunked_prefill_size.less_than(-1) | flag.chunked_prefill_size.equals(0),
        "-7",
        read_in("managers/scheduler.py", "init_chunked_prefill", 1372),
        "-1 is how chunks are turned off; 0 and other negative numbers do so too, as the source reads.",
    ),
    _doubtful("REL941", "stream_interval", flag.stream_interval.less_than(1), "0", _SERVER),
    _doubtful("REL942", "num_continuous_decode_steps", flag.num_continuous_decode_steps.less_than(1), "0", _SERVER),
    _doubtful(
        "REL943",
        "node_rank",
        flag.node_rank.less_than(0) | ~flag.node_rank.less_than(flag.nnodes),
        "-1",
        _SERVER,
        "Nodes are counted from 0 to --nnodes less 1.",
    ),
    _doubtful(
        "REL944",
        "nccl_port",
        flag.nccl_port.less_than(1) | flag.nccl_port.more_than(65535),
        "99999999",
        _SERVER,
        "Ports go from 1 to 65535.",
    ),
    _doubtful("REL945", "dist_timeout", flag.dist_timeout.less_than(1), "0", _SERVER),
    _doubtful("REL946", "hicache_ratio", flag.hicache_ratio.is_set() & ~flag.hicache_ratio.more_than(0), "0", _SERVER),
)
RULES = (*REFUSED, *BREAKS, *DOUBTFUL)


def _number(dest: str, text: str) -> ModelledFlag:
    return ModelledFlag(
        dest=dest, group="Numbers", help=text, auto="auto", change_cost=3.0, unset_cost=2.0, shown=False
    )


FLAGS = (
    _number("context_length", "The longest request, in tokens."),
    _number("max_running_requests", "Requests that run at once."),
    _number("max_total_tokens", "Tokens that the KV cache holds."),
    _number("max_prefill_tokens", "Tokens of one prefill batch."),
    _number("mem_fraction_static", "Share of a GPU's memory for weights and KV cache."),
    _number("port", "Port of the HTTP server."),
    _number("schedule_conservativeness", "How careful the scheduler is in admitting requests."),
    _number("base_gpu_id", "First GPU to use."),
    _number("gpu_id_step", "Step from one GPU to the next."),
    _number("tokenizer_worker_num", "Processes that turn text into tokens."),
    _number("max_loras_per_batch", "Adapters in one batch."),
    _number("swa_full_tokens_ratio", "Share of the cache for sliding-window layers."),
    _number("node_rank", "Which node this is."),
    _number("max_queued_requests", "Requests that may wait."),
    _number("stream_interval", "Tokens between two parts of a streamed answer."),
    _number("num_continuous_decode_steps", "Decode steps between two looks at the queue."),
    _number("nccl_port", "Port where the ranks meet."),
    _number("dist_timeout", "Seconds that a collective may take."),
    _number("hicache_ratio", "Host memory of the cache, as a multiple of the GPU's."),
)
"""Numbers that only these rules read."""
