"""Why a rank died, in plain sentences: what was asked, what happened, the likely cause, the way out."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from typing import Any

from configurator.bench.worker import EXIT_ORPHANED, EXIT_STALLED

INSTALL = "install it with: pip install 'dcp-configurator[bench]'"
_LOST_PEER = ("connection closed by peer", "connection reset by peer", "broken pipe", "timed out waiting", "heartbeat")


def torch_missing(executable: str) -> str:
    """Return the sentence for a Python without torch."""
    return f"You asked for the benchmark - it needs PyTorch, and {executable} does not have it - {INSTALL}"


def is_consequence(error: Mapping[str, Any]) -> bool:
    """Tell whether a rank's error is what another rank's death looks like from its side."""
    text = str(error.get("message", "")).lower()
    return error.get("kind") == "internal" and any(part in text for part in _LOST_PEER)


def choose(
    errors: Sequence[Mapping[str, Any]], exits: Mapping[int, int], *, tails: Mapping[int, Sequence[str]], oom: bool
) -> dict[str, Any]:
    """Return the one ``error`` event of a run: of all that went wrong, what came first in truth.

    Args:
        errors: Error events the ranks wrote.
        exits: Exit statuses by rank, of the ranks that have ended without being asked to.
        tails: Last lines of standard error by rank.
        oom: Whether the kernel has ended a process for want of memory meanwhile.

    Returns:
        ``kind``, ``rank``, ``message``, ``detail``.
    """
    own = [error for error in errors if not is_consequence(error)]
    killed = {rank: status for rank, status in exits.items() if status < 0}
    if killed and not any(error["kind"] in ("input", "import") for error in own):
        rank, status = next(iter(killed.items()))
        return _event("killed", rank, _by_signal(rank, -status, oom=oom), tails)
    if own:
        stalled = [error for error in own if error["kind"] == "stalled"]
        first = next((error for error in own if error["kind"] != "stalled"), None) or stalled[0]
        rank = int(first["rank"])
        detail = str(first.get("detail") or "")
        return _event(str(first["kind"]), rank, _by_kind(first), tails, detail)
    silent = {r: s for r, s in exits.items() if s not in (EXIT_ORPHANED, EXIT_STALLED)} or dict(exits)
    if errors and not silent:
        return _event("internal", int(errors[0]["rank"]), str(errors[0]["message"]), tails)
    rank, status = next(iter(silent.items()))
    said = next((line for line in reversed(tails.get(rank, ())) if line.strip()), "nothing")
    message = (
        f"Rank {rank} of the benchmark ended with status {status} before it was finished - "
        f"the last thing it said was: {said} - the benchmark was stopped; what it wrote is below."
    )
    return _event("died", rank, message, tails)


def _event(kind: str, rank: int, message: str, tails: Mapping[int, Sequence[str]], detail: str = "") -> dict[str, Any]:
    return {"kind": kind, "rank": rank, "message": message, "detail": detail or "\n".join(tails.get(rank, ()))}


def _by_signal(rank: int, number: int, *, oom: bool) -> str:
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    start = f"Rank {rank} of the benchmark was ended by {name}"
    if number == signal.SIGKILL:
        cause = (
            "the kernel's out-of-memory killer ended it: the problem does not fit this machine's memory"
            if oom
            else "most likely the kernel's out-of-memory killer, or somebody who ended it by hand"
        )
        return f"{start} - {cause} - lower the context length, the batch size or the number of ranks, and run again."
    if number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        return f"{start} - somebody, or the system's shutdown, asked it to end - run it again."
    if number == signal.SIGILL:
        return (
            f"{start} - the installed PyTorch uses instructions that this processor does not have - "
            "install a PyTorch built for it."
        )
    return (
        f"{start} - a crash inside PyTorch or a driver, not in a merge - "
        "run it again with fewer ranks or --device cpu, and look at the rank's last words below."
    )


def _by_kind(error: Mapping[str, Any]) -> str:
    rank, message = error["rank"], str(error["message"])
    kind = error["kind"]
    if kind in ("input", "selftest"):
        return message
    if kind == "import":
        if "No module named 'torch'" in message:
            return f"You asked for the benchmark - it needs PyTorch, which this Python does not have - {INSTALL}"
        return f"PyTorch is installed but cannot be loaded: {message} - install it again: pip install --force-reinstall torch"
    if kind == "memory":
        return (
            f"Rank {rank} of the benchmark ran out of memory ({message}) - "
            "lower the context length, the batch size or the number of ranks."
        )
    if kind == "stalled":
        return (
            f"{message} - another rank has stopped answering, or the machine is far too busy - "
            "the benchmark was stopped; run it again when the machine is quieter, or with a smaller problem."
        )
    return f"Rank {rank} of the benchmark failed in {message} - the benchmark was stopped; its last words are below."
