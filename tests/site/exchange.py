"""One request and the means to answer it, well or badly."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable
from functools import cache
from http import HTTPStatus
from struct import pack

from tests.site.log import Call, Headers

LIFETIME_S = 30.0
"""No behaviour lasts longer."""
BYTES = 128 * 1024 * 1024
"""No behaviour sends more."""
_PIECE = 64 * 1024


class Enough(Exception):
    """The behaviour has used up its bytes, or nobody listens any more."""


class Exchange:
    """What a behaviour is given. All writing goes through it, so every behaviour is bounded."""

    def __init__(
        self, call: Call, nth: int, transport: asyncio.Transport, drained: asyncio.Event
    ) -> None:
        self.call = call
        self.nth = nth
        """How many requests this host and path had before, as a route's memory."""
        self.keep_alive = True
        self.status = 0
        self.sent: Headers = ()
        self._transport = transport
        self._drained = drained
        self._left = BYTES

    async def answer(
        self,
        body: bytes | str = b"",
        *,
        status: int = 200,
        kind: str = "text/html; charset=utf-8",
        headers: Iterable[tuple[str, str]] = (),
    ) -> None:
        """A well-formed answer."""
        data = body.encode() if isinstance(body, str) else body
        length = [] if status in (204, 304) else [("Content-Length", str(len(data)))]
        await self.send(self.head(status, kind, [*length, *headers]) + data)

    def head(
        self,
        status: int = 200,
        kind: str = "text/html; charset=utf-8",
        headers: Iterable[tuple[str, str]] = (),
    ) -> bytes:
        """Status line and headers to the blank line; noted in the log. Nothing is checked."""
        self.status = status
        self.sent = ((("Content-Type", kind),) if kind else ()) + tuple(headers)
        phrase = HTTPStatus(status).phrase if status in _KNOWN else "Whatever"
        lines = [f"HTTP/1.1 {status} {phrase}", *(f"{name}: {value}" for name, value in self.sent)]
        return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")

    async def send(self, data: bytes) -> None:
        """Write, and wait until the kernel has taken it all.

        The loop gets its turn before the write and never after it, so that the log's end of
        this request comes before anything its client does next.
        """
        for at in range(0, len(data), _PIECE):
            await asyncio.sleep(0)
            piece = data[at : at + _PIECE]
            self._left -= len(piece)
            if self._left < 0 or self._transport.is_closing():
                raise Enough
            self._transport.write(piece)
            await self._drained.wait()

    async def wait(self, seconds: float) -> None:
        """Do nothing; ends early when the client goes or the site closes."""
        await asyncio.sleep(seconds)

    def close(self) -> None:
        """No further request on this connection."""
        self.keep_alive = False

    def reset(self) -> None:
        """Drop the connection with a RST."""
        raw = self._transport.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, pack("ii", 1, 0))
        self._transport.abort()
        self.keep_alive = False


Behaviour = Callable[[Exchange], Awaitable[None]]
Body = bytes | str | Callable[[], bytes | str]
_KNOWN = frozenset(map(int, HTTPStatus))


def page(body: Body, kind: str = "text/html; charset=utf-8", status: int = 200) -> Behaviour:
    """Always the same page; a large one is better given as a function, made when asked for."""
    made = body if isinstance(body, bytes | str) else cache(body)

    async def answer(x: Exchange) -> None:
        data = made if isinstance(made, bytes | str) else made()
        await x.answer(data, kind=kind, status=status)

    return answer


def text(body: Body, status: int = 200) -> Behaviour:
    """Always the same plain text."""
    return page(body, "text/plain", status)


def raw(data: bytes) -> Behaviour:
    """These very bytes, then the connection closes."""

    async def answer(x: Exchange) -> None:
        x.close()
        await x.send(data)

    return answer


async def not_found(x: Exchange) -> None:
    await x.answer("<title>Not found</title>", status=404)
