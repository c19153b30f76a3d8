"""Saved runs: appended, listed, loaded; damage costs the damaged line only."""

from __future__ import annotations

import subprocess
import sys

import pytest

from configurator.bench import saved
from configurator.core.errors import InputError


def document(name, **changes):
    problem = {"model": "tiny", "tp_size": 2, "dcp_size": 2, "batch_size": 1, "context_length": 8, "dtype": "bf16"}
    return {"schema": 1, "id": name, "started_at": "2025-01-02T03:04:05+00:00", "problem": problem, "label": "functional",
            "environment": {"device": "cpu"}, "status": "complete", **changes}  # fmt: skip


def test_nothing_is_kept_at_first():
    assert saved.list_runs() == ()


def test_runs_are_listed_newest_first_and_load_whole():
    for name in ("aaa1", "bbb2"):
        path = saved.append(document(name, note="ü"))
    assert [run.id for run in saved.list_runs()] == ["bbb2", "aaa1"]
    assert saved.list_runs()[0].title.startswith("2025-01-02 03:04  tiny  tp 2 dcp 2")
    assert saved.load("aaa") == document("aaa1", note="ü")
    assert path.parent == saved.folder()


def test_a_torn_last_line_costs_itself_only():
    path = saved.append(document("aaa1"))
    with path.open("ab") as file:
        file.write(b'{"schema": 1, "id": "torn", "cas')
    assert [run.id for run in saved.list_runs()] == ["aaa1"]
    saved.append(document("bbb2"))
    assert [run.id for run in saved.list_runs()] == ["bbb2", "aaa1"]


@pytest.mark.parametrize(
    "line", [b"\xff\xfe", b"[]", b'{"schema": 2, "id": "later"}', b'{"schema": 1}', b"[" * 100_000]
)
def test_lines_that_are_no_runs_are_passed_over(line):
    saved.append(document("aaa1")).open("ab").write(line + b"\n")
    assert [run.id for run in saved.list_runs()] == ["aaa1"]


@pytest.mark.parametrize(("name", "said"), [("zzz", "none of that name"), ("aa", "2 of them")])
def test_a_name_must_mean_one_run(name, said):
    saved.append(document("aaa1"))
    saved.append(document("aab2"))
    with pytest.raises(InputError, match=said):
        saved.load(name)


def test_writers_at_the_same_time_lose_nothing():
    code = """import sys; from configurator.bench import saved
for i in range(40): saved.append({"schema": 1, "id": f"{sys.argv[1]}{i}", "pad": "x" * 9000})"""
    writers = [subprocess.Popen([sys.executable, "-c", code, letter]) for letter in "abc"]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    assert len({run.id for run in saved.list_runs()}) == 120


def test_a_folder_that_cannot_be_written_is_named(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(saved.FOLDER_VARIABLE, str(tmp_path / "file"))
    with pytest.raises(InputError, match=saved.FOLDER_VARIABLE):
        saved.append(document("aaa1"))
