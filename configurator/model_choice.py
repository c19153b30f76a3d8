"""Which model a question is about: what the command names, or what the user named apart from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from configurator.core.errors import InputError
from configurator.launch.command import Command
from configurator.models import ModelFacts, find_model, list_models, load_model

_PLACEHOLDERS = ("none", "dummy")


@dataclass(frozen=True)
class ModelChoice:
    """Which model the facts are of.

    Attributes:
        name: As the user knows it.
        facts: ``model.*`` facts; empty where the model is not known.
        note: Why nothing is known of it, or where the numbers are from.
        chosen: Whether the user named it apart from the command.
    """

    name: str
    facts: Mapping[str, object] = field(default_factory=dict, hash=False)
    note: str = ""
    chosen: bool = False


def model_of(command: Command) -> ModelChoice:
    """Return the model that *command* names; one nobody knows is a choice without facts, with a note."""
    path = command.model_path
    if path is None:
        return ModelChoice("no model", note="The command names no model.")
    if path.lower() in _PLACEHOLDERS:
        return ModelChoice(path, {"model.is_placeholder": True}, "A placeholder: the server validates little.")
    try:
        facts = load_model(path)
    except InputError as error:
        return ModelChoice(path, note=str(error))
    return ModelChoice(path, note="The command names no model.") if facts is None else _choice(facts, chosen=False)


def named_model(model: str | Mapping[str, object]) -> ModelChoice:
    """Return the model with this name, path or config.

    Raises:
        InputError: There is none, or what is there cannot be read.
    """
    if isinstance(model, str) and model.lower() in _PLACEHOLDERS:
        return ModelChoice(
            model, {"model.is_placeholder": True}, "A placeholder: the server validates little.", chosen=True
        )
    facts = load_model(model)
    if facts is None:
        return ModelChoice("no model", note="No model is named.", chosen=True)
    return _choice(facts, chosen=True)


def repository_of(name: str) -> str | None:
    """Return the repository of a model of the catalogue, ``None`` for any other."""
    facts = find_model(name)
    return next((sheet.aliases[0] for sheet in list_models() if sheet.facts == facts and sheet.aliases), None)


def _choice(facts: ModelFacts, *, chosen: bool) -> ModelChoice:
    return ModelChoice(facts.name, facts.to_facts(), f"Numbers from {facts.source}.", chosen)
