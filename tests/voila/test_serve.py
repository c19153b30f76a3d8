"""What keeps the server from starting, and how it says so."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from configurator.core.errors import InputError
from configurator.voila import find_notebook, serve
from tests.voila.client import Client
from tests.voila.running import ROOT


@pytest.fixture
def taken():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


def test_a_taken_port_is_an_error_and_never_another_port(taken):
    with pytest.raises(InputError, match=f"cannot listen on 127.0.0.1 port {taken}: Address already in use") as refused:
        serve(taken)
    assert "--port" in str(refused.value)


def test_the_command_line_says_it_in_one_line(taken):
    done = subprocess.run(
        [sys.executable, "-m", "configurator", "app", "--port", str(taken)],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert "Address already in use" in done.stderr


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_number_that_is_no_port(port):
    with pytest.raises(InputError, match=f"{port} is no TCP port"):
        serve(port)


def test_an_address_of_another_machine():
    with pytest.raises(InputError, match=r"cannot listen on 192\.0\.2\.1"):
        serve(0, "192.0.2.1")


def test_a_notebook_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="There is no notebook at"):
        serve(0, notebook=tmp_path / "absent.ipynb")


def test_a_theme_that_is_not_there():
    with pytest.raises(InputError, match="There is no theme 'neon'; take one of auto, light, dark"):
        serve(0, theme="neon")


def test_a_checkout_serves_its_own_notebook():
    assert find_notebook() == ROOT / "notebooks" / "configurator.ipynb"


def test_behind_a_proxy_with_a_prefix(start):
    app = start("--base-url", "dcp", "--behind-proxy", "--no-preheat")
    assert app.url.endswith(f":{app.port}/dcp/")
    client = Client(app.url)
    answer = client.ask(headers={"Host": "dcp.example"})
    assert answer.status == 200
    assert 'src="/dcp/voila/static/voila.js"' in answer.text
    assert client.ask("/").status == 404
