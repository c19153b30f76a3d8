"""The communication backends of DCP as values: their exchanges, the bytes of each, what they need, what runs them.

The byte counts are sizes as nccl-tests defines them, per layer and decode step.

Source: SGLang 0.5.23, ``sglang/srt/layers/dcp`` (payload layouts of the merges), restated as formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from configurator.bench.collectives import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, REDUCE_SCATTER, Collective
from configurator.bench.problem import ITEMSIZE, Problem
from configurator.core.errors import InputError

LSE_BYTES = 4
"""Log-sum-exps always travel as fp32."""


def query_bytes(problem: Problem) -> int:
    """Gathered queries of one group: ``[num_heads, B, query_dim]`` in the activation type."""
    return problem.batch_size * problem.num_heads * problem.query_dim * problem.itemsize


def lse_bytes(problem: Problem) -> int:
    """Gathered log-sum-exps: ``[dcp_size, B, num_heads]`` fp32."""
    return problem.dcp_size * problem.batch_size * problem.num_heads * LSE_BYTES


def partial_out_fp32_bytes(problem: Problem) -> int:
    """Corrected partial output: ``[num_heads, B, output_dim]``, fp32 whatever the activation type."""
    return problem.batch_size * problem.num_heads * problem.output_dim * 4


def packed_bytes(problem: Problem) -> int:
    """Partial output with its log-sum-exp bit-cast behind it: ``[dcp_size, B, num_local_heads, output_dim + 4 / itemsize]``."""
    return problem.batch_size * problem.num_heads * (problem.output_dim * problem.itemsize + LSE_BYTES)


def fi_bytes(problem: Problem) -> int:
    """Partial output and two fp32 statistics per head: FlashInfer's kernel wants an even count and reads the first."""
    return problem.batch_size * problem.num_heads * (problem.output_dim * problem.itemsize + 2 * LSE_BYTES)


@dataclass(frozen=True)
class Step:
    """One exchange.

    Attributes:
        stage: Name of the stage in results.
        collective: The operation.
        payload_bytes: Its size for a problem.
    """

    stage: str
    collective: Collective
    payload_bytes: Callable[[Problem], int]


@dataclass(frozen=True, kw_only=True)
class CommBackend:
    """A way to merge the partial outputs of a DCP group.

    Attributes:
        name: Spelled as ``--dcp-comm-backend`` spells it.
        steps: Its exchanges after local attention, in order.
        runner: ``module:function`` that builds its stages; resolved in the worker, since it imports torch.
        attention_kinds: Attention it serves.
        dtypes: Activation types it moves.
        can_replicate_q: Whether SGLang lets the query projection be replicated with it.
        needs: Reason why it cannot run given facts of the worker's machine, or ``None``. Keys: ``device``,
            ``flashinfer``, ``compute_capability``, ``one_fabric``.
        about: One sentence for the page.
    """

    name: str
    steps: tuple[Step, ...]
    runner: str
    about: str
    attention_kinds: tuple[str, ...] = ("mla",)
    dtypes: tuple[str, ...] = tuple(ITEMSIZE)
    can_replicate_q: bool = True
    needs: Callable[[Mapping[str, object]], str | None] = lambda _facts: None


def _fi_a2a_needs(facts: Mapping[str, object]) -> str | None:
    """SGLang's own gate, release 0.5.20 and later: SM100 and memory that the whole group can address."""
    if facts.get("device") != "cuda":
        return "FlashInfer's all-to-all kernel needs NVIDIA GPUs, and this run is on CPUs"
    if not facts.get("flashinfer"):
        return "FlashInfer with flashinfer.comm.dcp_alltoall is not installed here"
    if facts.get("compute_capability") not in (100, 103):
        return f"SGLang uses it on SM100 and SM103 only, and this GPU is SM{facts.get('compute_capability')}"
    if not facts.get("one_fabric"):
        return "it needs one address space over the group: GPUs of one node, or one NVLink fabric"
    return None


GATHER_Q = Step("gather_q", ALL_GATHER, query_bytes)
"""Shared by all backends before attention; a replicated query projection removes it."""

AG_RS = CommBackend(
    name="ag_rs",
    steps=(Step("gather_lse", ALL_GATHER, lse_bytes), Step("reduce_scatter", REDUCE_SCATTER, partial_out_fp32_bytes)),
    runner="configurator.bench.program:ag_rs",
    can_replicate_q=False,
    about="Gathers the log-sum-exps, scales each partial output, and sums them with a reduce-scatter in fp32.",
)

A2A = CommBackend(
    name="a2a",
    steps=(Step("exchange", ALL_TO_ALL, packed_bytes),),
    runner="configurator.bench.program:a2a",
    about="Sends each head's partial output and log-sum-exp, packed as bytes, to the rank that owns the head.",
)

FI_A2A = CommBackend(
    name="fi_a2a",
    steps=(Step("exchange", ALL_TO_ALL, fi_bytes),),
    runner="configurator.bench.program:fi_a2a",
    dtypes=("bf16", "fp16"),
    needs=_fi_a2a_needs,
    about="The same exchange by FlashInfer's kernel, over memory that all GPUs of the group can address.",
)

ALL_REDUCE_GQA = CommBackend(
    name="all_reduce",
    steps=(Step("gather_lse", ALL_GATHER, lse_bytes), Step("exchange", ALL_REDUCE, partial_out_fp32_bytes)),
    runner="configurator.bench.program:all_reduce",
    attention_kinds=("gqa",),
    can_replicate_q=False,
    about="The only merge of the GQA path: gathers the log-sum-exps and all-reduces the whole fp32 output.",
)

BACKENDS: Mapping[str, CommBackend] = {b.name: b for b in (AG_RS, A2A, FI_A2A, ALL_REDUCE_GQA)}


@dataclass(frozen=True)
class Case:
    """One variant to check and time.

    Attributes:
        backend: The merge.
        replicate_q: Whether each rank projects the queries of the whole group itself.
        graph: Whether the step is replayed from a CUDA graph.
    """

    backend: CommBackend
    replicate_q: bool = False
    graph: bool = False

    @property
    def label(self) -> str:
        """Short name for progress and sentences."""
        return self.backend.name + ("+replicate_q" if self.replicate_q else "") + ("+graph" if self.graph else "")

    @property
    def steps(self) -> tuple[Step, ...]:
        """All exchanges of the step, the gather of the queries included."""
        return self.backend.steps if self.replicate_q else (GATHER_Q, *self.backend.steps)


@dataclass(frozen=True)
class Plan:
    """What will run, and why the rest of what was asked cannot.

    Attributes:
        cases: Variants to run, in order.
        unavailable: ``{"backend", "replicate_q", "reason"}`` for each wish that cannot run.
    """

    cases: tuple[Case, ...]
    unavailable: tuple[dict[str, object], ...]


def plan(problem: Problem, facts: Mapping[str, object], *, graphs: bool = False) -> Plan:
    """Decide what runs.

    Args:
        problem: What was asked.
        facts: Facts of the machine, as :attr:`CommBackend.needs` reads them.
        graphs: Whether every case is measured from a CUDA graph too.

    Raises:
        InputError: A backend's name is unknown.
    """
    check_backend_names(problem.backends)
    cases: list[Case] = []
    unavailable: list[dict[str, object]] = []
    if problem.attention_kind == "gqa":
        # The Triton path never reads --dcp-comm-backend, so a number under another name would be made up.
        reason = "grouped-query attention does not read --dcp-comm-backend: its merge is measured as all_reduce"
        unavailable += [{"backend": n, "reason": reason} for n in problem.backends if n != ALL_REDUCE_GQA.name]
        names: tuple[str, ...] = (ALL_REDUCE_GQA.name,)
    else:
        names = problem.backends
    wanted = {"off": (False,), "on": (True,), "both": (False, True)}[problem.replicate_q]
    for name in dict.fromkeys(names):
        backend = BACKENDS[name]
        why = backend.needs(facts)
        if problem.attention_kind not in backend.attention_kinds:
            why = f"it merges {' and '.join(backend.attention_kinds)} attention only"
        elif problem.dtype not in backend.dtypes:
            why = why or f"it moves {' and '.join(backend.dtypes)} only, and this problem is in {problem.dtype}"
        if why is not None:
            unavailable.append({"backend": name, "reason": why})
            continue
        for replicate_q in wanted:
            if replicate_q and not backend.can_replicate_q:
                why = f"SGLang refuses a replicated Q projection with {name}"
                if problem.replicate_q == "on":
                    unavailable.append({"backend": name, "replicate_q": True, "reason": why})
                continue
            cases += [Case(backend, replicate_q, graph) for graph in ((False, True) if graphs else (False,))]
    return Plan(tuple(cases), tuple(unavailable))


def check_backend_names(names: tuple[str, ...]) -> None:
    """Raise :class:`InputError` for a name that is no backend."""
    for name in names:
        if name not in BACKENDS:
            known = ", ".join(b for b in BACKENDS if b != ALL_REDUCE_GQA.name)
            raise InputError(
                f"You asked for the backend {name!r} - there is none of that name - choose from {known}.",
                part="--backends",
            )
