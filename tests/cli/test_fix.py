"""``fix``: repairs of a whole command."""

from __future__ import annotations

import shlex

import pytest

from .conftest import BAD, GOOD, ON_H200
from .shapes import FIX_DOCUMENT, fits

REPAIRABLE = {
    "replicate q with ag_rs": BAD,
    "a size that divides nothing": "--model-path deepseek-ai/DeepSeek-V3.1 --tp-size 8 --dcp-size 3",
    "a wrong choice": GOOD.replace("flashinfer", "flashinfr"),
    "a misspelt flag": GOOD.replace("--dcp-size", "--dcp-sise"),
    "an unknown flag": f"{GOOD} --frob x",
    "a missing value": GOOD.replace("--tp-size 8", "--tp-size"),
    "a wrong type": GOOD.replace("--tp-size 8", "--tp-size eight"),
    "a stray word": f"{GOOD} --tp-size 8 stray",
    "several at once": BAD.replace("--tp-size 8", "--tp-size 8 --frob --kv-cache-dtype FP8_E4M3"),
}


@pytest.mark.parametrize("name", REPAIRABLE)
def test_every_repair_leaves_nothing_broken(name, run):
    ran = run("fix", "--json", *ON_H200, "--", *REPAIRABLE[name].split())
    fits(ran.json, FIX_DOCUMENT)
    assert ran.code == 0
    assert ran.json["repairs"]
    costs = [repair["cost"] for repair in ran.json["repairs"]]
    assert costs == sorted(costs)
    for repair in ran.json["repairs"]:
        after = run("check", "--json", *ON_H200, "--", *shlex.split(repair["command"])).json
        assert after["verdict"] == repair["verdict"]
        assert after["verdict"] != "error"


def test_the_document_of_a_repair(run):
    (first, *_) = run("fix", "--json", *ON_H200, "--", *BAD.split()).json["repairs"]
    assert first["set"]["--dcp-comm-backend"] == "a2a"
    lines = first["diff"].splitlines()
    assert "- --dcp-comm-backend ag_rs" in lines
    assert "+ --dcp-comm-backend a2a" in lines
    assert "  --tp-size 8" in lines
    assert "--dcp-comm-backend a2a" in first["command"]


def test_the_diff_shows_only_what_changed(run):
    for repair in run("fix", "--json", *ON_H200, "--", *BAD.split()).json["repairs"]:
        changed = {line[2:].split(" ")[0] for line in repair["diff"].splitlines() if line[0] != " "}
        assert changed == {*repair["set"], *repair["unset"]}


def test_giving_up_dcp_comes_last(run):
    repairs = run("fix", "--json", *ON_H200, "--", *BAD.split()).json["repairs"]
    gives_up = [repair["set"].get("--dcp-size") == 1 or "--dcp-size" in repair["unset"] for repair in repairs]
    assert gives_up == sorted(gives_up)
    assert not gives_up[0]


def test_what_is_fine_needs_no_repair(run):
    ran = run("fix", "--json", *ON_H200, "--", *GOOD.split())
    assert (ran.code, ran.json) == (0, {"schema": 1, "repairs": []})
    assert "nothing to repair" in run("fix", *ON_H200, "--", *GOOD.split()).out


def test_what_cannot_be_decided_is_said_with_the_reason(run):
    ran = run("fix", *ON_H200, "--", "--model-path", "my/own", "--tp-size", "8", "--dcp-size", "4")
    assert ran.out.startswith(
        "unknown: nothing here for sure breaks, so there is nothing to repair. It cannot be decided"
    )
    assert "note: No model 'my/own'" in ran.out


def test_text_for_people(run):
    ran = run("fix", *ON_H200, "--", *BAD.split())
    assert ran.code == 0
    (first,) = [line for line in ran.out.splitlines() if line.startswith("1. ")]
    assert "use --dcp-comm-backend a2a" in first.lower()
    assert "+ --dcp-comm-backend a2a" in ran.out
    assert ran.out.rstrip().splitlines()[-1].startswith("--")


@pytest.mark.parametrize("arguments", [["--", "ls"], ["--"], ["--release", "1", "--", "--tp-size", "8"]])
def test_usage(arguments, run):
    ran = run("fix", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("dcp-configurator fix: ")


def test_the_layout_of_the_user_survives_a_repair(run):
    text = (
        "A=1 python3 -m sglang.launch_server --model deepseek-ai/DeepSeek-V3.1 --tp=8 --frob \\\n"
        "  --dcp-comm-backend 'ag_rs' --dcp-size 4 --dcp-replicate-q-proj"
    )
    first = run("fix", "--json", *ON_H200, "--", text).json["repairs"][0]
    kept = "A=1 python3 -m sglang.launch_server --model deepseek-ai/DeepSeek-V3.1 --tp=8 --dcp-comm-backend a2a"
    assert first["command"].startswith(kept)
