"""What is measured: shapes, sizes and choices of one benchmark run, as a frozen value."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from configurator.bench.shapes import DEEPSEEK_V3, attention_kind, fact, gqa_shapes, mla_shapes
from configurator.core.errors import InputError
from configurator.core.unknown import is_unknown

Dtype = Literal["bf16", "fp16", "fp32", "fp8"]
Device = Literal["auto", "cuda", "cpu"]
ReplicateQ = Literal["off", "on", "both"]
RawCollectives = Literal["off", "quick", "full"]

ITEMSIZE: Mapping[str, int] = {"bf16": 2, "fp16": 2, "fp32": 4, "fp8": 1}
DEFAULT_BACKENDS = ("ag_rs", "a2a", "fi_a2a")
SIZE_LIMIT = 2**40
"""Above this a size is a slip of the keyboard, and products of sizes would say nothing any more."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One benchmark run: a decode step of one attention layer on ``tp_size`` ranks in groups of ``dcp_size``.

    Attributes:
        model: Name of the model the shapes come from.
        tp_size: Ranks started; each DCP group is a contiguous slice of them.
        dcp_size: Ranks among which one group's KV cache is interleaved.
        batch_size: Requests in the step; each contributes one query token.
        context_length: Tokens in the KV cache of each request.
        dtype: Type of activations, weights and KV cache.
        num_heads: Query heads of one DCP group: what local attention sees.
        num_local_heads: Query heads of one rank.
        attention_kind: ``mla`` or ``gqa``.
        kv_lora_rank: Width of the latent (MLA), also of the partial output.
        q_lora_rank: Width of the input of the query projection; for models without one, the hidden size.
        qk_rope_head_dim: Rotated part of a query or key (MLA).
        qk_nope_head_dim: Part of a query absorbed into the latent space (MLA).
        head_dim: Width of query and key heads (GQA).
        v_head_dim: Width of value heads (GQA), and of MLA's output after its up-projection.
        num_kv_heads: KV heads held by each rank of a group (GQA).
        hidden_size: Width of the residual stream; for the record.
        num_layers: Attention layers of the model, for per-token figures.
        lse_base: Base of the logarithm of the attention's log-sum-exp: a property of the attention backend.
        ragged: Whether the timed batch has requests of unequal length.
        seed: Seed of all inputs.
        backends: Wanted communication backends, spelled as ``--dcp-comm-backend`` spells them.
        replicate_q: Whether to measure with a replicated query projection, without, or both.
        device: Where to run; ``auto`` takes GPUs where there are enough.
        time_budget_s: Time for timed iterations, of the whole run.
        raw_collectives: Whether the bare collectives are measured beside the merges.
    """

    model: str = "deepseek-v3"
    tp_size: int = 2
    dcp_size: int = 2
    batch_size: int = 4
    context_length: int = 1024
    dtype: Dtype = "bf16"
    num_heads: int = 32
    num_local_heads: int = 16
    attention_kind: Literal["mla", "gqa"] = "mla"
    kv_lora_rank: int = 512
    q_lora_rank: int = 1536
    qk_rope_head_dim: int = 64
    qk_nope_head_dim: int = 128
    head_dim: int | None = None
    v_head_dim: int = 128
    num_kv_heads: int | None = None
    hidden_size: int | None = None
    num_layers: int = 61
    lse_base: Literal["e", "2"] = "2"
    ragged: bool = False
    seed: int = 0
    backends: tuple[str, ...] = DEFAULT_BACKENDS
    replicate_q: ReplicateQ = "both"
    device: Device = "auto"
    time_budget_s: float = 8.0
    raw_collectives: RawCollectives = "quick"

    def __post_init__(self) -> None:
        _validate(self)

    @property
    def num_groups(self) -> int:
        """DCP groups among the ranks."""
        return self.tp_size // self.dcp_size

    @property
    def itemsize(self) -> int:
        """Bytes of one activation element."""
        return ITEMSIZE[self.dtype]

    @property
    def query_dim(self) -> int:
        """Width of one query head as local attention sees it."""
        return self.kv_lora_rank + self.qk_rope_head_dim if self.attention_kind == "mla" else cast("int", self.head_dim)

    @property
    def output_dim(self) -> int:
        """Width of one head of the partial output."""
        return self.kv_lora_rank if self.attention_kind == "mla" else self.v_head_dim

    @property
    def kv_token_elements(self) -> int:
        """Elements of the KV cache that one token takes on the rank that owns it."""
        if self.attention_kind == "mla":
            return self.query_dim
        return cast("int", self.num_kv_heads) * (cast("int", self.head_dim) + self.v_head_dim)

    def to_json(self) -> dict[str, Any]:
        """Return the problem as JSON values."""
        return dataclasses.asdict(self) | {"backends": list(self.backends)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Problem:
        """Read what :meth:`to_json` wrote.

        Raises:
            InputError: A field is unknown or its value cannot be used.
        """
        known = {field.name for field in dataclasses.fields(cls)}
        for name in values:
            if name not in known:
                raise InputError(f"A benchmark problem has no field {name!r}.", part=name)
        given = dict(values)
        if "backends" in given:
            given["backends"] = tuple(given["backends"])
        return cls(**given)

    @classmethod
    def from_facts(cls, facts: Mapping[str, object] | None = None, **choices: Any) -> Problem:
        """Build a problem from what is known of a model, and the user's *choices* (fields of this class).

        Args:
            facts: ``model.*`` facts; ``None`` or no fact of a model stands for DeepSeek-V3's shapes.
            choices: Fields to set. ``tp_size`` defaults to ``dcp_size`` and that to 2; ``num_local_heads``
                defaults to the model's heads over ``tp_size`` and may be given to keep the heads that one
                rank has in a larger deployment.

        Raises:
            InputError: A size does not divide another, a needed fact is missing, or a choice cannot be used.
        """
        given = {name: value for name, value in choices.items() if value is not None}
        known = {k: v for k, v in (facts or {}).items() if k.startswith("model.")}
        if not any(v is not None and not is_unknown(v) for k, v in known.items() if k != "model.name"):
            known = dict(DEEPSEEK_V3)
        tp_size = _size(given.setdefault("tp_size", given.get("dcp_size", 2)), "--tp-size")
        dcp_size = _size(given.setdefault("dcp_size", tp_size), "--dcp-size")
        if tp_size % dcp_size:
            raise InputError(
                f"You asked for {dcp_size} DCP ranks among {tp_size} tensor-parallel ranks - dcp_size must divide tp_size, "
                f"because each DCP group is a slice of the tensor-parallel ranks - choose a divisor of {tp_size}.",
                part="--dcp-size",
            )
        shapes = mla_shapes(known) if attention_kind(known) == "mla" else gqa_shapes(known, tp_size, dcp_size)
        heads = fact(known, "num_heads")
        if "num_local_heads" not in given:
            if heads % tp_size:
                raise InputError(
                    f"You asked for {tp_size} ranks - {known.get('model.name', 'this model')} has {heads} query heads, and every "
                    f"rank takes an equal share of them - choose a divisor of {heads}.",
                    part="--tp-size",
                )
            given["num_local_heads"] = heads // tp_size
        given["num_heads"] = _size(given["num_local_heads"], "num_local_heads") * dcp_size
        return cls(**{**shapes, **given})

    @classmethod
    def small(cls, facts: Mapping[str, object] | None = None, *, command_tp_size: int = 8, **choices: Any) -> Problem:
        """Return the problem the page starts with: two ranks, with the heads one rank has in the real deployment.

        bf16 is what servers run, so byte counts are the real ones; on a CPU it is no slower to the first row
        than fp32, whose messages are twice as long.

        Args:
            facts: ``model.*`` facts; absent, DeepSeek-V3's.
            command_tp_size: Tensor-parallel size of the launch command, which sets the heads of one rank.
            choices: Fields to set differently.

        Raises:
            InputError: As :meth:`from_facts`.
        """
        heads = (facts or {}).get("model.num_heads")
        total = heads if isinstance(heads, int) and heads > 0 else cast("int", DEEPSEEK_V3["model.num_heads"])
        local = max(1, total // max(1, command_tp_size))
        defaults: dict[str, Any] = {"tp_size": 2, "dcp_size": 2, "num_local_heads": local}
        return cls.from_facts(facts, **{**defaults, **choices})


def _size(value: object, part: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= SIZE_LIMIT:
        raise InputError(f"{part} is {value!r} - it must be a whole number from 1 to {SIZE_LIMIT}.", part=part)
    return value


_SPELLING = {
    "tp_size": "--tp-size",
    "dcp_size": "--dcp-size",
    "batch_size": "--batch",
    "context_length": "--context",
    "dtype": "--dtype",
    "device": "--device",
    "replicate_q": "--replicate-q",
    "backends": "--backends",
}
_REQUIRED = ("tp_size", "dcp_size", "batch_size", "context_length", "num_heads", "num_local_heads", "q_lora_rank")
_MLA = ("kv_lora_rank", "qk_rope_head_dim", "qk_nope_head_dim")
_GQA = ("head_dim", "v_head_dim", "num_kv_heads")
_CHOICES: Mapping[str, tuple[str, ...]] = {
    "dtype": get_args(Dtype),
    "device": get_args(Device),
    "replicate_q": get_args(ReplicateQ),
    "raw_collectives": get_args(RawCollectives),
    "attention_kind": ("mla", "gqa"),
    "lse_base": ("e", "2"),
}


def _validate(problem: Problem) -> None:
    """Refuse what cannot be run, naming the part at fault."""
    for name, choices in _CHOICES.items():
        value = getattr(problem, name)
        if value not in choices:
            part = _SPELLING.get(name, name)
            raise InputError(f"{part} is {value!r} - it can be {', '.join(choices)}.", part=part)
    for name in (*_REQUIRED, *(_MLA if problem.attention_kind == "mla" else _GQA)):
        _size(getattr(problem, name), _SPELLING.get(name, name))
    if problem.tp_size % problem.dcp_size:
        raise InputError(
            f"dcp_size {problem.dcp_size} does not divide tp_size {problem.tp_size} - choose a divisor of it.",
            part="--dcp-size",
        )
    if problem.num_heads != problem.num_local_heads * problem.dcp_size:
        raise InputError(
            f"A DCP group of {problem.dcp_size} ranks with {problem.num_local_heads} heads each has "
            f"{problem.num_local_heads * problem.dcp_size} heads, not {problem.num_heads}.",
            part="num_heads",
        )
    if problem.attention_kind == "gqa" and problem.num_heads % cast("int", problem.num_kv_heads):
        raise InputError(
            f"{problem.num_heads} query heads cannot share {problem.num_kv_heads} KV heads evenly.", part="num_kv_heads"
        )
    if not problem.backends:
        raise InputError(
            "No communication backend was asked for - name at least one of ag_rs, a2a, fi_a2a.", part="--backends"
        )
    if not isinstance(problem.time_budget_s, int | float) or not 0 < problem.time_budget_s <= 3600:
        raise InputError(
            f"time_budget_s is {problem.time_budget_s!r} - it must be above 0 and at most 3600.", part="time_budget_s"
        )
    if not isinstance(problem.seed, int) or not 0 <= problem.seed < 2**62:
        raise InputError(f"seed is {problem.seed!r} - it must be a whole number from 0.", part="seed")
