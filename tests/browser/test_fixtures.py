"""The watch that the page fixture keeps: it must notice what it is there for."""

from __future__ import annotations

import pytest


@pytest.fixture
def blank(page):
    """An empty page that claims to come from this machine; no server is asked."""
    address = "http://127.0.0.1:9/"
    page.route(address, lambda route: route.fulfill(body="<!DOCTYPE html><link rel=icon href='data:,'><p>blank</p>"))
    page.goto(address)
    return page


def test_a_clean_page_has_no_problem(blank, problems):
    assert blank.locator("p").inner_text() == "blank"
    assert problems.noted == []


def test_an_exception_in_the_page_is_noticed(blank, problems):
    blank.evaluate("setTimeout(() => { throw new Error('provoked'); })")
    blank.wait_for_timeout(200)
    assert [line for line in problems.remaining() if line.startswith("page error") and "provoked" in line]
    problems.allow("provoked")


def test_an_error_on_the_console_is_noticed_and_a_remark_is_not(blank, problems):
    blank.evaluate("console.log('a remark'); console.error('provoked')")
    blank.wait_for_timeout(200)
    assert len(problems.remaining()) == 1
    assert problems.remaining()[0].startswith("console: provoked")
    problems.allow("provoked")


def test_a_request_to_another_host_is_noticed_and_does_not_leave(blank, problems):
    refused = blank.evaluate("fetch('http://assets.example/x.css').then(() => 'answered', () => 'refused')")
    assert refused == "refused"
    assert "outside request: http://assets.example/x.css" in problems.remaining()
    problems.allow("assets.example")
    problems.allow("Failed to load resource")


def test_a_popup_is_watched_too(blank, context, problems):
    with context.expect_page() as opened:
        blank.evaluate("window.open('about:blank')")
    opened.value.evaluate("console.error('provoked in the popup')")
    opened.value.wait_for_timeout(200)
    assert [line for line in problems.remaining() if "provoked in the popup" in line]
    problems.allow("provoked")


def test_the_server_listens_on_this_machine_only(voila_app):
    import psutil

    listening = {
        connection.laddr.ip
        for connection in psutil.Process(voila_app.pid).net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
    assert listening == {"127.0.0.1"}
