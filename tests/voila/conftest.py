"""Servers for the tests of the page's frame."""

from __future__ import annotations

import pytest

from tests.voila.client import Client
from tests.voila.running import ROOT, RunningApp

FRAME = ROOT / "tests" / "browser" / "frame.ipynb"


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    """The server as `make app` starts it."""
    app = RunningApp(tmp_path_factory.mktemp("voila"))
    yield app
    assert app.stop() == [], "the server left processes behind"


@pytest.fixture
def client(app):
    """A new visitor of the server."""
    return Client(app.url)


@pytest.fixture(scope="module")
def frame(tmp_path_factory):
    """A server with a small notebook and no kernel kept ready, whose log tells what its sockets were told."""
    spy = ("--", "--Voila.kernel_websocket_connection_class=tests.voila.spy.SpiedConnection")
    app = RunningApp(tmp_path_factory.mktemp("frame"), "--notebook", str(FRAME), "--no-preheat", *spy)
    yield app
    assert app.stop() == [], "the server left processes behind"


@pytest.fixture
def start(tmp_path):
    """Starts a server of this test's own with a small notebook, which is stopped with the test."""
    running = []

    def started(*arguments, env=None):
        folder = tmp_path / f"server{len(running)}"
        folder.mkdir()
        running.append(RunningApp(folder, "--notebook", str(FRAME), *arguments, env=env))
        return running[-1]

    yield started
    for app in running:
        app.stop()
