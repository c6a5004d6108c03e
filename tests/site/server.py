"""A local web that misbehaves: many hosts, one port, one thread, and a log of everything.

Every address 127.0.0.1 … 127.0.0.20 is a host of its own, on one port. The same port is a
forward proxy too, so that names such as ``slow.test`` work without DNS (``fetch.proxy``).

    with Site() as site:
        site.pages("127.0.0.2", {"/": "<a href=/b>b</a>", "/b": "<p>b"})
        site.route("slow.test", "/", slow_body)
        ...
        assert not site.overlaps()
"""

from __future__ import annotations

import asyncio
import itertools
import random
import socket
import threading
from collections import Counter
from collections.abc import Coroutine, Mapping
from typing import Any, Self, TypeVar

from tests.site import log
from tests.site.connection import Connection
from tests.site.exchange import Behaviour, not_found, page
from tests.site.log import Book, Call, Hit

T = TypeVar("T")


class Site:
    """See the module. While it runs, everything may be called from any thread."""

    def __init__(self, hosts: int = 20) -> None:
        self.addresses = tuple(f"127.0.0.{n}" for n in range(1, hosts + 1))
        self.port = 0
        self._routes: dict[tuple[str | None, str], Behaviour] = {}
        self._prefixes: dict[tuple[str | None, str], Behaviour] = {}
        self._counts: Counter[tuple[str, str]] = Counter()
        self._book = Book()
        self._live: set[Connection] = set()
        self._numbers = itertools.count(1)
        self._listeners: dict[str, socket.socket] = {}
        self._arriving: set[asyncio.Task[object]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="site", daemon=True)

    def __enter__(self) -> Self:
        try:
            sockets = listen(self.addresses)
        except OSError:
            self._loop.close()
            raise
        self.port = sockets[0].getsockname()[1]
        self._thread.start()
        for address, listener in zip(self.addresses, sockets, strict=True):
            self._do(self._open(address, listener))
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Break every connection, end the thread; raise what a behaviour raised."""
        if self._thread.is_alive():
            self._do(self._shut())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(5)
            self._loop.close()
        if self._book.faults:
            raise self._book.faults.pop()

    @property
    def proxy(self) -> str:
        """For ``fetch.proxy``."""
        return f"http://127.0.0.1:{self.port}"

    def url(self, host: str, path: str = "/") -> str:
        """Where a page is: addresses need the port, names are reached through the proxy."""
        return (
            f"http://{host}:{self.port}{path}" if host in self.addresses else f"http://{host}{path}"
        )

    def route(self, host: str | None, path: str, behaviour: Behaviour) -> None:
        """Answer this path so, on one host or on all (None). A final ``*`` means any rest."""
        if path.endswith("*"):
            self._prefixes[host, path[:-1]] = behaviour
        else:
            self._routes[host, path] = behaviour

    def mount(self, host: str | None, behaviours: Mapping[str, Behaviour]) -> None:
        for path, behaviour in behaviours.items():
            self.route(host, path, behaviour)

    def pages(self, host: str | None, pages: Mapping[str, str]) -> None:
        self.mount(host, {path: page(html) for path, html in pages.items()})

    def refuse(self, address: str) -> None:
        """The host dies: its connections break and new ones are refused."""
        self._do(self._refuse(address))

    def accept(self, address: str) -> None:
        """The host returns."""
        self._do(self._open(address, listener(address, self.port)))

    @property
    def log(self) -> list[Hit]:
        """All hits so far, in order of arrival."""
        return self._do(self._copy()) if self._thread.is_alive() else list(self._book.hits)

    def hits(self, host: str) -> list[Hit]:
        return [hit for hit in self.log if hit.host == host]

    def overlaps(self) -> list[tuple[Hit, Hit]]:
        """Requests of one host that were under way at once."""
        return log.overlaps(self.log)

    def gaps(self, host: str) -> list[float]:
        """Seconds from the end of one request of this host to the start of the next."""
        return log.gaps(self.hits(host))

    def plan(self, call: Call) -> tuple[Behaviour, int]:
        """Which behaviour answers, and how many requests the same path had before."""
        bare = call.path.partition("?")[0]
        nth = self._counts[call.host, bare]
        self._counts[call.host, bare] += 1
        for host in (call.host, None):
            for path in (call.path, bare):
                if behaviour := self._routes.get((host, path)):
                    return behaviour, nth
            fitting = [p for h, p in self._prefixes if h == host and bare.startswith(p)]
            if fitting:
                return self._prefixes[host, max(fitting, key=len)], nth
        return not_found, nth

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        """Have it done in the site's thread, between two of its events."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(5)

    async def _copy(self) -> list[Hit]:
        return list(self._book.hits)

    async def _open(self, address: str, listener: socket.socket) -> None:
        self._listeners[address] = listener
        self._loop.add_reader(listener, self._arrive, listener)

    def _arrive(self, listener: socket.socket) -> None:
        try:
            wire, _ = listener.accept()
        except OSError:  # the client has gone again
            return
        wire.setblocking(False)
        connection = Connection(next(self._numbers), self.plan, self._book, self._live)
        arriving = self._loop.connect_accepted_socket(lambda: connection, wire)
        task: asyncio.Task[object] = self._loop.create_task(arriving)
        self._arriving.add(task)
        task.add_done_callback(self._arriving.discard)

    async def _refuse(self, address: str) -> None:
        listener = self._listeners.pop(address)
        self._loop.remove_reader(listener)
        listener.close()
        await asyncio.gather(*self._arriving, return_exceptions=True)
        gone = [connection for connection in self._live if connection.address == address]
        for connection in gone:
            connection.transport.abort()
        await asyncio.gather(*(connection.task for connection in gone), return_exceptions=True)
        await asyncio.sleep(0)  # the transports close their sockets in the loop's next turn

    async def _shut(self) -> None:
        for address in list(self._listeners):
            await self._refuse(address)


def listen(addresses: tuple[str, ...]) -> list[socket.socket]:
    """A listener on each address, all on one free port.

    The port lies below the range from which systems take the ports of outgoing connections,
    so that a host which died can always return.
    """
    for _ in range(50):
        port = random.randrange(20_000, 32_000)
        sockets: list[socket.socket] = []
        try:
            for address in addresses:
                sockets.append(listener(address, port))
        except OSError as error:
            for made in sockets:
                made.close()
            trouble = error
        else:
            return sockets
    raise trouble


def listener(address: str, port: int) -> socket.socket:
    made = socket.socket()
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((address, port))
        made.listen(256)
        made.setblocking(False)
    except OSError:
        made.close()
        raise
    return made
