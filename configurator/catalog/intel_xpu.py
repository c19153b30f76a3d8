"""Intel XPU under DCP: argument handling checks there what the other platforms find out at run time."""

from __future__ import annotations

from configurator.catalog import order
from configurator.catalog.declare import later, read_in, refuses, wheel
from configurator.catalog.families import QWEN35
from configurator.catalog.terms import (
    ATTN_TP_SIZE,
    DCP_ON,
    DECODE_BACKEND,
    LATENT,
    PLATFORM_TOLD,
    PREFILL_BACKEND,
    SPECULATION,
    XPU,
)
from configurator.core.derived import kv_heads_per_rank
from configurator.core.expr import Derived, Expr, Term, flag, model, resolved
from configurator.core.rule import Choose, Example, Fix, Rule, Set, Stage, Unset

_HOOK = "arg_groups/attention_hook.py"
_HERE: Expr = PLATFORM_TOLD & XPU & DCP_ON
_ARGV = "--tp-size 8 --attention-backend intel_xpu"
_HW = "max1550x8"
_MODEL = "llama-3.1-70b"
_QWEN = "qwen3.5-397b-a17b"
_GOOD = Example(argv=f"{_ARGV} --dcp-size 2", hardware=_HW, model=_QWEN)
_OFF: Fix = Set("dcp_size", 1)
_SERVED: Expr = PREFILL_BACKEND.equals("intel_xpu") & DECODE_BACKEND.equals("intel_xpu")


def _refuses(  # noqa: PLR0913, PLR0917 - the fields that differ
    code: str,
    slug: str,
    at: int,
    require: Expr,
    says: str,
    because: str,
    line: int,
    signature: str,
    bad: Example,
    fixes: tuple[Fix, ...] = (),
    **values: Term,
) -> Rule:
    return refuses(
        code,
        slug,
        # Eight checks in one place; their own order comes after the point.
        order.ATTENTION + 52 + at,
        when=_HERE,
        require=require,
        says=says,
        because=because,
        fixes=(*fixes, _OFF),
        values=values,
        source=wheel(_HOOK, "_check_xpu_dcp", line),
        signature=signature,
        bad=bad,
        good=_GOOD,
    )


NEEDS_INTEL_XPU = _refuses(
    "HWR420",
    "xpu-needs-intel-xpu",
    0,
    _SERVED,
    "On Intel XPU --dcp-size {asked.dcp_size} needs intel_xpu for both phases; here decode is {decode} and prefill is "
    "{prefill}.",
    "Only intel_xpu serves DCP there, and it is not what an unset backend becomes.",
    56,
    "--dcp-size > 1 on Intel XPU needs --attention-backend intel_x",
    Example(argv="--tp-size 8 --dcp-size 2", hardware=_HW, model=_MODEL),
    (Set("attention_backend", "intel_xpu"),),
    decode=DECODE_BACKEND,
    prefill=PREFILL_BACKEND,
)
NO_MLA = _refuses(
    "HWR421",
    "xpu-no-mla",
    1,
    ~LATENT,
    "On Intel XPU --dcp-size {asked.dcp_size} needs a model without a latent cache, and this one is "
    "{model.architecture}.",
    "intel_xpu's MLA kernels do not return the log-sum-exp.",
    59,
    "--dcp-size > 1 is not supported for MLA models on Intel XPU",
    Example(argv=f"{_ARGV} --dcp-size 2", hardware=_HW),
)
EQUAL_KV = _refuses(
    "HWR422",
    "xpu-equal-kv-dims",
    2,
    model.v_head_dim.equals(model.head_dim),
    "On Intel XPU --dcp-size {asked.dcp_size} needs keys and values of one width; this model's are {model.head_dim} and "
    "{model.v_head_dim} elements wide.",
    "Only the write for equal widths leaves out the tokens of other ranks.",
    63,
    "--dcp-size > 1 on Intel XPU needs equal K and V head dims",
    Example(
        argv=f"{_ARGV} --dcp-size 2",
        hardware=_HW,
        model={
            "architectures": ["MiMoV2ForCausalLM"],
            "model_type": "mimo_v2",
            "hidden_size": 4096,
            "num_hidden_layers": 32,
            "num_attention_heads": 64,
            "num_key_value_heads": 4,
            "head_dim": 192,
            "v_head_dim": 128,
        },
    ),
)
TP_DIVISIBLE = _refuses(
    "HWR423",
    "xpu-tp-divisible",
    3,
    flag.dcp_size.divides(flag.tp_size),
    "--tp-size {asked.tp_size} is not a multiple of --dcp-size {asked.dcp_size}.",
    "DCP groups are equal slices of the tensor-parallel group; on Intel XPU argument handling checks it.",
    65,
    "must divide --tp-size",
    Example(argv=f"{_ARGV} --dcp-size 3", hardware=_HW, model=_QWEN),
    (Choose("tp_size"), Choose("dcp_size")),
)
_GROUP_HEADS = Derived(
    "KV heads of a rank when dealt out by group",
    lambda heads, tp_size, dcp_size: kv_heads_per_rank(heads, tp_size // max(dcp_size, 1)),
    (model.num_kv_heads, flag.tp_size, flag.dcp_size),
)
_RANK_HEADS = Derived("KV heads of a rank", kv_heads_per_rank, (model.num_kv_heads, flag.tp_size))
KV_HEADS = _refuses(
    "HWR424",
    "xpu-kv-heads",
    4,
    QWEN35 | _GROUP_HEADS.equals(_RANK_HEADS),
    "All ranks of a DCP group of {asked.dcp_size} must hold the same KV heads; the model's number of them is "
    "{model.num_kv_heads}, dealt out over --tp-size {asked.tp_size}.",
    "All ranks of a group must hold the same KV heads; only Qwen3.5 deals them out so.",
    75,
    "its DCP group's KV heads, which",
    Example(argv=f"{_ARGV} --dcp-size 4", hardware=_HW, model=_MODEL),
    (Choose("dcp_size"), Choose("tp_size")),
)


def _query_group(heads: int, kv_heads: int, width: int, dcp_size: int) -> int:
    """Return how many query heads of a DCP group share one KV head of a rank."""
    own = max(1, heads // max(width, 1))
    shared = kv_heads_per_rank(kv_heads, width // max(dcp_size, 1))
    return own * dcp_size // max(1, shared)


_Q_GROUP = Derived(
    "query heads per KV head", _query_group, (model.num_heads, model.num_kv_heads, ATTN_TP_SIZE, flag.dcp_size)
)
Q_GROUP = _refuses(
    "HWR425",
    "xpu-q-group",
    5,
    ~_Q_GROUP.more_than(16),
    "--dcp-size {asked.dcp_size} makes {group} query heads share one KV head on Intel XPU.",
    "intel_xpu's decode kernel is built for groups of up to 16.",
    90,
    "gives the intel_xpu decode kernel a GQA group of",
    Example(
        argv=f"{_ARGV} --dcp-size 8",
        hardware=_HW,
        model={
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "hidden_size": 6144,
            "num_hidden_layers": 40,
            "num_attention_heads": 48,
            "num_key_value_heads": 1,
            "head_dim": 128,
        },
    ),
    (Choose("dcp_size"), Choose("tp_size")),
    group=_Q_GROUP,
)
NO_SPEC = _refuses(
    "HWR426",
    "xpu-no-spec",
    6,
    ~SPECULATION,
    "On Intel XPU --dcp-size {asked.dcp_size} cannot be combined with --speculative-algorithm "
    "{asked.speculative_algorithm}.",
    "intel_xpu does not verify a draft's tokens under DCP.",
    97,
    "with speculative decoding is not supported on Intel XPU",
    Example(argv=f"{_ARGV} --dcp-size 2 --speculative-algorithm EAGLE", hardware=_HW, model=_QWEN),
    (Unset("speculative_algorithm"),),
)
NO_CHUNKED = _refuses(
    "HWR427",
    "xpu-no-chunked-attn",
    7,
    model.attention_chunk_size.is_unset(),
    "On Intel XPU --dcp-size {asked.dcp_size} cannot serve attention within chunks; this model's chunks are of "
    "{model.attention_chunk_size} tokens.",
    "Chunks are not striped over a DCP group there.",
    101,
    "is not supported on Intel XPU for models with chunked",
    Example(
        argv="--tp-size 16 --attention-backend intel_xpu --dcp-size 2 --nnodes 2", hardware=_HW, model="llama-4-scout"
    ),
)
NO_ENCDEC = _refuses(
    "HWR428",
    "xpu-no-encdec",
    8,
    ~model.is_encoder_decoder.holds(),
    "On Intel XPU --dcp-size {asked.dcp_size} cannot serve encoder-decoder models.",
    "The cache of the encoder is not striped over a DCP group there.",
    106,
    "is not supported on Intel XPU for encoder-decoder",
    Example(
        argv=f"{_ARGV} --dcp-size 2",
        hardware=_HW,
        model={
            "architectures": ["MllamaForConditionalGeneration"],
            "model_type": "mllama",
            "is_encoder_decoder": True,
            "text_config": {
                "hidden_size": 4096,
                "num_hidden_layers": 40,
                "num_attention_heads": 32,
                "num_key_value_heads": 4,
                "head_dim": 128,
            },
        },
    ),
)


def _at_start(code: str, slug: str, require: Expr, says: str, because: str, signature: str, bad: Example) -> Rule:
    return later(
        code,
        slug,
        125,
        stage=Stage.INIT,
        when=_HERE & DECODE_BACKEND.equals("intel_xpu"),
        require=require,
        says=says,
        because=because,
        fixes=(_OFF,),
        source=read_in("layers/attention/xpu_backend.py", "XPUAttentionBackend", 244),
        signature=signature,
        bad=bad,
        good=_GOOD,
    )


QUANT_KV = _at_start(
    "HWR430",
    "xpu-quant-kv",
    resolved.kv_cache_dtype.is_in("auto", "bfloat16", "bf16", "float16"),
    "On Intel XPU --dcp-size {asked.dcp_size} needs a 16-bit cache, and --kv-cache-dtype is {resolved.kv_cache_dtype}.",
    "intel_xpu merges a group's answers from 16-bit caches only.",
    "DCP with a quantized KV cache is not supported on intel_xpu",
    Example(argv=f"{_ARGV} --dcp-size 2 --kv-cache-dtype fp8_e4m3", hardware=_HW, model=_QWEN),
)
SWA = _at_start(
    "HWR431",
    "xpu-swa",
    model.is_hybrid_swa.equals(False),
    "On Intel XPU --dcp-size {asked.dcp_size} cannot serve sliding-window layers.",
    "The window's cache is not striped over a DCP group there.",
    "DCP with sliding-window layers is not supported on intel_xpu",
    Example(
        argv="--tp-size 16 --attention-backend intel_xpu --dcp-size 2 --nnodes 2", hardware=_HW, model="gpt-oss-20b"
    ),
)
GRAPHS = _at_start(
    "HWR432",
    "xpu-runtime-extra",
    resolved.cuda_graph_decode_backend.equals("disabled")
    & resolved.cuda_graph_prefill_backend.equals("disabled")
    & ~model.has_attention_sinks.holds(),
    "On Intel XPU --dcp-size {asked.dcp_size} needs graphs off and a model without attention sinks; the decode graph is "
    "{resolved.cuda_graph_decode_backend}.",
    "intel_xpu under DCP runs without graphs, without sinks, and in plain prefill and decode only.",
    "DCP on intel_xpu requires CUDA graph disabled",
    Example(argv=f"{_ARGV} --dcp-size 2 --cuda-graph-backend-decode full", hardware=_HW, model=_QWEN),
)
RULES = (
    NEEDS_INTEL_XPU,
    NO_MLA,
    EQUAL_KV,
    TP_DIVISIBLE,
    KV_HEADS,
    Q_GROUP,
    NO_SPEC,
    NO_CHUNKED,
    NO_ENCDEC,
    QUANT_KV,
    SWA,
    GRAPHS,
)
