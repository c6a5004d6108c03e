"""Heads of requests and responses: parsing, writing, and secret request headers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from honeyguide.errors import ConfigError, ConnectError, ProtocolError
from honeyguide.types import Request

MAX_HEAD_BYTES: Final = 256 * 1024
MAX_HEADERS: Final = 1000
"""Most bytes and most headers of an answer's head."""

_CONTROL_CHARS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]").search
_BLANK = (" ", "\t")
_STATUS_LINE = re.compile(rb"HTTP/[0-9.]+ +([0-9]{3})(?![0-9])")
_IS_FRAMING = re.compile(
    rb"\s*(?:transfer-encoding|content-length)\s*(?::|\Z)", re.IGNORECASE
).match
_IS_CONTACT = re.compile(
    r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9.-]+|https?://[!#-'*-;=?-~]+"
).fullmatch


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """The head of an answer: interim answers (1xx, a proxy's CONNECT) left out."""

    status: int
    lines: tuple[bytes, ...]
    """Status line and headers as received, line ends included, without the blank line."""
    headers: tuple[tuple[str, str], ...]

    def header(self, name: str) -> str:
        length = len(name)
        for key, value in self.headers:
            if len(key) == length and key.lower() == name:
                return value
        return ""

    def header_values(self, name: str) -> list[str]:
        """The values of every header of that name, which is in lower case."""
        length = len(name)
        return [value for key, value in self.headers if len(key) == length and key.lower() == name]

    def to_archived(self, length: int) -> bytes:
        """The head as bytes that fit a payload of this length with its transfer coding undone.

        What no longer holds keeps its value under another name, as other crawlers do it.
        """
        lines = [_http1_status_line(self.lines[0], self.status)]
        chunked = False
        for line in self.lines[1:]:
            if _IS_FRAMING(line):
                name, _, value = line.partition(b":")
                framed = name.strip().lower() == b"content-length" and not chunked
                if not framed or value.strip() != b"%d" % length:
                    chunked = True
                    line = b"X-Archive-Orig-" + line
            lines.append(line)
        if chunked:
            lines.append(b"Content-Length: %d\r\n" % length)
        lines.append(b"\r\n")
        return b"".join(lines)


def parse_head(url: str, received: list[bytes]) -> ResponseHead:
    """The last head among the header lines that came in; raises FetchError."""
    lines, whole = received[:], b"".join(received)
    if whole.find(b"HTTP/", 1) > 0:  # perhaps others came before it
        starts = [n for n, line in enumerate(received) if line.startswith(b"HTTP/")]
        lines = received[starts[-1] :] if starts else lines
    try:
        end = lines.index(b"\r\n")
    except ValueError:
        end = next((n for n, line in enumerate(lines) if not line.strip(b"\r\n")), -1)
    if end < 0:
        raise ConnectError(url, "the answer ended within its headers")
    del lines[end:]
    if not lines or (match := _STATUS_LINE.match(lines[0])) is None:
        raise ProtocolError(url, "the answer has no status line")
    if len(lines) > MAX_HEADERS + 1 or len(whole) > MAX_HEAD_BYTES:
        raise ProtocolError(url, "the answer's head is too large")
    headers: list[tuple[str, str]] = []
    for line in lines[1:]:
        name, colon, value = line.decode("latin-1").partition(":")
        if name[:1] in _BLANK:  # an old way to continue the line before
            if headers:
                rest = f"{name}{colon}{value}".strip()
                headers[-1] = (headers[-1][0], f"{headers[-1][1]} {rest}")
        elif colon:
            headers.append((name.strip(), value.strip()))
    return ResponseHead(int(match[1]), tuple(lines), tuple(headers))


def request_head(target: str, host: str, lines: list[str]) -> bytes:
    """The request as it goes out; HTTP/2 is written down in the words of HTTP/1.1."""
    return "\r\n".join((f"GET {target} HTTP/1.1", f"Host: {host}", *lines, "", "")).encode(
        "latin-1"
    )


def is_sendable(value: str) -> bool:
    """May this text, which came from the web, stand in a header that we send?"""
    return bool(value) and len(value) <= 4096 and value.isascii() and not _CONTROL_CHARS(value)


def make_user_agent(contact: str, version: str) -> str:
    """How we introduce ourselves; the robots.txt product token is ``honeyguide``."""
    if not contact or _IS_CONTACT(contact) is None:
        raise ConfigError(
            f"fetch.contact: {contact!r} does not say how to reach you. Set an e-mail address or "
            "a web page (http://…) in topic.toml under [fetch], or with --contact: the owner of "
            "a site must be able to complain"
        )
    return f"Honeyguide/{'.'.join(version.split('.')[:2])} (+{contact})"


def _http1_status_line(line: bytes, status: int) -> bytes:
    """HTTP/2 and 3 have no status line: write one that archive readers know."""
    if line.startswith(b"HTTP/1"):
        return line
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = ""
    return f"HTTP/1.1 {status} {phrase}\r\n".encode("ascii")


# -- Secret headers --


_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}").fullmatch


def secret_header_lines(request: Request) -> list[str]:
    """The request's own headers as lines. What cannot be sent is an error that does not show it:
    a request that lacks its key would be another request."""
    for name, value in request.headers:
        if not _HEADER_NAME(name) or not is_sendable(value):
            raise ProtocolError(request.url, "one of the request's own headers cannot be sent")
    return [f"{name}: {value}" for name, value in request.headers]


def merge_header_lines(lines: list[str], private: list[str], removed: list[str]) -> list[str]:
    """Every header of a request; a private one replaces ours of its name."""
    replaced = {_header_name(line) for line in private}
    return [*(line for line in lines if _header_name(line) not in replaced), *private, *removed]


def _header_name(line: str) -> str:
    return line.partition(":")[0].lower()
