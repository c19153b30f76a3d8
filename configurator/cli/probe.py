"""``probe``: what this machine tells of its GPUs."""

from __future__ import annotations

import argparse

from configurator.api import probe
from configurator.cli.facts import add_json, print_json
from configurator.core.unknown import is_unknown
from configurator.hardware.codec import encode
from configurator.hardware.snapshot import HardwareSnapshot


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``probe``."""
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Print the snapshot; what is not known is said with its reason."""
    snapshot = probe()
    if options.json:
        print_json(encode(snapshot))
    else:
        print("\n".join(_lines(snapshot)))
    return 0


def _lines(snapshot: HardwareSnapshot) -> list[str]:
    lines = [snapshot.label]
    for gpu in snapshot.gpus:
        link = gpu.link
        lines.append(
            f"  GPU {gpu.index}: {_said(gpu.name)}, {_said(gpu.memory_gib)} GiB, SM {_said(gpu.sm)}, "
            f"{_said(link.kind)} {_said(link.gbps)} GB/s per direction"
        )
    lines += [f"  driver {_said(snapshot.driver)}, CUDA up to {_said(snapshot.cuda_driver)}"] if snapshot.gpus else []
    lines += [f"  {name} {version}" for name, version in sorted(snapshot.software.items())]
    lines += [f"  note: {problem}" for problem in snapshot.problems]
    return lines


def _said(value: object) -> str:
    if is_unknown(value):
        return f"unknown ({value.reason})"
    return f"{value:.1f}" if isinstance(value, float) else str(value)
