"""The server: one socket on this machine, bounded in connections, in time, and in patience."""

from __future__ import annotations

import asyncio
import errno
import signal
import socket
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from honeyguide.errors import ConfigError
from honeyguide.studio.app import ADMIT_KEY, build_app
from honeyguide.studio.auth import AuthGate
from honeyguide.studio.runs import SharedObjects, StudioRuns

_CONNECTIONS = 256
"""At once, that have passed the gate; more are told 503. A browser opens six, and an open screen
keeps one of them."""
_STRANGERS = 256
"""At once, that have not: of more, the oldest is cut. To refuse the newest instead would let
anybody shut the studio with idle connections."""
_BACKLOG = 64
"""Connections that are taken in at once. In a flood, one must be heard before it is the oldest."""
_HEAD_S = 10.0
_STRANGER_S = 2.0
"""A request's head must have arrived within this."""
_HEAD_BYTES = 32_768


class BoundedHttpProtocol(H11Protocol):
    """Uvicorn's protocol, which waits for ever for the rest of a head; this one does not, and has
    least patience with those whom the gate does not know."""

    admitted = False
    began = 0.0
    _head: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.began = self.loop.time()
        strangers = [one for one in self._all_connections() if not one.admitted]
        if len(strangers) > _STRANGERS:
            min(strangers, key=lambda one: one.began).cut_connection()
        self._await_head()

    def handle_events(self) -> None:
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:
            self._stop_head_timer()
            # The application starts in the loop's next turn, and finds it.
            self.scope.setdefault("state", {})[ADMIT_KEY] = self.admit

    def admit(self) -> bool:
        """The gate let it pass; False: there is no room."""
        if (
            not self.admitted
            and sum(one.admitted for one in self._all_connections()) < _CONNECTIONS
        ):
            self.admitted = True
        return self.admitted

    def cut_connection(self) -> None:
        """At once, and make room at once."""
        self.connections.discard(self)
        self.transport.abort()

    def on_response_complete(self) -> None:
        done = self.cycle
        super().on_response_complete()
        # Another cycle: the next request was here already.
        if self.cycle is done and not self.transport.is_closing():
            self._await_head()

    def shutdown(self) -> None:
        """Events have no end: who listens is cut, and only ordinary answers are waited for."""
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and cycle.response_started and not cycle.response_complete:
            self.transport.abort()
        else:
            super().shutdown()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_head_timer()
        super().connection_lost(exc)

    def _all_connections(self) -> list[BoundedHttpProtocol]:
        return [one for one in self.connections if isinstance(one, BoundedHttpProtocol)]

    def _await_head(self) -> None:
        self._stop_head_timer()
        patience = _HEAD_S if self.admitted else _STRANGER_S
        self._head = self.loop.call_later(patience, self.transport.abort)

    def _stop_head_timer(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None


class _StudioServer(uvicorn.Server):
    """Tells when it listens."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()


@dataclass(frozen=True)
class Studio:
    """A studio that is about to listen: its socket is bound, its address known."""

    root: Path
    listening: socket.socket
    gate: AuthGate
    runs: StudioRuns
    shared: SharedObjects

    def serve(
        self,
        ready: Callable[[], None],
        entered: Callable[[], None],
        ending: Callable[[int], None],
    ) -> None:
        """Until Ctrl-C, in the main thread; then everything it started is asked to end, which
        ``ending`` is told the number of. ``entered``: somebody signed in."""
        # A closed terminal, or a polite kill, is no other end than Ctrl-C.
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: signal.raise_signal(signal.SIGINT))
        # Uvicorn raises the signal anew when it is done; that is the end we asked for.
        with closing(self.listening), closing(self.runs), closing(self.shared):
            with suppress(KeyboardInterrupt):
                app = build_app(self.gate, self.runs, self.shared, entered)
                make_server(app, ready).run([self.listening])
            if running := self.runs.count_running():
                ending(running)


def make_server(app: ASGIApp, ready: Callable[[], None]) -> uvicorn.Server:
    """Uvicorn with our bounds; it says nothing unless something is wrong."""
    config = uvicorn.Config(
        app,
        http=BoundedHttpProtocol,
        ws="none",
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        backlog=_BACKLOG,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=3,
        h11_max_incomplete_event_size=_HEAD_BYTES,
    )
    return _StudioServer(config, ready)


def bind_studio(root: Path, port: int = 0) -> Studio:
    """Bind, on this machine only; 0: any port that is free."""
    root = root.resolve()
    if not root.is_dir():
        raise ConfigError(f"{root} is not a folder")
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
    except (OSError, OverflowError) as error:
        listening.close()
        taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        why = "is taken; leave --port out, and a free one is chosen" if taken else f"fails: {error}"
        raise ConfigError(f"port {port} {why}") from error
    return Studio(
        root, listening, AuthGate(listening.getsockname()[1]), StudioRuns(root), SharedObjects()
    )
