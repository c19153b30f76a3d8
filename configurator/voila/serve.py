"""Starts the page's server."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from configurator.core.errors import InputError

NOTEBOOK = "configurator.ipynb"
THEMES = ("auto", "light", "dark")
DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8866


def find_notebook() -> Path:
    """Returns the page's notebook: the checkout's where there is a checkout, else the copy inside the package.

    Raises:
        InputError: Neither is there.
    """
    package = Path(__file__).resolve().parent
    checkout = package.parent.parent / "notebooks" / NOTEBOOK
    for candidate in (checkout, package / NOTEBOOK):
        if candidate.is_file():
            return candidate
    raise InputError(
        f"The page's notebook {NOTEBOOK} is missing: it was looked for at {checkout} and in {package}. "
        "Install the package again.",
        part=NOTEBOOK,
    )


def serve(  # noqa: PLR0913 - the options of the command line, one each
    port: int = DEFAULT_PORT,
    host: str = DEFAULT_HOST,
    *,
    theme: str = "auto",
    base_url: str = "/",
    preheat: bool = True,
    behind_proxy: bool = False,
    debug: bool = False,
    notebook: Path | None = None,
    voila_arguments: Sequence[str] = (),
) -> None:
    """Serves the configurator until it is interrupted (Ctrl+C or SIGTERM).

    Args:
        port: TCP port; 0 takes a free one.
        host: Address to listen on.
        theme: "auto", "light" or "dark".
        base_url: Path prefix of the page, for a proxy that forwards one.
        preheat: Keep one kernel ready for the next visitor.
        behind_proxy: Answer requests for any host name, as a proxy in front of the server passes them on.
        debug: Log everything, and show tracebacks in the page.
        notebook: Another notebook than the configurator's.
        voila_arguments: Further arguments in Voila's own spelling; they win over ours.

    Raises:
        InputError: A value is unusable, the port is taken, or the page's packages are not installed.
    """
    if theme not in THEMES:
        raise InputError(f"There is no theme {theme!r}; take one of {', '.join(THEMES)}.", part=theme)
    path = (notebook or find_notebook()).resolve()
    if not path.is_file():
        raise InputError(f"There is no notebook at {path}.", part=str(path))
    port = _free_port(host, port)
    try:
        from configurator.voila.server import TEMPLATE_ROOT, ConfiguratorServer, settings  # noqa: PLC0415
    except ImportError as error:
        raise InputError(
            f"The page needs packages that are not installed ({error.name}). "
            "Install them with: pip install 'dcp-configurator[app,bench]'",
            part=error.name or "",
        ) from error

    # Voila looks for templates in Jupyter's data folders, and has no option for one more.
    others = os.environ.get("JUPYTER_PATH")
    os.environ["JUPYTER_PATH"] = os.pathsep.join([str(TEMPLATE_ROOT), *([others] if others else [])])

    server = ConfiguratorServer()
    server.behind_proxy = behind_proxy
    # A plain dict would do for reading, but traitlets merges only its own kind; it is taken from the instance so that
    # nothing here depends on where traitlets keeps it.
    config_class = type(server.config)
    server.update_config(config_class(settings(theme=theme, preheat=preheat, log_level="DEBUG" if debug else "WARN")))
    if debug:
        server.update_config(config_class({"VoilaConfiguration": {"show_tracebacks": True}}))
    server.initialize(
        [
            str(path),
            f"--Voila.ip={host}",
            f"--Voila.port={port}",
            f"--Voila.base_url={_prefix(base_url)}",
            *voila_arguments,
        ]
    )
    address = f"http://{_for_url(host)}:{port}{_prefix(base_url)}"
    _announce(server, f"The DCP configurator is at {address} (Ctrl+C stops it)")
    server.start()


def _announce(server: object, line: str) -> None:
    """Prints a line once the server accepts connections, and not before."""
    from tornado.ioloop import IOLoop  # noqa: PLC0415

    del server
    IOLoop.current().add_callback(lambda: print(line, file=sys.stdout, flush=True))


def _free_port(host: str, port: int) -> int:
    """Returns the port to listen on, after trying that it can be had.

    Raises:
        InputError: The port is out of range, taken or not permitted, or the host is not an address of this machine.
    """
    if not 0 <= port <= 65535:
        raise InputError(f"{port} is no TCP port; take one from 1 to 65535, or 0 for any free one.", part=str(port))
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
            return int(probe.getsockname()[1])
    except OSError as error:
        raise InputError(
            f"The configurator cannot listen on {host} port {port}: {error.strerror or error}. "
            "Stop what uses the port, or choose another with --port (0 takes a free one).",
            part=str(port),
        ) from error


def _prefix(base_url: str) -> str:
    """Returns a path prefix as the server wants it: with a slash at both ends."""
    inner = base_url.strip("/")
    return f"/{inner}/" if inner else "/"


def _for_url(host: str) -> str:
    """Returns the host as it is written in an address."""
    return f"[{host}]" if ":" in host else host
