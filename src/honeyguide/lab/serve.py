"""The lab's server: a forward proxy that knows one recorded web and nothing else.

A crawler is given it as its proxy and asks ``GET http://host/path``; requests in origin form
are answered by their Host header. It never forwards anything anywhere.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import Self

from honeyguide.lab.connection import Access, Connection, Terms
from honeyguide.lab.responses import Beside, Desk, Serving
from honeyguide.lab.web import Web


class LabServer:
    """Serves a recorded web on a local port while its ``async with`` block lasts."""

    def __init__(
        self,
        web: Web,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        serving: Serving | None = None,
        engine: Beside | None = None,
        log: Callable[[Access], None] | None = None,
        slow_s: float = 30.0,
        idle_s: float = 120.0,
    ) -> None:
        """``engine`` answers for search.lab, ``log`` hears every answer, and a client may take
        ``slow_s`` to ask and to read."""
        self.desk = Desk(web, serving, engine)
        self.connections: set[Connection] = set()
        self._terms = Terms(self.desk, log, slow_s, idle_s)
        self._where = (host, port)
        self._server: asyncio.Server | None = None
        self._sweeper: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: Connection(self._terms, self.connections), *self._where
        )
        self._sweeper = loop.create_task(self._sweep())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        assert self._sweeper is not None
        self._sweeper.cancel()
        self._server.close()
        for connection in tuple(self.connections):
            connection.end()
        with suppress(asyncio.CancelledError):
            await self._sweeper
        await asyncio.sleep(0)  # let the transports say goodbye

    @property
    def address(self) -> str:
        """What a crawler is told: ``http://127.0.0.1:8090``."""
        assert self._server is not None
        host, port = self._server.sockets[0].getsockname()[:2]
        return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"

    async def _sweep(self) -> None:
        """One clock for all connections, instead of a timer for each request."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(min(1.0, self._terms.slow_s / 2))
            for connection in tuple(self.connections):
                if loop.time() > connection.deadline:
                    connection.end()


def run(
    web: Web,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    serving: Serving | None = None,
    engine: Beside | None = None,
    ready: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve until interrupted; ``ready`` is told the address."""

    async def serve() -> None:
        async with LabServer(web, host, port, serving=serving, engine=engine) as server:
            ready(server.address)
            await asyncio.Event().wait()

    with suppress(KeyboardInterrupt):
        asyncio.run(serve())


@contextmanager
def serve_in_thread(
    web: Web,
    serving: Serving | None = None,
    log: Callable[[Access], None] | None = None,
    engine: Beside | None = None,
) -> Iterator[str]:
    """The address of a lab that runs beside the caller, in this process."""
    started: Future[tuple[str, Callable[[], None]]] = Future()

    async def serve() -> None:
        loop, done = asyncio.get_running_loop(), asyncio.Event()

        def stop() -> None:
            loop.call_soon_threadsafe(done.set)

        try:
            async with LabServer(web, serving=serving, engine=engine, log=log) as server:
                started.set_result((server.address, stop))
                await done.wait()
        except OSError as error:
            started.set_exception(error)

    thread = threading.Thread(target=asyncio.run, args=(serve(),), name="honeyguide-lab")
    thread.start()
    address, stop = started.result()
    try:
        yield address
    finally:
        stop()
        thread.join()
