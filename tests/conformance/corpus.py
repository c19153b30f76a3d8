"""The recorded cases: what the real SGLang of each release did with a command, and with which model and machine.

``data/corpus.jsonl.gz`` holds one JSON object a line: ``id``, ``release``, ``hardware`` (a preset's name), ``model``
(a key of ``data/models.json``, or a placeholder), ``argv`` without ``--model-path``, ``env``, and either ``resolved``,
the values the server went on with, or ``rule``, ``where`` and ``error``: which of our rules names the error it printed,
the line that raised, and the exception's class. ``facts`` holds what was made out to be otherwise than the release
pins it. ``tools/record_conformance`` writes it.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"

DEFAULTS: Mapping[str, object] = {
    "dp_size": 1,
    "attn_dp_size": 1,
    "attn_cp_size": 1,
    "kv_cache_dtype": "auto",
    "disable_radix_cache": False,
    "enable_symm_mem": False,
    "enable_hierarchical_cache": False,
    "prefill_attention_backend": None,
    "decode_attention_backend": None,
    "dsa_prefill_backend": None,
    "dsa_decode_backend": None,
    "speculative_attention_mode": "prefill",
    "speculative_algorithm": None,
}
"""What a key means that a case leaves out of ``resolved``: the value it has where nothing changes it."""


@dataclass(frozen=True)
class Recorded:
    """One case, as recorded."""

    id: str
    release: str
    hardware: str
    model: str
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    rule: str | None = None
    where: str | None = None
    error: str | None = None
    resolved: Mapping[str, Any] | None = None

    @property
    def refused(self) -> bool:
        return self.resolved is None

    def __str__(self) -> str:
        env = "".join(f"{name}={value} " for name, value in self.env.items())
        return f"{self.id} {self.release} {self.hardware} {self.model}: {env}{' '.join(self.argv)}"


@cache
def models() -> Mapping[str, Mapping[str, object]]:
    """Return the model configs by name."""
    return json.loads((DATA / "models.json").read_text(encoding="utf-8"))


@cache
def corpus() -> tuple[Recorded, ...]:
    """Return every recorded case."""
    with gzip.open(DATA / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        return tuple(Recorded(**{**case, "argv": tuple(case["argv"])}) for case in map(json.loads, lines))
