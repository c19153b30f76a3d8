"""Page sizes: what backends and models make of --page-size, and what an unset one becomes."""

from __future__ import annotations

from configurator.catalog import order
from configurator.catalog.declare import NEWEST
from configurator.catalog.families import DEEPSEEK, DIFFUSION_GEMMA
from configurator.catalog.terms import (
    CUDA,
    DCP_ON,
    DECODE_BACKEND,
    DSA,
    HIP,
    LATENT,
    MODEL_TOLD,
    NPU,
    PREFILL_BACKEND,
    SM100,
    XPU,
    uses,
    uses_for_decode,
)
from configurator.core.expr import Derived, Expr, Term, environment, flag, hardware, model, resolved, step
from configurator.core.flag import FlagValue
from configurator.core.rule import Basis, Choose, Effect, Example, Resolution, Rule, Source, Stage

_OVERRIDES = "sglang/srt/arg_groups/overrides.py"
_CONSTRAINTS = ("_mla_backend_page_constraints", 1144)


def _page(  # noqa: PLR0913 - the fields that differ
    number: int,
    slug: str,
    at: int,
    when: Expr,
    size: FlagValue | Term,
    because: str,
    *,
    where: tuple[str, int] = _CONSTRAINTS,
    path: str = _OVERRIDES,
    release: str = NEWEST,
) -> Resolution:
    symbol, line = where
    return Resolution(
        code=f"KVC{number}",
        slug=slug,
        order=at,
        when=when,
        sets={"page_size": size},
        because=because,
        source=Source(path=path, symbol=symbol, release=release, line=line, basis=Basis.RECORDED),
    )


_DSA_HERE = DSA & DEEPSEEK
_FAMILY = "sglang/srt/arg_groups/model_overrides/deepseek_v2.py"
_DSA_PAGE = Derived("tokens of a pooled index page", lambda pooled: 64 * (pooled or 1), (model.index_kpool,))

ASCEND = _page(
    530,
    "page-size-ascend",
    order.PLATFORM + 1,
    NPU & resolved.page_size.is_unset(),
    128,
    "Ascend's kernels read pages of 128 tokens.",
    where=("set_default_server_args", 73),
    path="sglang/srt/hardware_backend/npu/utils.py",
)
SHUFFLED: Expr = (
    HIP
    & environment.SGLANG_USE_AITER.is_in("1", "true", "True", "TRUE")
    & ~environment.SGLANG_DSA_HIP_DISABLE_PRESHUFFLE.is_in("1", "true", "True", "TRUE")
)
"""aiter's preshuffled index is used; it wants Triton 3.5, which is taken to be there."""
DSA_ROCM = _page(
    548,
    "page-size-dsa-rocm",
    order.MODEL + 25,
    _DSA_HERE & HIP & ~SHUFFLED,
    1,
    "On ROCm the sparse index has pages of one token, unless SGLANG_USE_AITER=1 brings aiter's kernels.",
    where=("_deepseek_family_overrides", 158),
    path=_FAMILY,
)
DSA_64 = _page(
    531,
    "page-size-dsa-64",
    order.MODEL + 25,
    _DSA_HERE & (CUDA | SHUFFLED),
    64,
    "The sparse index is stored in pages of 64 tokens.",
    where=("_deepseek_family_overrides", 137),
    release="0.5.21",
    path=_FAMILY,
)
DSA_POOLED = _page(
    532,
    "page-size-dsa",
    order.MODEL + 25,
    _DSA_HERE & (CUDA | SHUFFLED),
    _DSA_PAGE,
    "The sparse index is stored in pages of 64 tokens, times the tokens pooled into one key.",
    where=("_deepseek_family_overrides", 172),
    path=_FAMILY,
)
DSA_XPU = _page(
    533,
    "page-size-dsa-xpu",
    order.MODEL + 25,
    _DSA_HERE & XPU,
    128,
    "The sparse index is stored in pages of 128 tokens on Intel XPU.",
    where=("_deepseek_family_overrides", 176),
    path=_FAMILY,
)
_AT = order.ATTENTION + 20
FLASHMLA = _page(534, "page-size-flashmla", _AT, uses_for_decode("flashmla"), 64, "FlashMLA reads pages of 64 tokens.")
CUTLASS = _page(
    535,
    "page-size-cutlass",
    _AT,
    uses_for_decode("cutlass_mla"),
    128,
    "Cutlass MLA reads pages of 128 tokens.",
    where=(_CONSTRAINTS[0], 1128),
    release="0.5.19",
)
_NOT_32_64 = ~resolved.page_size.is_in(32, 64)
TRTLLM_MLA = _page(
    536,
    "page-size-trtllm-mla",
    _AT + 1,
    uses_for_decode("trtllm_mla") & _NOT_32_64,
    64,
    "TensorRT-LLM's MLA kernels read pages of 32 or 64 tokens.",
)
TOKENSPEED = _page(
    537,
    "page-size-tokenspeed",
    _AT + 1,
    uses_for_decode("tokenspeed_mla") & _NOT_32_64,
    64,
    "tokenspeed_mla reads pages of 32 or 64 tokens.",
    where=(_CONSTRAINTS[0], 1085),
    release="0.5.22",
)
CUTEDSL = _page(
    538,
    "page-size-cutedsl",
    _AT + 1,
    uses("cutedsl_mla") & _NOT_32_64,
    64,
    "CuteDSL's MLA kernels read pages of 32 or 64 tokens.",
)
TRTLLM_MHA_15 = _page(
    539,
    "page-size-trtllm-mha-15",
    _AT + 1,
    uses("trtllm_mha") & ~resolved.page_size.is_in(16, 32, 64),
    64,
    "Up to 0.5.16 TensorRT-LLM's kernels read pages of 16, 32 or 64 tokens.",
    where=(_CONSTRAINTS[0], 1682),
    release="0.5.16",
)
TRTLLM_MHA = _page(
    540,
    "page-size-trtllm-mha",
    _AT + 1,
    (uses("trtllm_mha") | flag.speculative_draft_attention_backend.equals("trtllm_mha"))
    & ~resolved.page_size.is_in(16, 32, 64, 128),
    64,
    "TensorRT-LLM's kernels read pages of 16, 32, 64 or 128 tokens.",
)
HPC_OPS = _page(541, "page-size-hpc-ops", _AT + 2, uses("hpc_ops"), 64, "hpc_ops reads pages of 64 tokens.")
FA4 = _page(
    542,
    "page-size-fa4",
    order.ATTENTION + 50,
    uses("fa4") & ~LATENT & SM100 & ~flag.speculative_eagle_topk.more_than(1) & ~DIFFUSION_GEMMA,
    128,
    "On data-centre Blackwell FlashAttention 4 reads pages of 128 tokens.",
    where=("_fa4_page_constraint", 1274),
)


def _xpu(number: int, slug: str, backend: Expr, note: str, place: tuple[int, str]) -> Resolution:
    line, release = place
    return _page(
        number,
        slug,
        order.ATTENTION + 61,
        backend & ~(resolved.page_size.is_in(64, 128) | (LATENT & resolved.page_size.is_in(16, 32))),
        128,
        f"intel_xpu reads pages of 64 or 128 tokens, for MLA also of 16 or 32{note}.",
        where=("_intel_xpu_page_constraint", line),
        release=release,
    )


INTEL_XPU_DECODE = _xpu(
    543, "page-size-intel-xpu-decode", DECODE_BACKEND.equals("intel_xpu"), "; up to 0.5.19", (1342, "0.5.19")
)
INTEL_XPU = _xpu(
    544,
    "page-size-intel-xpu",
    DECODE_BACKEND.equals("intel_xpu") | PREFILL_BACKEND.equals("intel_xpu"),
    "",
    (1324, NEWEST),
)
_UNSET = resolved.page_size.is_unset()
AITERSHUFFLED = _page(
    545,
    "page-size-aiter-vectorized",
    order.PAGE,
    _UNSET & HIP & environment.SGLANG_AITER_KV_CACHE_LAYOUT.is_in("vectorized_5d", "VECTORIZED_5D"),
    64,
    "aiter's vectorised layout is made for pages of 64 tokens.",
    where=("_page_size_default", 1341),
)
ONE = _page(
    546,
    "page-size-one",
    order.PAGE + 1,
    _UNSET,
    1,
    "Nothing asked for larger pages.",
    where=("_page_size_default", 1341),
)

COMMON = (ASCEND, FLASHMLA, TRTLLM_MLA, CUTEDSL, FA4, AITERSHUFFLED, ONE)
"""The same in every release with DCP."""

REWRITTEN = Rule(
    code="KVC501",
    slug="page-size-rewritten",
    effect=Effect.REWRITES,
    stage=Stage.SERVER_ARGS,
    order=order.PAGE + 2,
    when=MODEL_TOLD & flag.page_size.is_set(),
    require=resolved.page_size.equals(flag.page_size),
    says="--page-size {asked.page_size} becomes {resolved.page_size}.",
    because="The attention backend, or the model's sparse index, reads only pages of certain sizes; the server says so "
    "in its log and goes on.",
    fixes=(Choose("page_size"),),
    source=Source(
        path=_OVERRIDES, symbol=_CONSTRAINTS[0], release="0.5.23", line=_CONSTRAINTS[1], basis=Basis.RECORDED
    ),
    upstream_signature="changing page_size from",
    example=Example(argv="--tp-size 8 --attention-backend trtllm_mla --page-size 16", hardware="b200x8"),
    accept=Example(argv="--tp-size 8 --attention-backend trtllm_mla --page-size 32", hardware="b200x8"),
)


def _chunk_of(asked: int | None, replicas: int | None, memory_gib: float | None) -> int:
    """Return the tokens of a chunk in one replica of attention; unset, the GPU's memory decides."""
    size = asked
    if size is None:
        steps = ((20, 2048), (35, 4096), (60, 4096), (160, 8192))
        size = 4096 if memory_gib is None else next((n for limit, n in steps if memory_gib < limit), 16384)
    return size // max(replicas or 1, 1) if size > 0 else size


CHUNK = Derived(
    "tokens of a chunk in one replica of attention",
    _chunk_of,
    (flag.chunked_prefill_size, step.attn_dp_size, hardware.memory_gib),
)
"""--chunked-prefill-size, which replicas of attention share between them."""

_EVEN_CHUNK: Expr = Derived("chunks of 128 tokens", lambda chunk: chunk % 128 == 0, (CHUNK,)).holds()
CHUNK_SIZE = Rule(
    code="KVC502",
    slug="chunk-size-needs-pages",
    effect=Effect.REFUSES,
    stage=Stage.SERVER_ARGS,
    order=order.FINAL + 10,
    # Of itself a page is a power of two of up to 128 tokens, or 64 times what a model pools.
    when=(MODEL_TOLD | ~flag.page_size.is_in(None, 1, 2, 4, 8, 16, 32, 64, 128) | ~_EVEN_CHUNK)
    & CHUNK.more_than(0)
    & ~flag.disaggregation_mode.equals("decode"),
    require=resolved.page_size.divides(CHUNK),
    says="--chunked-prefill-size, which is {asked.chunked_prefill_size}, makes chunks of {chunk} tokens; that is no multiple "
    "of the page size, which is {resolved.page_size}.",
    values={"chunk": CHUNK},
    because="A chunk of a prompt ends at the end of a page. The page of one rank counts, whatever --dcp-size is; "
    "replicas of attention share the chunk between them.",
    fixes=(Choose("chunked_prefill_size"), Choose("page_size")),
    source=Source(
        path="sglang/srt/arg_groups/validation_hook.py",
        symbol="check_server_args",
        release="0.5.23",
        line=224,
        basis=Basis.RECORDED,
    ),
    upstream_signature="chunked_prefill_size must be divisible by page_size",
    example=Example(argv="--tp-size 8 --page-size 64 --chunked-prefill-size 1000 --attention-backend flashinfer"),
    accept=Example(argv="--tp-size 8 --page-size 64 --chunked-prefill-size 1024 --attention-backend flashinfer"),
)

KV_EVENT_BLOCK = Resolution(
    code="KVC550",
    slug="kv-event-block-size",
    order=order.PAGE + 5,
    when=DCP_ON,
    sets={
        "step.kv_event_block_size": Derived(
            "tokens of a group's page",
            lambda size, ranks: size * ranks if isinstance(size, int) else None,
            (resolved.page_size, flag.dcp_size),
        )
    },
    because="Events about the KV cache count in pages of the whole DCP group: --page-size times --dcp-size.",
    source=Source(path=_OVERRIDES, symbol="kv_event_block_size", release="0.5.23", line=219),
)
