"""Runs inside the isolated environment: one release, one device, many requests.

Usage: ``python -I worker.py RELEASE_FOLDER DEVICE_JSON``. Standard input holds one JSON document,
``{"flags": true}`` or ``{"cases": [{"argv": [...], "env": {...}, "skip_final_check": false}, ...]}``;
standard output gets one JSON line per option or case. Whatever the server's imports print goes to standard error.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any


def prepare(release_folder: str, device: dict[str, Any]) -> Any:
    """Import the release's argument handling under stand-ins and pretended devices; return its ``server_args``."""
    os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    warnings.filterwarnings("ignore")
    import torch  # noqa: F401, PLC0415 - must be the real one, imported before any pretence
    import transformers  # noqa: F401, PLC0415

    settle_optional_imports()
    import placeholders  # noqa: PLC0415 - a neighbour of this file

    missing = placeholders.missing_packages()
    hide_from_transformers(missing)
    sys.meta_path.append(placeholders.PlaceholderFinder(missing))
    placeholders.answer_versions(missing)
    import devices  # noqa: PLC0415

    devices.answer_flashinfer(dcp_decode=True)
    devices.pretend(device)
    sys.path.insert(0, release_folder)
    from sglang.srt import server_args  # noqa: PLC0415
    from sglang.srt.configs import model_config  # noqa: F401, PLC0415 - registers the release's model types

    devices.answer_memory(device)
    return server_args


def settle_optional_imports() -> None:
    """Let transformers decide which optional packages exist, and load what it loads lazily, before stand-ins do.

    Also lets a release register a model type under a name that this version of transformers already knows: releases
    up to 0.5.21 pin an older transformers, which did not.
    """
    import transformers.utils.import_utils as optional  # noqa: PLC0415
    from transformers import AutoConfig, AutoProcessor, AutoTokenizer, ProcessorMixin  # noqa: F401, PLC0415
    from transformers.models.auto import configuration_auto  # noqa: PLC0415

    for name in dir(optional):
        if name.startswith("is_") and name.endswith("_available"):
            try:
                getattr(optional, name)()
            except (TypeError, ImportError, RuntimeError, OSError):
                continue  # wants an argument, or probes something this machine lacks: stays undecided, as before

    mapping = configuration_auto._LazyConfigMapping  # noqa: SLF001 - no public way
    register = mapping.register
    mapping.register = lambda self, key, value, exist_ok=False: register(self, key, value, exist_ok=exist_ok or True)


def hide_from_transformers(packages: frozenset[str]) -> None:
    """Keep transformers from taking a stand-in for the real package."""
    import transformers.utils.import_utils as optional  # noqa: PLC0415

    real = optional._is_package_available  # noqa: SLF001 - no public way
    gives_pair = isinstance(real("json"), tuple)

    def is_available(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] not in packages:
            return real(name, *args, **kwargs)
        return (False, "N/A") if gives_pair or kwargs.get("return_version") else False

    optional._is_package_available = is_available  # noqa: SLF001


def main() -> None:
    """Answer the requests on standard input."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    here = Path(__file__).parent
    sys.path[:0] = [str(here), str(here.parents[2] / "configurator" / "launch" / "guest")]
    server_args = prepare(sys.argv[1], json.loads(sys.argv[2]))
    request = json.load(sys.stdin)
    if request.get("flags"):
        import flags  # noqa: PLC0415 - a neighbour of this file

        found = flags.describe_all(server_args.ServerArgs.add_cli_args)
    else:
        import cases  # noqa: PLC0415 - shared with preflight

        found = cases.run_all(server_args, request["cases"], stand_ins=True)
    for answer in found:
        answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
