"""``capacity``: what fits on the GPUs, how long a context, and whether DCP is faster or only bigger."""

from __future__ import annotations

import argparse

from configurator.answers import change_json
from configurator.api import capacity
from configurator.cli.facts import add_facts, command_of, facts, print_json
from configurator.core.errors import InputError
from configurator.core.unknown import is_unknown
from configurator.planner.advice import GOALS, Advised, advise
from configurator.planner.latency import LatencyPlan
from configurator.planner.memory import MemoryPlan
from configurator.planner.report import CapacityReport, gib_text
from configurator.words import describe_change

EXIT_NO = 1
EXIT_UNKNOWN = 4
"""What ``check`` returns where a fact is missing: neither "fits" nor "does not fit" would be true."""

_CONTEXTS = (4096, 32_768, 131_072)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``capacity``."""
    add_facts(parser)
    parser.add_argument("--context", type=_whole, metavar="TOKENS", help="context of each request; default: 32768")
    parser.add_argument("--batch", type=_whole, metavar="N", help="requests of a decode step; default: 8")
    parser.add_argument(
        "--weights-gib",
        type=float,
        metavar="GIB",
        help="size of the checkpoint's weights; default: counted from the shape",
    )
    parser.add_argument(
        "--measured-rows",
        type=_whole,
        metavar="ROWS",
        help="calibrate: max_total_num_tokens in the log of a real start, which counts rows of one rank",
    )
    parser.add_argument(
        "--measured-dcp-size", type=_whole, default=1, metavar="N", help="the --dcp-size of that start; default: 1"
    )
    parser.add_argument(
        "--goal",
        choices=[goal.replace("_", "-") for goal in GOALS],
        help="rank all configurations of the parallelism flags for this goal, too",
    )


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number") from None


def run(options: argparse.Namespace) -> int:
    """Print the report; return 0 where it fits, 1 where it does not, 4 where that is not known."""
    if options.measured_rows is None and options.measured_dcp_size != 1:
        raise InputError(
            "--measured-dcp-size belongs to --measured-rows, which is not given.", part="--measured-dcp-size"
        )
    report = capacity(
        command_of(options),
        context=options.context,
        batch=options.batch,
        weights_gib=options.weights_gib,
        measured_rows=options.measured_rows,
        measured_dcp_size=options.measured_dcp_size,
        **facts(options),
    )
    advised = _advised(options, report) if options.goal else None
    if options.json:
        print_json(report.to_json() | (_advice_json(advised, report) if advised else {}))
    else:
        print(text_of(report))
        if advised:
            print("\n".join(_advice_lines(advised, report)))
    fits = report.fits
    if is_unknown(fits):
        return EXIT_UNKNOWN
    return 0 if fits else EXIT_NO


def _advised(options: argparse.Namespace, report: CapacityReport) -> Advised:
    return advise(
        report.case,
        options.goal.replace("-", "_"),
        context_tokens=report.context_tokens,
        batch_size=report.batch_size,
        checkpoint_bytes=report.checkpoint_bytes,
        measured=report.measured,
    )


def _advice_json(advised: Advised, report: CapacityReport) -> dict[str, object]:
    table = report.case.release.table
    best = [
        {
            **change_json(report.from_written(advice.change), table),
            "label": describe_change(report.from_written(advice.change), table),
            "shape": advice.shape,
            "verdict": advice.verdict,
            "why": advice.why,
            "logical_tokens": advice.memory.logical_tokens,
        }
        for advice in advised.best
    ]
    counts = {"considered": advised.considered, "running": advised.running, "fitting": advised.fitting}
    return {"advice": {"goal": advised.goal, **counts, "reason": advised.reason or None, "best": best}}


def _advice_lines(advised: Advised, report: CapacityReport) -> list[str]:
    lines = ["", f"{GOALS[advised.goal]}: {advised.sentence}"]
    for number, advice in enumerate(advised.best, start=1):
        lines.append(f"{number}. {advice.shape}: {advice.why}")
        change = describe_change(report.from_written(advice.change), report.case.release.table)
        lines.append(f"   -> {change} (verdict: {advice.verdict})")
    return lines


def text_of(report: CapacityReport) -> str:
    """Return a report as text for a terminal."""
    lines = [report.sentence]
    memory, latency = report.memory, report.latency
    notes = list(report.notes)
    if not is_unknown(memory):
        lines += ["", *_memory_lines(memory)]
        notes += [note for note in memory.notes if note != report.sentence]
    lines += ["", report.latency_sentence]
    if not is_unknown(latency):
        lines += _latency_lines(latency)
    if notes:
        lines.append("")
    lines += [f"note: {note}" for note in notes]
    lines.append(f"For SGLang {report.release}, {report.hardware}, {report.model}.")
    return "\n".join(lines)


def _memory_lines(memory: MemoryPlan) -> list[str]:
    lines = ["Memory of one GPU"]
    lines += [f"  {i.label:<46}{gib_text(i.bytes):>9} GiB  {i.basis:<9} {i.how}" for i in memory.items]
    lines.append(f"  {'total':<46}{gib_text(memory.total_bytes):>9} GiB")
    low, high = memory.error_band
    each = f" in each of {memory.replicas} attention replicas" if memory.replicas > 1 else ""
    lines += [
        "",
        f"Rows of one rank      {memory.rows_per_rank:,} of {memory.cell.budgeted:,} bytes",
        f"Logical tokens        {memory.logical_tokens:,}{each}, in pages of {memory.page_tokens}",
        f"Gain over DCP 1       {memory.gain_over_dcp1:g}, with as many bytes for the KV cache",
        f"Published runs lie between {low - 1:+.0%} and {high - 1:+.0%} of this model.",
        "Requests at once      "
        + ", ".join(
            f"{memory.concurrent_requests(c):,} of {c:,} tokens" for c in _CONTEXTS if c <= memory.logical_tokens
        ),
    ]
    return lines if memory.fits else lines[: len(memory.items) + 2]


def _latency_lines(latency: LatencyPlan) -> list[str]:
    total = latency.per_token_ms
    step = "not known" if is_unknown(total) else f"{total:.2f} ms, weights and TP all-reduces included"
    times = (
        f"attention {latency.attention_us:.1f} us (TP alone {latency.tp_only_us:.1f}), DCP {latency.exchange_us:.1f} us"
    )
    return [
        f"  one layer: {times}; a step: {step}",
        *(
            f"    {c.step:<16} {c.operation:<15} {c.payload_bytes:>12,} bytes  {c.time_us:7.1f} us"
            for c in latency.collectives
        ),
        f"  {latency.basis}",
    ]
