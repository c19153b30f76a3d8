"""The recorded cases: what the real SGLang of each release did with a command, and with which model and machine.

``data/corpus.jsonl.gz`` holds one JSON object a line: ``id``, ``release``, ``hardware`` (a preset's name), ``model``
(a key of ``data/models.json``, or a placeholder), ``argv`` without ``--model-path``, ``env``, and either ``resolved``,
the values the server went on with, or ``rule``, ``where`` and ``error``: which of our rules names the error it printed,
the line that raised, and the exception's class. ``facts`` holds what was made out to be otherwise than the release
pins it. ``python -m tools.record_conformance`` writes it.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tools.record_conformance.recorded import Recorded, from_json

DATA = Path(__file__).parent / "data"


@cache
def models() -> Mapping[str, Mapping[str, object]]:
    """Return the model configs by name."""
    return json.loads((DATA / "models.json").read_text(encoding="utf-8"))


@cache
def corpus() -> tuple[Recorded, ...]:
    """Return every recorded case."""
    with gzip.open(DATA / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        return tuple(from_json(json.loads(line)) for line in lines)
