"""Advice: what is offered runs, is ranked as said, and nothing better is left out."""

import time

import pytest

from configurator import check
from configurator.core.engine import engine_for
from configurator.core.errors import InputError
from configurator.planner.advice import GOALS, VARIED, _Search, _shapes, advise
from configurator.planner.memory import plan_memory
from configurator.workspace import Workspace

BROKEN = "--tp-size 8 --dcp-size 4 --dcp-comm-backend ag_rs --dcp-replicate-q-proj"


def workspace(flags, hardware="h200x8", model="deepseek-v3.1"):
    return Workspace.start(f"python -m sglang.launch_server --model-path x {flags}", hardware=hardware, model=model)


def best(flags, goal, **facts):
    return advise(workspace(flags, **facts).case, goal, context_tokens=32_768, batch_size=16)


@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("facts", [{}, {"hardware": "b200x8", "model": "glm-5.2-nvfp4"}, {"model": "qwen3-235b-a22b"}])
def test_what_is_offered_runs_and_fits(goal, facts):
    at = workspace(BROKEN, **facts)
    advised = advise(at.case, goal, context_tokens=32_768, batch_size=16)
    assert advised.best
    assert advised.considered >= advised.running >= advised.fitting >= len(advised.best)
    for advice in advised.best:
        after = at.apply(advice.change)
        assert after.report.verdict == advice.verdict != "error"
        assert advice.memory.fits
        assert set(advice.change.set) | advice.change.unset <= {
            *VARIED,
            "attention_backend",
            "decode_attention_backend",
        }


def test_ranking_of_each_goal():
    longest = best(BROKEN, "longest_context").best
    assert [a.memory.max_context_tokens for a in longest] == sorted(
        (a.memory.max_context_tokens for a in longest), reverse=True
    )
    most = [a.memory.concurrent_requests(32_768) for a in best(BROKEN, "most_requests").best]
    assert most == sorted(most, reverse=True)
    times = [a.latency.per_token_ms for a in best(BROKEN, "lowest_latency").best]
    assert times == sorted(times)


def test_nothing_better_is_left_out():
    """Everything tried one by one, without what the search learns from conflicts."""
    at = workspace(BROKEN)
    engine, most = engine_for(at.release), 0
    search = _Search(at.case)
    for shape in _shapes(at.case):
        for backend in search.backends:
            flags = {k: v for k, v in at.configuration.flags.items() if k not in (*VARIED, "attention_backend")}
            flags |= shape.flags()
            if isinstance(backend, str):
                flags["attention_backend"] = backend
            given = type(at.configuration)(flags)
            after = type(at.case)(at.release, given, at.case.facts)
            env = engine.environment(given, after.facts)[0]
            if any(c.violated(env) is True for c in engine.breaking):
                continue
            plan = plan_memory(search.server(after, env))
            if plan.fits:
                most = max(most, plan.concurrent_requests(32_768))
    assert most == best(BROKEN, "most_requests").best[0].memory.concurrent_requests(32_768)


def test_a_command_that_is_best_already_needs_no_change():
    first = best("--tp-size 8", "lowest_latency", hardware="b200x8", model="glm-5.2-nvfp4").best[0]
    assert len(first.change) == 0


def test_what_cannot_be_met_says_why():
    assert best("--tp-size 8", "longest_context", hardware="h100x8").reason == "none of them fits"
    unknown = best("--tp-size 4", "lowest_latency", hardware="max1550x8", model="qwen3-8b")
    assert not unknown.best
    assert "bridged" in unknown.sentence
    small = advise(workspace(BROKEN).case, "most_requests", context_tokens=10**9, batch_size=1)
    assert small.reason == "no configuration holds a request of 1,000,000,000 tokens"


@pytest.mark.parametrize(("context", "batch"), [(0, 8), (-1, 8), (4096, 0)])
def test_nonsense_is_refused(context, batch):
    with pytest.raises(InputError):
        advise(workspace(BROKEN).case, "most_requests", context_tokens=context, batch_size=batch)


def test_gqa_is_not_told_to_choose_an_exchange_it_does_not_read():
    advised = best("--tp-size 8", "most_requests", model="qwen3-235b-a22b")
    assert all("dcp_comm_backend" not in a.change.set for a in advised.best)


def test_more_dcp_than_gqa_can_use_is_not_advised():
    advised = best("--tp-size 8", "longest_context", model="qwen3-235b-a22b")
    assert advised.best[0].change.set.get("dcp_size", 1) <= 2


def test_it_answers_at_once():
    case = workspace("--tp-size 8", hardware="gb200-nvl72").case
    check(case and "python -m sglang.launch_server --model-path x")
    started = time.perf_counter()
    advised = advise(case, "most_requests", context_tokens=32_768, batch_size=16)
    taken = time.perf_counter() - started
    assert advised.considered > 300
    assert taken < 5, "an order of magnitude above what it takes on an idle machine"
