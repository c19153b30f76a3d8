"""What real SGLang releases do with commands: download, ask, record, compare.

    python -m tools.record_conformance record [--commands FILE] [--out FILE] [--add]
    python -m tools.record_conformance compare --commands FILE
    python -m tools.record_conformance flags FOLDER

Each release's wheel is downloaded with pip when it is first needed, and an isolated environment is built from
``requirements.txt`` beside this file; both are kept in ``--cache`` (else in the folder that ``DCP_UPSTREAM_CACHE`` names,
else in the user's cache). No GPU is needed and no CUDA package is downloaded.

``--commands`` are JSON lines with ``release``, ``hardware``, ``model``, ``argv`` and, where wanted, ``id``, ``env`` and
``facts``; ``tools/sample_commands.py`` writes such files. ``record`` without it runs the recorded cases again.
``flags`` writes each release's options for ``tools/build_flag_table.py``.

A recorded case says which of our rules the printed error belongs to, by the rules' own signatures; the message itself
is not kept. A refusal that no rule explains stops ``record``: write the rule first.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from configurator import catalog
from tools.record_conformance.asking import ask, ask_all, device_of
from tools.record_conformance.comparing import compare_answers
from tools.record_conformance.environment import Environment, ensure
from tools.record_conformance.recorded import kept, read, write

DATA = Path(__file__).parents[2] / "tests" / "conformance" / "data"
CORPUS = DATA / "corpus.jsonl.gz"


def main() -> int:
    """Record, compare, or list flags; return the exit status: 1 where something disagrees."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.record_conformance",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--cache", type=Path, help="folder that keeps releases and environments")
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("--commands", type=Path, default=CORPUS)
    recording.add_argument("--out", type=Path, default=CORPUS)
    recording.add_argument("--add", action="store_true", help="add to what --out holds instead of replacing it")
    comparing = commands.add_parser("compare")
    comparing.add_argument("--commands", type=Path, required=True)
    flags = commands.add_parser("flags")
    flags.add_argument("folder", type=Path)
    options = parser.parse_args()

    def environment_of(release: str) -> Environment:
        return ensure(release, options.cache)

    if options.command == "flags":
        for release in catalog.VERSIONS:
            rows, _ = ask(environment_of(release), device_of("h100x8"), {"flags": True})
            text = "".join(json.dumps(row) + "\n" for row in rows)
            (options.folder / f"{release}.jsonl").write_text(text, encoding="utf-8")
        return 0
    models = json.loads((DATA / "models.json").read_text(encoding="utf-8"))
    cases = read(options.commands)
    answers = ask_all(cases, models, environment_of).given
    if options.command == "compare":
        compared = compare_answers(cases, answers, models)
        apart = [one for one in compared if not one.agrees]
        for one in apart:
            print(one)
        print(f"{len(compared) - len(apart)} of {len(compared)} agree")
        return 1 if apart else 0
    compared = compare_answers(cases, answers, models)
    lines = [kept(c, a, prefer=one.ours) for c, a, one in zip(cases, answers, compared, strict=True)]
    before = read(options.out) if options.add and options.out.exists() else []
    known = {line["id"] for line in lines}
    write(options.out, [*(line for line in before if line["id"] not in known), *lines])
    return 0


if __name__ == "__main__":
    sys.exit(main())
