"""One client of the lab: HTTP/1.1 read by hand, because benchmarks share the machine with it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import formatdate
from time import time
from typing import NamedTuple

from honeyguide.lab.responses import LAB, Answer, Desk, note

LARGEST_HEAD = 64 << 10
LARGEST_BODY = 1 << 20
_FIELD = re.compile(
    rb"\r\n(host|accept-encoding|if-none-match|connection|content-length|transfer-encoding)"
    rb"[ \t]*:[ \t]*([^\r\n]*)",
    re.IGNORECASE,
)
_ABSOLUTE = re.compile(r"https?://", re.IGNORECASE)
_GZIP = re.compile(rb"(?:^|[\s,])(?:x-)?gzip(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))", re.IGNORECASE)


class Access(NamedTuple):
    """A line of the access log."""

    at: float
    host: str
    path: str
    status: int


@dataclass(frozen=True, slots=True)
class Terms:
    """What every client of one server gets."""

    desk: Desk
    log: Callable[[Access], None] | None = None
    slow_s: float = 30.0
    """How long a client may take to ask, and to read."""
    idle_s: float = 120.0


class Connection(asyncio.Protocol):
    """One client: bytes in, one answer at a time out."""

    def __init__(self, terms: Terms, present: set[Connection]) -> None:
        """``present``: where it enters itself while it lasts."""
        self._terms = terms
        self._present = present
        self._loop = asyncio.get_running_loop()
        self._itself = ""
        """This end of the connection: whoever names it as host means the lab itself."""
        self._buffer = b""
        self._skip = 0
        """Bytes of a request body still to be thrown away."""
        self._waiting = False
        """An answer is being held back, or the client does not read: ask no more."""
        self._ended = False
        """The client has said all it will."""
        self.deadline = self._loop.time() + terms.idle_s

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        name, port = (transport.get_extra_info("sockname") or ("", 0))[:2]
        self._itself = f"[{name}]:{port}" if ":" in name else f"{name}:{port}"
        self._present.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._present.discard(self)

    def end(self) -> None:
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        if not self._buffer:
            self.deadline = self._loop.time() + self._terms.slow_s
        self._buffer += data
        if self._waiting and len(self._buffer) > LARGEST_HEAD:
            self._transport.pause_reading()
        self._proceed()

    def eof_received(self) -> bool:
        self._ended = True
        return self._waiting  # True: stay open until the answer is out

    def pause_writing(self) -> None:
        self._waiting = True
        self.deadline = self._loop.time() + self._terms.slow_s

    def resume_writing(self) -> None:
        self._go_on()

    def _go_on(self) -> None:
        self._waiting = False
        self.deadline = self._loop.time() + self._terms.idle_s
        if not self._transport.is_closing():
            self._transport.resume_reading()
            self._proceed()
            if self._ended and not self._waiting:
                self._transport.close()

    def _proceed(self) -> None:
        """Answer the requests that are whole, unless an answer is still on its way."""
        while self._buffer and not self._waiting and not self._transport.is_closing():
            if self._skip:
                skipped = self._buffer[: self._skip]
                self._skip -= len(skipped)
                self._buffer = self._buffer[len(skipped) :]
                continue
            end = self._buffer.find(b"\r\n\r\n", 0, LARGEST_HEAD)
            if end < 0:
                if len(self._buffer) >= LARGEST_HEAD:
                    self._buffer = b""
                    self._send(note(431, "That request head is too long."), close=True)
                return
            head, self._buffer = self._buffer[:end], self._buffer[end + 4 :]
            self._ask(head)

    def _ask(self, head: bytes) -> None:
        line = head.partition(b"\r\n")[0].split(b" ")
        if len(line) != 3 or not line[2].startswith(b"HTTP/1."):
            self._send(note(400, "That is not an HTTP/1.1 request."), close=True)
            return
        method, target = line[0], line[1].decode("utf-8", "replace")
        fields = {name.lower(): value for name, value in _FIELD.findall(head)}
        length = fields.get(b"content-length", b"0")
        if not length.isdigit() or len(length) > 9 or int(length) > LARGEST_BODY:
            self._send(note(413, "The lab takes no bodies."), close=True)
            return
        self._skip = int(length)
        connection = fields.get(b"connection", b"").lower()
        keep = connection == b"keep-alive" or (line[2] == b"HTTP/1.1" and connection != b"close")
        close = not keep or b"transfer-encoding" in fields
        if method == b"CONNECT":
            text = "The lab speaks plain HTTP only: use http:// addresses."
            self._send(note(501, text), close=True)
            return
        if scheme := _ABSOLUTE.match(target):
            key = target[scheme.end() :].replace(":443/", "/", 1)
            key = key if "/" in key else key.replace("?", "/?", 1) if "?" in key else key + "/"
        elif target.startswith("/") and b"host" in fields:
            host = fields[b"host"].decode("latin-1").strip()
            key = (LAB if host == self._itself else host) + target
        else:
            self._send(note(400, "That request names no host."), close=True)
            return
        if method in (b"GET", b"HEAD"):
            answer = self._terms.desk.answer(key)
        else:
            answer = note(405, "The lab answers GET and HEAD.")
        host, _, path = key.partition("/")
        if self._terms.log is not None:
            self._terms.log(Access(time(), host.lower(), "/" + path, answer.status))
        if not answer.status:
            self.end()
            return
        accepts = _GZIP.search(fields.get(b"accept-encoding", b"")) is not None
        seen = fields.get(b"if-none-match", b"").decode("latin-1")
        out = _written(answer, method == b"HEAD", accepts, seen, close)
        delay = self._terms.desk.serving.latency_s if answer.wait_s is None else answer.wait_s
        if delay <= 0:
            self._write(out, close)
            return
        self._waiting = True
        self.deadline = self._loop.time() + delay + self._terms.slow_s
        self._loop.call_later(delay, self._write_late, out, close)

    def _send(self, answer: Answer, close: bool) -> None:
        self._write(_written(answer, False, False, "", close), close)

    def _write_late(self, out: bytes, close: bool) -> None:
        if not self._transport.is_closing():
            self._waiting = False
            self._write(out, close)
            if not self._waiting:
                self._go_on()

    def _write(self, out: bytes, close: bool) -> None:
        self.deadline = self._loop.time() + self._terms.idle_s
        self._transport.write(out)
        if close:
            self.deadline = self._loop.time() + self._terms.slow_s
            self._transport.close()


def _written(answer: Answer, head_only: bool, gzip: bool, seen: str, close: bool) -> bytes:
    """The bytes of an answer for one client."""
    tail = b"Date: " + formatdate(usegmt=True).encode() + b"\r\n"
    if close:
        tail += b"Connection: close\r\n"
    if answer.etag and seen and (seen.strip() == "*" or answer.etag[2:] in seen):
        return b"HTTP/1.1 304 Not Modified\r\n" + answer.head.partition(b"\r\n")[2] + tail + b"\r\n"
    if answer.status in (204, 304):
        return answer.head + tail + b"\r\n"
    if gzip and answer.packed:
        body = answer.packed
        tail += b"Content-Encoding: gzip\r\n"
    else:
        body = answer.body
    tail += b"Content-Length: %d\r\n\r\n" % len(body)
    return answer.head + tail + (b"" if head_only else body)
