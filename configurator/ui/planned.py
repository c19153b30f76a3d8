"""What the planner views draw, as plain dictionaries made from a report. No formula is stated here."""

from __future__ import annotations

from typing import Any

from configurator.core.unknown import is_unknown
from configurator.planner.advice import GOALS, Advised
from configurator.planner.curves import LatencyLine, capacity_curve, latency_lines
from configurator.planner.deployment import GIB
from configurator.planner.exchange import LINK_NAMES
from configurator.planner.memory import MemoryPlan
from configurator.planner.ranks import Rank, RankMap, rank_map
from configurator.planner.report import CapacityReport, rounded
from configurator.words import describe_change
from configurator.workspace import Workspace

Json = dict[str, Any]
_SHOWN = (
    "tp_size", "pp_size", "nnodes", "dp_size", "enable_dp_attention", "attn_dp_size", "dcp_size", "dcp_comm_backend",
    "dcp_replicate_q_proj", "attention_backend", "kv_cache_dtype", "page_size", "mem_fraction_static",
)  # fmt: skip
_CONTEXTS = (4096, 32_768, 131_072, 524_288, 1_048_576)
_POSITIONS = 16


def provenance(report: CapacityReport) -> str:
    """Return which command the figures are of, where it is not the one as written; else nothing."""
    if report.computed_for == "written":
        return ""
    table, flags = report.case.release.table, report.case.configuration.flags
    words = []
    for dest in _SHOWN:
        if dest in flags and dest in table:
            value = flags[dest]
            words.append(table[dest].primary if value is True else f"{table[dest].primary} {value}")
    return f"Computed for the repaired command, `{' '.join(words)}`; the written one does not run."


def asked(report: CapacityReport) -> Json:
    """Return what the fields of the views hold."""
    return {"context": report.context_tokens, "batch": report.batch_size}


# --- capacity -----------------------------------------------------------------------------------------------------------


def capacity(report: CapacityReport) -> Json:
    """Return the memory of one GPU, the tokens, and how they move with the DCP size."""
    memory = report.memory
    found: Json = {"provenance": provenance(report), "sentence": report.sentence, "notes": _notes(report)}
    if is_unknown(memory):
        return found | {"known": False}
    found["notes"] += [note for note in memory.notes if note != report.sentence]
    measured = report.measured
    return found | {
        "known": True,
        "fits": memory.fits,
        "detail": _detail(memory),
        "measured": {"rows": measured.rows, "dcp": measured.dcp_size} if measured else None,
        "caption": _caption(report),
        "total": round(memory.total_bytes / GIB, 1),
        "items": [
            {
                "name": item.name,
                "label": item.label,
                "gib": round(item.bytes / GIB, 2),
                "basis": item.basis,
                "how": item.how,
            }
            for item in memory.items
        ],
        "machine": report.hardware,
        "curve": [
            {
                "dcp": point.dcp_size,
                "tokens": point.tokens,
                "low": point.low,
                "high": point.high,
                "text": _short(point.tokens),
                "chosen": point.dcp_size == report.server.dcp_size,
            }
            for point in capacity_curve(report.server, memory)
        ],
        "band": _band(memory),
        "requests": _requests(report, memory),
    }


def _notes(report: CapacityReport) -> list[str]:
    """Return the report's notes without the one that :func:`provenance` says already."""
    return [
        note
        for note in report.notes
        if report.computed_for == "written" or not note.startswith("The command as written")
    ]


def _detail(memory: MemoryPlan) -> str:
    pages = f"; prefixes are shared in pages of {memory.page_tokens:,} tokens" if memory.page_tokens > 1 else ""
    return (
        f"Each rank holds {memory.rows_per_rank:,} rows of {memory.cell.budgeted:,} bytes; a row stands for "
        f"{memory.cell.tokens_per_row} logical token{'s' if memory.cell.tokens_per_row > 1 else ''}{pages}."
    )


def _band(memory: MemoryPlan) -> str:
    low, high = memory.error_band
    return f"Same KV budget in bytes; band of published runs {low - 1:+.0%} to {high - 1:+.0%}."


def _caption(report: CapacityReport) -> str:
    server = report.server
    if server.pp_size > 1:
        return f"The fullest of {server.pp_size} pipeline stages; the GPUs of a stage are alike."
    return (
        f"All {server.tp_size} GPUs are alike, so one bar is shown." if server.tp_size > 1 else "The server's one GPU."
    )


def _requests(report: CapacityReport, memory: MemoryPlan) -> list[Json]:
    longest = memory.max_context_tokens
    most = memory.logical_tokens if is_unknown(longest) else longest
    contexts = {c for c in (*_CONTEXTS, report.context_tokens, most) if 0 < c <= most}
    return [
        {"context": f"{c:,}", "count": f"{memory.concurrent_requests(c):,}", "asked": c == report.context_tokens}
        for c in sorted(contexts)
    ]


def _short(tokens: int) -> str:
    if tokens >= 1_000_000:
        return f"{tokens / 1e6:.2f} M"
    return f"{tokens / 1e3:.0f}k" if tokens >= 10_000 else str(tokens)


def advice(advised: Advised, report: CapacityReport) -> Json:
    """Return the best configurations for a goal, each with the change that loads it."""
    table = report.case.release.table
    items = []
    for entry in advised.best:
        change = report.from_written(entry.change)
        items.append(
            {
                "shape": entry.shape,
                "why": entry.why,
                "verdict": entry.verdict,
                "label": describe_change(change, table) if change else "",
            }
        )
    return {"goal": advised.goal, "title": GOALS[advised.goal], "sentence": advised.sentence, "items": items}


# --- latency ------------------------------------------------------------------------------------------------------------


def latency(report: CapacityReport) -> Json:
    """Return the time of one layer against context, where lines cross, and the collectives."""
    plan = report.latency
    found: Json = {
        "provenance": provenance(report),
        "sentence": report.latency_sentence,
        "asked": asked(report),
        "known": not is_unknown(plan),
    }
    if is_unknown(plan):
        return found
    lines = latency_lines(report.server, batch_size=plan.batch_size)
    tokens = plan.batch_size * plan.context_tokens
    step = plan.per_token_ms
    return found | {
        "valid": plan.valid,
        "basis": plan.basis[:1].upper() + plan.basis[1:] + ".",
        "step": [
            {"name": "Attention", "us": _us(plan.attention_us), "note": f"{plan.layers[0]} layers"},
            {"name": "DCP exchange", "us": _us(plan.exchange_us), "note": f"{plan.layers[0]} layers"},
            {
                "name": "Weights",
                "us": "not known" if is_unknown(plan.weights_us) else _us(plan.weights_us),
                "note": f"{plan.layers[1]} layers; experts as far as the batch visits them",
            },
            {"name": "TP all-reduces", "us": _us(plan.all_reduce_us), "note": f"{plan.layers[1]} layers"},
        ],
        "total": step.reason if is_unknown(step) else f"{step:.2f} ms",
        "lines": [] if is_unknown(lines) else [_line(line, tokens) for line in lines],
        "why_no_lines": lines.reason if is_unknown(lines) else "",
        "tokens": tokens,
        "at": f"{rounded(tokens)} tokens",
        "collectives": [
            {
                "step": c.step.replace("_fused", ""),
                "operation": c.operation,
                "payload": f"{c.payload_bytes:,}",
                "per_token": f"{c.bytes_per_token:,}",
                "us": _us(c.time_us),
            }
            for c in plan.collectives
        ],
        "heads": report.server.num_group_heads,
    }


def _line(line: LatencyLine, tokens: int) -> Json:
    return {
        "key": line.key,
        "label": line.label,
        "fixed": "" if line.key == "tp" else _us(line.fixed_us),
        "at": _us(line.at(tokens)) if tokens <= line.points[-1][0] else "beyond the axis",
        "even": line.break_even_tokens,
        "even_text": ""
        if line.key == "tp"
        else "never"
        if line.break_even_tokens is None
        else rounded(line.break_even_tokens),
        "points": [[x, round(y, 2)] for x, y in line.points],
        "chosen": line.chosen,
    }


def _us(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}"


# --- rank map -----------------------------------------------------------------------------------------------------------


def ranks(report: CapacityReport, workspace: Workspace) -> Json:
    """Return nodes, groups and ranks, and who holds which position of a request."""
    placed = rank_map(report.server)
    found: Json = {"provenance": provenance(report)}
    if is_unknown(placed):
        return found | {"known": False, "sentence": f"The ranks cannot be placed: {placed.reason}."}
    dcp, page = placed.dcp_size, placed.page_size
    positions = max(_POSITIONS, 2 * dcp)
    return found | {
        "known": True,
        "dcp": dcp,
        "page": page,
        "positions": positions,
        "groups_per_replica": placed.copies,
        "detail": _groups_sentence(placed),
        "owners": [
            {"rank": o.dcp_rank, "slot": o.slot, "row": o.row, "page": o.page, "offset": o.offset}
            for o in (placed.owner(p) for p in range(positions))
        ],
        "nodes": [_node(placed, node) for node in range(placed.nodes)],
        "link": _link(placed, workspace),
    }


def _groups_sentence(placed: RankMap) -> str:
    if placed.dcp_size == 1:
        return "Without DCP each rank holds every token of its heads: there is nothing to own."
    each = f"Each DCP group holds the whole KV cache{' of its attention replica' if placed.replicas > 1 else ''} once"
    copies = f", so {placed.copies} groups hold it {placed.copies} times" if placed.copies > 1 else ""
    where = (
        "No group leaves its node." if placed.dcp_crossing == "inside a node" else f"Groups go {placed.dcp_crossing}."
    )
    return f"{each}{copies}. {where}"


def _node(placed: RankMap, node: int) -> Json:
    ranks_here = [rank for rank in placed.ranks if rank.node == node]
    groups: dict[int, list[Rank]] = {}
    for rank in ranks_here:
        groups.setdefault(rank.dcp_group, []).append(rank)
    return {
        "node": node,
        "groups": [
            {
                "group": group,
                "title": _group_title(placed, members),
                "gpus": [_gpu(rank, placed) for rank in members],
            }
            for group, members in groups.items()
        ],
    }


def _group_title(placed: RankMap, members: list[Rank]) -> str:
    first, last = members[0], members[-1]
    parts = [f"TP ranks {first.tp_rank}\u2013{last.tp_rank}" if first != last else f"TP rank {first.tp_rank}"]
    if placed.replicas > 1:
        parts.append(f"attention replica {first.replica}")
    if placed.stages > 1:
        parts.append(f"stage {first.stage}")
    if len(members) < placed.dcp_size:
        parts.append(f"{len(members)} of its {placed.dcp_size} ranks")
    return ", ".join(parts)


def _gpu(rank: Rank, placed: RankMap) -> Json:
    facts = [["TP rank", str(rank.tp_rank)]]
    if placed.dcp_size > 1:
        facts.append(["DCP rank", str(rank.dcp_rank)])
    if rank.heads is not None:
        first, last = rank.heads
        facts.append(["heads", f"{first}\u2013{last}" if last > first else str(first)])
    if rank.kv_heads is not None:
        facts.append(["KV heads", str(rank.kv_heads)])
    return {"gpu": rank.gpu, "dcp_rank": rank.dcp_rank, "facts": facts}


def _link(placed: RankMap, workspace: Workspace) -> str:
    link = workspace.hardware.link
    if is_unknown(link.kind) or link.kind == "none":
        return f"Link between the GPUs: not known. DCP groups stay {placed.dcp_crossing}; the TP group {placed.tp_crossing}."
    name = LINK_NAMES[link.kind] + (f" {link.generation}" if isinstance(link.generation, int) else "")
    through = "NVSwitch, " if link.peer == "switch" and link.kind == "nvlink" else ""
    rate = f", {link.gbps:g} GB/s per direction" if isinstance(link.gbps, int | float) else ", bandwidth not known"
    count = f"{link.links} links of " if isinstance(link.links, int) and link.kind != "pcie" else ""
    same = placed.dcp_crossing == placed.tp_crossing
    use = (
        f"DCP and TP groups stay {placed.dcp_crossing}"
        if same
        else (f"DCP groups stay {placed.dcp_crossing}; the TP group goes {placed.tp_crossing}")
    )
    if same and placed.dcp_crossing != "inside a node":
        use = f"DCP and TP groups go {placed.dcp_crossing}"
    return f"{through}{count}{name}{rate} for each GPU. {use}."
