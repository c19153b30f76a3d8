"""A benchmark run as the page draws it: events in, one dictionary out. No widget and no process is known here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from configurator.bench.results import case_label, same_case

Json = dict[str, Any]
_BINS = 44


@dataclass(frozen=True)
class RunState:
    """What is known of a run so far.

    Attributes:
        phase: ``idle``, ``queued``, ``running``, ``done``, ``cancelled`` or ``error``.
        stage: What it does now, or how it ended, in words.
        done: 0 to 1.
        left_s: Seconds left, or ``None``.
        started: The ``started`` event.
        selftest: The ``selftest`` event.
        rows: Entries by case, the reference among them.
        collectives: Rows of the bare collectives.
        document: The whole result, once there is one.
        detail: The last words of a rank that died.
    """

    phase: str = "idle"
    stage: str = ""
    done: float = 0.0
    left_s: float | None = None
    started: Mapping[str, Any] = field(default_factory=dict)
    selftest: Mapping[str, Any] = field(default_factory=dict)
    rows: Mapping[tuple[object, ...], Mapping[str, Any]] = field(default_factory=dict)
    collectives: tuple[Mapping[str, Any], ...] = ()
    document: Mapping[str, Any] | None = None
    detail: str = ""

    @property
    def active(self) -> bool:
        """Whether it is under way."""
        return self.phase in ("queued", "running")

    def after(self, event: Mapping[str, Any]) -> RunState:
        """Return the state after *event*."""
        match event["event"]:
            case "queue":
                return replace(self, phase="queued", stage=event["message"])
            case "progress":
                return replace(self, phase="running", stage=event["stage"], done=event["done"], left_s=event["left_s"])
            case "started":
                return replace(self, phase="running", started=event)
            case "selftest":
                return replace(self, selftest=event)
            case "case" | "reference":
                return replace(self, rows={**self.rows, same_case(event): event})
            case "collective":
                return replace(self, collectives=(*self.collectives, event))
            case "done" | "cancelled" | "error":
                return replace(
                    self,
                    phase=event["event"],
                    stage=event.get("message", ""),
                    done=1.0,
                    left_s=None,
                    document=event.get("document"),
                    detail=event.get("detail", ""),
                )
        return self


def drawn(state: RunState) -> Json:
    """Return what the view draws of *state*."""
    document = state.document or {}
    environment = (state.started or document).get("environment", {})
    return {
        "phase": state.phase,
        "title": _title(state),
        "left": _left(state),
        "done": round(state.done, 3),
        "detail": state.detail if state.phase == "error" else "",
        "selftest": _selftest(state.selftest),
        "rows": _rows(state),
        "sentence": document.get("verdict", {}).get("sentence", "") if state.phase == "done" else "",
        "where": _where(environment),
        "stages": _stages(state) if state.phase == "done" else [],
        "collectives": [_collective(row) for row in state.collectives] if state.phase == "done" else [],
        "distribution": _distribution(state) if state.phase == "done" else None,
        "can_export": bool(document.get("cases")),
        "footnote": _footnote(state),
    }


def _title(state: RunState) -> str:
    if state.phase == "done":
        wrong = sum(1 for row in state.rows.values() if row["wrong"])
        elapsed = (state.document or {}).get("elapsed_s")
        took = f", {elapsed:.0f} s" if isinstance(elapsed, (int, float)) else ""
        cases = len(state.rows)
        return f"Finished: {wrong} of {cases} cases wrong{took}" if wrong else f"Finished: {cases} cases correct{took}"
    return state.stage if state.phase in ("queued", "cancelled", "error") else f"Running: {state.stage}"


def _left(state: RunState) -> str:
    return f"about {max(1, round(state.left_s))} s left" if state.active and state.left_s is not None else ""


def _selftest(event: Mapping[str, Any]) -> str:
    if not event:
        return ""
    if event.get("caught") is None:
        return f"Self-test: nothing to test; {event.get('reason', '')}."
    found = "both planted faults (wrong LSE base, NaN in an empty shard) were found"
    return f"Self-test: {found if event['caught'] else 'a planted fault was NOT found; do not trust these results'}."


def _footnote(state: RunState) -> str:
    checked = next((row["checked"] for row in state.rows.values()), None)
    if checked is None:
        return ""
    return (
        f"#wrong of {checked:,} elements checked per case against float64 attention without sharding; max err is the "
        "largest error over its row's root mean square. A wrong case gets no time."
    )


def _rows(state: RunState) -> list[Json]:
    planned = [same_case(case) for case in state.started.get("planned", ())]
    order = [key for key in state.rows if state.rows[key]["event"] == "reference"] + planned
    shown = [_row(key, state.rows.get(key)) for key in order]
    for missing in state.started.get("unavailable", ()):
        replicate = missing.get("replicate_q")
        shown.append(
            {
                "backend": missing["backend"],
                "replicate": "" if replicate is None else _on(replicate),
                "unavailable": missing["reason"],
            }
        )
    return shown


def _row(key: tuple[object, ...], row: Mapping[str, Any] | None) -> Json:
    backend, replicate_q, graph = key
    reference = backend == "tp_only"
    shown: Json = {
        "backend": "TP only" if reference else f"{backend}{' (graph)' if graph else ''}",
        "replicate": "" if reference else _on(replicate_q),
        "waiting": row is None,
    }
    if row is None:
        return shown
    return shown | {
        "provisional": row.get("provisional", False),
        "wrong": row["wrong"],
        "error": "NaN" if row["max_rel_err_row"] is None else f"{row['max_rel_err_row']:.4f}",
        "n": row["n"],
        "p50": _ms(row["p50_us"]),
        "p90": _ms(row["p90_us"]),
        "p99": _ms(row["p99_us"]),
        "iqr": "" if row["rel_iqr"] is None else f"{100 * row['rel_iqr']:.0f} %",
        "note": row.get("note", ""),
    }


def _on(value: object) -> str:
    return "on" if value else "off"


def _ms(value: float | None) -> str:
    return "" if value is None else f"{value / 1000:.3f}" if value < 10_000 else f"{value / 1000:.2f}"


def _where(environment: Mapping[str, Any]) -> str:
    if not environment:
        return ""
    transport = {"gloo": "Gloo", "nccl": "NCCL"}.get(str(environment.get("transport")), "")
    parts = ["this machine", f"{environment.get('ranks')} ranks", f"torch {environment.get('torch')}", transport]
    return ", ".join(part for part in parts if part)


def _stages(state: RunState) -> list[Json]:
    return [
        {
            "case": case_label(row) if row["event"] == "case" else "TP only",
            "name": stage["name"],
            "time": f"{stage['p50_us']:,.0f}",
            "payload": f"{stage['payload_bytes']:,}" if stage.get("payload_bytes") else "",
            "algbw": f"{stage['algbw_gbps']:.3f}" if stage.get("algbw_gbps") else "",
            "busbw": f"{stage['busbw_gbps']:.3f}" if stage.get("busbw_gbps") else "",
        }
        for row in state.rows.values()
        if row["event"] == "case"
        for stage in row["stages"]
        if stage.get("p50_us") is not None
    ]


def _collective(row: Mapping[str, Any]) -> Json:
    return {
        "size": f"{row['size_bytes']:,}",
        "count": f"{row['count']:,}",
        "type": row["type"],
        "operation": row["collective"],
        "time": "" if row["time_us"] is None else f"{row['time_us']:,.0f}",
        "algbw": "" if row["algbw_gbps"] is None else f"{row['algbw_gbps']:.3f}",
        "busbw": "" if row["busbw_gbps"] is None else f"{row['busbw_gbps']:.3f}",
        "wrong": row["wrong"],
    }


def _distribution(state: RunState) -> Json | None:
    """Return histograms of all timed rows on one axis, which ends where 99 % of all samples do."""
    timed = [row for row in state.rows.values() if row.get("samples_us")]
    timed.sort(key=lambda row: row["event"] != "reference")
    if not timed:
        return None
    everything = sorted(x for row in timed for x in row["samples_us"])
    low = everything[0]
    high = everything[min(len(everything) - 1, int(0.99 * len(everything)))]
    if high <= low:
        return None
    width = (high - low) / _BINS
    return {
        "low_ms": low / 1000,
        "high_ms": high / 1000,
        "rows": [
            {
                "label": "TP only" if row["event"] == "reference" else case_label(row),
                "reference": row["event"] == "reference",
                "bins": _histogram(row["samples_us"], low, width),
                "p50": (row["p50_us"] - low) / (high - low),
                "p50_label": f"p50 {_ms(row['p50_us'])} ms",
                "beyond": sum(1 for x in row["samples_us"] if x > low + _BINS * width),
            }
            for row in timed
        ],
    }


def _histogram(samples: Sequence[float], low: float, width: float) -> list[int]:
    bins = [0] * _BINS
    for sample in samples:
        if sample <= low + _BINS * width:
            bins[min(int((sample - low) / width), _BINS - 1)] += 1
    return bins
