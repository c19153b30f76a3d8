"""The configurator's connection between page and kernel, which also says what the socket was told."""

from __future__ import annotations

import socket
import sys

from configurator.voila.connection import NoDelayConnection


class SpiedConnection(NoDelayConnection):
    """Prints the socket's TCP_NODELAY before and after the connection is made."""

    def connect(self):
        self._say("before")
        result = super().connect()
        self._say("after")
        return result

    def _say(self, when):
        stream = self.websocket_handler.ws_connection.stream
        value = stream.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        sys.stderr.write(f"TCP_NODELAY {when} {int(bool(value))}\n")
        sys.stderr.flush()
