"""The page-major layout, which the unified memory pool brings: who reads it."""

from __future__ import annotations

from configurator.catalog import order
from configurator.catalog.declare import fills, refuses, wheel
from configurator.catalog.terms import (
    DECODE_BACKEND,
    LATENT,
    PREFILL_BACKEND,
)
from configurator.catalog.unified import ON, both_in
from configurator.core.expr import Expr, flag, model, resolved
from configurator.core.rule import Example, Fix, Rule, Set, Unset

_HOOK = "arg_groups/kv_cache_hook.py"
_PLAIN = "--tp-size 8 --enable-unified-memory --attention-backend flashinfer"
_OFF: Fix = Unset("enable_unified_memory")

PAGE_MAJOR_SET = fills(
    "KVC552",
    "unified-is-page-major",
    order.PAGE_MAJOR,
    when=ON,
    sets={"enable_page_major_kv_layout": True},
    because="The unified pool is laid out by page.",
    source=wheel(_HOOK, "handle_page_major_kv_layout", 772),
)

_MLA_17 = ("triton", "fa3", "trtllm_mla", "flashinfer", "cutedsl_mla", "tokenspeed_mla")

_MLA_19 = (*_MLA_17, "flashmla")

_GQA_19 = ("triton", "fa3", "fa4", "flashinfer", "trtllm_mha")

_EQUAL_KV: Expr = model.v_head_dim.equals(model.head_dim)


def _page_major(code: str, slug: str, latent: Expr, other: Expr, line: int, release: str, signature: str) -> Rule:
    return refuses(
        code,
        slug,
        order.PAGE_MAJOR + 3,
        when=resolved.enable_page_major_kv_layout.holds(),
        require=(LATENT & latent) | (~LATENT & other),
        says="The page-major layout is on, and {prefill} for prefill with {decode} for decode cannot read it.",
        values={"prefill": PREFILL_BACKEND, "decode": DECODE_BACKEND},
        because="Only some backends read KV that is ordered by page first; the unified pool brings that order with it.",
        fixes=(
            Set("attention_backend", "flashinfer"),
            Set("attention_backend", "triton"),
            _OFF,
            Unset("enable_page_major_kv_layout"),
        ),
        source=wheel(_HOOK, "handle_page_major_kv_layout", line, release),
        signature=signature,
        bad=Example(argv="--tp-size 8 --enable-unified-memory --attention-backend torch_native"),
        good=Example(argv="--tp-size 8 --enable-unified-memory --attention-backend triton"),
    )


_TRITON_ONLY: Expr = both_in("triton")

PAGE_MAJOR_15 = _page_major(
    "KVC527",
    "page-major-triton-only",
    _TRITON_ONLY,
    _TRITON_ONLY,
    5930,
    "0.5.16",
    "--enable-page-major-kv-layout requires the Triton attention backend",
)

PAGE_MAJOR_17 = _page_major(
    "KVC528",
    "page-major-backends-17",
    _TRITON_ONLY | (ON & both_in(*_MLA_17)),
    _TRITON_ONLY,
    8378,
    "0.5.18",
    "--enable-page-major-kv-layout requires the Triton attention backend",
)

_NOT_ALLOWED = "--enable-page-major-kv-layout: the resolved attention backends"

PAGE_MAJOR_19 = _page_major(
    "KVC529", "page-major-backends-19", both_in(*_MLA_19), both_in(*_GQA_19), 812, "0.5.22", _NOT_ALLOWED
)

PAGE_MAJOR_23 = _page_major(
    "KVC547",
    "page-major-backends",
    both_in(*_MLA_19),
    (_EQUAL_KV & both_in(*_GQA_19)) | (~_EQUAL_KV & both_in("triton", "fa3", "fa4")),
    812,
    "0.5.23",
    _NOT_ALLOWED,
)

PAGE_MAJOR_ALONE = refuses(
    "KVC503",
    "page-major-needs-unified",
    order.PAGE_MAJOR + 1,
    when=flag.enable_page_major_kv_layout.holds(),
    require=ON,
    says="--enable-page-major-kv-layout needs --enable-unified-memory, which is not given.",
    because="From 0.5.19 only the unified pool is laid out by page.",
    fixes=(Unset("enable_page_major_kv_layout"), Set("enable_unified_memory", value=True)),
    source=wheel(_HOOK, "handle_page_major_kv_layout", 780),
    signature="--enable-page-major-kv-layout without --enable-unified-memory is",
    bad=Example(argv="--tp-size 8 --enable-page-major-kv-layout --attention-backend triton"),
    good=Example(argv="--tp-size 8 --enable-page-major-kv-layout --enable-unified-memory --attention-backend triton"),
)

EQUAL_ROWS = refuses(
    "KVC504",
    "unified-equal-kv-dims",
    order.PAGE_MAJOR + 2,
    when=ON & ~LATENT,
    require=_EQUAL_KV,
    says="--enable-unified-memory needs keys and values of one width; this model's are {model.head_dim} and "
    "{model.v_head_dim} elements wide.",
    because="From 0.5.19 to 0.5.22 the pool's rows of keys and values must be equally wide.",
    fixes=(_OFF,),
    source=wheel(_HOOK, "handle_page_major_kv_layout", 788, "0.5.22"),
    signature="--enable-unified-memory requires uniform K/V rows",
    bad=Example(
        argv=_PLAIN,
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
    good=Example(argv=_PLAIN, model="llama-3.1-70b"),
)
