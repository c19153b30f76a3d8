"""How kernels and the server end, and how quickly a kernel's messages travel."""

from __future__ import annotations

import json
import signal

import pytest
import websocket
from voila.configuration import VoilaConfiguration

from configurator.voila.connection import NoDelayConnection
from configurator.voila.server import CULL_IDLE_SECONDS, ConfiguratorServer, settings
from tests.voila.client import Client, page_config
from tests.voila.running import wait_until


def visit(app):
    """Return a visitor who opened the page, and the page's kernel id."""
    client = Client(app.url)
    return client, page_config(client.ask().text)["kernelId"]


def connect(app, client, kernel, origin=None):
    """Open the socket that the page opens to its kernel."""
    cookies = "; ".join(f"{cookie.name}={cookie.value}" for cookie in client.cookies)
    return websocket.create_connection(
        f"ws://127.0.0.1:{app.port}/api/kernels/{kernel}/channels",
        cookie=cookies, origin=origin or app.url.rstrip("/"), timeout=30, http_no_proxy=["127.0.0.1"],
    )  # fmt: skip


def test_a_page_that_says_good_bye_ends_its_kernel_and_no_other(frame):
    client, kernel = visit(frame)
    _, other = visit(frame)
    before = len(frame.kernels())
    assert before >= 2
    answer = client.ask(f"voila/api/shutdown/{kernel}", data={"_xsrf": client.cookie("_xsrf")})
    assert answer.status == 204
    assert wait_until(lambda: len(frame.kernels()) == before - 1, 10)
    assert client.ask(f"api/kernels/{kernel}").status == 404
    assert client.ask(f"api/kernels/{other}").status == 200


def test_nobody_else_can_say_good_bye_for_a_page(frame):
    client, kernel = visit(frame)
    stranger = Client(frame.url)
    assert stranger.ask(f"voila/api/shutdown/{kernel}", data={}).status == 403
    assert client.ask(f"api/kernels/{kernel}").status == 200


def test_the_kernel_answers_over_a_socket_that_sends_small_messages_at_once(frame):
    client, kernel = visit(frame)
    socket = connect(frame, client, kernel)
    header = {
        "msg_id": "m",
        "msg_type": "kernel_info_request",
        "username": "",
        "session": "s",
        "version": "5.3",
        "date": "",
    }
    socket.send(json.dumps({"channel": "shell", "header": header, "parent_header": {}, "metadata": {}, "content": {}}))
    kinds = set()
    while "kernel_info_reply" not in kinds:
        kinds.add(json.loads(socket.recv())["header"]["msg_type"])
    socket.close()
    assert [line for line in frame.log().splitlines() if "TCP_NODELAY" in line] == [
        "TCP_NODELAY before 0",
        "TCP_NODELAY after 1",
    ]


def test_a_page_elsewhere_cannot_open_the_socket(frame):
    client, kernel = visit(frame)
    with pytest.raises(websocket.WebSocketBadStatusException) as refused:
        connect(frame, client, kernel, origin="http://attacker.example")
    assert refused.value.status_code == 403


def test_a_server_that_is_stopped_takes_its_kernels_along(start):
    app = start()
    visit(app)
    assert wait_until(lambda: len(app.kernels()) == 2, 30)  # the visitor's, and one kept ready
    assert app.stop(signal.SIGTERM) == []
    assert app.process.returncode in (0, -signal.SIGTERM)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl+C", "killed"])
def test_however_a_server_ends_it_leaves_no_kernel(start, how):
    app = start("--no-preheat")
    visit(app)
    assert len(app.kernels()) == 1
    assert app.stop(how) == []


def test_the_settings_reach_the_server():
    server = ConfiguratorServer()
    server.update_config(type(server.config)(settings()))
    assert server.kernel_websocket_connection_class is NoDelayConnection
    assert server.config_file_paths == []
    assert server.port_retries == 0
    assert server.open_browser is False
    configuration = VoilaConfiguration(parent=server)
    assert configuration.template == "dcp_configurator"
    assert configuration.preheat_kernel is True
    assert configuration.file_allowlist == []


def test_an_abandoned_page_loses_its_kernel_and_an_open_one_keeps_it():
    manager = settings()["MappingKernelManager"]
    assert 0 < manager["cull_interval"] < manager["cull_idle_timeout"] == CULL_IDLE_SECONDS
    assert manager["cull_connected"] is False
