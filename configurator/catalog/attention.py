"""Which attention backends can serve decode under DCP, and what else stops them there."""

from __future__ import annotations

from configurator.catalog import phrases
from configurator.catalog.terms import (
    CUDA,
    DCP_ON,
    DECODE_BACKEND,
    DSA,
    GQA,
    HIP,
    MLA,
    NPU,
    SM100,
    XPU,
)
from configurator.core.expr import Expr
from configurator.core.rule import (
    Basis,
    Choose,
    Effect,
    Example,
    Rule,
    Set,
    Source,
    Stage,
)

_MLA_ANYWHERE = DECODE_BACKEND.equals("flashinfer") & CUDA
_GQA_TRITON = GQA & DECODE_BACKEND.equals("triton") & (CUDA | HIP)
_CUTEDSL = DECODE_BACKEND.equals("cutedsl_mla") & SM100
_TRTLLM_MLA = DECODE_BACKEND.equals("trtllm_mla") & SM100
_TOKENSPEED = DECODE_BACKEND.equals("tokenspeed_mla") & SM100
_AITER = DECODE_BACKEND.equals("aiter") & HIP
_ASCEND = DSA & DECODE_BACKEND.equals("ascend") & NPU
_INTEL = GQA & DECODE_BACKEND.equals("intel_xpu") & XPU
_DSA = DSA & DECODE_BACKEND.is_in("dsa", "nsa")

SUPPORT_15 = (MLA & _MLA_ANYWHERE) | _GQA_TRITON
SUPPORT_17 = (MLA & (_MLA_ANYWHERE | _CUTEDSL | _TOKENSPEED)) | _GQA_TRITON
SUPPORT_19 = (MLA & (_MLA_ANYWHERE | _CUTEDSL | _TOKENSPEED | _TRTLLM_MLA)) | _GQA_TRITON
SUPPORT_20 = (MLA & (_MLA_ANYWHERE | _CUTEDSL | _TOKENSPEED | _TRTLLM_MLA | _AITER)) | _GQA_TRITON
SUPPORT_22 = SUPPORT_20 | _DSA | _ASCEND | _INTEL
SUPPORT_23 = (MLA & (_MLA_ANYWHERE | _CUTEDSL | _TRTLLM_MLA | _AITER)) | _GQA_TRITON | _DSA | _ASCEND | _INTEL
"""Which backend returns the log-sum-exp that the DCP merge needs, by attention kind and platform."""


def without_dcp(number: int, support: Expr, until: str) -> Rule:
    """Return the rule that a decode backend outside *support* does not survive DCP, read in release *until*."""
    return Rule(
        code=f"ATT{number}",
        slug="attn-backend-without-dcp",
        effect=Effect.CRASHES,
        stage=Stage.RUNTIME,
        order=200,
        when=DCP_ON & DECODE_BACKEND.is_set(),
        require=support,
        says="{backend} no DCP decode path for {kind}, and --dcp-size is {asked.dcp_size}.",
        values={"backend": phrases.serving(phrases.DECODE, "has", "may have"), "kind": phrases.ATTENTION_KIND},
        because=(
            "Merging the ranks' partial outputs needs each one's log-sum-exp; this backend does not return it here, "
            "so decode stops at graph capture or at the first token."
        ),
        fixes=(
            Set("attention_backend", "flashinfer"),
            Set("attention_backend", "triton"),
            Choose("attention_backend"),
            Choose("decode_attention_backend"),
            Set("dcp_size", 1),
        ),
        source=Source(
            path="sglang/srt/models/deepseek_common/attention_forward_methods/forward_mla.py",
            symbol="forward_absorb_core",
            release=until,
            line=726 if until == "0.5.23" else None,
            url="https://github.com/sgl-project/sglang/pull/37735",
            basis=Basis.EXECUTED,
        ),
        upstream_signature="too many values to unpack (expected 2)",
        example=Example(argv="--tp-size 8 --dcp-size 4"),
        accept=Example(argv="--tp-size 8 --dcp-size 4 --attention-backend flashinfer"),
    )
