"""``dcp-configurator app``: serves the page."""

from __future__ import annotations

import argparse
from pathlib import Path

from configurator.voila.serve import DEFAULT_HOST, DEFAULT_PORT, THEMES, serve


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the options of this subcommand."""
    parser.epilog = "What follows -- goes to Voila as it is, for example: dcp-configurator app -- --token=SECRET"
    parser.add_argument("--host", default=DEFAULT_HOST, help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT, help="0 takes a free one (default: %(default)s)")
    parser.add_argument("--theme", choices=THEMES, default="auto", help="auto follows the visitor's system (default)")
    parser.add_argument("--base-url", default="/", metavar="PATH", help="path prefix, where a proxy forwards one")
    parser.add_argument(
        "--behind-proxy", action="store_true", help="answer for every host name, not only for this machine's"
    )
    parser.add_argument("--notebook", type=Path, metavar="FILE", help="another notebook, in the same frame")
    parser.add_argument("--no-preheat", action="store_true", help="start a kernel only when a visitor comes")
    parser.add_argument("--debug", action="store_true", help="log everything, and show tracebacks in the page")


def run(options: argparse.Namespace) -> int:
    """Serves until interrupted; returns the exit status."""
    serve(
        options.port,
        options.host,
        theme=options.theme,
        base_url=options.base_url,
        preheat=not options.no_preheat,
        behind_proxy=options.behind_proxy,
        debug=options.debug,
        notebook=options.notebook,
        voila_arguments=options.words or (),
    )
    return 0
