"""The answer to "does it fit, how long a context, is it faster or only bigger": memory and latency of one command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from configurator.core.configuration import Change, Configuration
from configurator.core.engine import Case
from configurator.core.unknown import Unknown, is_unknown
from configurator.planner.deployment import GIB, Deployment, MissingFactError
from configurator.planner.latency import LatencyPlan, plan_latency
from configurator.planner.memory import Measured, MemoryPlan, plan_memory

SCHEMA = 1
DEFAULT_BATCH = 8
"""Requests of a step where nobody says how many: the smallest batch the published checks cover."""
DEFAULT_CONTEXT = 32_768
"""Context of each request where nobody says, and where the model takes as much."""

Json = dict[str, Any]
Computed = Literal["written", "repaired"]


@dataclass(frozen=True)
class CapacityReport:
    """Memory and latency of one command on one machine.

    Attributes:
        release: SGLang version.
        hardware: Name of the machine.
        model: Name of the model.
        case: The command that was planned, for the engine.
        server: The same as a server.
        batch_size: Requests of a step, over all attention replicas.
        context_tokens: Context of each.
        checkpoint_bytes: Size of the checkpoint's weights, where somebody looked.
        measured: Rows a real start gave.
        memory: What fits, or why it cannot be told.
        latency: What a step costs, or why it cannot be told.
        computed_for: ``repaired`` where the command as written does not run.
        command: The command that was planned, on one line.
        changes: What the repair changed, in words; empty for the written command.
        repair: The same as a change.
        written: What the command as written asks for.
        notes: What to know beside the figures.
    """

    release: str
    hardware: str
    model: str
    case: Case
    server: Deployment
    batch_size: int
    context_tokens: int
    checkpoint_bytes: int | None
    measured: Measured | None
    memory: MemoryPlan | Unknown
    latency: LatencyPlan | Unknown
    computed_for: Computed
    command: str
    changes: str
    repair: Change
    written: Configuration
    notes: tuple[str, ...]

    @property
    def fits(self) -> bool | Unknown:
        """Whether the server fits its GPUs."""
        return self.memory if is_unknown(self.memory) else self.memory.fits

    def from_written(self, change: Change) -> Change:
        """Return *change*, which is one of the planned command, as a change of the command as written."""
        whole, flags = self.repair.then(change), self.written.flags
        return Change(
            {dest: value for dest, value in whole.set.items() if dest not in flags or flags[dest] != value},
            frozenset(dest for dest in whole.unset if dest.startswith("-") or dest in flags),
            whole.env,
        )

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        memory = self.memory
        if is_unknown(memory):
            return f"It cannot be told here what fits: {memory.reason}."
        if not memory.fits:
            return next((note for note in memory.notes if note.startswith("It does not fit")), "It does not fit.")
        each = " in each of its attention replicas" if memory.replicas > 1 else ""
        than = f", {memory.gain_over_dcp1:.1f} times what DCP 1 holds" if self.server.dcp_size > 1 else ""
        longest = memory.max_context_tokens
        if is_unknown(longest):
            return f"One server holds {tokens_text(memory.logical_tokens)} KV tokens{each}{than}."
        by = "set by the model" if memory.limited_by == "model" else "set by memory"
        return (
            f"One server holds {tokens_text(memory.logical_tokens)} KV tokens{each}{than}; "
            f"the longest request is {longest:,} tokens, {by}."
        )

    @property
    def latency_sentence(self) -> str:
        """Whether DCP is faster or only bigger, in one sentence."""
        plan, dcp = self.latency, self.server.dcp_size
        if is_unknown(plan):
            return f"The time of a step cannot be modelled here: {plan.reason}."
        if dcp == 1:
            return "Without DCP there is nothing to break even with: each rank reads the whole context."
        if plan.break_even_tokens is None:
            return f"DCP {dcp} is bigger, not faster: it adds capacity, and no context length pays for its exchange."
        return (
            f"DCP {dcp} is faster than TP alone only once the batch holds more than about "
            f"{rounded(plan.break_even_tokens)} context tokens; below that it costs latency and buys only capacity."
        )

    def to_json(self) -> Json:
        """Return the document of ``capacity --json``; what is not known is null, with its reason among the notes."""
        memory = self.memory
        notes = list(self.notes)
        document: Json = {
            "schema": SCHEMA,
            "release": self.release,
            "hardware": self.hardware,
            "model": self.model,
            "computed_for": self.computed_for,
            "command": self.command,
        }
        if is_unknown(memory):
            notes.append(f"Memory is unknown: {memory.reason}.")
            keys = (
                "cell_bytes",
                "rows_per_rank",
                "logical_tokens",
                "max_context_tokens",
                "gain_over_dcp1",
                "error_band",
            )
            document |= {"fits": None, "per_gpu": [], **dict.fromkeys(keys)}
        else:
            longest = memory.max_context_tokens
            if is_unknown(longest):
                notes.append(f"The longest context is unknown: {longest.reason}.")
            notes.extend(memory.notes)
            document |= {
                "fits": memory.fits,
                "per_gpu": [
                    {"name": i.name, "bytes": i.bytes, "basis": i.basis, "label": i.label, "how": i.how}
                    for i in memory.items
                ],
                "total_bytes": memory.total_bytes,
                "mem_fraction_static": memory.mem_fraction_static,
                "cell_bytes": memory.cell.budgeted,
                "rows_per_rank": memory.rows_per_rank,
                "logical_tokens": memory.logical_tokens,
                "replicas": memory.replicas,
                "page_tokens": memory.page_tokens,
                "max_context_tokens": None if is_unknown(longest) else longest,
                "max_context_limited_by": memory.limited_by,
                "gain_over_dcp1": memory.gain_over_dcp1,
                "error_band": list(memory.error_band),
            }
        document["latency"] = self._latency_json(notes)
        return {**document, "notes": notes}

    def _latency_json(self, notes: list[str]) -> Json:
        plan = self.latency
        if is_unknown(plan):
            notes.append(f"Latency is unknown: {plan.reason}.")
            keys = ("per_layer_us", "per_token_ms", "break_even_total_context_tokens")
            return {**dict.fromkeys(keys), "valid": False, "basis": f"unknown: {plan.reason}"}
        if self.server.dcp_size > 1 and plan.break_even_tokens is None:
            notes.append(self.latency_sentence)
        if is_unknown(plan.per_token_ms):
            notes.append(f"The time of a whole step is unknown: {plan.per_token_ms.reason}.")
        return {
            "per_layer_us": round(plan.per_layer_us, 3),
            "per_token_ms": None if is_unknown(plan.per_token_ms) else round(plan.per_token_ms, 4),
            "break_even_total_context_tokens": plan.break_even_tokens,
            "valid": plan.valid,
            "basis": plan.basis,
            "batch_size": plan.batch_size,
            "context_tokens": plan.context_tokens,
            "attention_us": round(plan.attention_us, 3),
            "exchange_us": round(plan.exchange_us, 3),
            "tp_only_attention_us": round(plan.tp_only_us, 3),
            "collectives": [
                {
                    "step": c.step,
                    "operation": c.operation,
                    "payload_bytes": c.payload_bytes,
                    "time_us": round(c.time_us, 3),
                }
                for c in plan.collectives
            ],
        }


def plan(  # noqa: PLR0913 - one keyword for each thing the user may say
    case: Case,
    resolved: Mapping[str, object],
    *,
    hardware: str,
    model: str,
    command: str,
    computed_for: Computed = "written",
    changes: str = "",
    repair: Change | None = None,
    written: Configuration | None = None,
    notes: Sequence[str] = (),
    batch_size: int | None = None,
    context_tokens: int | None = None,
    checkpoint_bytes: int | None = None,
    measured: Measured | None = None,
) -> CapacityReport:
    """Return memory and latency of the server that *case* describes.

    Args:
        case: The command with its release and facts.
        resolved: What the engine makes of each flag.
        hardware: Name of the machine.
        model: Name of the model.
        command: The command it stands for, on one line.
        computed_for: Whether that is the command as written.
        changes: What a repair changed, in words.
        repair: The same as a change.
        written: What the command as written asks for, where it is another one.
        notes: What to say beside the figures.
        batch_size: Requests of a step; :data:`DEFAULT_BATCH` by default.
        context_tokens: Context of each; :data:`DEFAULT_CONTEXT`, or what the model takes, by default.
        checkpoint_bytes: Size of the checkpoint's weights, where somebody looked.
        measured: Rows a real start of this server gave.

    Raises:
        InputError: A number makes no sense.
    """
    server = Deployment.of(case, resolved)
    batch = DEFAULT_BATCH if batch_size is None else batch_size
    context = _default_context(server) if context_tokens is None else context_tokens
    memory = plan_memory(server, checkpoint_bytes=checkpoint_bytes, measured=measured)
    latency = plan_latency(
        server, batch_size=_each(batch, server), context_tokens=context, checkpoint_bytes=checkpoint_bytes
    )
    said = list(notes)
    if is_unknown(memory) and (gaps := _gaps(server)):
        said.append(f"To plan for this model, its config.json must tell more: {'; '.join(gaps)}.")
    if not is_unknown(memory) and memory.fits:
        said += _too_much(memory, context, batch)
    return CapacityReport(
        release=server.release,
        hardware=hardware,
        model=model,
        case=case,
        server=server,
        batch_size=batch,
        context_tokens=context,
        checkpoint_bytes=checkpoint_bytes,
        measured=measured,
        memory=memory,
        latency=latency,
        computed_for=computed_for,
        command=command,
        changes=changes,
        repair=repair or Change(),
        written=written or case.configuration,
        notes=tuple(said),
    )


def _too_much(memory: MemoryPlan, context: int, batch: int) -> list[str]:
    """Return what of the question the server could not do."""
    longest = memory.max_context_tokens
    if not is_unknown(longest) and context > longest:
        return [f"A request of {context:,} tokens was asked about; the longest that this server takes is {longest:,}."]
    held = memory.concurrent_requests(context)
    if held < batch:
        beyond = f"{batch} requests of {context:,} tokens do not fit at once, only {held:,} do"
        return [f"{beyond}; the latency is that of a batch the server would have to split."]
    return []


def _each(batch_size: int, server: Deployment) -> int:
    """Return the requests of one replica: a batch is shared out over them."""
    try:
        return -(-batch_size // server.replicas)
    except MissingFactError:
        return batch_size  # what is missing is missing for the plan too, which will say so


_SHAPE = (
    "attention_kind", "num_heads", "num_kv_heads", "head_dim", "v_head_dim", "kv_lora_rank", "qk_rope_head_dim",
    "qk_nope_head_dim", "hidden_size", "num_layers", "num_attention_layers", "index_head_dim", "num_index_layers",
    "quantization", "torch_dtype", "vocab_size", "num_experts", "intermediate_size", "moe_intermediate_size",
)  # fmt: skip


def _gaps(server: Deployment) -> list[str]:
    """Return the reasons why numbers of the model's shape are not known, each once."""
    found = (server.facts.get(f"model.{name}") for name in _SHAPE)
    return list(dict.fromkeys(value.reason for value in found if is_unknown(value)))


def _default_context(server: Deployment) -> int:
    takes = server.flags.get("context_length") or server.facts.get("model.max_position_embeddings")
    return min(takes, DEFAULT_CONTEXT) if isinstance(takes, int) and takes > 0 else DEFAULT_CONTEXT


def tokens_text(tokens: int) -> str:
    """Return a number of tokens for reading: ``2.75 million``, ``37,180``."""
    return f"{tokens / 1e6:.2f} million" if tokens >= 1_000_000 else f"{tokens:,}"


def rounded(tokens: int) -> str:
    """Return a number of tokens with two digits that mean something: ``89,000``."""
    digits = max(len(str(tokens)) - 2, 0)
    return f"{round(tokens, -digits):,}"


def gib_text(size: int) -> str:
    """Return bytes as GiB."""
    return f"{size / GIB:.2f}"
