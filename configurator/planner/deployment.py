"""One server as the planners see it: what its flags come to, and the facts of machine and model, read with reasons.

Everything here is arithmetic on plain mappings. A value that is missing raises :class:`MissingFactError` inside the planners;
their public functions turn that into an :class:`~configurator.core.unknown.Unknown` with the reason, never into a guess.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Literal, ParamSpec, TypeVar

from configurator.core import derived
from configurator.core.engine import Case
from configurator.core.unknown import Unknown, is_unknown

P = ParamSpec("P")
T = TypeVar("T")

GIB = 2**30
AttentionKind = Literal["mla", "dsa", "gqa"]

#: Flags the planners read beside the modelled ones, where the release has them; the parser's default counts.
PLAIN_FLAGS = (
    "mem_fraction_static",
    "max_total_tokens",
    "max_running_requests",
    "context_length",
    "cuda_graph_max_bs",
    "cuda_graph_max_bs_decode",
    "quantization",
    "swa_full_tokens_ratio",
    "mamba_full_memory_ratio",
    "max_mamba_cache_size",
)

_BYTES = {"float32": 4.0, "bfloat16": 2.0, "float16": 2.0, "half": 2.0, "float": 4.0}


class MissingFactError(Exception):
    """A fact is missing; ``reason`` says which. Never leaves the planners."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def or_unknown(function: Callable[P, T]) -> Callable[P, T | Unknown]:
    """Make *function* return an Unknown with the reason where a fact is missing."""

    @wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T | Unknown:
        try:
            return function(*args, **kwargs)
        except MissingFactError as missing:
            return Unknown(missing.reason)

    return wrapped


@dataclass(frozen=True, eq=False)
class Deployment:
    """A server: flags as it takes them, and facts.

    Attributes:
        release: SGLang version.
        flags: By ``dest``, what the server makes of each flag the planners read.
        facts: ``model.*``, ``hardware.*`` and ``software.*``.
        env: Environment variables given with the command.
    """

    release: str
    flags: Mapping[str, object]
    facts: Mapping[str, object]
    env: Mapping[str, str]

    @classmethod
    def of(cls, case: Case, resolved: Mapping[str, object]) -> Deployment:
        """Return the server of *case*, with what the engine resolved."""
        table, given = case.release.table, case.configuration.flags
        plain = {dest: given.get(dest, table[dest].default) for dest in PLAIN_FLAGS if dest in table}
        return cls(case.release.version, {**plain, **resolved, **case.unread}, case.facts, case.configuration.env)

    def with_flags(self, **flags: object) -> Deployment:
        """Return the same server with other values of some flags."""
        return Deployment(self.release, {**self.flags, **flags}, self.facts, self.env)

    # --- reading --------------------------------------------------------------------------------------------------------

    def value(self, key: str) -> object:
        """Return a flag (``tp_size``) or a fact (``model.num_heads``); ``None`` means there is none of it.

        Raises:
            MissingFactError: It is not known.
        """
        space, dot, name = key.partition(".")
        found = self.facts.get(key, Unknown(f"the {space} does not tell its {name.replace('_', ' ')}")) if dot else None
        if not dot:
            found = self.flags.get(key)
        if is_unknown(found):
            raise MissingFactError(found.reason)
        return found

    def count(self, key: str) -> int:
        """Return a positive whole number.

        Raises:
            MissingFactError: It is not known, or there is none.
        """
        found = self.value(key)
        if isinstance(found, bool) or not isinstance(found, int):
            raise MissingFactError(_no_number(key, found))
        return found

    def count_or(self, key: str, default: int) -> int:
        """Return a whole number, or *default* where there is none of it."""
        found = self.value(key)
        return default if found is None or isinstance(found, bool) else self.count(key)

    def number(self, key: str) -> float:
        """Return a number.

        Raises:
            MissingFactError: It is not known, or there is none.
        """
        found = self.value(key)
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise MissingFactError(_no_number(key, found))
        return float(found)

    # --- shape ----------------------------------------------------------------------------------------------------------

    @cached_property
    def tp_size(self) -> int:
        """Ranks of a tensor-parallel group."""
        return max(self.count("tp_size"), 1)

    @cached_property
    def pp_size(self) -> int:
        """Pipeline stages."""
        return max(self.count_or("pp_size", 1), 1)

    @cached_property
    def nnodes(self) -> int:
        """Nodes of the server."""
        return max(self.count_or("nnodes", 1), 1)

    @cached_property
    def attn_dp_size(self) -> int:
        """Attention replicas inside a TP group; newer releases keep them apart from ``dp_size``, which they then reset."""
        if self.count_or("attn_dp_size", 1) > 1:
            return self.count("attn_dp_size")
        return max(self.count_or("dp_size", 1), 1) if self.value("enable_dp_attention") is True else 1

    @cached_property
    def dp_attention(self) -> bool:
        """Whether attention runs data-parallel inside the TP group."""
        return self.attn_dp_size > 1

    @cached_property
    def replicas(self) -> int:
        """KV caches of the server: attention replicas, times whole copies of the model on GPUs of their own."""
        copies = 1 if self.value("enable_dp_attention") is True else max(self.count_or("dp_size", 1), 1)
        return self.attn_dp_size * copies

    @cached_property
    def attn_tp_size(self) -> int:
        """Tensor-parallel width that attention sees."""
        cp_size = self.count_or("attn_cp_size", 1)
        width = derived.attn_tp_size(self.tp_size, self.attn_dp_size, cp_size, dp_attention=self.dp_attention)
        if width < 1:
            raise MissingFactError(f"--tp-size {self.tp_size} is too small for {self.attn_dp_size} attention replicas")
        return width

    @cached_property
    def dcp_size(self) -> int:
        """Ranks that share one KV cache.

        Raises:
            MissingFactError: The groups do not come out even, so there is no such server.
        """
        size = self.count_or("dcp_size", 1)
        if size < 1 or self.attn_tp_size % size:
            raise MissingFactError(f"{self.attn_tp_size} attention ranks cannot form DCP groups of {size}")
        return size

    @cached_property
    def kind(self) -> AttentionKind:
        """Kind of attention: ``mla``, ``dsa`` or ``gqa``."""
        found = self.value("model.attention_kind")
        if found not in ("mla", "dsa", "gqa"):
            raise MissingFactError("the model has no attention of a kind that is modelled here")
        return found

    @cached_property
    def num_local_heads(self) -> int:
        """Query heads of one rank."""
        heads, width = self.count("model.num_heads"), self.attn_tp_size
        if heads % width:
            raise MissingFactError(f"{heads} query heads cannot be shared out over {width} attention ranks")
        return heads // width

    @cached_property
    def num_group_heads(self) -> int:
        """Query heads of one DCP group, which local attention sees."""
        return self.num_local_heads * self.dcp_size

    @cached_property
    def num_layers(self) -> int:
        """Decoder layers of the fullest pipeline stage."""
        return -(-self.count("model.num_layers") // self.pp_size)

    @cached_property
    def num_kv_layers(self) -> int:
        """Layers with a KV cache, of the fullest pipeline stage."""
        return -(-self.count("model.num_attention_layers") // self.pp_size)

    @cached_property
    def activation_bytes(self) -> float:
        """Bytes of one element of the activations."""
        dtype = self.flags.get("dtype")
        name = str(self.value("model.torch_dtype")) if dtype in (None, "auto") else str(dtype)
        if name not in _BYTES:
            raise MissingFactError(f"the size of the dtype {name} is not on file")
        return _BYTES[name]

    @cached_property
    def comm_backend(self) -> str:
        """The exchange that DCP uses: ``ag_rs``, ``a2a`` or ``fi_a2a``."""
        return str(self.value("dcp_comm_backend") or "ag_rs")

    @cached_property
    def replicate_q(self) -> bool:
        """Whether each rank computes the queries of its whole group."""
        return self.value("dcp_replicate_q_proj") is True and self.kind != "gqa" and self.dcp_size > 1

    @cached_property
    def page_size(self) -> int:
        """Rows of a physical page."""
        return max(self.count_or("page_size", 1), 1)

    @cached_property
    def drafts(self) -> bool:
        """Whether a draft model with a KV cache of its own runs beside the model."""
        return self.value("speculative_algorithm") not in (None, "NGRAM")

    def since(self, version: str) -> bool:
        """Tell whether the release is *version* or a later one."""
        return _parts(self.release) >= _parts(version)


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def _no_number(key: str, found: object) -> str:
    if found is None:
        return f"there is no value for {_named(key)}"
    return f"{_named(key)} is {found}, which is no number"


_NAMES = {
    "hardware.memory_gib": "the memory of a GPU",
    "hardware.hbm_gbps": "the memory bandwidth of a GPU",
    "hardware.link_gbps": "the bandwidth between GPUs",
}


def _named(key: str) -> str:
    space, dot, name = key.partition(".")
    return _NAMES.get(key) or (f"the {space}'s {name.replace('_', ' ')}" if dot else f"--{key.replace('_', '-')}")
