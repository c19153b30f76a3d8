"""Take commands through a release's argument handling, all of it, and say what came out."""

from __future__ import annotations

import argparse
import contextlib
import io
import logging
import os
import time
import traceback
from typing import TYPE_CHECKING, Any

import devices  # a neighbour of this file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

RESOLVED = (
    "attention_backend attn_cp_size attn_dp_size chunked_prefill_size cp_strategy dcp_comm_backend"
    " dcp_replicate_q_proj dcp_size decode_attention_backend disable_cuda_graph disable_overlap_schedule"
    " disable_radix_cache disaggregation_transfer_backend dp_size dsa_decode_backend dsa_prefill_backend"
    " enable_dp_attention enable_hierarchical_cache enable_page_major_kv_layout enable_symm_mem enable_unified_memory"
    " ep_size hicache_io_backend hicache_mem_layout kv_cache_dtype load_balance_method mem_fraction_static"
    " moe_a2a_backend moe_dense_tp_size page_size pp_size prefill_attention_backend speculative_algorithm"
    " speculative_attention_mode speculative_eagle_topk speculative_num_draft_tokens speculative_num_steps tp_size"
).split()
"""Values read back from a server that accepted its arguments."""

_PLAIN = (int, float, str, bool, type(None))


def run_all(server_args: Any, cases: Iterable[dict[str, Any]], *, stand_ins: bool = False) -> Iterator[dict[str, Any]]:
    """Yield one answer per case: ``{"resolved": {...}}``, or ``{"error", "message", "where", "stage"}``.

    Each has ``seconds``, the time the release took for it, and ``log``, what it logged.

    With *stand_ins*, FlashInfer is one; a case says with ``flashinfer_dcp`` in its ``env`` what it can do.
    """
    before = dict(os.environ)
    log = _Log()
    root = logging.getLogger()
    for case in cases:
        env = dict(case.get("env") or {})
        dcp_decode = env.pop("flashinfer_dcp", "1") != "0"
        if stand_ins:
            devices.answer_flashinfer(dcp_decode=dcp_decode)
        os.environ.clear()
        os.environ.update(before | env)
        root.handlers[:] = [log]
        root.setLevel(logging.INFO)
        log.lines.clear()
        began = time.perf_counter()
        answer = _run(server_args, case)
        answer["seconds"] = time.perf_counter() - began
        answer["log"] = log.lines[:12]
        yield answer
    os.environ.clear()
    os.environ.update(before)


class _Log(logging.Handler):
    """Keeps what the server logs."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the message; one that does not format is not worth a case."""
        try:
            self.lines.append(record.getMessage()[:300])
        except (TypeError, ValueError):
            return


def _run(server_args: Any, case: dict[str, Any]) -> dict[str, Any]:
    argv = list(case["argv"])
    stage = "cli"
    complaints = io.StringIO()
    try:
        parser = argparse.ArgumentParser(prog="sglang")
        server_args.ServerArgs.add_cli_args(parser)
        with contextlib.redirect_stderr(complaints):
            words = parser.parse_args(argv)
        # The launcher notes this between parsing and building; releases that do not know the attribute ignore it.
        words._radix_eviction_policy_explicitly_set = any(a.startswith("--radix-eviction-policy") for a in argv)  # noqa: SLF001
        stage = "server_args"
        args = server_args.ServerArgs.from_cli_args(words)
        if hasattr(args, "resolve_once"):  # from 0.5.19; until then construction does it
            args.resolve_once()
        if not case.get("skip_final_check"):
            _final_check(args)
    except SystemExit:
        lines = complaints.getvalue().strip().splitlines()
        return {"error": "SystemExit", "message": (lines or [""])[-1][:400], "where": None, "stage": stage}
    except Exception as error:  # noqa: BLE001 - whatever a release raises is its answer
        frames = [f for f in traceback.extract_tb(error.__traceback__) if "/sglang/" in f.filename]
        where = f"{frames[-1].filename.rpartition('/sglang/')[2]}:{frames[-1].lineno}" if frames else None
        return {"error": type(error).__name__, "message": str(error)[:600], "where": where, "stage": stage}
    return {"resolved": _resolved(args)}


def _final_check(args: Any) -> None:
    """Run the consistency check that the launcher calls last: a method up to 0.5.18, a function from 0.5.19."""
    check = getattr(args, "check_server_args", None)
    if check is not None:
        check()
        return
    from sglang.srt.arg_groups.validation_hook import check_server_args  # noqa: PLC0415 - the release under test

    check_server_args(args)


def _resolved(args: Any) -> dict[str, Any]:
    view = args
    with contextlib.suppress(ImportError):
        from sglang.srt.arg_groups.overrides import resolving_view  # noqa: PLC0415 - from 0.5.19

        view = resolving_view(args)
    found: dict[str, Any] = {}
    for name in RESOLVED:
        value = getattr(view, name, _ABSENT)
        if value is not _ABSENT:
            found[name] = value if isinstance(value, _PLAIN) else str(value)
    graphs = getattr(view, "cuda_graph_config", None) or getattr(args, "cuda_graph_config", None)
    for phase in ("prefill", "decode"):
        backend = getattr(getattr(graphs, phase, None), "backend", None)
        if backend is not None:
            found[f"cuda_graph_{phase}_backend"] = str(getattr(backend, "value", backend))
    return found


_ABSENT = object()
