"""Python's own argparse, told the flags of a release: the judge of how server arguments are read."""

from __future__ import annotations

import argparse

from configurator.launch.values import convert


class RefusedError(Exception):
    """argparse refuses the arguments."""


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        raise RefusedError(message)


def parser_of(table):
    """Return a parser with the flags of *table*, declared as SGLang declares its own."""
    parser = _Parser(prog="server", add_help=False, argument_default=argparse.SUPPRESS)
    for spec in table.values():
        more = {"dest": spec.dest, "default": argparse.SUPPRESS}
        if spec.action in ("true", "false"):
            parser.add_argument(*spec.spellings, action=f"store_{spec.action}", **more)
        elif spec.action == "boolean":
            parser.add_argument(*spec.spellings, action=argparse.BooleanOptionalAction, **more)
        elif spec.action == "help":
            parser.add_argument(*spec.spellings, action="help")
        elif spec.action in ("store", "append"):
            nargs = int(spec.nargs) if (spec.nargs or "").isdigit() else spec.nargs
            if nargs == "?":
                more["const"] = ""
            parser.add_argument(
                *spec.spellings,
                action=spec.action,
                nargs=nargs,
                type=lambda text, spec=spec: convert(spec, text),
                choices=spec.choices,
                **more,
            )
        else:
            raise AssertionError(f"{spec.dest}: an action argparse has no twin for: {spec.action}")
    return parser


def read(parser, argv):
    """Return what argparse makes of *argv*.

    Raises:
        RefusedError: It refuses them.
    """
    found = vars(parser.parse_args(argv))
    return {dest: tuple(value) if isinstance(value, list) else value for dest, value in found.items()}
