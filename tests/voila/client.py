"""A browser's manners over plain HTTP: cookies kept, errors returned instead of raised."""

from __future__ import annotations

import http.cookiejar
import json
import re
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from html.parser import HTMLParser


@dataclass(frozen=True)
class Answer:
    """A response: status, headers by lower-case name, and text."""

    status: int
    headers: dict[str, str]
    text: str


class Client:
    """One visitor of the server at ``url``."""

    def __init__(self, url):
        self.url = url
        self.cookies = http.cookiejar.CookieJar()
        # No proxy: what the machine's environment names would be asked for 127.0.0.1 too.
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(self.cookies)
        )

    def ask(self, path="", *, data=None, headers=None, method=None):
        """Return the answer to a request; *data* is posted as a form."""
        body = None if data is None else urllib.parse.urlencode(data).encode()
        request = urllib.request.Request(  # noqa: S310 - always the server under test
            urllib.parse.urljoin(self.url, path), data=body, headers=headers or {}, method=method
        )
        try:
            with self._opener.open(request, timeout=60) as reply:
                return _answer(reply, reply.status)
        except urllib.error.HTTPError as error:
            with error:
                return _answer(error, error.code)

    def cookie(self, name):
        """Return the value of a cookie, or None."""
        return next((cookie.value for cookie in self.cookies if cookie.name == name), None)


def _answer(reply, status):
    headers = {name.lower(): value for name, value in reply.headers.items()}
    return Answer(status, headers, reply.read().decode("utf-8", "replace"))


def page_config(text):
    """Return what the page tells its scripts: the kernel's id, the base address and so on."""
    found = re.search(r'<script id="jupyter-config-data" type="application/json">(.*?)</script>', text, re.DOTALL)
    return json.loads(found[1])


class _Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        names = {"script": ("src",), "link": ("href",), "img": ("src", "srcset"), "iframe": ("src",), "a": ("href",),
                 "source": ("src",), "form": ("action",), "object": ("data",)}  # fmt: skip
        self.found += [(tag, value) for name, value in attrs if value and name in names.get(tag, ())]


def links(text):
    """Return (tag, address) of everything that the HTML refers to."""
    parser = _Links()
    parser.feed(text)
    return parser.found
