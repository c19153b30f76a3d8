"""What two PD servers find out only when they meet: layouts that do not fit together."""

from __future__ import annotations

from configurator.catalog.declare import later, read_in
from configurator.catalog.terms import DCP_ON, LATENT, PD_DECODE
from configurator.core.expr import NEVER
from configurator.core.rule import Basis, Effect, Example, Rule, Set, Source, Stage, Unset

_CONN = "disaggregation/common/conn.py"

MLA_ONLY = later(
    "PDD620",
    "pd-decode-mla-only",
    120,
    when=PD_DECODE & DCP_ON,
    require=LATENT,
    says="A decode server with --dcp-size {asked.dcp_size} needs a model with a latent cache; this one is {model.architecture}.",
    because="A prefill server's KV is laid out over a DCP group only where all ranks hold the one latent head.",
    fixes=(Set("dcp_size", 1), Unset("disaggregation_mode")),
    source=read_in(_CONN, "kv args of the decode server", 1414),
    signature="PD decode DCP requires an MLA",
    bad=Example(
        argv="--tp-size 8 --dcp-size 4 --attention-backend triton --disaggregation-mode decode", model="llama-3.1-70b"
    ),
    good=Example(argv="--tp-size 8 --dcp-size 4 --attention-backend flashinfer --disaggregation-mode decode"),
)


def _of_the_peer(code: str, slug: str, says: str, because: str, line: int, signature: str) -> Rule:
    """Return a rule about the other server, which one command says nothing of; its error is recognised all the same."""
    return Rule(
        code=code,
        slug=slug,
        effect=Effect.CRASHES,
        stage=Stage.RUNTIME,
        order=121,
        when=NEVER,
        says=says,
        because=because,
        source=Source(
            path=f"sglang/srt/{_CONN}", symbol="CommonKVManager", release="0.5.23", line=line, basis=Basis.SOURCE
        ),
        upstream_signature=signature,
    )


TOPOLOGY = _of_the_peer(
    "PDD621",
    "pd-topology",
    "The prefill and the decode server run with DCP sizes that do not fit together.",
    "Both must have the same --dcp-size, or the prefill server 1 and the decode server an MLA model. Which it is shows "
    "when the first request goes over; one command alone does not tell.",
    548,
    "Unsupported PD DCP topology",
)
PREFILL_CP = _of_the_peer(
    "PDD622",
    "pd-prefill-attn-cp",
    "The prefill server of this decode server runs attention CP.",
    "A decode server under DCP takes KV only from a prefill server with --attn-cp-size 1.",
    1418,
    "PD decode DCP currently requires prefill attention CP=1",
)
PREFILL_SHARDED = _of_the_peer(
    "PDD623",
    "pd-prefill-kvshard",
    "The prefill server of this decode server shards its KV cache.",
    "A decode server under DCP does not take KV from a prefill server with --enable-kv-cache-sharding.",
    1423,
    "PD decode DCP does not support a prefill with",
)
