"""Byte counts against published figures and against tensors, and what runs where."""

from __future__ import annotations

import pytest

from configurator.bench import backends, inputs, measure, program
from configurator.bench.backends import A2A, AG_RS, ALL_REDUCE_GQA, Case, plan
from configurator.bench.collectives import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, REDUCE_SCATTER, bandwidths_gbps
from configurator.bench.problem import Problem
from configurator.core.errors import InputError

from .conftest import tiny, tiny_gqa
from .one_process import session

CPU = {"device": "cpu"}
BLACKWELL = {"device": "cuda", "flashinfer": True, "compute_capability": 100, "one_fabric": True}


def test_payloads_are_those_of_deepseek_v3_on_eight_ranks():
    """32 requests, tp 8, dcp 8, bf16: the shapes of SGLang 0.5.23's exchanges, sizes as nccl-tests counts them."""
    problem = Problem.from_facts(dcp_size=8, batch_size=32)
    assert backends.query_bytes(problem) == 4_718_592
    assert backends.lse_bytes(problem) == 131_072
    assert backends.partial_out_fp32_bytes(problem) == 8_388_608
    assert backends.packed_bytes(problem) == 4_210_688
    assert backends.fi_bytes(problem) == 4_227_072


@pytest.mark.parametrize(
    ("problem", "case"),
    [
        (tiny(dtype="bf16"), Case(AG_RS)),
        (tiny(dcp_size=3, dtype="fp32"), Case(AG_RS)),
        (tiny(dtype="fp16"), Case(A2A)),
        (tiny(dtype="fp8"), Case(A2A, replicate_q=True)),
        (tiny_gqa(2), Case(ALL_REDUCE_GQA)),
    ],
)
def test_formulas_agree_with_the_tensors_that_move(problem, case):
    found = session(problem)
    weights = inputs.make_weights(problem, 0, found.device)
    states = measure.states_for(found, inputs.timed_lengths(problem), weights, 1.0)
    stages = program.build(case)
    program.run(stages, states, found.fabric)
    moved = {stage.name: stage.payload_bytes(states[0]) for stage in stages if stage.collective}
    assert moved == {step.stage: step.payload_bytes(problem) for step in case.steps}


@pytest.mark.parametrize(
    ("collective", "factor"), [(ALL_GATHER, 0.75), (REDUCE_SCATTER, 0.75), (ALL_TO_ALL, 0.75), (ALL_REDUCE, 1.5)]
)
def test_bus_factors_are_those_of_nccl_tests(collective, factor):
    algbw, busbw = bandwidths_gbps(collective, 10**6, 100.0, 4)
    assert algbw == pytest.approx(10)
    assert busbw == pytest.approx(10 * factor)


def labels(found):
    return [case.label for case in found.cases]


def test_a_cpu_runs_all_but_flashinfers_kernel_and_says_why():
    found = plan(Problem(), CPU)
    assert labels(found) == ["ag_rs", "a2a", "a2a+replicate_q"]
    assert [(u["backend"], "NVIDIA" in u["reason"]) for u in found.unavailable] == [("fi_a2a", True)]


def test_blackwell_runs_flashinfers_kernel_and_graphs():
    assert labels(plan(Problem(backends=("fi_a2a",), replicate_q="off"), BLACKWELL, graphs=True)) == [
        "fi_a2a",
        "fi_a2a+graph",
    ]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"flashinfer": False}, "not installed"),
        ({"compute_capability": 90}, "SM90"),
        ({"one_fabric": False}, "address space"),
    ],
)
def test_what_flashinfers_kernel_lacks_is_named(change, said):
    found = plan(Problem(backends=("fi_a2a",)), BLACKWELL | change)
    assert not found.cases
    assert said in found.unavailable[0]["reason"]


def test_replicated_q_with_ag_rs_is_refused_only_where_it_was_asked_for():
    problem = Problem(backends=("ag_rs",), replicate_q="on")
    assert [u["replicate_q"] for u in plan(problem, CPU).unavailable] == [True]
    assert not plan(Problem(backends=("ag_rs",), replicate_q="both"), CPU).unavailable


def test_gqa_measures_its_own_merge_and_no_other_name():
    found = plan(tiny_gqa(2, backends=("ag_rs", "a2a", "fi_a2a")), CPU)
    assert labels(found) == ["all_reduce"]
    assert [u["backend"] for u in found.unavailable] == ["ag_rs", "a2a", "fi_a2a"]


def test_an_unknown_backend_is_an_error_that_lists_the_known():
    with pytest.raises(InputError, match="choose from ag_rs, a2a, fi_a2a"):
        plan(Problem(backends=("nvshmem",)), CPU)
