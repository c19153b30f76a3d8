"""Which words of a command start SGLang, and which environment goes with it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

# Modules whose arguments are SGLang server arguments, alone or with their own next to them.
_MODULES = frozenset(
    {
        "sglang.launch_server",
        "sglang_router.launch_server",
        "dynamo.sglang",
        "dynamo.sglang.main",
        "sglang.srt.launch_server",
    }
)
_SCRIPT = re.compile(r"(?:.*/)?(?:sglang/)?launch_server\.py")
_SERVE = re.compile(r"(?:.*/)?sglang")
_ENV_WORD = re.compile(r"[A-Za-z_]\w*=", re.ASCII)
_FLAG = re.compile(r"--?[A-Za-z]|[\u2010-\u2015\u2212\uff0d]{1,2}[A-Za-z]")  # two hyphens often become another dash
_SEARCHED = 400
_POSITIONAL_MODEL_SINCE = (0, 5, 16)


class Launcher(NamedTuple):
    """Where the server arguments start.

    Attributes:
        end: Index of the first server argument.
        env: How many assignments stand before everything else.
        serve: Whether it is ``sglang serve``, which reads a few words itself.
    """

    end: int
    env: int
    serve: bool


def find_launcher(values: Sequence[str]) -> Launcher | None:
    """Find what starts SGLang in the words of one command; bare server arguments have an empty launcher.

    Returns:
        ``None`` if the words are neither.
    """
    env = 0
    while env < len(values) and "=" in values[env] and _ENV_WORD.match(values[env]):
        env += 1
    first = values[env] if env < len(values) else ""
    if _FLAG.match(first) and not first.startswith("-m"):
        return Launcher(env, env, serve=False)
    for at in range(env, min(len(values), _SEARCHED)):
        word = values[at]
        if word == "-m" and at + 1 < len(values) and values[at + 1] in _MODULES:
            return Launcher(at + 2, env, serve=False)
        if word == "serve" and at > 0 and _SERVE.fullmatch(values[at - 1]):
            return Launcher(at + 1, env, serve=True)
        if word.startswith("-msglang.") and word[2:] in _MODULES:
            return Launcher(at + 1, env, serve=False)
        if word.endswith("launch_server.py") and _SCRIPT.fullmatch(word):
            return Launcher(at + 1, env, serve=False)
    return Launcher(env, env, serve=False) if first.startswith("-m") else None


def container_run(launcher: Sequence[str]) -> int | None:
    """Return the index after ``run`` if the launcher starts a container, else ``None``."""
    for at, word in enumerate(launcher[:8]):
        if word == "run" and at > 0 and launcher[at - 1].rpartition("/")[2] in ("docker", "podman", "nerdctl"):
            return at + 1
    return None


def takes_positional_model(release: str) -> bool:
    """Tell whether ``sglang serve MODEL`` works in *release*: its ``cli/serve.py`` rewrites the word from 0.5.16 on.

    Source: sglang/cli/serve.py, ``_normalize_positional_model_path``, absent in 0.5.15.
    """
    numbers = tuple(int(part) for part in re.findall(r"\d+", release)[:3])
    return not numbers or numbers >= _POSITIONAL_MODEL_SINCE
