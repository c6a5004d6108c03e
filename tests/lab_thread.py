"""A lab's server beside a test, in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager

from honeyguide.lab.responses import ServingOptions, VirtualHost
from honeyguide.lab.server import LabServer
from honeyguide.lab.web import LabWeb


@contextmanager
def serve_in_thread(
    web: LabWeb,
    serving: ServingOptions | None = None,
    engine: VirtualHost | None = None,
) -> Iterator[str]:
    """The address of a lab that runs beside the caller, in this process."""
    started: Future[tuple[str, Callable[[], None]]] = Future()

    async def serve() -> None:
        loop, done = asyncio.get_running_loop(), asyncio.Event()

        def stop() -> None:
            loop.call_soon_threadsafe(done.set)

        try:
            async with LabServer(web, serving=serving, engine=engine) as server:
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
