"""Recorded cases: what a real release did with a command, kept without any of its sentences."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from configurator import catalog

KEPT = (
    "dcp_size dcp_comm_backend dcp_replicate_q_proj page_size kv_cache_dtype attention_backend"
    " prefill_attention_backend decode_attention_backend dsa_prefill_backend dsa_decode_backend"
    " cuda_graph_prefill_backend cuda_graph_decode_backend speculative_algorithm speculative_attention_mode"
    " disable_radix_cache enable_hierarchical_cache enable_symm_mem dp_size attn_dp_size attn_cp_size"
).split()
"""Resolved values that a case keeps; those at their plain default are left out."""

PLAIN: Mapping[str, object] = {
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
"""What a key means that a case leaves out: the value it has where nothing changes it."""

Json = dict[str, Any]


@dataclass(frozen=True)
class Recorded:
    """One case.

    Attributes:
        id: Its name.
        release: Version of SGLang.
        hardware: Name of a preset.
        model: Key of the model configs, or a placeholder.
        argv: The arguments, without ``--model-path``.
        env: Environment variables.
        facts: What was made out to be otherwise than the release pins it.
        rule: Slug of our rule that the printed error belongs to, where it was refused.
        where: File and line that raised.
        error: Class of the exception.
        resolved: The values that the server went on with, where it accepted.
    """

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


def from_json(line: Mapping[str, Any]) -> Recorded:
    """Return the case that a line of the corpus holds."""
    return Recorded(**{**line, "argv": tuple(line["argv"])})


def explaining(release: str, message: str, *, parser: bool) -> frozenset[str]:
    """Return the slugs of the rules whose signature is in *message*: of several, those with the longest.

    Args:
        release: Whose rules to look at.
        message: What the server printed.
        parser: Whether its argument parser did, rather than what comes after it.
    """
    text = " ".join(message.split()).casefold()
    found = [(len(signature), slug) for signature, slug in _signatures(release) if signature in text]
    found = [pair for pair in found if not parser or pair[1].startswith("cli-")]
    longest = max((length for length, _ in found), default=0)
    return frozenset(slug for length, slug in found if length == longest)


@lru_cache(maxsize=32)
def _signatures(release: str) -> tuple[tuple[str, str], ...]:
    rules = catalog.release(release).rules.values()
    return tuple((" ".join(r.upstream_signature.split()).casefold(), r.slug) for r in rules if r.upstream_signature)


def kept(case: Mapping[str, Any], answer: Mapping[str, Any], *, prefer: str | None = None) -> Json:
    """Return the case with its answer as the corpus keeps it.

    Args:
        case: What was asked.
        answer: What the guest answered.
        prefer: Of several rules with the same signature, the one to name.

    Raises:
        LookupError: No rule of the release explains the error: write the rule first.
    """
    name = json.dumps([case.get(key) for key in ("release", "hardware", "model", "argv", "env", "facts")])
    line: Json = {"id": case.get("id") or hashlib.sha256(name.encode()).hexdigest()[:10]}
    line |= {key: case[key] for key in ("release", "hardware", "model", "argv", "env", "facts") if case.get(key)}
    if "error" in answer:
        slugs = explaining(case["release"], answer["message"], parser=answer["error"] == "SystemExit")
        if not slugs:
            raise LookupError(f"SGLang {case['release']}: no rule explains {answer['message']!r}")
        line["rule"] = prefer if prefer in slugs else max(slugs)
        return line | {"where": answer["where"], "error": answer["error"]}
    resolved = answer["resolved"]
    line["resolved"] = {
        key: resolved[key] for key in KEPT if key in resolved and (key not in PLAIN or resolved[key] != PLAIN[key])
    }
    return line


def read(source: Path) -> list[Json]:
    """Return the lines of a file of JSON lines, packed or not."""
    data = gzip.decompress(source.read_bytes()) if source.suffix == ".gz" else source.read_bytes()
    return [json.loads(line) for line in data.decode().splitlines()]


def write(target: Path, lines: Iterable[Json]) -> None:
    """Write the lines, packed; the same lines give the same bytes."""
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0, filename="") as stream:
        for line in lines:
            stream.write((json.dumps(line, separators=(",", ":")) + "\n").encode())
    target.write_bytes(packed.getvalue())
