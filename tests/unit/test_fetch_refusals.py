"""Answers that bring no page, and places that are never asked."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import replace

import pytest

from honeyguide.errors import FetchError, Forbidden, ProtocolError, WrongType
from honeyguide.types import Request, Url
from tests.unit.raw_server import OPEN, Server, get, reply, serving


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.mark.parametrize("status", ["404 Gone", "500 Oh", "403 No", "301 On", "999 What"])
def test_little_is_kept_of_what_is_no_page(server: Server, status: str) -> None:
    body = b"x" * 500_000
    server.routes["/long"] = [reply(body, status=status)]
    server.routes["/bomb"] = [reply(gzip.compress(body), "Content-Encoding: gzip", status=status)]
    got = get(server.url("/long"))
    assert got.body == got.payload == body[:65_536]
    assert got.head.endswith(b"\r\nContent-Length: 65536\r\n\r\n")
    assert len(get(server.url("/bomb")).body) == 65_536
    assert len(get(Request(server.url("/long"), limit=100, truncate=True)).body) == 100


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"Content-Type: \x1b]0;PWNED\x07\x1b[31m/evil\xe2\x80\xae", WrongType),
        (b"Content-Type: " + b"\xff" * 9000, WrongType),
        (b"Content-Encoding: \x1b]0;PWNED\x07", ProtocolError),
    ],
)
def test_what_a_site_says_is_printable_in_errors(
    server: Server, head: bytes, kind: type[FetchError]
) -> None:
    server.routes["/"] = [b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n" + head + b"\r\n\r\nx"]
    with pytest.raises(kind) as caught:
        get(server.url("/"))
    assert caught.value.detail.isascii()
    assert caught.value.detail.isprintable()
    assert 0 < len(caught.value.detail) <= 200


@pytest.mark.parametrize(
    "host", ["169.254.169.254", "[fd00:ec2::254]", "168.63.129.16", "[::ffff:169.254.169.254]"]
)
@pytest.mark.parametrize("proxy", ["", "http://127.0.0.1:9"])
def test_metadata_addresses_are_refused_whatever_is_allowed(host: str, proxy: str) -> None:
    with pytest.raises(Forbidden, match="metadata"):
        get(Url(f"http://{host}/"), replace(OPEN, private_addresses=True, proxy=proxy))
