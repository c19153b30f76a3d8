"""Build ``configurator/catalog/flags.json`` from the option lists that the conformance worker prints for each release.

    python tools/build_flag_table.py FOLDER

FOLDER holds one ``RELEASE.jsonl`` for each release, a line for each parser action, as
``tools/record_conformance/guest/flags.py`` writes them. The output has one entry for each run of releases in which a
flag stays the same; upstream's help text is not among it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

OUT = Path(__file__).parents[1] / "configurator" / "catalog" / "flags.json"
TYPES = {
    "human_readable_int": "human_int",
    "loads": "json",
    "json_list_type": "json",
    "parse_cuda_graph_config_arg": "json",
    "parse_cuda_graph_backend_arg": "str",
    None: "str",
}
ACTIONS = {
    "_StoreAction": "store",
    "_StoreTrueAction": "true",
    "BooleanOptionalAction": "boolean",
    "_HelpAction": "help",
    "LoRAPathAction": "store",
    "DeprecatedAliasStoreAction": "store",
    "DeprecatedStoreTrueAction": "true",
    "DeprecatedStoreConstAction": "true",
    "DeprecatedAction": "true",
}


def main(folder: Path) -> int:
    """Write the table; return the exit status."""
    releases = sorted((path.stem for path in folder.glob("0.5.*.jsonl")), key=lambda name: int(name.split(".")[2]))
    if not releases:
        print(f"{folder} holds no RELEASE.jsonl", file=sys.stderr)
        return 2
    spans: dict[str, list[dict[str, Any]]] = {}
    for index, release in enumerate(releases):
        rows = [json.loads(line) for line in (folder / f"{release}.jsonl").read_text(encoding="utf-8").splitlines()]
        for flag in flags_of(rows):
            runs = spans.setdefault(flag["dest"], [])
            if runs and runs[-1]["flag"] == flag and runs[-1]["last"] == index - 1:
                runs[-1]["last"] = index
            else:
                runs.append({"flag": flag, "first": index, "last": index})
    lines = [
        json.dumps({"in": [releases[run["first"]], releases[run["last"]]], **run["flag"]}, separators=(",", ":"))
        for dest in sorted(spans)
        for run in spans[dest]
    ]
    head = json.dumps({"schema": 1, "releases": releases}, separators=(",", ":"))
    OUT.write_text(f'{head[:-1]},"flags":[\n' + ",\n".join(lines) + "\n]}\n", encoding="utf-8")
    print(f"{OUT.name}: {len(lines)} entries for {len(releases)} releases, {OUT.stat().st_size} bytes")
    return 0


def flags_of(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the flags of one release: deprecated aliases joined to the flag they stand for, shorthands apart."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        flag = flag_of(row)
        known = found.get(flag["dest"])
        if known is None:
            found[flag["dest"]] = flag
        elif (
            known.get("action", "store") == flag.get("action", "store") and row["class"] != "DeprecatedStoreConstAction"
        ):
            known["spellings"] += flag["spellings"]
            known.setdefault("replaced", {}).update(flag.get("replaced", {}))
        else:
            # A shorthand that gives another flag a fixed value: a flag of its own, a switch unless it takes a word.
            flag["dest"] = row["spellings"][0].lstrip("-").replace("-", "_")
            flag["default"] = None if flag.get("action", "store") == "store" else False
            found[flag["dest"]] = flag
    return [{key: value for key, value in flag.items() if value not in (None, [], {})} for flag in found.values()]


def flag_of(row: dict[str, Any]) -> dict[str, Any]:
    """Return one parser action in the table's terms; plain values are left out."""
    action = ACTIONS[row["class"]]
    if row["class"] == "DeprecatedStoreConstAction" and row["nargs"] is None:
        action = "store"  # a valued flag of which one value was left, and which a switch replaced
    spellings = [s for s in row["spellings"] if not (action == "boolean" and s.startswith("--no-"))]
    own = "--" + row["dest"].replace("_", "-")
    spellings.sort(key=lambda s: (s != own, not s.startswith("--")))
    flag: dict[str, Any] = {"dest": row["dest"], "spellings": spellings}
    if action != "store":
        flag["action"] = action
    kind = TYPES.get(row["type"], row["type"])
    if action == "store" and kind != "str":
        flag["type"] = kind
    flag["choices"] = row["choices"]
    if row["choices"] is not None and not row["ordered"]:
        flag["choices"] = sorted(row["choices"], key=str)
    default = row["default"]
    if not (action in ("true", "boolean") and default is False):
        flag["default"] = default
    if row["nargs"] not in (None, 0):
        flag["nargs"] = str(row["nargs"])
    if row["deprecated"]:
        instead = row["new_flag"] or ", ".join(row["mentioned"]) or None
        flag["replaced"] = dict.fromkeys(row["spellings"], instead)
    return flag


if __name__ == "__main__":
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    sys.exit(main(Path(sys.argv[1])))
