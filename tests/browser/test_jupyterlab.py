"""The same page as a widget in JupyterLab: it is drawn, it answers, and the notebook does not take its keys."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.voila.running import wait_until

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "configurator.ipynb"
TOKEN = "for-this-test-only"  # noqa: S105 - guards a server that lives as long as this test


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """The address of a JupyterLab that serves a copy of the notebook."""
    folder = tmp_path_factory.mktemp("lab")
    (folder / "work").mkdir()
    shutil.copy(NOTEBOOK, folder / "work")
    own = {
        name: str(folder / name)
        for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    }
    log = folder / "server.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "jupyterlab",
                "--no-browser",
                "--ip=127.0.0.1",
                "--port=0",
                "--allow-root",
                f"--IdentityProvider.token={TOKEN}",
                "--LabApp.expose_app_in_browser=True",
                "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
                "--ServerApp.terminals_enabled=False",
                "work",
            ],
            cwd=folder,
            env={**os.environ, **own},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        address = re.compile(r"http://127\.0\.0\.1:\d+/")
        assert wait_until(lambda: address.search(log.read_text()), 60), log.read_text()
        url = address.search(log.read_text())[0]
        assert wait_until(lambda: _answers(f"{url}api?token={TOKEN}"), 30), log.read_text()
        yield url
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(5)


def _answers(url):
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:  # noqa: S310 - this machine's own server
            return answer.status == 200
    except OSError:
        return False


@pytest.fixture
def shown(page, lab, problems):
    """The notebook, run in JupyterLab."""
    problems.allow(r"^console: .*/(api|lab)/")  # the host's own requests for files that a fresh user does not have
    page.set_viewport_size({"width": 1500, "height": 1000})
    page.goto(f"{lab}lab/tree/configurator.ipynb?token={TOKEN}&reset")
    page.wait_for_function(
        "window.jupyterapp && window.jupyterapp.shell.currentWidget?.content?.widgets?.length", timeout=60_000
    )
    page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.ready")
    page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
    expect(page.get_by_role("status", name="Verdict")).to_be_visible(timeout=60_000)
    return page


def test_the_page_works_and_keeps_its_keys(shown):
    group = shown.get_by_role("radiogroup", name="--dcp-size", exact=True)
    two = group.get_by_role("radio", name="2", exact=True)
    two.click()
    expect(two).to_be_checked()
    expect(shown.get_by_role("region", name="Launch command")).to_contain_text("--dcp-size 2")
    cells = "window.jupyterapp.shell.currentWidget.content.widgets.length"
    before = shown.evaluate(cells)
    two.focus()
    for key in ("d", "d", "x", "a"):
        shown.keyboard.press(key)
    assert shown.evaluate(cells) == before, "a key pressed in the page reached the notebook's own shortcuts"
    shown.get_by_role("textbox", name="Command or error").fill(
        "python -m sglang.launch_server --model-path none --tp-size 4"
    )
    shown.keyboard.press("Enter")
    expect(shown.get_by_role("region", name="Launch command")).to_contain_text("--tp-size 4")


def test_it_is_laid_out_in_the_width_it_has(shown):
    app = shown.locator(".dc-app").first
    assert app.evaluate("(el) => el.scrollWidth <= el.clientWidth + 1")
    assert app.evaluate(
        "(el) => el.getBoundingClientRect().right <= document.querySelector('.jp-Notebook').getBoundingClientRect().right"
    )
