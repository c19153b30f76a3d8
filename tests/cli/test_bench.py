"""``dcp-configurator bench``: its document, its exit statuses, and Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from configurator.bench import lock, runner, saved
from configurator.bench.problem import Problem
from configurator.cli import main

SMALL = ("--batch", "2", "--context", "64", "--seconds", "0.2", "--collectives", "off", "--device", "cpu")


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    for variable in (lock.FOLDER_VARIABLE, saved.FOLDER_VARIABLE):
        folder = tmp_path / variable.lower()
        folder.mkdir()
        monkeypatch.setenv(variable, str(folder))


ENTRY = {
    "backend": str,
    "replicate_q": bool,
    "graph": bool,
    "wrong": int,
    "checked": int,
    "max_rel_err_row": float,
    "n": int,
    "p50_us": float,
    "p90_us": float,
    "p99_us": (float, type(None)),
    "rel_iqr": float,
    "samples_us": list,
    "stages": list,
}
STAGES = {"q_proj", "gather_q", "attention", "pack", "exchange", "gather_lse", "reduce_scatter", "combine"}


def check_shape(values, shape):
    for name, kind in shape.items():
        assert isinstance(values[name], kind), (name, values[name])


@pytest.mark.multirank
def test_json_has_the_shape_that_is_promised(capsys, tmp_path):
    out = tmp_path / "run.json"
    assert main(["bench", *SMALL, "--json", "--out", str(out)]) == 0
    captured = capsys.readouterr()
    (line,) = captured.out.splitlines()
    document = json.loads(line)
    assert json.loads(out.read_text()) == document
    assert document["schema"] == 1
    check_shape(document["environment"], {"device": str, "transport": str, "torch": str, "snapshot": (str, type(None))})
    assert document["label"] == "functional"
    names = ("model", "tp_size", "dcp_size", "batch_size", "context_length", "dtype", "num_heads", "num_local_heads")
    assert [document["problem"][name] for name in names] == ["deepseek-v3", 2, 2, 2, 64, "bf16", 32, 16]
    assert [(c["backend"], c["replicate_q"]) for c in document["cases"]] == [
        ("ag_rs", False),
        ("a2a", False),
        ("a2a", True),
    ]
    for entry in (*document["cases"], *document["reference"]):
        check_shape(entry, ENTRY)
        assert entry["n"] == len(entry["samples_us"]) >= 10
        for stage in entry["stages"]:
            assert stage["name"] in STAGES
            check_shape(stage, {"p50_us": float, "payload_bytes": int})
            if stage["payload_bytes"]:
                check_shape(stage, {"algbw_gbps": float, "busbw_gbps": float})
    assert document["collectives"] == []
    (unavailable,) = document["unavailable"]
    assert unavailable["backend"] == "fi_a2a"
    assert unavailable["reason"]
    check_shape(document["verdict"], {"fastest": str, "difference_p50_us": float, "ci95_us": list, "shown": bool})
    assert "a2a: 0 wrong of" in captured.err
    assert [run.id for run in saved.list_runs()] == [document["id"]]


@pytest.mark.multirank
def test_text_has_a_banner_a_table_and_the_verdict(capsys):
    assert main(["bench", *SMALL, "--backends", "a2a", "--replicate-q", "off", "--no-save", "--ragged"]) == 0
    text = capsys.readouterr().out
    assert "# functional: Gloo over loopback, not a prediction of GPUs. 2 processes on" in text
    assert "# backend  replicate_q  graph  #wrong" in text
    assert "self-test: a wrong logarithm base and a NaN" in text
    assert saved.list_runs() == ()


@pytest.mark.multirank
def test_nothing_that_can_run_is_exit_3_with_the_reason(capsys):
    assert main(["bench", *SMALL, "--backends", "fi_a2a", "--json"]) == 3
    document = json.loads(capsys.readouterr().out)
    assert document["cases"] == []
    assert "NVIDIA GPUs" in document["unavailable"][0]["reason"]
    assert document["error"]["kind"] == "input"


def test_a_python_without_torch_is_exit_3_with_the_way_out(capsys, monkeypatch):
    monkeypatch.setattr(runner, "has_torch", lambda: False)
    assert main(["bench", *SMALL, "--json"]) == 3
    captured = capsys.readouterr()
    assert "pip install 'dcp-configurator[bench]'" in captured.err
    document = json.loads(captured.out)
    assert [entry["backend"] for entry in document["unavailable"]] == ["ag_rs", "a2a", "fi_a2a"]
    assert document["schema"] == 1


@pytest.mark.parametrize(
    ("last", "status"),
    [
        ({"event": "error", "kind": "killed", "rank": 1, "message": "Rank 1 ended.", "detail": "last words"}, 1),
        ({"event": "error", "kind": "memory", "rank": 0, "message": "Too large.", "detail": ""}, 1),
        ({"event": "error", "kind": "import", "rank": 0, "message": "torch is broken.", "detail": ""}, 3),
        ({"event": "cancelled", "message": "Cancelled."}, 130),
    ],
)
def test_the_exit_status_tells_how_a_run_ended(capsys, monkeypatch, last, status):
    monkeypatch.setattr(runner, "run_blocking", lambda *_: last | {"document": None})
    assert main(["bench", *SMALL, "--json"]) == status
    captured = capsys.readouterr()
    assert last["message"] in captured.err
    assert json.loads(captured.out)["schema"] == 1


def test_a_wrong_backend_is_exit_1(capsys, monkeypatch):
    from configurator.bench.results import Measurement, document

    entry = Measurement(backend="a2a", wrong=5, checked=10, max_rel_err_row=9.0).to_json(1)
    environment = {"torch": "2", "transport": "gloo", "device": "cpu"}
    started = {"environment": environment, "label": "functional", "banner": "b", "unavailable": []}
    found = document(Problem(), started, cases=[entry], reference=[], collectives=[], extra={"id": "1", "selftest": {}})
    monkeypatch.setattr(runner, "run_blocking", lambda *_: {"event": "done", "document": found})
    assert main(["bench", *SMALL]) == 1
    assert "WRONG: a2a differs from float64 attention in 5 of 10 elements" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--backends", "nvshmem"], "none of that name"),
        (["--backends", ","], "No communication backend"),
        (["--tp-size", "4", "--dcp-size", "3"], "choose a divisor of 4"),
        (["--tp-size", "0"], "--tp-size is 0"),
        (["--model", "no-such-model"], "No model"),
        (["--out", "/nowhere/run.json"], "--out /nowhere/run.json cannot be written"),
        (["--seconds", "-1"], "time_budget_s"),
    ],
)
def test_bad_options_are_exit_2(capsys, words, said):
    assert main(["bench", "--device", "cpu", *words]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], (2, 2, 16)),
        (["--dcp-size", "4"], (4, 4, 16)),
        (["--tp-size", "4"], (4, 4, 32)),
        (["--tp-size", "4", "--dcp-size", "2"], (4, 2, 32)),
        (["--model", "kimi-k2"], (2, 2, 8)),
    ],
)
def test_ranks_and_heads_follow_the_options(monkeypatch, words, expected):
    seen = []

    def take(request, _):
        seen.append(request.problem)
        return {"event": "cancelled", "message": "", "document": None}

    monkeypatch.setattr(runner, "run_blocking", take)
    main(["bench", "--device", "cpu", *words])
    (problem,) = seen
    assert (problem.tp_size, problem.dcp_size, problem.num_local_heads) == expected


@pytest.mark.multirank
def test_ctrl_c_ends_the_run_and_leaves_nothing(tmp_path):
    command = [sys.executable, "-m", "configurator", "bench", *SMALL, "--seconds", "120", "--json"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True)
    for line in process.stderr:
        if "first look" in line:
            break
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=10)
    assert process.returncode == 130
    assert "cancelled" in err
    assert "Traceback" not in err
    document = json.loads(out)
    assert document["status"] == "cancelled"
    assert document["cases"][0]["backend"] == "ag_rs"
    assert not list(tmp_path.glob("dcp-configurator-bench-*"))
