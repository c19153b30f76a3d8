"""Results as the JSON that notebooks, scripts and the page read: one entry per case, one document per run."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from configurator.bench.backends import Case
from configurator.bench.problem import Problem
from configurator.bench.statistics import bootstrap_difference, summarise

SCHEMA = 1
MIN_SAMPLES = 10
FUNCTIONAL_BANNER = "Gloo over loopback, not a prediction of GPUs"


def cpu_banner(ranks: int, cores: int) -> str:
    """Return what stands above results from CPUs."""
    return f"{FUNCTIONAL_BANNER}. {ranks} {'process' if ranks == 1 else 'processes'} on {cores} {'core' if cores == 1 else 'cores'}"


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """What was found about one case.

    Attributes:
        backend: Name of the merge, or ``tp_only``.
        replicate_q: Whether the query projection was replicated.
        graph: Whether the step was replayed from a CUDA graph.
        wrong: Elements outside the tolerance, over all ranks.
        checked: Elements compared.
        max_rel_err_row: Largest error over its row's root mean square.
        rounds: Samples of the whole step in microseconds, by round; each is the slowest rank's time.
        stages: Entries as the JSON has them.
        merge_us: Samples of the merge alone (after attention).
        note: What a reader must know about this row, or empty.
    """

    backend: str
    replicate_q: bool = False
    graph: bool = False
    wrong: int
    checked: int
    max_rel_err_row: float
    rounds: tuple[tuple[float, ...], ...] = ()
    stages: tuple[Mapping[str, Any], ...] = ()
    merge_us: tuple[float, ...] = ()
    note: str = ""

    def __post_init__(self) -> None:
        if self.wrong and self.rounds:
            msg = f"{self.backend} was wrong in {self.wrong} elements and must not carry a time"
            raise ValueError(msg)

    def to_json(self, num_layers: int) -> dict[str, Any]:
        """Return the entry of ``cases``."""
        samples = [x for part in self.rounds for x in part]
        summary = dataclasses.asdict(summarise(samples))
        merge = summarise(self.merge_us)
        middle = summary["p50_us"]
        return {
            "backend": self.backend,
            "replicate_q": self.replicate_q,
            "graph": self.graph,
            "wrong": self.wrong,
            "checked": self.checked,
            # Neither NaN nor infinity is JSON; a result that holds one has no finite error.
            "max_rel_err_row": self.max_rel_err_row if math.isfinite(self.max_rel_err_row) else None,
            **summary,
            "samples_us": samples,
            "round_lengths": [len(part) for part in self.rounds],
            "stages": [dict(stage) for stage in self.stages],
            "merge_p50_us": merge.p50_us,
            "merge_n": merge.n,
            "per_token_us": middle * num_layers if middle is not None else None,
            "note": self.note,
        }


def same_case(entry: Mapping[str, Any]) -> tuple[object, object, object]:
    """Return what identifies a case among the entries of a run."""
    return entry["backend"], entry["replicate_q"], entry["graph"]


def case_label(entry: Mapping[str, Any]) -> str:
    """Return the case's short name, for sentences."""
    return f"{entry['backend']}{' with replicated Q' if entry['replicate_q'] else ''}{' in a CUDA graph' if entry['graph'] else ''}"


def measurement_of(case: Case, **found: Any) -> Measurement:
    """Return a measurement of *case*."""
    return Measurement(backend=case.backend.name, replicate_q=case.replicate_q, graph=case.graph, **found)


def _rounds(entry: Mapping[str, Any]) -> list[list[float]]:
    samples, rounds, start = entry["samples_us"], [], 0
    for length in entry["round_lengths"]:
        rounds.append(samples[start : start + length])
        start += length
    return rounds


NO_VERDICT: Mapping[str, Any] = {
    "fastest": None,
    "replicate_q": None,
    "graph": None,
    "runner_up": None,
    "difference_p50_us": None,
    "ci95_us": None,
    "shown": False,
    "sentence": "",
    "comparisons": [],
}


def verdict(cases: Sequence[Mapping[str, Any]], *, oversubscribed: bool, label: str) -> dict[str, Any]:
    """Say which case is fastest, if the samples show it.

    Args:
        cases: Entries of ``cases``; those without a time take no part.
        oversubscribed: Whether ranks shared cores: scheduling noise then hides any ranking.
        label: ``functional`` or ``measured``.

    Returns:
        The ``verdict`` of the document, with a sentence, and the fastest case compared with each other one.
    """
    timed = sorted((c for c in cases if c["p50_us"] is not None), key=lambda c: float(c["p50_us"]))
    if len(timed) < 2:
        return dict(NO_VERDICT) | {"sentence": "There are not two timed cases to compare."}
    if oversubscribed:
        sentence = "Not ranked: there are more ranks than processor cores, so the times are mostly waiting."
        return dict(NO_VERDICT) | {"sentence": sentence}
    best, *others = timed
    comparisons = []
    for other in others:
        if len(other["round_lengths"]) == len(best["round_lengths"]):
            difference, interval = bootstrap_difference(_rounds(best), _rounds(other))
            comparisons.append(
                {
                    "backend": other["backend"],
                    "replicate_q": other["replicate_q"],
                    "graph": other["graph"],
                    "difference_p50_us": difference,
                    "ci95_us": list(interval),
                    "shown": interval[0] > 0 or interval[1] < 0,
                }
            )
    if not comparisons:
        return dict(NO_VERDICT) | {"sentence": "The cases were not measured in the same rounds and are not compared."}
    first = comparisons[0]
    low, high = first["ci95_us"]
    where = f" ({FUNCTIONAL_BANNER})" if label == "functional" else ""
    names = case_label(best), case_label(others[0])
    if first["shown"]:
        sentence = f"{names[0]} is faster than {names[1]} by {_us(first['difference_p50_us'])} per layer"
    else:
        sentence = f"No difference shown between {names[0]} and {names[1]}: {_us(first['difference_p50_us'])} per layer"
    sentence += f", 95 % interval {_us(low)} to {_us(high)}{where}."
    return {
        "fastest": best["backend"],
        "replicate_q": best["replicate_q"],
        "graph": best["graph"],
        "runner_up": {key: first[key] for key in ("backend", "replicate_q", "graph")},
        "difference_p50_us": first["difference_p50_us"],
        "ci95_us": [low, high],
        "shown": first["shown"],
        "sentence": sentence,
        "comparisons": comparisons,
    }


def _us(value: float) -> str:
    return f"{value:.1f} µs" if abs(value) < 100 else f"{value:,.0f} µs"


def document(
    problem: Problem,
    started: Mapping[str, Any],
    *,
    cases: Sequence[Mapping[str, Any]],
    reference: Sequence[Mapping[str, Any]],
    collectives: Sequence[Mapping[str, Any]],
    extra: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the whole document of a run.

    Args:
        problem: What was asked.
        started: The run's ``started`` event: environment, label, what is unavailable.
        cases: Final entries.
        reference: The tensor-parallel-only row, where measured.
        collectives: Rows of the bare collectives.
        extra: Further top-level keys (self-test, fits, status, id).
    """
    label = started.get("label", "functional")
    oversubscribed = bool(started.get("oversubscribed"))
    return {
        "schema": SCHEMA,
        "environment": started.get("environment", {}),
        "label": label,
        "banner": started.get("banner", ""),
        "oversubscribed": oversubscribed,
        "problem": problem.to_json(),
        "cases": list(cases),
        "reference": list(reference),
        "collectives": list(collectives),
        "unavailable": list(started.get("unavailable", ())),
        "verdict": verdict(cases, oversubscribed=oversubscribed, label=label),
        **extra,
    }


def partial_document(
    problem: Problem, events: Sequence[Mapping[str, Any]], *, extra: Mapping[str, Any]
) -> dict[str, Any] | None:
    """Return the document of a run that did not come to its end, from the events it has written.

    Args:
        problem: What was asked.
        events: The run's events so far.
        extra: Further top-level keys.

    Returns:
        The document with the last row of each case, or ``None`` where the run had not even started.
    """

    def rows(name: str) -> list[dict[str, Any]]:
        dropped = ("event", "provisional")
        return [{k: v for k, v in e.items() if k not in dropped} for e in events if e["event"] == name]

    started = next((e for e in events if e["event"] == "started"), None)
    if started is None:
        return None
    return document(
        problem,
        started,
        cases=list({same_case(row): row for row in rows("case")}.values()),
        reference=rows("reference")[-1:],
        collectives=rows("collective"),
        extra={"selftest": next(iter(rows("selftest")), {}), "fits": [], **extra},
    )
