"""Runs the command line: ``python -m configurator`` is ``dcp-configurator``."""

from __future__ import annotations

import sys

from configurator.cli import main

if __name__ == "__main__":
    sys.exit(main())
