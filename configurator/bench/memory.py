"""Whether a problem fits, and how long it may take at the very most: estimates from its shapes."""

from __future__ import annotations

import math

import torch

from configurator.bench.machine import free_memory_bytes
from configurator.bench.problem import Problem
from configurator.bench.session import Session
from configurator.core.errors import InputError

ALLOWANCE_S = 5.0
"""For what does not grow with the problem: starting threads, waiting for a busy machine."""
SLOW_FLOPS = {False: 5e8, True: 2e11}
"""Arithmetic per second that even a crowded processor, or a GPU, is sure to do."""
UNLIMITED = 2**60
USABLE = 0.8
"""Share of the free memory that a run may take."""


def shard_bytes(problem: Problem, tokens: int, heads: int, *, on_gpu: bool) -> int:
    """Return an upper estimate of the bytes one rank needs to attend over *tokens* tokens of each request.

    The cache itself, its fp32 copy where the device has no mixed product, and the scores and their exponentials.
    """
    elements = problem.kv_token_elements
    copies = 0 if on_gpu and problem.dtype in ("bf16", "fp16") else 4
    return problem.batch_size * tokens * (elements * (problem.itemsize + copies) + heads * 4 * 2)


def needed_bytes(problem: Problem, *, on_gpu: bool, ranks_here: int = 1) -> tuple[int, int]:
    """Return the bytes one process needs without, and for, the reference over the whole cache.

    Args:
        problem: The problem.
        on_gpu: Whether tensors are on a GPU.
        ranks_here: Ranks that the process plays.
    """
    shard = shard_bytes(problem, math.ceil(problem.context_length / problem.dcp_size), problem.num_heads, on_gpu=on_gpu)
    one_request = problem.context_length * problem.kv_token_elements * (8 + 8)  # made in fp32; compared in float64
    whole = shard_bytes(problem, problem.context_length, problem.num_local_heads, on_gpu=on_gpu)
    return 2 * ranks_here * shard + one_request, whole  # two batches: the ragged and the timed one


def check_fit(problem: Problem, session: Session) -> None:
    """Refuse a problem that would not fit.

    Raises:
        InputError: It needs more memory than this machine has free.
    """
    needed, _ = needed_bytes(problem, on_gpu=session.device.type == "cuda", ranks_here=len(session.played))
    free = _agreed_free(session)
    if needed > free * USABLE:
        raise InputError(
            f"You asked for {problem.batch_size} requests of {problem.context_length:,} tokens - each rank needs about "
            f"{needed / 2**30:.1f} GiB for that, and {free / 2**30:.1f} GiB are free for it here - "
            "lower the context length or the batch size.",
            part="--context",
        )


def reference_fits(problem: Problem, session: Session) -> bool:
    """Tell whether the whole cache fits beside the shards."""
    cases, whole = needed_bytes(problem, on_gpu=session.device.type == "cuda", ranks_here=len(session.played))
    return whole + cases / 2 <= _agreed_free(session) * USABLE


def _agreed_free(session: Session) -> int:
    """Return the free memory of the first rank, in bytes: every rank must decide alike."""
    if session.device.type == "cuda":
        return session.agree(int(torch.cuda.mem_get_info(session.device)[0]))
    free = free_memory_bytes()
    return session.agree(UNLIMITED if free is None else free // session.ranks)


def allowance_s(problem: Problem, *, on_gpu: bool) -> float:
    """Return how long one step may take on a rank at the very most, in seconds, before it counts as stuck."""
    heads, width = problem.num_heads, problem.query_dim + problem.output_dim
    tokens = problem.batch_size * problem.context_length  # the reference attends over the whole cache
    attention = 2 * tokens * heads * width
    projection = 2 * problem.batch_size * heads * problem.q_lora_rank * problem.query_dim
    return ALLOWANCE_S + (attention + projection) / SLOW_FLOPS[on_gpu]
