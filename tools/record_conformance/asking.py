"""Takes commands through real releases: one process for each release and machine, many commands each."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from configurator.hardware import load_hardware
from tools.record_conformance.environment import Environment

WORKER = Path(__file__).parent / "guest" / "worker.py"
PLACEHOLDERS = ("none", "dummy")
"""Model paths for which the server skips what depends on a model."""

Json = dict[str, Any]


class ServerEndedEarly(Exception):  # noqa: N818 - says what happened
    """The process that ran a release's argument handling gave fewer answers than it was asked for."""


@dataclass(frozen=True)
class Answers:
    """What the real servers said.

    Attributes:
        given: One answer per case, in order: ``{"resolved": {...}}`` or ``{"error", "message", "where", "stage"}``, each
            with ``seconds``, the time the server took for it.
        start_seconds: How long each process took before its first case, most of it imports.
    """

    given: tuple[Json, ...]
    start_seconds: tuple[float, ...]


def device_of(preset: str) -> Json:
    """Return what the guest pretends to have: eight of the preset's devices."""
    facts = load_hardware(preset).to_facts()
    kind = facts["hardware.platform"]
    if kind == "cpu":
        return {"kind": "cpu"}
    memory = facts["hardware.memory_gib"]
    device: Json = {"kind": kind, "name": facts["hardware.gpu_name"], "memory_gib": round(float(str(memory)))}
    if kind == "cuda":
        device["capability"] = list(divmod(int(str(facts["hardware.sm"])), 10))
    if kind == "hip":
        gfx = str(facts["hardware.gfx"])
        device |= {"gfx": gfx, "capability": [int(gfx[3]), int(gfx[4])]}
    return device


def ask(environment: Environment, device: Mapping[str, Any], request: Json) -> tuple[list[Json], float]:
    """Run the guest once; return its answers and the seconds before the first of them was worked on.

    Raises:
        ServerEndedEarly: It gave fewer answers than cases.
    """
    began = time.perf_counter()
    done = subprocess.run(
        [str(environment.python), "-I", str(WORKER), str(environment.wheel), json.dumps(device)],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        check=False,
    )
    took = time.perf_counter() - began
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    wanted = len(request.get("cases", ())) or 1
    if done.returncode != 0 or len(answers) < wanted:
        raise ServerEndedEarly(
            f"SGLang {environment.release} on {device.get('name', 'cpu')} ended after {len(answers)} of {wanted} answers:"
            f" {done.stderr[-2000:]}"
        )
    return answers, took - sum(answer.get("seconds", 0.0) for answer in answers)


def ask_all(
    cases: Sequence[Mapping[str, Any]],
    models: Mapping[str, object],
    environment_of: Callable[[str], Environment],
    *,
    say: Callable[[str], None] = lambda text: print(text, file=sys.stderr, flush=True),
) -> Answers:
    """Run every case on its release.

    Args:
        cases: Each with ``release``, ``hardware`` (a preset), ``model`` (a key of *models*, or a placeholder), ``argv``
            without ``--model-path``, and where wanted ``env`` and ``facts``. A word ``models/NAME`` of ``argv`` becomes
            the path of that model.
        models: ``config.json`` of each model by name.
        environment_of: Gives the environment of a release.
        say: Gets a line for each process that ended.

    Raises:
        ServerEndedEarly: A process ended before its last case.
    """
    given: list[Json] = [{}] * len(cases)
    starts: list[float] = []
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, case in enumerate(cases):
        groups[case["release"], case["hardware"]].append(index)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for name, config in models.items():
            (folder / name).mkdir()
            (folder / name / "config.json").write_text(json.dumps(config), encoding="utf-8")
        for (release, hardware), indices in sorted(groups.items()):
            request = {"cases": [_request(cases[i], folder) for i in indices]}
            answers, start = ask(environment_of(release), device_of(hardware), request)
            for index, answer in zip(indices, answers, strict=True):
                given[index] = answer
            starts.append(start)
            say(f"SGLang {release} on {hardware}: {len(indices)} cases, {start:.1f} s before the first")
    return Answers(tuple(given), tuple(starts))


def _request(case: Mapping[str, Any], folder: Path) -> Json:
    placeholder = case["model"] in PLACEHOLDERS
    path = case["model"] if placeholder else str(folder / case["model"])
    # A draft's path names one of our models too, if it names any.
    argv = [str(folder / word.removeprefix("models/")) if word.startswith("models/") else word for word in case["argv"]]
    env = dict(case.get("env") or {})
    if (case.get("facts") or {}).get("software.flashinfer_mla_dcp") is False:
        env["flashinfer_dcp"] = "0"
    return {"argv": ["--model-path", path, *argv], "env": env, "skip_final_check": placeholder}
