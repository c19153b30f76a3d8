"""Finding a model: by the name of a fact sheet, by its Hugging Face repository, by folder, file or inline config."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from configurator.core.errors import InputError
from configurator.models.config import NEEDED_NUMBERS, ModelFacts
from configurator.models.fields import shown

_CATALOGUE = Path(__file__).parent / "catalogue"
_SCHEMA = 1
_MAX_BYTES = 4 * 2**20
_QUANTIZATION_FILE = "hf_quant_config.json"


@dataclass(frozen=True)
class Sheet:
    """One model of the catalogue.

    Attributes:
        name: What users call it, lower case.
        label: What pages show.
        aliases: Hugging Face repositories with these numbers.
        facts: The numbers.
    """

    name: str
    label: str
    aliases: tuple[str, ...]
    facts: ModelFacts


def list_models() -> tuple[Sheet, ...]:
    """Return the catalogue's models, by name. Reads the sheets on first use."""
    return _sheets()


def find_model(name: str) -> ModelFacts | None:
    """Return the facts of the catalogue's model called *name*, ``None`` where there is none.

    A name or alias matches whatever its case; so does the last part of a path or repository, when it is exactly the
    last part of an alias: ``/models/DeepSeek-V3.1/`` is DeepSeek-V3.1, ``DeepSeek-V3.1-mine`` is not.
    """
    wanted = name.strip().casefold().replace("\\", "/").rstrip("/")
    index = _index()
    return index.get(wanted) or index.get(wanted.rpartition("/")[2])


def load_model(source: str | Path | Mapping[str, object] | None) -> ModelFacts | None:
    """Return the facts of a model given in any of the ways a user may give it.

    Args:
        source: Sheet name, alias, folder with a ``config.json``, the file itself, or its parsed contents. ``None`` and
            ``"none"`` mean that no model is given. What exists on disk wins over a sheet of the same name.

    Returns:
        The facts, or ``None`` where no model is given.

    Raises:
        InputError: Nothing is called so, or what is there cannot be read as a model's config.
    """
    if source is None or (isinstance(source, str) and source.strip().casefold() == "none"):
        return None
    if isinstance(source, Mapping):
        return ModelFacts.from_config(source, name=_inline_name(source), source="inline config")
    text = str(source)
    if not text.strip():
        raise InputError("The name of the model is empty. Give a sheet's name, or the config.json of the checkpoint.")
    try:
        path = Path(text).expanduser()
        if path.is_dir():
            return _from_file(path / "config.json", text)
        if path.is_file():
            return _from_file(path, text)
    except (OSError, ValueError, RuntimeError):  # a name no file system takes is still a name
        pass
    found = find_model(text)
    if found is None:
        raise _no_such_model(text)
    return found


def _no_such_model(text: str) -> InputError:
    from difflib import get_close_matches  # noqa: PLC0415  # costs milliseconds, needed for this message only

    known = [sheet.name for sheet in _sheets()]
    near = get_close_matches(text.casefold().rpartition("/")[2], known, n=3, cutoff=0.5)
    hint = f" Near it: {', '.join(near)}." if near else ""
    return InputError(
        f"No model {shown(text)}: neither a file, a folder nor one of the {len(known)} models of the catalogue.{hint} "
        f"Give a sheet's name, or the config.json of the checkpoint.",
        part=text,
    )


def _inline_name(config: Mapping[str, object]) -> str:
    given = config.get("_name_or_path") or config.get("model_type")
    return given if isinstance(given, str) else "inline config"


def _from_file(path: Path, name: str) -> ModelFacts:
    config = _read_object(path, name)
    beside = path.parent / _QUANTIZATION_FILE
    quantization = _read_object(beside, str(beside)) if beside.is_file() else None
    label = path.parent.name if path.name == "config.json" and path.parent.name else path.name
    return ModelFacts.from_config(config, name=label, source=name, standalone_quantization=quantization)


def _read_object(path: Path, name: str) -> Mapping[str, object]:
    needed = f"Give the config.json of a Hugging Face checkpoint, with {', '.join(NEEDED_NUMBERS)}."
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise InputError(f"{name} is larger than any config.json ({_MAX_BYTES // 2**20} MiB). {needed}", part=name)
        data = json.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        raise InputError(f"{name} holds no {path.name}. {needed}", part=name) from None
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror or error}. {needed}", part=name) from None
    except (ValueError, RecursionError) as error:
        what = "too deeply nested" if isinstance(error, RecursionError) else str(error)
        raise InputError(f"{name} is no JSON: {what}. {needed}", part=name) from None
    if not isinstance(data, dict):
        raise InputError(f"{name} holds {shown(data)}, not an object. {needed}", part=name)
    return data


@cache
def _sheets() -> tuple[Sheet, ...]:
    found: list[Sheet] = []
    for path in sorted(_CATALOGUE.glob("*.json")):
        sheet = json.loads(path.read_text(encoding="utf-8"))
        if sheet["schema"] != _SCHEMA:
            raise InputError(f"The fact sheet {path.name} has schema {sheet['schema']}, not {_SCHEMA}.", part=path.name)
        found.extend(
            _sheet({**sheet, **variant, "config": {**sheet["config"], **variant.get("config", {})}})
            for variant in ({}, *sheet.get("variants", ()))
        )
    return tuple(sorted(found, key=lambda sheet: sheet.name))


def _sheet(entry: Mapping[str, object]) -> Sheet:
    name, source, config, aliases = entry["name"], entry["config_source"], entry["config"], entry["aliases"]
    if not (isinstance(name, str) and isinstance(config, Mapping) and isinstance(aliases, list)):
        raise InputError(f"The fact sheet {shown(name)} is malformed.", part=str(name))
    parameters = entry.get("num_parameters")
    facts = ModelFacts.from_config(
        config,
        name=name,
        source=str(source),
        num_parameters=parameters if isinstance(parameters, int) else None,
    )
    return Sheet(name, str(entry["label"]), tuple(str(alias) for alias in aliases), facts)


@cache
def _index() -> Mapping[str, ModelFacts]:
    index: dict[str, ModelFacts] = {}
    for sheet in _sheets():
        for alias in sheet.aliases:
            index.setdefault(alias.casefold(), sheet.facts)
            index.setdefault(alias.casefold().rpartition("/")[2], sheet.facts)
    for sheet in _sheets():  # a sheet's own name wins over the last part of another's alias
        index[sheet.name.casefold()] = sheet.facts
    return index
