from __future__ import annotations

import pytest

from honeyguide.errors import ConfigError, ConnectError, ProtocolError
from honeyguide.fetch.http_headers import is_sendable, make_user_agent, parse_head, request_head

URL = "http://a.test/"


def lines(text: str) -> list[bytes]:
    return text.replace("\n", "\r\n").encode("latin-1").splitlines(keepends=True)


def test_the_last_head_counts() -> None:
    head = parse_head(
        URL, lines("HTTP/1.1 100 Continue\n\nHTTP/1.1 103 Hints\nA: 0\n\nHTTP/1.1 404 No\nA: 1\n\n")
    )
    assert (head.status, head.headers) == (404, (("A", "1"),))


def test_trailers_are_left_out() -> None:
    head = parse_head(URL, lines("HTTP/1.1 200 OK\nA: 1\n\nT: 2\n"))
    assert head.headers == (("A", "1"),)


def test_odd_headers() -> None:
    head = parse_head(
        URL, lines("HTTP/1.1 200 OK\n folded at once\nA:1\n\tmore \nno colon\nÄ: é\n: x\n\n")
    )
    assert head.headers == (("A", "1 more"), ("Ä", "é"), ("", "x"))


@pytest.mark.parametrize(
    "text", ["\n", "A: 1\n\n", "HTTP/1.1 OK\n\n", "HTTP/1.1 2000 OK\n\n",
             "HTTP/1.1 200 OK\n" + "A: 1\n" * 1001 + "\n",
             "HTTP/1.1 200 OK\nA: " + "x" * 262_144 + "\n\n"],
)  # fmt: skip
def test_not_a_head(text: str) -> None:
    with pytest.raises(ProtocolError):
        parse_head(URL, lines(text))


@pytest.mark.parametrize("text", ["", "HTTP/1.1 200 OK\n", "HTTP/1.1 200 OK\nA: 1\n"])
def test_half_a_head(text: str) -> None:
    with pytest.raises(ConnectError):
        parse_head(URL, lines(text))


def archived(text: str, length: int) -> bytes:
    return parse_head(URL, lines(text)).to_archived(length).replace(b"\r\n", b"\n")


def test_an_archived_head_fits_its_payload() -> None:
    assert archived("HTTP/1.1 200 Fine\nContent-Length: 5\n\n", 5) == (
        b"HTTP/1.1 200 Fine\nContent-Length: 5\n\n"
    )
    assert archived("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\nA: 1\n\n", 5) == (
        b"HTTP/1.1 200 OK\nX-Archive-Orig-Transfer-Encoding: chunked\nA: 1\nContent-Length: 5\n\n"
    )
    assert archived("HTTP/1.1 200 OK\nContent-Length: 9\n\n", 5) == (
        b"HTTP/1.1 200 OK\nX-Archive-Orig-Content-Length: 9\nContent-Length: 5\n\n"
    )
    assert archived("HTTP/1.1 200 OK\nA: 1\n\n", 5) == b"HTTP/1.1 200 OK\nA: 1\n\n"
    assert archived("HTTP/2 200 \nA: 1\n\n", 5) == b"HTTP/1.1 200 OK\nA: 1\n\n"
    assert archived("HTTP/2 799 \n\n", 5) == b"HTTP/1.1 799 \n\n"


def test_request_head() -> None:
    assert request_head("/x?y", "a.test:81", ["A: 1"]) == (
        b"GET /x?y HTTP/1.1\r\nHost: a.test:81\r\nA: 1\r\n\r\n"
    )


@pytest.mark.parametrize("value", ['"abc"', 'W/"x"', "Tue, 14 Nov 2023 22:13:20 GMT"])
def test_sendable(value: str) -> None:
    assert is_sendable(value)


@pytest.mark.parametrize("value", ["", "a\r\nb", "a\nb", "a\0", "é", "x" * 5000, "\x7f"])
def test_not_sendable(value: str) -> None:
    assert not is_sendable(value)


@pytest.mark.parametrize("contact", ["me@example.org", "https://example.org/bot", "http://x.y/"])
def test_user_agent(contact: str) -> None:
    assert make_user_agent(contact, "0.1.0") == f"Honeyguide/0.1 (+{contact})"


@pytest.mark.parametrize(
    "contact",
    [
        "",
        "me",
        "ftp://x",
        "a@b\r\nX: y",
        "http://x y",
        "a@b\n",
        "http://x)",
        "http://x\x00",
        "http://ü.x/",
        "@",
    ],
)
def test_a_contact_is_required(contact: str) -> None:
    with pytest.raises(ConfigError, match=r"fetch\.contact.*--contact"):
        make_user_agent(contact, "0.1.0")
