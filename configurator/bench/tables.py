"""A run's document as tables: for a terminal in the manner of nccl-tests, as Markdown, as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ABSENT = "-"


@dataclass(frozen=True)
class Table:
    """A table of plain values.

    Attributes:
        title: What it shows, with the unit of its times.
        columns: Headings.
        rows: Cells, one tuple a row; ``None`` where there is no value.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]


def tables(document: Mapping[str, Any]) -> tuple[Table, ...]:
    """Return the tables of a run: steps, their stages, and bare collectives; those without rows are left out."""
    found = (step_table(document), stage_table(document), collective_table(document))
    return tuple(table for table in found if table.rows)


def step_table(document: Mapping[str, Any]) -> Table:
    """Return one row a case, and the reference without DCP."""
    entries = [*document["reference"], *document["cases"]]
    rows = [
        (
            entry["backend"], _switch(entry), "yes" if entry["graph"] else "no", entry["wrong"], entry["checked"],
            entry["max_rel_err_row"], entry["n"], entry["p50_us"], entry["p90_us"], entry["p99_us"], entry["max_us"],
            entry["merge_p50_us"],
        )
        for entry in entries
    ]  # fmt: skip
    columns = (
        "backend", "replicate_q", "graph", "#wrong", "checked", "max_err", "n", "p50_us", "p90_us", "p99_us", "max_us",
        "merge_p50_us",
    )  # fmt: skip
    return Table("Decode step of one layer (us; each step is as long as its slowest rank)", columns, tuple(rows))


def stage_table(document: Mapping[str, Any]) -> Table:
    """Return one row a stage of each case that was timed."""
    rows = [
        (
            entry["backend"], _switch(entry), stage["name"], stage["payload_bytes"] or None, stage["p50_us"],
            stage["in_step_p50_us"], stage["algbw_gbps"], stage["busbw_gbps"], stage.get("wire_us"),
        )
        for entry in (*document["reference"], *document["cases"])
        for stage in entry["stages"]
    ]  # fmt: skip
    columns = (
        "backend", "replicate_q", "stage", "size_B", "time_us", "in_step_us", "algbw_GB/s", "busbw_GB/s", "bare_us",
    )  # fmt: skip
    return Table(
        "Stages (us; median alone, within a step, and of a bare collective of that size)", columns, tuple(rows)
    )


def collective_table(document: Mapping[str, Any]) -> Table:
    """Return the bare collectives, out of place and in place, in the columns of nccl-tests."""
    keys = ("time_us", "algbw_gbps", "busbw_gbps", "wrong")
    rows = [
        (
            row["collective"], row["size_bytes"], row["count"], row["type"], row["redop"],
            *((row["out_of_place"] or {}).get(key) for key in keys), *((row["in_place"] or {}).get(key) for key in keys),
        )
        for row in document["collectives"]
    ]  # fmt: skip
    measured = ("time_us", "algbw_GB/s", "busbw_GB/s", "#wrong")
    columns = ("collective", "size_B", "count", "type", "redop", *measured, *(f"in:{name}" for name in measured))
    return Table("Bare collectives (us; out of place, then in place)", columns, tuple(rows))


def _switch(entry: Mapping[str, Any]) -> str:
    return ABSENT if entry["backend"] == "tp_only" else "on" if entry["replicate_q"] else "off"


def _shown(value: object) -> str:
    if value is None:
        return ABSENT
    if not isinstance(value, float):
        return str(value)
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.2f}" if abs(value) >= 1 else f"{value:.3g}"


def _cells(table: Table) -> list[list[str]]:
    return [list(table.columns), *([_shown(value) for value in row] for row in table.rows)]


def as_text(table: Table) -> str:
    """Return a table for a terminal; headings begin with ``#``, so that plotting tools pass them over."""
    lines = _cells(table)
    words = {i for i in range(len(table.columns)) if all(isinstance(r[i], str) for r in table.rows)}
    widths = [max(len(line[i]) for line in lines) for i in range(len(table.columns))]

    def line(cells: Sequence[str]) -> str:
        return "  ".join(
            c.ljust(w) if i in words else c.rjust(w) for i, (c, w) in enumerate(zip(cells, widths, strict=True))
        )

    return "\n".join(
        [f"# {table.title}", f"# {line(lines[0])}".rstrip(), *(f"  {line(x)}".rstrip() for x in lines[1:])]
    )


def as_markdown(document: Mapping[str, Any]) -> str:
    """Return a run as Markdown: what was measured, where, and its tables."""
    parts = [" ".join(heading(document))]
    for table in tables(document):
        head, *body = _cells(table)
        rule = ["---"] * len(head)
        rows = "\n".join("| " + " | ".join(cells) + " |" for cells in (head, rule, *body))
        parts.append(f"**{table.title}**\n\n{rows}")
    return "\n\n".join([*parts, str(document["verdict"]["sentence"])]) + "\n"


def as_csv(document: Mapping[str, Any]) -> str:
    """Return the steps of a run as CSV, numbers in full, with what a row needs to stand alone."""
    problem, table = document["problem"], step_table(document)
    shared = ("label", "model", "tp_size", "dcp_size", "batch_size", "context_length", "dtype")
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*shared, *table.columns])
    for row in table.rows:
        writer.writerow(
            [document["label"], *(problem[name] for name in shared[1:]), *("" if v is None else v for v in row)]
        )
    return out.getvalue()


def heading(document: Mapping[str, Any]) -> list[str]:
    """Return what was measured and where, in a few sentences, the warning about CPUs among them."""
    problem, environment = document["problem"], document["environment"]
    shapes = (
        f"{problem['model']}: tp {problem['tp_size']}, dcp {problem['dcp_size']}, batch {problem['batch_size']}, "
        f"context {problem['context_length']}, {problem['dtype']}, {problem['attention_kind']}; "
        f"{problem['num_local_heads']} heads a rank, {problem['num_heads']} a DCP group."
    )
    lines = [shapes]
    if environment:
        lines.append(
            f"torch {environment['torch']}, {environment['transport']}, {environment.get('gpu') or environment['device']}."
        )
    if document["banner"]:
        lines.append(f"{document['label']}: {document['banner']}.")
    return lines
