"""Kimi-K3 under DCP: it chooses its own backends, and refuses what it was not tried with."""

from __future__ import annotations

from configurator.catalog import order
from configurator.catalog.declare import NEWEST, fills, later, refuses, wheel
from configurator.catalog.families import KIMI_K3
from configurator.catalog.terms import DCP_ON, DECODE_BACKEND, PREFILL_BACKEND, SM100
from configurator.core.expr import Derived, Expr, Given, environment, flag, hardware, resolved, software, step
from configurator.core.rule import Effect, Example, Resolution, Rule, Set, SetEnv, Stage, Unset

_PATH = "arg_groups/model_overrides/kimi_k3.py"
_SYMBOL = "_kimi_k3_overrides"
_AT = order.MODEL + 5
_HERE: Expr = KIMI_K3 & DCP_ON
_MODEL = "kimi-k3"
_ARGV = "--tp-size 8 --dcp-size 4"
_SPEC = f"{_ARGV} --speculative-algorithm DSPARK --speculative-draft-model-path draft"
_GOOD = Example(argv=_ARGV, model=_MODEL, hardware="b200x8")
_DSPARK: Expr = flag.speculative_algorithm.equals("DSPARK")
_STATIC: Expr = environment.SGLANG_RAGGED_VERIFY_MODE.is_in(None, "static")
_UNSET: Expr = (
    resolved.attention_backend.is_unset()
    & resolved.prefill_attention_backend.is_unset()
    & resolved.decode_attention_backend.is_unset()
)
ASKED_DECODE = step.k3_decode_backend
"""What was asked for decode, before Kimi-K3 puts its own in place."""
_ASKED_CUTEDSL: Expr = ASKED_DECODE.is_in(None, "cutedsl_mla")


def _set(  # noqa: PLR0917 - the fields that differ
    code: str,
    slug: str,
    at: int,
    when: Expr,
    because: str,
    line: int,
    signature: str | None = None,
    release: str = NEWEST,
    **sets: object,
) -> Resolution:
    return fills(
        code,
        slug,
        _AT + at,
        when=when,
        sets=sets,  # type: ignore[arg-type]  # constants and terms, as declared below
        because=because,
        source=wheel(_PATH, _SYMBOL, line, release),
        signature=signature,
    )


REMEMBER = fills(
    "MDL830",
    "k3-asked-decode-backend",
    _AT - 1,
    when=KIMI_K3,
    sets={"step.k3_decode_backend": DECODE_BACKEND},
    because="What was asked for decode decides what Kimi-K3 does.",
    source=wheel(_PATH, _SYMBOL, 88),
)
SYMM_MEM_OFF = _set(
    "MDL831",
    "k3-symm-mem-taken-back",
    0,
    _HERE & flag.enable_symm_mem.holds(),
    "Its decode graphs are wrong with symmetric memory under DCP.",
    58,
    "Kimi-K3 DCP disables --enable-symm-mem",
    enable_symm_mem=False,
)
VERIFY_ON_DECODE = _set(
    "MDL832",
    "k3-verify-on-decode",
    2,
    _HERE & _DSPARK,
    "Only its decode kernels verify under DCP.",
    82,
    speculative_attention_mode="decode",
)
BACKEND_CUTEDSL = _set(
    "MDL833",
    "k3-backend-cutedsl",
    4,
    _HERE & _ASKED_CUTEDSL,
    "It prefills with trtllm_mla and decodes with cutedsl_mla.",
    88,
    "Kimi-K3 DCP keeps decode attention backend 'cutedsl_mla'",
    prefill_attention_backend="trtllm_mla",
    decode_attention_backend="cutedsl_mla",
)
BACKEND_TOKENSPEED = _set(
    "MDL834",
    "k3-tokenspeed",
    4,
    _HERE & ASKED_DECODE.equals("tokenspeed_mla"),
    "tokenspeed_mla serves both roles, with an fp8 cache.",
    97,
    "Kimi-K3 DCP overrides attention backends",
    "0.5.22",
    prefill_attention_backend="tokenspeed_mla",
    decode_attention_backend="tokenspeed_mla",
    kv_cache_dtype="fp8_e4m3",
)
_AITER_PREFILL = Derived(
    "prefill beside aiter", lambda asked: "triton" if asked == "triton" else "aiter", (PREFILL_BACKEND,)
)
BACKEND_AITER = _set(
    "MDL835",
    "k3-aiter",
    4,
    _HERE & ASKED_DECODE.equals("aiter"),
    "aiter decodes; it prefills too unless triton was asked for.",
    101,
    "Kimi-K3 DCP uses aiter MLA decode",
    prefill_attention_backend=_AITER_PREFILL,
    decode_attention_backend="aiter",
)
REPLICATE_STATIC = _set(
    "MDL836",
    "k3-replicate-default",
    6,
    _HERE & resolved.dcp_replicate_q_proj.is_unset(),
    "Up to 0.5.19 it always keeps the group's Q projection on every rank.",
    110,
    "Kimi-K3 DCP enables replicated Q projection by default.",
    "0.5.19",
    dcp_replicate_q_proj=True,
)
REPLICATE = _set(
    "MDL837",
    "k3-replicate-default-a2a",
    6,
    _HERE & resolved.dcp_replicate_q_proj.is_unset() & resolved.dcp_comm_backend.is_in("a2a", "fi_a2a"),
    "It keeps the group's Q projection on every rank where the exchange allows it.",
    118,
    "Kimi-K3 DCP enables replicated Q projection by default.",
    dcp_replicate_q_proj=True,
)
_BY_NAME = Derived("backend by the GPU's fabric", lambda fabric: "fi_a2a" if fabric else "a2a", (hardware.mnnvl,))
COMM_FORCED = _set(
    "MDL838",
    "k3-comm-forced",
    7,
    _HERE,
    "Up to 0.5.19 it takes fi_a2a on GB200 and GB300 and a2a elsewhere, whatever was asked for.",
    116,
    "Kimi-K3 DCP selects communication backend on ",
    "0.5.19",
    dcp_comm_backend=_BY_NAME,
)
_ALONE: Expr = KIMI_K3 & ~DCP_ON & SM100
TRTLLM_ALONE = _set(
    "MDL840",
    "k3-trtllm",
    8,
    _ALONE & _UNSET,
    "Without DCP it runs TensorRT-LLM's MLA kernels on data-centre Blackwell.",
    130,
    decode_attention_backend="trtllm_mla",
    prefill_attention_backend="trtllm_mla",
)
VERIFY_ALONE = _set(
    "MDL841",
    "k3-dspark-verify-on-decode",
    9,
    _ALONE & _DSPARK & DECODE_BACKEND.is_in("trtllm_mla", "cutedsl_mla"),
    "Verification runs on the decode kernels, which need no word from the host.",
    158,
    speculative_attention_mode="decode",
)

COMM_REWRITTEN = later(
    "DCP208",
    "k3-comm-rewritten",
    208,
    effect=Effect.REWRITES,
    stage=Stage.MODEL_ARGS,
    when=_HERE & flag.dcp_comm_backend.differs(resolved.dcp_comm_backend) & Given("dcp_comm_backend"),
    says="--dcp-comm-backend {asked.dcp_comm_backend} becomes {resolved.dcp_comm_backend} for Kimi-K3.",
    because="Up to 0.5.19 Kimi-K3 chooses by the GPU's name and overrules the flag.",
    fixes=(Unset("dcp_comm_backend"),),
    source=wheel(_PATH, _SYMBOL, 116, "0.5.19"),
    signature="Kimi-K3 DCP selects communication backend on ",
    bad=Example(argv=f"{_ARGV} --dcp-comm-backend ag_rs", model=_MODEL, hardware="b200x8"),
    good=Example(argv=f"{_ARGV} --dcp-comm-backend a2a", model=_MODEL, hardware="b200x8"),
)
SYMM_MEM_REWRITTEN = later(
    "MDL842",
    "k3-symm-mem-off",
    209,
    effect=Effect.REWRITES,
    stage=Stage.MODEL_ARGS,
    when=_HERE & flag.enable_symm_mem.holds(),
    says="--enable-symm-mem is taken back for Kimi-K3 with --dcp-size {asked.dcp_size}.",
    because="Its decode graphs give wrong results with symmetric memory under DCP, so the server turns it off.",
    fixes=(Unset("enable_symm_mem"),),
    source=wheel(_PATH, _SYMBOL, 58),
    signature="Kimi-K3 DCP disables --enable-symm-mem",
    bad=Example(argv=f"{_ARGV} --enable-symm-mem", model=_MODEL, hardware="b200x8"),
    good=_GOOD,
)
DSPARK_STATIC = refuses(
    "SPC701",
    "k3-dspark-static",
    _AT + 1,
    stage=Stage.MODEL_ARGS,
    when=_HERE & _DSPARK,
    require=_STATIC,
    says="Kimi-K3 with --dcp-size {asked.dcp_size} and DSPARK does not go with SGLANG_RAGGED_VERIFY_MODE={mode}.",
    values={"mode": environment.SGLANG_RAGGED_VERIFY_MODE},
    because="Only static verification, which is also what is done unless the variable says otherwise, was tried under "
    "DCP.",
    fixes=(SetEnv("SGLANG_RAGGED_VERIFY_MODE", "static"), Unset("speculative_algorithm"), Set("dcp_size", 1)),
    source=wheel(_PATH, _SYMBOL, 72),
    signature="Kimi-K3 DCP + DSPARK currently requires",
    bad=Example(argv=_SPEC, model=_MODEL, hardware="b200x8", env={"SGLANG_RAGGED_VERIFY_MODE": "compact"}),
    good=Example(argv=_SPEC, model=_MODEL, hardware="b200x8", env={"SGLANG_RAGGED_VERIFY_MODE": "static"}),
)


def _decode(code: str, slug: str, line: int, release: str, *backends: str) -> Rule:
    return refuses(
        code,
        slug,
        _AT + 4,
        stage=Stage.MODEL_ARGS,
        when=_HERE,
        require=ASKED_DECODE.is_in(None, *backends),
        says="Kimi-K3 with --dcp-size {asked.dcp_size} cannot decode on {backend}.",
        values={"backend": ASKED_DECODE},
        because=f"Under DCP it decodes with {' or '.join(backends)} only.",
        fixes=(
            Unset("attention_backend"),
            Unset("decode_attention_backend"),
            Set("decode_attention_backend", "cutedsl_mla"),
            *((Set("decode_attention_backend", "aiter"),) if "aiter" in backends else ()),
            Set("dcp_size", 1),
        ),
        source=wheel(_PATH, _SYMBOL, line, release),
        signature="Decode attention backend for Kimi-K3 DCP must be 'cutedsl_mla'",
        bad=Example(argv=f"{_ARGV} --decode-attention-backend flashinfer", model=_MODEL, hardware="b200x8"),
        good=_GOOD,
    )


DECODE_17 = _decode("ATT312", "k3-decode-backend", 106, "0.5.19", "cutedsl_mla", "tokenspeed_mla")
DECODE_20 = _decode("ATT313", "k3-decode-backend-aiter", 126, "0.5.22", "cutedsl_mla", "tokenspeed_mla", "aiter")
DECODE_23 = _decode("ATT314", "k3-decode-backend-23", 111, "0.5.23", "cutedsl_mla", "aiter")


_LACKING: Expr = ~software.flashinfer_mla_dcp.holds()


def _older(version: object, than: tuple[int, ...]) -> bool:
    """Tell whether a version string is below *than*; parts that are no number do not count."""
    numbers = [int(part) for part in str(version).split(".")[:3] if part.isdigit()]
    return tuple(numbers) < than


_OLD: Expr = Derived(
    "FlashInfer below 0.6.17", lambda version: _older(version, (0, 6, 17)), (software.flashinfer,)
).holds()


def _flashinfer(code: str, lacking: Expr, release: str, because: str) -> Rule:
    # No example: what FlashInfer is installed is a fact, and the one that the release pins will do.
    return Rule(
        code=code,
        slug="k3-cutedsl-flashinfer",
        effect=Effect.REFUSES,
        stage=Stage.MODEL_ARGS,
        order=_AT + 3,
        when=_HERE & _ASKED_CUTEDSL & lacking,
        says="Kimi-K3 with --dcp-size {asked.dcp_size} decodes with cutedsl_mla, for which FlashInfer {version} is too old.",
        values={"version": software.flashinfer},
        because=because,
        fixes=(Set("decode_attention_backend", "aiter"), Set("dcp_size", 1)),
        source=wheel(_PATH, "_require_kimi_k3_cutedsl_dcp_support", 27, release),
        upstream_signature="Kimi-K3 DCP with decode_attention_backend='cutedsl_mla' requi",
    )


CUTEDSL_FLASHINFER_17 = _flashinfer(
    "ATT315",
    _LACKING,
    "0.5.17",
    "Its decode kernel needs DCP's parameters from FlashInfer, which at the time of 0.5.17 only a patched build had.",
)
CUTEDSL_FLASHINFER = _flashinfer(
    "ATT316", _LACKING | _OLD, "0.5.23", "Its decode kernel takes DCP's parameters from FlashInfer 0.6.17 on."
)
RESOLUTIONS = (REMEMBER, SYMM_MEM_OFF, VERIFY_ON_DECODE, BACKEND_CUTEDSL, TRTLLM_ALONE, VERIFY_ALONE)
"""From 0.5.17 on."""
