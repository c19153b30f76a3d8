"""Which decode backends verify the tokens of a draft under DCP."""

from __future__ import annotations

from configurator.catalog.declare import later, read_in
from configurator.catalog.terms import (
    CUDA,
    DCP_ON,
    DECODE_BACKEND,
    GQA,
    HIP,
    LATENT,
    MAY_BE_FLASHINFER_MLA,
    MAY_BE_TRITON,
    MAY_BE_TRTLLM_MLA,
    MLA,
    PREFILL_BACKEND,
    SPECULATION,
)
from configurator.core.expr import Derived, Expr, flag, resolved
from configurator.core.rule import Choose, Effect, Example, Rule, Set, Stage, Unset

_DRAFTS: Expr = flag.speculative_algorithm.is_in("EAGLE", "EAGLE3", "NEXTN", "STANDALONE", "NGRAM")
_ARGV = "--tp-size 8 --speculative-algorithm EAGLE --speculative-num-steps 3 --speculative-num-draft-tokens 4"


def _verify_backend(mode: object, decode: object, prefill: object) -> object:
    return decode if mode == "decode" else prefill


VERIFY_BACKEND = Derived(
    "verification backend", _verify_backend, (resolved.speculative_attention_mode, DECODE_BACKEND, PREFILL_BACKEND)
)
"""The backend that verifies a draft's tokens: prefill's, unless ``--speculative-attention-mode decode``."""

_SPEC_FIXES = (
    Unset("speculative_algorithm"),
    Choose("decode_attention_backend"),
    Choose("attention_backend"),
    Set("dcp_size", 1),
)
_WITH_DCP = f"{_ARGV} --speculative-eagle-topk 1 --dcp-size 4"


def _cannot_verify(  # noqa: PLR0913, PLR0917 - the fields that differ
    code: str,
    slug: str,
    when: Expr,
    because: str,
    source: tuple[str, str, int],
    signature: str | None,
    bad: Example,
    good: Example,
    stage: Stage = Stage.RUNTIME,
) -> Rule:
    return later(
        code,
        slug,
        190,
        effect=Effect.CRASHES,
        stage=stage,
        when=SPECULATION & DCP_ON & when,
        says="--speculative-algorithm {asked.speculative_algorithm} with --dcp-size {asked.dcp_size} needs a backend that "
        "verifies under DCP; decode is {decode}, and verification is {verify}.",
        values={"decode": DECODE_BACKEND, "verify": VERIFY_BACKEND},
        because=because,
        fixes=_SPEC_FIXES,
        source=read_in(*source),
        signature=signature,
        bad=bad,
        good=good,
    )


_ON_B200 = Example(
    argv=f"{_WITH_DCP} --attention-backend cutedsl_mla --speculative-attention-mode decode", hardware="b200x8"
)
TRTLLM_MLA_SPEC = _cannot_verify(
    "SPC710",
    "trtllm-mla-dcp-spec",
    MAY_BE_TRTLLM_MLA & LATENT & DECODE_BACKEND.equals("trtllm_mla"),
    "trtllm_mla answers for a rank's own tokens in plain decode only; the server stops when it builds the backend.",
    ("layers/attention/attention_registry.py", "create_trtllm_mla_backend", 102),
    "trtllm_mla cannot serve decode context parallelism with",
    Example(argv=f"{_WITH_DCP} --attention-backend trtllm_mla", hardware="b200x8"),
    _ON_B200,
    Stage.INIT,
)
FLASHINFER_SPEC = _cannot_verify(
    "SPC711",
    "flashinfer-mla-dcp-spec",
    MAY_BE_FLASHINFER_MLA & MLA & CUDA & (DECODE_BACKEND.equals("flashinfer") | VERIFY_BACKEND.equals("flashinfer")),
    "FlashInfer's MLA kernels return the log-sum-exp in plain decode only; verification stops at graph capture. On "
    "CUDA a draft runs under DCP only with cutedsl_mla (to 0.5.22 also tokenspeed_mla), which is for SM100.",
    ("layers/attention/flashinfer_mla_backend.py", "forward_extend", 835),
    None,
    Example(argv=f"{_WITH_DCP} --attention-backend flashinfer"),
    _ON_B200,
)
TRITON_SPEC = _cannot_verify(
    "SPC712",
    "triton-dcp-spec",
    MAY_BE_TRITON & GQA & _DRAFTS & (CUDA | HIP) & (DECODE_BACKEND.equals("triton") | VERIFY_BACKEND.equals("triton")),
    "Verification masks out the branches of the draft, and triton's DCP path knows no such mask.",
    ("layers/attention/triton_backend.py", "forward_extend", 2012),
    "DCP Triton extend does not support custom masks",
    Example(
        argv=f"{_WITH_DCP} --attention-backend triton --speculative-draft-model-path draft", model="qwen3.5-397b-a17b"
    ),
    Example(argv="--tp-size 8 --dcp-size 4 --attention-backend triton", model="qwen3.5-397b-a17b"),
)
