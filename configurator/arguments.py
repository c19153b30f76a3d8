"""What the Python functions are given: each of the right type, or a plain sentence that says which one is not."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from configurator.hardware import HardwareSnapshot

_MOST_SHOWN = 60


def the_words(command: object, *, name: str = "command") -> str | Sequence[str]:
    """Return *command* if it is text or a sequence of words.

    Raises:
        TypeError: It is neither, or one of its words is no text.
    """
    if isinstance(command, str):
        return command
    if not isinstance(command, Sequence) or isinstance(command, bytes | bytearray):
        raise _wrong(name, "text, or a list of words such as sys.argv", command)
    for at, word in enumerate(command):
        if not isinstance(word, str):
            raise TypeError(
                f"Word {at} of {name} is {_shown(word)}, which is no text; every word of a command is text, "
                f"numbers too: {str(word)[:20]!r}."
            )
    return command


def the_facts(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts among the arguments, paths as text.

    Args:
        given: ``release``, ``hardware``, ``model`` and ``env``, as far as they are given; others stay as they are.

    Raises:
        TypeError: One of them has a type that cannot be meant.
    """
    found = {key: os.fspath(value) if isinstance(value, os.PathLike) else value for key, value in given.items()}
    release, hardware, model, env = (found.get(key) for key in ("release", "hardware", "model", "env"))
    if not (release is None or isinstance(release, str)):
        raise _wrong("release", "a version as text, such as '0.5.23'", release)
    if not (hardware is None or isinstance(hardware, str | HardwareSnapshot)):
        raise _wrong("hardware", "the name of a preset, a file, or a snapshot", hardware)
    if not (model is None or isinstance(model, str | Mapping)):
        raise _wrong("model", "a name, a path, or the contents of a config.json", model)
    if env is None:
        return found
    if not isinstance(env, Mapping):
        raise _wrong("env", "a mapping of names to text", env)
    for name, value in env.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError(
                f"env has {_shown(name)} set to {_shown(value)}; names and values of environment variables are text."
            )
    return found


def the_text(value: object, name: str, wanted: str) -> str:
    """Return *value* if it is text.

    Raises:
        TypeError: It is not.
    """
    if isinstance(value, str):
        return value
    raise _wrong(name, wanted, value)


def _wrong(name: str, wanted: str, value: object) -> TypeError:
    return TypeError(f"{name} is {_shown(value)}; give {wanted}.")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _MOST_SHOWN else f"a value of type {type(value).__name__}"
