"""What the running server answers."""

from __future__ import annotations

import json
import re
from urllib.parse import urljoin, urlsplit

import pytest

from configurator.voila.server import CONTENT_SECURITY_POLICY
from tests.voila.client import Client, links, page_config
from tests.voila.conftest import FRAME

STATIC = (
    ("voila/static/voila.js", "javascript"),
    ("voila/templates/dcp_configurator/static/page.js", "javascript"),
    ("voila/templates/dcp_configurator/static/page.css", "text/css"),
    ("voila/templates/dcp_configurator/static/index.css", "text/css"),
    ("voila/templates/dcp_configurator/static/theme-light.css", "text/css"),
    ("voila/templates/dcp_configurator/static/theme-dark.css", "text/css"),
)


@pytest.fixture(scope="module")
def page(app):
    return Client(app.url).ask()


def outside(text):
    """Return addresses in the HTML that another host would be asked for."""
    return [
        (tag, address)
        for tag, address in links(text)
        if tag != "a" and urlsplit(address).netloc and urlsplit(address).hostname != "127.0.0.1"
    ]


def test_the_server_announces_where_it_is(app):
    assert app.announced == f"The DCP configurator is at http://127.0.0.1:{app.port}/ (Ctrl+C stops it)"


def test_the_page_is_served_and_drawn_without_an_error(page, app):
    assert page.status == 200
    assert page.headers["content-type"].startswith("text/html")
    assert "<title>DCP configurator</title>" in page.text
    assert "There was an error when executing cell" not in page.text, app.log()
    assert "application/vnd.jupyter.widget-view+json" in page.text


def test_the_page_shows_no_source_and_no_cell_meant_for_the_notebook(page):
    assert "from configurator import" not in page.text
    assert "Run the two cells below" not in page.text


def test_the_page_refers_to_no_other_host(page):
    assert outside(page.text) == []
    assert not re.search(r"jsdelivr|unpkg|cdnjs|googleapis", page.text)


def test_the_page_tells_people_without_scripts(page):
    assert "<noscript>" in page.text


def test_everything_the_page_refers_to_is_there(page, client):
    addresses = [urljoin(client.url, address) for tag, address in links(page.text) if tag in ("script", "link")]
    own = {address for address in addresses if urlsplit(address).scheme == "http"}
    assert len(own) >= 5
    assert {address: client.ask(address).status for address in own} == dict.fromkeys(own, 200)


@pytest.mark.parametrize(("path", "kind"), STATIC)
def test_static_files_are_served_as_what_they_are(client, path, kind):
    answer = client.ask(path)
    assert answer.status == 200
    assert kind in answer.headers["content-type"]
    assert answer.text.strip()


@pytest.mark.parametrize("path", [path for path, kind in STATIC if kind == "text/css"])
def test_style_sheets_load_nothing_from_elsewhere(client, path):
    found = re.findall(r"(?:@import\s+|url\()[\"']?((?:https?:)?//[^\"')\s]+)", client.ask(path).text)
    assert [address for address in found if "www.w3.org" not in address] == []


def test_the_browser_is_told_to_refuse_other_hosts(page):
    assert page.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert "default-src 'self'" in CONTENT_SECURITY_POLICY
    assert not re.search(r"https?:|\*|[\w-]+\.[a-z]{2,}", CONTENT_SECURITY_POLICY)


def test_the_cookie_that_ends_kernels_is_for_this_site_only(page):
    assert "_xsrf=" in page.headers["set-cookie"]
    assert "SameSite=Strict" in page.headers["set-cookie"]


def test_an_error_is_answered_in_our_words_and_without_another_host(client):
    answer = client.ask(method="OPTIONS")
    assert answer.status == 405
    assert "The configurator could not show this page" in answer.text
    assert "405: Method Not Allowed" in answer.text
    assert 'href="/"' in answer.text
    assert answer.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert outside(answer.text) == []


def test_a_page_that_is_not_there_is_refused(client):
    assert client.ask("no/such/page").status in (403, 404)


def test_another_host_name_is_refused(client, app):
    answer = client.ask(headers={"Host": f"attacker.example:{app.port}"})
    assert answer.status == 403
    assert "widget-view" not in answer.text


@pytest.mark.parametrize(
    "path",
    [
        "voila/files/configurator.ipynb", "voila/files/..%2Fpyproject.toml", "files/configurator.ipynb", "api/contents",
        "api/terminals", "voila/templates/dcp_configurator/static/..%2F..%2Fconf.json", "voila/render/README.md",
    ],
)  # fmt: skip
def test_files_of_the_machine_are_not_served(client, path):
    answer = client.ask(path)
    assert answer.status >= 400
    assert "[project]" not in answer.text
    assert "nbformat" not in answer.text
    assert "base_template" not in answer.text


def test_a_visitor_cannot_choose_a_template_that_loads_from_elsewhere(client):
    answer = client.ask("?template=lab&voila-template=lab")
    assert answer.status == 200
    assert outside(answer.text) == []
    assert "dcp-page" in answer.text


def test_two_visitors_have_two_kernels(client, app):
    first = page_config(client.ask().text)["kernelId"]
    second = page_config(client.ask().text)["kernelId"]
    assert first != second
    assert client.ask(f"api/kernels/{first}").status == 200
    assert app.process.poll() is None


def test_a_kernel_nobody_has_is_gone(client):
    # The page asks this to learn whether its kernel lives.
    assert client.ask("api/kernels/00000000-0000-4000-8000-000000000000").status == 404


def test_a_page_that_cannot_be_drawn_says_where_the_reason_is_and_it_is_there(start, tmp_path):
    broken = tmp_path / "broken.ipynb"
    notebook = json.loads(FRAME.read_text(encoding="utf-8"))
    notebook["cells"][1]["source"] = ["raise RuntimeError('provoked for the test')"]
    broken.write_text(json.dumps(notebook), encoding="utf-8")
    app = start("--notebook", str(broken), "--no-preheat")
    answer = Client(app.url).ask()
    assert "The terminal that runs the server shows the error" in answer.text
    assert "provoked" not in answer.text  # a visitor is not shown the machine's inside
    assert "RuntimeError: provoked for the test" in app.log()
