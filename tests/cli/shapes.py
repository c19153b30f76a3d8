"""The shapes of the JSON documents, as the public contract gives them. Keys may be added, never taken away."""

from __future__ import annotations

from typing import Any

TEXT, NUMBER, MAYBE_TEXT, MAYBE_NUMBER = "text", "number", "text?", "number?"
SOURCE = {"release": TEXT, "path": TEXT, "symbol": TEXT, "line": MAYBE_NUMBER, "url": MAYBE_TEXT}
FIX = {"set": dict, "unset": [TEXT], "command": TEXT}
FINDING = {
    "code": TEXT, "slug": TEXT, "effect": TEXT, "stage": TEXT, "certainty": TEXT, "message": TEXT, "because": TEXT,
    "flags": [TEXT], "fixes": [FIX], "source": SOURCE,
}  # fmt: skip
CHECK = {
    "schema": NUMBER, "id": object, "release": TEXT, "hardware": TEXT, "model": TEXT, "verdict": TEXT, "findings": [FINDING],
    "resolved": dict, "decided_by": dict, "command": TEXT,
}  # fmt: skip
REPAIR = {"set": dict, "unset": [TEXT], "cost": NUMBER, "diff": TEXT, "command": TEXT, "verdict": TEXT}
FIX_DOCUMENT = {"schema": NUMBER, "repairs": [REPAIR]}
RULE = {
    "code": TEXT, "slug": TEXT, "effect": MAYBE_TEXT, "stage": MAYBE_TEXT, "since": TEXT, "until": MAYBE_TEXT, "because": TEXT,
    "fixes": list, "source": SOURCE, "match": object,
}  # fmt: skip
EXPLAIN = {"schema": NUMBER, "rules": [RULE], "command": MAYBE_TEXT, "release": MAYBE_TEXT}
EMIT = {"schema": NUMBER, "format": TEXT, "files": [{"name": TEXT, "node_rank": MAYBE_NUMBER, "text": TEXT}]}

EFFECTS = {"refuses", "crashes", "corrupts", "ignores", "rewrites", "slows", "unverified"}
STAGES = {"cli", "server_args", "model_args", "init", "runtime"}
VERDICTS = {"ok", "warn", "error", "unknown"}


def fits(value: Any, shape: Any, where: str = "document") -> None:
    """Check that *value* has *shape*: keys, kinds, and the same for everything inside."""
    if isinstance(shape, dict):
        assert isinstance(value, dict), where
        for key, inner in shape.items():
            assert key in value, f"{where} has no {key}"
            fits(value[key], inner, f"{where}.{key}")
    elif isinstance(shape, list):
        assert isinstance(value, list), where
        for at, item in enumerate(value):
            fits(item, shape[0], f"{where}[{at}]")
    elif isinstance(shape, str):
        kind = (int, float) if shape.startswith(NUMBER) else str
        if not (shape.endswith("?") and value is None):
            assert isinstance(value, kind), f"{where} is {value!r}"
            assert not isinstance(value, bool), where
    else:
        assert isinstance(value, shape), f"{where} is {value!r}"


def is_check(document: dict[str, Any]) -> None:
    """Check a document of ``check`` with its words."""
    fits(document, CHECK)
    assert document["schema"] == 1
    assert document["verdict"] in VERDICTS
    for finding in document["findings"]:
        assert finding["effect"] in EFFECTS
        assert finding["stage"] in STAGES
        assert finding["certainty"] in {"holds", "unknown"}
        assert finding["message"]
        assert finding["because"]
        assert all(flag.startswith("--") for flag in finding["flags"])
        for fix in finding["fixes"]:
            assert all(flag.startswith("--") for flag in (*fix["set"], *fix["unset"]))
