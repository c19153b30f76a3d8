"""Record what real SGLang releases do with commands, for ``tests/conformance``.

    python tools/record_conformance/record.py --wheels DIR --python ENV/bin/python [--commands FILE] [--out FILE]
    python tools/record_conformance/record.py --wheels DIR --python ENV/bin/python --flags DIR2

``DIR/0.5.23`` is the unpacked wheel of that release (``pip download --no-deps sglang==0.5.23``, then unzip). ``ENV`` is
an environment with what argument handling imports: ``requirements.txt`` beside this file. It needs no GPU.
``--commands`` are JSON lines with ``release``, ``hardware``, ``model``, ``argv`` and, where wanted, ``id``, ``env`` and
``facts``; without it, the recorded cases are run again. ``--flags`` writes each release's options for
``tools/build_flag_table.py`` instead.

A case says which of our rules the printed error belongs to, by the rules' own signatures; the message itself is not
kept. A refusal that no rule explains stops the run: write the rule first.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from configurator import catalog  # noqa: E402 - the checkout is put on the path above
from configurator.hardware import load_hardware  # noqa: E402

WORKER = Path(__file__).parent / "guest" / "worker.py"
CORPUS = ROOT / "tests" / "conformance" / "data" / "corpus.jsonl.gz"
MODELS = ROOT / "tests" / "conformance" / "data" / "models.json"
PLACEHOLDERS = ("none", "dummy")
KEPT = (
    "dcp_size dcp_comm_backend dcp_replicate_q_proj page_size kv_cache_dtype attention_backend"
    " prefill_attention_backend decode_attention_backend dsa_prefill_backend dsa_decode_backend"
    " cuda_graph_prefill_backend cuda_graph_decode_backend speculative_algorithm speculative_attention_mode"
    " disable_radix_cache enable_hierarchical_cache enable_symm_mem dp_size attn_dp_size attn_cp_size"
).split()
"""Resolved values that a case keeps; those at their plain default are left out."""
PLAIN: Mapping[str, object] = {
    "kv_cache_dtype": "auto",
    "speculative_attention_mode": "prefill",
    "disable_radix_cache": False,
    "enable_hierarchical_cache": False,
    "enable_symm_mem": False,
    "dp_size": 1,
    "attn_dp_size": 1,
    "attn_cp_size": 1,
    "prefill_attention_backend": None,
    "decode_attention_backend": None,
    "dsa_prefill_backend": None,
    "dsa_decode_backend": None,
    "speculative_algorithm": None,
}
Json = dict[str, Any]


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


def ask(python: Path, wheels: Path, release: str, device: Json, request: Json) -> list[Json]:
    """Run the guest once; return its answers.

    Raises:
        RuntimeError: It ended early.
    """
    done = subprocess.run(
        [str(python), "-I", str(WORKER), str(wheels / release), json.dumps(device)],
        input=json.dumps(request),
        capture_output=True,
        text=True,
        check=False,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    wanted = len(request.get("cases", ())) or 1
    if done.returncode != 0 or len(answers) < wanted:
        raise RuntimeError(f"SGLang {release} on {device.get('name', 'cpu')} ended early: {done.stderr[-2000:]}")
    return answers


def record(python: Path, wheels: Path, cases: list[Json]) -> list[Json]:
    """Run every case on its release; return the answers in order."""
    answers: list[Json] = [{}] * len(cases)
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    for index, case in enumerate(cases):
        groups[case["release"], case["hardware"]].append(index)
    configs: Mapping[str, Json] = json.loads(MODELS.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        for name, config in configs.items():
            path = Path(folder, name)
            path.mkdir()
            (path / "config.json").write_text(json.dumps(config), encoding="utf-8")
        for (release, hardware), indices in sorted(groups.items()):
            request = {"cases": [_request(cases[i], Path(folder)) for i in indices]}
            found = ask(python, wheels, release, device_of(hardware), request)
            for index, answer in zip(indices, found, strict=True):
                answers[index] = answer
            print(f"{release} {hardware}: {len(indices)}", file=sys.stderr)
    return answers


def _request(case: Json, folder: Path) -> Json:
    placeholder = case["model"] in PLACEHOLDERS
    path = case["model"] if placeholder else str(folder / case["model"])
    # A draft's path names one of our models too, if it names any.
    argv = [str(folder / word.removeprefix("models/")) if word.startswith("models/") else word for word in case["argv"]]
    env = dict(case.get("env") or {})
    if (case.get("facts") or {}).get("software.flashinfer_mla_dcp") is False:
        env["flashinfer_dcp"] = "0"
    return {"argv": ["--model-path", path, *argv], "env": env, "skip_final_check": placeholder}


def label(release: str, message: str, *, parser: bool) -> str:
    """Return the slug of the rule whose signature is in *message*; of several, that of the longest.

    Raises:
        LookupError: No rule of the release explains the message.
    """
    text = " ".join(message.split()).casefold()
    found = [
        (len(rule.upstream_signature), rule.slug)
        for rule in catalog.release(release).rules.values()
        if rule.upstream_signature and " ".join(rule.upstream_signature.split()).casefold() in text
    ]
    named = [pair for pair in found if not parser or pair[1].startswith("cli-")]
    if not named:
        raise LookupError(f"SGLang {release}: no rule explains {message!r}")
    return max(named)[1]


def kept(case: Json, answer: Json) -> Json:
    """Return the case as the corpus keeps it."""
    name = json.dumps([case.get(key) for key in ("release", "hardware", "model", "argv", "env", "facts")])
    line: Json = {"id": case.get("id") or hashlib.sha256(name.encode()).hexdigest()[:10]}
    line |= {key: case[key] for key in ("release", "hardware", "model", "argv", "env", "facts") if case.get(key)}
    if "error" in answer:
        parser = answer["error"] == "SystemExit"
        line["rule"] = label(case["release"], answer["message"], parser=parser)
        line |= {"where": answer["where"], "error": answer["error"]}
        return line
    resolved = answer["resolved"]
    line["resolved"] = {
        key: resolved[key] for key in KEPT if key in resolved and (key not in PLAIN or resolved[key] != PLAIN[key])
    }
    return line


def read(source: Path) -> list[Json]:
    """Return the cases of a file of JSON lines, packed or not."""
    data = gzip.decompress(source.read_bytes()) if source.suffix == ".gz" else source.read_bytes()
    return [json.loads(line) for line in data.decode().splitlines()]


def write(target: Path, lines: Iterable[Json]) -> None:
    """Write the cases, packed; the same cases give the same bytes."""
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0, filename="") as stream:
        for line in lines:
            stream.write((json.dumps(line, separators=(",", ":")) + "\n").encode())
    target.write_bytes(packed.getvalue())


def main() -> int:
    """Record, or list flags; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheels", type=Path, required=True, help="folder with an unpacked wheel for each release")
    parser.add_argument("--python", type=Path, required=True, help="interpreter of the isolated environment")
    parser.add_argument("--commands", type=Path, default=CORPUS)
    parser.add_argument("--out", type=Path, default=CORPUS)
    parser.add_argument("--add", action="store_true", help="add to what --out holds instead of replacing it")
    parser.add_argument("--flags", type=Path, metavar="FOLDER", help="write each release's options here instead")
    options = parser.parse_args()
    if options.flags:
        for release in catalog.VERSIONS:
            rows = ask(options.python, options.wheels, release, device_of("h100x8"), {"flags": True})
            text = "".join(json.dumps(row) + "\n" for row in rows)
            (options.flags / f"{release}.jsonl").write_text(text, encoding="utf-8")
        return 0
    cases = read(options.commands)
    lines = [
        kept(case, answer) for case, answer in zip(cases, record(options.python, options.wheels, cases), strict=True)
    ]
    before = read(options.out) if options.add and options.out.exists() else []
    known = {line["id"] for line in lines}
    write(options.out, [*(line for line in before if line["id"] not in known), *lines])
    return 0


if __name__ == "__main__":
    sys.exit(main())
