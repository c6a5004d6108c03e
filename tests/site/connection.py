"""One client's connection: reads requests, hands them to behaviours, notices when it goes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from urllib.parse import urlsplit

from tests.site.exchange import LIFETIME_S, Behaviour, Enough, Exchange
from tests.site.log import Book, Call

_HEAD = 256 * 1024


Plan = Callable[[Call], tuple[Behaviour, int]]
"""Which behaviour answers a call, and how many calls of its kind came before."""


class Connection(asyncio.Protocol):
    """Serves requests one after the other until either side closes."""

    def __init__(self, number: int, plan: Plan, book: Book, live: set[Connection]) -> None:
        self._number = number
        self._plan = plan
        self._book = book
        self._live = live
        self._inbox = bytearray()
        self._news = asyncio.Event()
        self._drained = asyncio.Event()
        self._drained.set()
        self.address = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.set_write_buffer_limits(high=0)  # so that "drained" means "in the kernel"
        self.transport = transport
        self.address = transport.get_extra_info("sockname")[0]
        self._live.add(self)
        self.task = asyncio.get_running_loop().create_task(self._serve())

    def data_received(self, data: bytes) -> None:
        self._inbox += data
        self._news.set()
        if len(self._inbox) > _HEAD:
            self.transport.abort()

    def eof_received(self) -> bool:
        self.task.cancel()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._drained.set()
        self.task.cancel()
        self._live.discard(self)

    def pause_writing(self) -> None:
        self._drained.clear()

    def resume_writing(self) -> None:
        self._drained.set()

    async def _serve(self) -> None:
        try:
            more = True
            while more:
                call = parse(await self._head(), self.address)
                more = call is not None and await self._answer(call)
                if call is None:
                    self.transport.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        finally:
            self.transport.close()

    async def _head(self) -> bytes:
        """The next request's head; or what there is, once it cannot become one."""
        while True:
            head, blank, rest = self._inbox.partition(b"\r\n\r\n")
            if blank or (head and not head[:1].isalpha()):
                self._inbox = rest
                return bytes(head)
            self._news.clear()
            await self._news.wait()

    async def _answer(self, call: Call) -> bool:
        """Let the route's behaviour answer; whether the connection may serve another call."""
        behaviour, nth = self._plan(call)
        x = Exchange(call, nth, self.transport, self._drained)
        x.keep_alive = call.header("connection").lower() != "close"
        number = self._book.begin(call, self._number)
        try:
            async with asyncio.timeout(LIFETIME_S):
                await behaviour(x)
        except (Enough, TimeoutError):
            x.close()
        except Exception as error:  # noqa: BLE001 whatever a test's behaviour raises must be seen
            x.close()
            self._book.faults.append(error)
        finally:
            self._book.end(number, x.status, x.sent)
        return x.keep_alive


def parse(head: bytes, address: str) -> Call | None:
    """A request's head, origin-form or absolute-form; None if it is no HTTP."""
    first, *lines = head.decode("latin-1").split("\r\n")
    parts = first.split(" ")
    if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
        return None
    pairs = (line.partition(":") for line in lines)
    headers = tuple((name.strip(), value.strip()) for name, _, value in pairs)
    method, target, _ = parts
    proxied = not target.startswith("/")
    named = next((value for name, value in headers if name.lower() == "host"), address)
    try:
        url = urlsplit(target if proxied else f"//{named}")
        host = url.hostname or address
    except ValueError:
        return None
    path = target
    if proxied:
        path = (url.path or "/") + (f"?{url.query}" if url.query else "")
    return Call(method, host, path, headers, proxied)
