"""Ours beside theirs: what tests against published figures print with ``-s``."""


def beside(name, ours, theirs, unit=""):
    """Print both, and return by how much ours is off."""
    off = ours / theirs - 1
    print(f"{name}: ours {ours:,.6g}{unit}, theirs {theirs:,.6g}{unit}, {off:+.1%}")  # noqa: T201 - that is its purpose
    return off
