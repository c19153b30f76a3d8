"""``bench``: the microbenchmark of the DCP exchange, in a terminal."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from configurator.bench import runner, saved
from configurator.bench.offer import torch_reaches_gpus
from configurator.bench.problem import DEFAULT_BACKENDS, Device, Dtype, Problem, RawCollectives, ReplicateQ
from configurator.bench.results import case_label, document
from configurator.bench.tables import as_text, heading, tables
from configurator.cli import EXIT_INTERRUPTED
from configurator.cli.facts import add_json, print_json
from configurator.core.errors import ConfiguratorError, InputError

EXIT_WRONG = 1
EXIT_NOTHING_RAN = 3
_NOTHING_RAN = ("torch", "import", "input")
"""Kinds of error that come before anything is measured."""
_GPU_BATCH, _GPU_CONTEXT, _GPU_RANKS = 8, 32768, 8


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``bench``."""
    parser.add_argument("--backends", metavar="LIST", help="of ag_rs, a2a, fi_a2a, with commas; default: all")
    parser.add_argument("--tp-size", type=int, metavar="T", help="ranks; default: as many as --dcp-size")
    parser.add_argument("--dcp-size", type=int, metavar="N", help="ranks of a DCP group; default: 2, or the GPUs here")
    parser.add_argument("--replicate-q", choices=get_args(ReplicateQ), default="both", help="default: both")
    parser.add_argument("--model", metavar="NAME", help="fact sheet, folder or config.json; default: deepseek-v3")
    parser.add_argument("--context", type=int, metavar="L", help="tokens of each request; default: 1024 on a CPU")
    parser.add_argument("--batch", type=int, metavar="B", help="requests of the step; default: 4 on a CPU")
    parser.add_argument("--dtype", choices=get_args(Dtype), help="activations and cache; default: bf16")
    parser.add_argument("--device", choices=get_args(Device), default="auto", help="default: auto")
    parser.add_argument("--seconds", type=float, metavar="S", help="time for timed iterations; default: 8")
    parser.add_argument("--collectives", choices=get_args(RawCollectives), help="bare collectives; default: quick")
    parser.add_argument("--ragged", action="store_true", help="time requests of unequal length")
    parser.add_argument("--seed", type=int, metavar="N", help="seed of all inputs; default: 0")
    parser.add_argument("--out", metavar="FILE", help="write the JSON document to FILE too")
    parser.add_argument("--no-save", action="store_true", help="do not keep the run among the saved ones")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Run the benchmark, print what was found, and return the exit status."""
    from configurator.api import probe  # noqa: PLC0415 - reached only once the options are known to be good

    request = runner.Request(problem=problem_of(options), snapshot=probe().label)
    problem = request.problem
    if options.out is not None:
        _check_writable(Path(options.out))
    progress = _Progress()
    last = runner.run_blocking(request, progress)
    progress.clear()
    found = _document(problem, last)
    if options.out is not None:
        _write(Path(options.out), found)
    if last["event"] == "done" and not options.no_save:
        try:
            saved.append(found)
        except ConfiguratorError as error:
            _say(f"note: {error}")
    if options.json:
        print_json(found)
    elif found["cases"] or found["reference"]:
        print(text_of(found))
    if last["event"] != "done":
        _say(f"dcp-configurator bench: {last['message']}")
        if last.get("detail") and last["kind"] not in _NOTHING_RAN:
            _say("\n".join(f"  | {line}" for line in last["detail"].splitlines()))
    return exit_status(last)


def exit_status(last: Mapping[str, Any]) -> int:
    """Return the exit status for a run's last event."""
    if last["event"] == "cancelled":
        return EXIT_INTERRUPTED
    if last["event"] == "error":
        return EXIT_NOTHING_RAN if last["kind"] in _NOTHING_RAN else EXIT_WRONG
    entries = (*last["document"]["cases"], *last["document"]["reference"])
    return EXIT_WRONG if any(entry["wrong"] for entry in entries) else 0


def problem_of(options: argparse.Namespace) -> Problem:
    """Return the problem that the options describe.

    Raises:
        InputError: Something in them cannot be used.
    """
    facts = _model_facts(options.model)
    backends = None
    if options.backends is not None:
        backends = tuple(dict.fromkeys(part.strip() for part in options.backends.split(",") if part.strip()))
    choices: dict[str, Any] = {
        "tp_size": options.dcp_size if options.tp_size is None else options.tp_size,
        "dcp_size": options.dcp_size,
        "batch_size": options.batch,
        "context_length": options.context,
        "dtype": options.dtype,
        "backends": DEFAULT_BACKENDS if backends is None else backends,
        "replicate_q": options.replicate_q,
        "device": options.device,
        "time_budget_s": options.seconds,
        "raw_collectives": options.collectives,
        "ragged": options.ragged,
        "seed": options.seed,
    }
    given = {name: value for name, value in choices.items() if value is not None}
    gpus = 0 if options.device == "cpu" else _gpus_here()
    if gpus:
        ranks = min(_GPU_RANKS, gpus)
        given = {"batch_size": _GPU_BATCH, "context_length": _GPU_CONTEXT} | given
        if ranks > 1:
            given = {"tp_size": ranks, "dcp_size": given.get("tp_size", ranks)} | given
    # Asked for a number of ranks, each takes its share of the model's heads; otherwise the two ranks of the small
    # problem have the heads that one rank of eight has.
    return Problem.small(facts, **given) if options.tp_size is None else Problem.from_facts(facts, **given)


def _model_facts(name: str | None) -> Mapping[str, object] | None:
    if name is None:
        return None
    from configurator.models import load_model  # noqa: PLC0415 - reads the sheets; the default needs none

    facts = load_model(name)
    return None if facts is None else facts.to_facts()


def _gpus_here() -> int:
    if not torch_reaches_gpus():
        return 0
    from configurator.api import probe  # noqa: PLC0415 - a machine without a GPU build of torch has no use for it

    return len(probe().gpus)


def _document(problem: Problem, last: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document to print: the run's own, or one that says why there is none."""
    found: dict[str, Any] | None = last.get("document")
    if found is None:
        names = [{"backend": name, "reason": last["message"]} for name in problem.backends]
        found = document(
            problem,
            {"unavailable": names},
            cases=(),
            reference=(),
            collectives=(),
            extra={"status": "cancelled" if last["event"] == "cancelled" else "died"},
        )
    if last["event"] == "error":
        found = found | {"error": {key: last.get(key) for key in ("kind", "rank", "message", "detail")}}
    return found


def text_of(found: Mapping[str, Any]) -> str:
    """Return a run's document as text for a terminal."""
    lines = [f"# {line}" for line in heading(found)]
    for table in tables(found):
        lines += ["", as_text(table)]
    lines.append("")
    lines += [f"not available: {entry['backend']}: {entry['reason']}" for entry in found["unavailable"]]
    lines += [
        f"WRONG: {case_label(entry)} differs from float64 attention in {entry['wrong']:,} of {entry['checked']:,} elements; "
        "it was not timed"
        for entry in (*found["cases"], *found["reference"])
        if entry["wrong"]
    ]
    caught = found["selftest"].get("caught") if "selftest" in found else None
    if caught:
        lines.append("self-test: a wrong logarithm base and a NaN in an empty shard were both found, as they must be")
    if found["verdict"]["sentence"]:
        lines.append(found["verdict"]["sentence"])
    return "\n".join(lines)


def _check_writable(path: Path) -> None:
    """Refuse a file that cannot be written before time is spent on what would go into it."""
    try:
        with path.open("a", encoding="utf-8"):
            pass
    except OSError as error:
        raise InputError(f"--out {path} cannot be written: {error.strerror}.", part="--out") from None


def _write(path: Path, found: Mapping[str, Any]) -> None:
    try:
        path.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"--out {path} cannot be written: {error.strerror}.", part="--out") from None


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class _Progress:
    """Progress on standard error: one line that changes on a terminal, a line a stage elsewhere."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._said = ""

    def __call__(self, event: Mapping[str, Any]) -> None:
        """Show an event."""
        match event["event"]:
            case "queue":
                self._line(event["message"], keep=True)
            case "started" if event["banner"]:
                self._line(f"{event['label']}: {event['banner']}", keep=True)
            case "progress":
                left = "" if event["left_s"] is None else f", about {event['left_s']:.0f} s left"
                self._line(f"[{event['done']:4.0%}] {event['stage']}{left}", keep=False)
            case "case" | "reference" if not event["provisional"] or event["n"] <= 10:
                self._line(_row(event), keep=True)

    def _line(self, text: str, *, keep: bool) -> None:
        if self._live:
            sys.stderr.write("\r\x1b[K" + text + ("\n" if keep else ""))
            sys.stderr.flush()
        elif keep or text.partition("]")[2].split(",")[0] != self._said:
            self._said = text.partition("]")[2].split(",")[0]
            _say(text)

    def clear(self) -> None:
        """Take the changing line away."""
        if self._live:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _row(event: Mapping[str, Any]) -> str:
    name = case_label(event)
    if event["wrong"]:
        return f"  {name}: WRONG in {event['wrong']:,} of {event['checked']:,} elements; not timed"
    time = "no time" if event["p50_us"] is None else f"p50 {event['p50_us'] / 1e3:.2f} ms from {event['n']} steps"
    first = " (first look)" if event["provisional"] else ""
    return f"  {name}: 0 wrong of {event['checked']:,}; {time}{first}"
