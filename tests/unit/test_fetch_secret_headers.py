"""Headers of a request's own: they go out, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from honeyguide.errors import ProtocolError
from honeyguide.fetch.http import CurlFetcher
from honeyguide.types import Request, Response
from tests.unit.raw_server import Server, get, reply, serving, use

SECRET = ("X-Key", "s3cret")


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as made:
        yield made


def test_they_are_sent_and_not_archived(server: Server) -> None:
    server.routes["/"] = [reply()]
    request = Request(server.url("/"), headers=(SECRET, ("accept", "application/json")))
    got = get(request)
    sent = server.requests[0]
    assert b"\r\nX-Key: s3cret\r\n" in sent
    assert sent.lower().count(b"\r\naccept: ") == 1
    assert b"\r\naccept: application/json\r\n" in sent
    assert b"s3cret" not in got.request_head
    assert "s3cret" not in repr(got)
    assert "s3cret" not in repr(request)


def test_cookies_stay_apart(server: Server) -> None:
    server.routes["/"] = [reply(b"", "Set-Cookie: a=b")]
    plain = Request(server.url("/"))
    private = replace(plain, headers=(SECRET,))

    async def work(fetcher: CurlFetcher) -> list[Response]:
        return [await fetcher.fetch(request) for request in (private, plain, private, plain)]

    use(work)
    assert [b"Cookie: a=b" in sent for sent in server.requests] == [False, False, False, True]
    assert [b"s3cret" in sent for sent in server.requests] == [True, False, True, False]


@pytest.mark.parametrize(
    "header", [("X-Key", "a\r\nEvil: 1"), ("X-Key", ""), ("X Key", "a"), ("", "a"), ("X-Key", "ü")]
)
def test_what_cannot_be_sent_is_not_sent(server: Server, header: tuple[str, str]) -> None:
    with pytest.raises(ProtocolError) as caught:
        get(Request(server.url("/"), headers=(header,)))
    assert server.requests == []
    assert "Evil" not in str(caught.value)
