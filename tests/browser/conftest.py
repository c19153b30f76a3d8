"""A real Chromium, the page's real server, and pages that fail the test when anything on them goes wrong.

The browser and the server live as long as this package's tests. Playwright keeps an event loop running in the main
thread, which must not outlast them: other tests start loops of their own.
"""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import sync_playwright

from tests.voila.running import RunningApp
from tools.find_browser import find

HERE = Path(__file__).parent
RESULTS = HERE.parents[1] / "test-results"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # Names resolve to nothing, so what a page asks of another host is seen by the test and still never leaves.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
FAILED = pytest.StashKey[bool]()


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("browser")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    if report.when == "call":
        item.stash[FAILED] = report.failed
    return report


@pytest.fixture(scope="package")
def chromium():
    """A headless browser with an empty profile."""
    program = find()
    assert program is not None, "no Chromium or Chrome is installed; `make browser` installs one"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture(scope="package")
def voila_app(tmp_path_factory):
    """The configurator's page, served as `make app` serves it; `.url` is its address."""
    app = RunningApp(tmp_path_factory.mktemp("voila"))
    yield app
    left = app.stop()
    assert left == [], "the server left processes behind"


class Problems:
    """What went wrong on the pages of one test. A test that provokes something says so with `allow`."""

    def __init__(self):
        self.noted = []
        self._allowed = []

    def note(self, kind, text):
        self.noted.append(f"{kind}: {text}")

    def allow(self, pattern):
        """From here on, and before: problems that match this regular expression do not fail the test."""
        self._allowed.append(re.compile(pattern))

    def remaining(self):
        return [line for line in self.noted if not any(pattern.search(line) for pattern in self._allowed)]


@pytest.fixture
def problems():
    """Problems noted on the pages of this test's context."""
    return Problems()


@pytest.fixture
def context(chromium, problems):
    """A fresh browser context: no cookies, no storage, a desktop window; closed after the test."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, locale="en-US", service_workers="block")
    context.set_default_timeout(20_000)
    context.on("weberror", lambda error: problems.note("page error", error.error))
    context.on("console", lambda said: said.type == "error" and problems.note("console", f"{said.text} {_place(said)}"))
    context.on("request", lambda request: _note_outside(request.url, problems))
    context.on("page", lambda page: page.on("websocket", lambda socket: _note_outside(socket.url, problems)))
    yield context
    context.close()


@pytest.fixture
def page(context, problems, request):
    """A page of a fresh context. The test fails on any page error, console error or request to another host."""
    page = context.new_page()
    yield page
    if request.node.stash.get(FAILED, False) or problems.remaining():
        RESULTS.mkdir(exist_ok=True)
        name = re.sub(r"[^\w.-]+", "-", request.node.nodeid.split("::", 1)[-1])
        if not page.is_closed():
            page.screenshot(path=RESULTS / f"{name}.png", full_page=True)
    assert problems.remaining() == []


def _place(message):
    return f"({message.location.get('url', '')}:{message.location.get('lineNumber', 0)})"


def _note_outside(url, problems):
    parts = urlsplit(url)
    if parts.scheme not in ("data", "blob", "about") and parts.hostname != "127.0.0.1":
        problems.note("outside request", url)
