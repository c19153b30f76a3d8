"""What only GPUs run, with stand-ins for the GPU: steps captured in a graph, and FlashInfer's exchange."""

from __future__ import annotations

import dataclasses
import sys
import types

import pytest
import torch

from configurator.bench import fused, inputs, measure, program, rank
from configurator.bench.backends import FI_A2A, Case, Plan

from .conftest import tiny
from .one_process import session


class Replayed:
    """Keeps the work that a CUDA graph would capture, and runs it again on demand."""

    def __init__(self, work, runs):
        self.runs, self._work, self.closed = runs, work, False
        for _ in range(3 + runs):
            work()

    def replay(self):
        assert not self.closed
        for _ in range(self.runs):
            self._work()

    def close(self):
        self.closed = True


def run_with_graphs(problem, monkeypatch, graph=Replayed):
    monkeypatch.setattr(measure, "CudaGraph", graph)
    events = []
    found = session(problem, lambda event, **fields: events.append({"event": event, **fields}))
    rank.Benchmark(dataclasses.replace(found, mode="nccl"), {}).run()
    return events[-1]["document"]


def test_captured_steps_are_checked_and_timed_beside_the_others(monkeypatch):
    document = run_with_graphs(tiny(replicate_q="off", time_budget_s=0.05), monkeypatch)
    rows = [(c["backend"], c["graph"], c["wrong"], c["n"] >= 10, bool(c["stages"])) for c in document["cases"]]
    assert rows == [
        ("ag_rs", False, 0, True, True),
        ("ag_rs", True, 0, True, False),
        ("a2a", False, 0, True, True),
        ("a2a", True, 0, True, False),
    ]
    assert document["label"] == "measured"
    assert document["banner"] == ""
    eager, graph = document["cases"][:2]
    assert graph["checked"] > eager["checked"]
    assert 0.2 < graph["p50_us"] / eager["p50_us"] < 5  # a sample is one step, not ten


def test_what_a_graph_leaves_is_compared_too(monkeypatch):
    class Forgetful(Replayed):
        """Runs once more than was captured, on other data, as a graph over a freed buffer would."""

        def replay(self):
            super().replay()
            for states in copied:
                states[0].tensors["merged_out"] = states[0].tensors["merged_out"] + 1

    copied = []
    capture = measure.Variant.capture

    def remember(self, found):
        copies = capture(self, found)
        copied.extend(copies)
        return copies

    monkeypatch.setattr(measure.Variant, "capture", remember)
    document = run_with_graphs(tiny(backends=("a2a",), replicate_q="off"), monkeypatch, Forgetful)
    eager, graph = document["cases"]
    assert (eager["wrong"], eager["n"] >= 10) == (0, True)
    assert graph["wrong"] > 0
    assert graph["p50_us"] is None
    assert "graph" in graph["note"]


def test_a_step_that_cannot_be_captured_is_told_and_the_rest_goes_on(monkeypatch):
    def refuse(*_):
        raise RuntimeError("operation not permitted when stream is capturing\nmore")

    document = run_with_graphs(tiny(backends=("a2a",), replicate_q="off"), monkeypatch, refuse)
    eager, graph = document["cases"]
    assert eager["n"] >= 10
    assert graph["n"] == 0
    assert graph["note"] == "the step could not be captured: operation not permitted when stream is capturing"


def test_one_gpu_checks_every_merge_and_times_only_what_it_can():
    """It plays all ranks in turn: a whole step, or an exchange, has no time that would mean anything."""
    events = []
    found = session(tiny(time_budget_s=0.05), lambda event, **fields: events.append({"event": event, **fields}))
    rank.Benchmark(dataclasses.replace(found, mode="solo"), {}).run()
    document = events[-1]["document"]
    for row in (*document["cases"], *document["reference"]):
        assert (row["wrong"], row["n"], row["p50_us"]) == (0, 0, None)
        assert row["checked"] > 0
        assert "one GPU" in row["note"]
        timed = {stage["name"] for stage in row["stages"] if stage["p50_us"] is not None}
        assert timed == {stage["name"] for stage in row["stages"] if not stage["payload_bytes"]}
    assert document["verdict"]["fastest"] is None
    assert document["collectives"] == []


def test_copies_of_the_cache_outlast_the_gpus_own():
    problem = tiny()
    found = session(problem)
    states = measure.states_for(found, [96, 96], inputs.make_weights(problem, 0, found.device), 1.0)
    held = sum(state.batch.keys.nbytes for state in states)
    assert measure.cache_copies(found, states) == 1
    flush = types.SimpleNamespace(size_bytes=int(2.5 * held))
    assert measure.cache_copies(dataclasses.replace(found, flush=flush), states) == 4
    flush = types.SimpleNamespace(size_bytes=1000 * held)
    assert measure.cache_copies(dataclasses.replace(found, flush=flush), states) == measure.GRAPH_STEPS
    copy = measure.with_own_cache(states)[0]
    assert copy.batch.keys.data_ptr() != states[0].batch.keys.data_ptr()
    assert copy.batch.values.untyped_storage().data_ptr() == copy.batch.keys.untyped_storage().data_ptr()
    assert torch.equal(copy.batch.values, states[0].batch.values)


@pytest.mark.parametrize("ranks", [2, 3])
def test_flashinfers_exchange_merges_to_the_reference(monkeypatch, ranks):
    """The stand-in does what the kernel promises: place p of what a rank sends arrives at rank p, at the sender's place."""
    problem = tiny(dcp_size=ranks, dtype="bf16")
    found = session(problem)
    states = measure.with_own_tensors(
        measure.states_for(found, inputs.ragged_lengths(problem), inputs.make_weights(problem, 0, found.device), 6.0)
    )

    def exchange(state):
        for name in ("outputs", "stats"):
            arrived = [other.tensors[name][:, :, state.rank] for other in states]
            state.tensors[f"received_{name}"] = torch.stack(arrived, 2)

    monkeypatch.setattr(fused, "exchange", exchange)
    stages = program.build(Case(FI_A2A, replicate_q=True))
    assert measure.Oracle(found).agreement(stages, states).wrong == 0
    moved = {stage.name: stage.payload_bytes(states[0]) for stage in stages if stage.collective}
    assert moved == {"exchange": FI_A2A.steps[0].payload_bytes(problem)}


def test_a_kernel_that_cannot_be_made_ready_is_told_and_never_replaced():
    """There is no FlashInfer here: the case goes, nothing is timed under its name."""
    found = session(tiny())
    wanted = Plan((Case(FI_A2A), *session(tiny()).plan.cases), ())
    left = rank.ready(found, wanted)
    assert left.cases == ()
    assert left.unavailable[0]["backend"] == "fi_a2a"
    assert "cannot be made ready here" in left.unavailable[0]["reason"]


def test_the_kernels_protocol_is_kept(monkeypatch):
    """Allocate, clear, wait for all, and only then call; memory is shared by the whole group, not split by rank."""
    called = []

    class Group:
        def __init__(self, **fields):
            self.__dict__.update(fields)

    kernel = types.ModuleType("flashinfer.comm.dcp_alltoall")
    kernel.decode_cp_a2a_allocate_mnnvl_workspace = lambda mapping, *, mnnvl_config: called.append(
        (
            "allocate",
            mapping.world_size,
            mapping.rank,
            mapping.cp_size,
            mnnvl_config.comm_backend.Split(1, 0).Get_size(),
        )
    )
    kernel.decode_cp_a2a_init_workspace = lambda _, r, c: called.append(("clear", r, c))
    kernel.decode_cp_a2a_alltoall = lambda outputs, stats, *_: called.append("call") or (outputs, stats)
    comm = types.ModuleType("flashinfer.comm")
    comm.dcp_alltoall = kernel
    for name, values in {"mapping": {"Mapping": Group}, "mnnvl": {"MnnvlConfig": Group}}.items():
        module = types.ModuleType(f"flashinfer.comm.{name}")
        module.__dict__.update(values)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(sys.modules, "flashinfer", types.ModuleType("flashinfer"))
    monkeypatch.setitem(sys.modules, "flashinfer.comm", comm)
    monkeypatch.setattr(fused.dist, "get_world_size", lambda _: 2)
    monkeypatch.setattr(fused.dist, "barrier", lambda group: called.append(("wait", group)))
    monkeypatch.setattr(fused, "_READY", [])
    found = dataclasses.replace(session(tiny()), fabric=fused.DistributedFabric("the group", 2), played=(1,))
    assert fused.prepare(found) == ""
    assert called == [("allocate", 2, 1, 2, 2), ("clear", 1, 2), ("wait", "the group")]
    state = types.SimpleNamespace(tensors={"outputs": torch.ones(1), "stats": torch.zeros(1)})
    fused.exchange(state)
    assert called[-1] == "call"
    assert torch.equal(state.tensors["received_outputs"], torch.ones(1))
