"""Which parallelism serves a goal best: every configuration of the DCP and parallelism flags, ranked.

Only configurations that the engine finds nothing certainly bad in are offered. The search is exhaustive over
:data:`VARIED`; each conflict that rules one out is kept, and rules out all others that share it without asking again.
Attention backends are varied too, but only to find one that runs: to the planners they are alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from configurator.core.availability import AUTO, Auto, choices
from configurator.core.configuration import Change, Configuration
from configurator.core.conflict import conflict
from configurator.core.engine import Case, CompiledRule, Engine, Environment, Verdict, engine_for
from configurator.core.flag import FlagValue
from configurator.core.unknown import Unknown, is_unknown
from configurator.planner.deployment import Deployment
from configurator.planner.latency import LatencyPlan, check_batch, plan_latency
from configurator.planner.memory import Measured, MemoryPlan, check_context, plan_memory

Goal = Literal["longest_context", "most_requests", "lowest_latency"]
GOALS: Mapping[Goal, str] = {
    "longest_context": "Longest context",
    "most_requests": "Most requests at once",
    "lowest_latency": "Lowest time per token",
}

VARIED = ("tp_size", "dp_size", "enable_dp_attention", "dcp_size", "dcp_comm_backend", "dcp_replicate_q_proj")
"""Flags the search varies. What changes the output (quantisation, the KV cache's dtype) is the user's own business."""
_ENABLING = ("attention_backend", "decode_attention_backend", "prefill_attention_backend")
_BACKENDS = ("a2a", "ag_rs", "fi_a2a")
_POWERS = (1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True)
class Advice:
    """One configuration that runs, by all that is known, and what it gives.

    Attributes:
        change: What to change in the command; empty for the command as it stands.
        shape: The parallelism in words.
        verdict: The engine's verdict after the change.
        memory: What fits.
        latency: What a step costs, or why that is not known.
        why: What it gives towards the goal, in one sentence.
    """

    change: Change
    shape: str
    verdict: Verdict
    memory: MemoryPlan
    latency: LatencyPlan | Unknown
    why: str


@dataclass(frozen=True)
class Advised:
    """The answer to one goal.

    Attributes:
        goal: What was asked for.
        context_tokens: Context of each request.
        batch_size: Requests of a step, over all attention replicas.
        best: The best, in order; of the exchanges of one parallelism, the best only.
        considered: Configurations that were considered.
        running: How many of them run, by all that is known.
        fitting: How many of those fit and meet the goal.
        reason: Why there is none, empty where there is.
    """

    goal: Goal
    context_tokens: int
    batch_size: int
    best: tuple[Advice, ...]
    considered: int
    running: int
    fitting: int
    reason: str

    @property
    def sentence(self) -> str:
        """How the answer came about, in one sentence."""
        asked = f"{self.context_tokens:,} tokens each" + (
            f", {self.batch_size} requests in a step" if self.goal != "most_requests" else ""
        )
        told = f"{self.considered} configurations considered, {self.running} run, {self.fitting} fit; {asked}."
        return told if self.best else f"There is none: {self.reason}. {told}"


@dataclass(frozen=True)
class _Shape:
    """Values of the varied flags; ``None`` leaves a flag out."""

    tp_size: int
    dp_size: int
    dcp_size: int
    backend: str | None
    replicate_q: bool | None

    def flags(self) -> dict[str, FlagValue]:
        """Return the flags to set; the others of :data:`VARIED` are left out."""
        found: dict[str, FlagValue] = {"tp_size": self.tp_size}
        if self.dp_size > 1:
            found |= {"dp_size": self.dp_size, "enable_dp_attention": True}
        if self.dcp_size > 1:
            found["dcp_size"] = self.dcp_size
        if self.backend is not None:
            found["dcp_comm_backend"] = self.backend
        if self.replicate_q is not None:
            found["dcp_replicate_q_proj"] = self.replicate_q
        return found

    def words(self) -> str:
        """Return the parallelism as people say it."""
        parts = [f"TP {self.tp_size}"]
        if self.dp_size > 1:
            parts.append(f"DP attention {self.dp_size}")
        parts.append(f"DCP {self.dcp_size}" if self.dcp_size > 1 else "no DCP")
        if self.backend is not None:
            parts.append(self.backend + (" with replicate-q" if self.replicate_q else ""))
        return ", ".join(parts)


def advise(
    case: Case,
    goal: Goal,
    *,
    context_tokens: int,
    batch_size: int,
    most: int = 5,
    checkpoint_bytes: int | None = None,
    measured: Measured | None = None,
) -> Advised:
    """Return the configurations that serve *goal* best.

    Args:
        case: The command with its release and facts; flags that are not varied stay as they are.
        goal: What to rank by.
        context_tokens: Context of each request.
        batch_size: Requests of a step, over all attention replicas.
        most: How many to return.
        checkpoint_bytes: Size of the checkpoint's weights, where somebody looked.
        measured: Rows a real start of the command gave; used where only DCP differs from it.

    Raises:
        InputError: A number makes no sense.
    """
    check_context(context_tokens)
    check_batch(batch_size)
    search = _Search(case)
    ranked: list[tuple[tuple[float, ...], _Shape, Case, MemoryPlan, LatencyPlan | Unknown]] = []
    considered, running, missing = 0, 0, ""
    as_written = _without(case.configuration, ("dcp_size", "dcp_comm_backend", "dcp_replicate_q_proj"))
    for shape in _shapes(case):
        considered += 1
        found = search.run(shape)
        if found is None:
            continue
        running += 1
        after, server = found
        same = _without(after.configuration, ("dcp_size", "dcp_comm_backend", "dcp_replicate_q_proj")) == as_written
        memory = plan_memory(server, checkpoint_bytes=checkpoint_bytes, measured=measured if same else None)
        if is_unknown(memory):
            missing = memory.reason
            continue
        if not memory.fits:
            continue
        each = -(-batch_size // memory.replicas)
        latency = plan_latency(
            server, batch_size=each, context_tokens=context_tokens, checkpoint_bytes=checkpoint_bytes
        )
        key = _rank(goal, memory, latency, context_tokens, batch_size)
        if key is None:
            why_not = _why_not(goal, memory, latency, batch_size, context_tokens)
            missing = why_not if is_unknown(latency) or not missing else missing
            continue
        changes = float(len(_change(case.configuration, after.configuration)))
        ranked.append(((*key, float(shape.tp_size), changes), shape, after, memory, latency))
    ranked.sort(key=lambda entry: entry[0])
    shown: dict[tuple[int, int, int], Advice] = {}
    for _, shape, after, memory, latency in ranked:
        key_of = (shape.tp_size, shape.dp_size, shape.dcp_size)
        if len(shown) < most and key_of not in shown:
            shown[key_of] = _advice(search, goal, context_tokens, shape, after, memory, latency)
    best = tuple(shown.values())
    reason = "" if best else missing or ("none of them fits" if running else "none of them runs on this machine")
    return Advised(goal, context_tokens, batch_size, best, considered, running, len(ranked), reason)


def _shapes(case: Case) -> Iterator[_Shape]:
    """Yield every shape that the machine has GPUs for, and whose groups come out even."""
    per_node, nodes = case.facts.get("hardware.gpus_per_node"), _count(case, "nnodes")
    gpus = per_node * nodes if isinstance(per_node, int) else _count(case, "tp_size")
    # The path of GQA reads neither the exchange nor replicate-q, so there is nothing to choose between.
    latent = case.facts.get("model.attention_kind") != "gqa"
    exchanges = _BACKENDS if latent and "dcp_comm_backend" in case.release.table else ()
    for tp in (p for p in _POWERS if p * _count(case, "pp_size") <= gpus):
        for dp in (p for p in _POWERS if p <= tp):
            for dcp in (p for p in _POWERS if p <= tp // dp):
                if dcp == 1 or not exchanges:
                    yield _Shape(tp, dp, dcp, None, None)
                    continue
                for backend in exchanges:
                    yield _Shape(tp, dp, dcp, backend, False)
                    if backend != "ag_rs":
                        yield _Shape(tp, dp, dcp, backend, True)


def _count(case: Case, dest: str) -> int:
    given = case.configuration.flags.get(dest)
    return given if isinstance(given, int) and not isinstance(given, bool) and given > 0 else 1


class _Search:
    """Tells which configurations run, and remembers why others do not."""

    def __init__(self, case: Case) -> None:
        """Begin with the command of *case*."""
        self.case = case
        self.engine: Engine = engine_for(case.release)
        self.nogoods: list[tuple[tuple[str, object], ...]] = []
        self.base = _without(case.configuration, VARIED)
        backends = choices(self.engine, "attention_backend", case.configuration)
        first: FlagValue | Auto = case.configuration.flags.get("attention_backend", AUTO)
        self.backends = (first, *(b for b in backends if b != first))
        varied = {*VARIED, *_ENABLING}
        others = {*case.configuration.flags, *case.release.modelled} - varied
        self.fixed = frozenset(others) | {f"env.{name}" for name in case.configuration.env}

    def run(self, shape: _Shape) -> tuple[Case, Deployment] | None:
        """Return *shape* as a configuration that nothing certainly bad is found in, ``None`` where there is none."""
        flags = shape.flags()
        for backend in self.backends:
            given = Configuration({**self.base.flags, **flags}, self.base.env)
            if backend != self.backends[0]:
                dropped = _without(given, _ENABLING).flags
                given = Configuration(
                    dropped if isinstance(backend, Auto) else {**dropped, "attention_backend": backend}, given.env
                )
            if self._ruled_out(given):
                continue
            after = replace(self.case, configuration=given)
            env = self.engine.environment(given, self.case.facts, self.case.unread)[0]
            broken = next((c for c in self.engine.breaking if c.violated(env) is True), None)
            if broken is None:
                return after, self.server(after, env)
            self._learn(after, broken)
        return None

    def server(self, after: Case, env: Environment) -> Deployment:
        """Return the server that an environment of the engine describes."""
        names = (*self.case.release.modelled, *self.case.release.results)
        return Deployment.of(after, {dest: env[f"resolved.{dest}"] for dest in names})

    def _ruled_out(self, given: Configuration) -> bool:
        flags = given.flags
        return any(all(flags.get(name, AUTO) == value for name, value in nogood) for nogood in self.nogoods)

    def _learn(self, after: Case, broken: CompiledRule) -> None:
        names = conflict(self.engine, after, broken, self.fixed)
        flags = after.configuration.flags
        self.nogoods.append(
            tuple((name, flags.get(name, AUTO)) for name in sorted(names) if not name.startswith("env."))
        )


def _without(configuration: Configuration, dests: tuple[str, ...]) -> Configuration:
    return Configuration({k: v for k, v in configuration.flags.items() if k not in dests}, configuration.env)


def _change(before: Configuration, after: Configuration) -> Change:
    changed = {k: v for k, v in after.flags.items() if k not in before.flags or before.flags[k] != v}
    return Change(changed, frozenset(before.flags) - frozenset(after.flags))


def _rank(
    goal: Goal, memory: MemoryPlan, latency: LatencyPlan | Unknown, context_tokens: int, batch_size: int
) -> tuple[float, ...] | None:
    """Return what to sort by, the best first; ``None`` where the goal is not met at all."""
    step = None if is_unknown(latency) or is_unknown(latency.per_token_ms) else latency.per_token_ms
    slow = float("inf") if step is None else step
    short = float(memory.item("slack") < 0)
    if goal == "longest_context":
        longest = memory.logical_tokens if is_unknown(memory.max_context_tokens) else memory.max_context_tokens
        return (-float(longest), short, -float(memory.logical_tokens), slow)
    requests = memory.concurrent_requests(context_tokens)
    if goal == "most_requests":
        return (-float(requests), short, slow) if requests else None
    guessed = float(is_unknown(latency) or not latency.valid)
    return (short, guessed, slow, -float(requests)) if step is not None and requests >= batch_size else None


def _why_not(
    goal: Goal, memory: MemoryPlan, latency: LatencyPlan | Unknown, batch_size: int, context_tokens: int
) -> str:
    if goal == "most_requests":
        return f"no configuration holds a request of {context_tokens:,} tokens"
    if memory.concurrent_requests(context_tokens) < batch_size:
        return f"no configuration holds {batch_size} requests of {context_tokens:,} tokens"
    if is_unknown(latency):
        return latency.reason
    if is_unknown(latency.per_token_ms):
        return latency.per_token_ms.reason
    return "no configuration meets the goal"


def _advice(
    search: _Search,
    goal: Goal,
    context_tokens: int,
    shape: _Shape,
    after: Case,
    memory: MemoryPlan,
    latency: LatencyPlan | Unknown,
) -> Advice:
    before = search.case.configuration
    after = _milder(search, after)
    report = search.engine.check(after)
    return Advice(
        _change(before, after.configuration),
        shape.words(),
        report.verdict,
        memory,
        latency,
        _why(goal, memory, latency, context_tokens),
    )


def _milder(search: _Search, after: Case) -> Case:
    """Return *after* with the flags left out that the server would fill in alike."""
    before = search.case.configuration.flags
    wanted = search.engine.check(after).resolved
    for dest in ("dcp_replicate_q_proj", "dcp_comm_backend"):
        if dest in after.configuration.flags and dest not in before:
            left = replace(after, configuration=_without(after.configuration, (dest,)))
            report = search.engine.check(left)
            alike = all(_off(report.resolved.get(d)) == _off(wanted.get(d)) for d in VARIED)
            if alike and report.verdict != "error":
                after = left
    return after


def _off(value: object) -> object:
    return False if value is None else value


def _why(goal: Goal, memory: MemoryPlan, latency: LatencyPlan | Unknown, context_tokens: int) -> str:
    step = None if is_unknown(latency) or is_unknown(latency.per_token_ms) else latency.per_token_ms
    time = "the time of a step is not known" if step is None else f"{step:.1f} ms a step"
    if not is_unknown(latency) and not latency.valid:
        time += ", where the model is not valid"
    if goal == "longest_context":
        longest = memory.max_context_tokens
        if is_unknown(longest):
            return f"Holds {memory.logical_tokens:,} tokens; {time}."
        by = (
            f"set by the model; {memory.logical_tokens:,} tokens fit"
            if memory.limited_by == "model"
            else "set by memory"
        )
        return f"Requests of up to {longest:,} tokens, {by}; {time}."
    requests = memory.concurrent_requests(context_tokens)
    plural = "" if requests == 1 else "s"
    if goal == "most_requests":
        return f"Holds {requests:,} request{plural} of {context_tokens:,} tokens; {time}."
    return f"{time[:1].upper()}{time[1:]}; holds {requests:,} request{plural} of {context_tokens:,} tokens."
