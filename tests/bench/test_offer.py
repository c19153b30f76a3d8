"""What would run on a machine, from facts alone."""

from __future__ import annotations

import json

import pytest

from configurator.bench import runner
from configurator.bench.offer import too_many_ranks
from configurator.bench.problem import Problem

H200 = {"hardware.platform": "cuda", "hardware.gpus_per_node": 8, "hardware.sm": 90, "hardware.assumed": False}
B200 = H200 | {"hardware.sm": 100, "software.flashinfer": "0.7.2"}


def offer(problem=None, device=None, facts=None, **known):
    return runner.offer(problem or Problem(), device, facts, **{"cores": 4, "torch_installed": True, **known})


def names(found):
    return [case.label for case in found.cases]


def test_a_machine_without_gpus_gives_a_functional_run():
    found = offer()
    assert (found.runs, found.label, found.device, found.ranks) == (True, "functional", "cpu", 2)
    assert found.banner == "Gloo over loopback, not a prediction of GPUs. 2 processes on 4 cores"
    assert names(found) == ["ag_rs", "a2a", "a2a+replicate_q"]
    assert found.unavailable[0]["backend"] == "fi_a2a"


def test_gpus_are_measured_with_and_without_graphs():
    found = offer(Problem(backends=("a2a",), replicate_q="off"), facts=B200)
    assert (found.label, found.banner) == ("measured", "")
    assert names(found) == ["a2a", "a2a+graph"]


@pytest.mark.parametrize(
    ("facts", "said"), [(B200 | {"hardware.sm": 90}, "SM90"), (B200 | {"software.flashinfer": None}, "not installed")]
)
def test_flashinfers_kernel_is_offered_where_it_runs(facts, said):
    wanted = Problem(backends=("fi_a2a",), replicate_q="off")
    assert names(offer(wanted, facts=B200)) == ["fi_a2a", "fi_a2a+graph"]
    found = offer(wanted, facts=facts)
    assert not found.runs
    assert said in found.reason


def test_a_preset_is_not_this_machine():
    assert offer(facts=B200 | {"hardware.assumed": True}).device == "cpu"


def test_the_cpu_can_be_chosen_on_a_gpu_machine():
    assert offer(device="cpu", facts=B200).device == "cpu"


def test_gpus_asked_for_and_not_there_are_said():
    found = offer(device="cuda")
    assert not found.runs
    assert "none that PyTorch could use" in found.reason


def test_one_gpu_plays_all_ranks():
    found = offer(Problem.from_facts(dcp_size=8), facts=H200 | {"hardware.gpus_per_node": 1})
    assert (found.ranks, found.device) == (1, "cuda")
    assert "not" in found.notes[0]


def test_more_ranks_than_cores_are_said():
    found = offer(Problem.from_facts(dcp_size=8))
    assert found.oversubscribed
    assert "not ranked" in found.notes[0]


def test_a_python_without_torch_is_said_with_the_way_out():
    found = offer(torch_installed=False)
    assert not found.runs
    assert "pip install 'dcp-configurator[bench]'" in found.reason


@pytest.mark.parametrize(
    ("ranks", "free_gib", "said"), [(128, 999, "at most 64"), (32, 2, "2.0 GiB are free"), (4, 2, "")]
)
def test_ranks_are_limited_by_memory(ranks, free_gib, said):
    found = too_many_ranks(Problem.from_facts(tp_size=ranks), free_gib * 2**30)
    assert said in found
    assert bool(found) == bool(said)


def test_an_offer_is_json():
    values = json.loads(json.dumps(offer().to_json()))
    assert values["cases"][0] == {
        "backend": "ag_rs",
        "replicate_q": False,
        "graph": False,
        "label": "ag_rs",
        "about": values["cases"][0]["about"],
    }
