"""Voila as the configurator runs it."""

from __future__ import annotations

import ipaddress
import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from voila.app import Voila
from voila.tornado.handler import TornadoVoilaHandler

_LOG = logging.getLogger(__name__)

TEMPLATE = "dcp_configurator"

#: Laid out as Jupyter expects of a folder named in JUPYTER_PATH: ``voila/templates/<name>`` below it.
TEMPLATE_ROOT = Path(__file__).resolve().parent / "share"

#: A page that was left without a word (a browser killed, a laptop shut) keeps its kernel this long; an open page keeps
#: its kernel however long it is idle.
CULL_IDLE_SECONDS = 300

#: The browser itself refuses whatever is not from this server, so no outside asset can creep in. The front end of
#: Jupyter builds validators and loads widgets' modules at run time, hence 'unsafe-eval' and blob:.
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self' ws: wss: blob: data:",
        "worker-src 'self' blob:",
        "object-src 'none'",
        "base-uri 'self'",
        "frame-ancestors 'self'",
    )
)


class PageHandler(TornadoVoilaHandler):  # type: ignore[misc]  # voila ships no types
    """Serves the page, together with the cookie that the page needs to say good-bye.

    Voila's front end asks the server to end the kernel when its page is closed, and must prove with the ``_xsrf``
    cookie that the request comes from the page. Voila 0.5 never sets that cookie, so the request was refused and kernels
    piled up until they were culled.
    """

    async def get(self, path: str | None = None) -> None:
        """Answers the request for the page."""
        _ = self.xsrf_token  # reading it sets the cookie
        await super().get(path)


class ConfiguratorServer(Voila):  # type: ignore[misc]  # voila ships no types
    """Voila that answers to its own host name only, and serves the page through `PageHandler`."""

    #: Whether requests that name another host are answered; set where a proxy stands in front.
    behind_proxy = False

    def init_settings(self) -> dict[str, Any]:
        """Returns the web application's settings."""
        settings: dict[str, Any] = super().init_settings()
        # A server that only this machine can reach must not answer under a foreign name: a web page elsewhere could
        # otherwise have its own host name resolve to 127.0.0.1 and talk to the kernel (DNS rebinding).
        settings["allow_remote_access"] = self.behind_proxy or not is_loopback(self.ip)
        settings["headers"] = {"Content-Security-Policy": CONTENT_SECURITY_POLICY}
        settings["xsrf_cookie_kwargs"] = {"samesite": "Strict"}
        return settings

    def init_handlers(self) -> list[Any]:
        """Returns the web application's handlers, with Voila's page handler replaced by ours."""
        handlers: list[Any] = super().init_handlers()
        return [
            (handler[0], PageHandler, *handler[2:]) if handler[1] is TornadoVoilaHandler else handler
            for handler in handlers
        ]


def is_loopback(host: str) -> bool:
    """Returns whether only this machine can reach a server that listens on ``host``."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def tell_cell_error(cell: object, cell_index: int, execute_reply: Mapping[str, Any]) -> None:
    """Writes the traceback of a cell that failed to the server's log.

    Voila takes it out of the page, where a visitor has no business with it, and would keep it from everybody else too.
    """
    del cell
    lines = execute_reply.get("content", {}).get("traceback", ())
    plain = re.sub(r"\x1b\[[0-9;]*m", "", "\n".join(lines))
    _LOG.error("Cell %d of the notebook failed:\n%s", cell_index + 1, plain)


def settings(*, theme: str = "auto", preheat: bool = True, log_level: str = "WARN") -> dict[str, dict[str, Any]]:
    """Returns Voila's configuration: class name -> option -> value.

    Args:
        theme: "light", "dark" or "auto" (the visitor's system decides).
        preheat: Keep one kernel ready, with the notebook already executed in it. The first visitor then need not wait
            for it (measured: interactive after 2.1-2.7 s instead of 2.8-4.1 s), at the price of one idle kernel's
            memory. A second one gave nothing on two cores.
        log_level: What the server says on its standard error.
    """
    return {
        "Voila": {
            "config_file_paths": [],  # another project's voila.json must not change this page
            "open_browser": False,
            "port_retries": 0,  # the address is promised, so a taken port is an error, not another port
            "kernel_websocket_connection_class": "configurator.voila.connection.NoDelayConnection",
            "log_level": log_level,
        },
        "VoilaConfiguration": {
            "template": TEMPLATE,
            "allow_template_override": "NO",  # the stock templates load assets from a CDN
            "theme": theme,
            "allow_theme_override": "NO",  # ?theme= is read by the page, so that the prepared kernel still serves it
            "strip_sources": True,
            "show_tracebacks": False,
            "preheat_kernel": preheat,
            "default_pool_size": 1,
            "file_allowlist": [],
            # What JupyterLab installations bring and the page has no use for: they only make it slower to load.
            "extension_denylist": [
                "@jupyter-notebook/lab-extension",
                "jupyterlab_pygments",
                "@voila-dashboards/widgets-manager7",
            ],
        },
        "VoilaExecutor": {
            "cell_error_instruction": (
                "The configurator could not be drawn. The terminal that runs the server shows the error; "
                "`dcp-configurator app --debug` shows it here too."
            ),
            "on_cell_error": tell_cell_error,
        },
        "MappingKernelManager": {"cull_idle_timeout": CULL_IDLE_SECONDS, "cull_interval": 30, "cull_connected": False},
        # A kernel that died took the visitor's state with it. A blank one in its place would leave a page whose clicks
        # do nothing; without it the page learns that the kernel is gone and says so.
        "KernelRestarter": {"restart_limit": 0, "time_to_dead": 1.0},
    }
