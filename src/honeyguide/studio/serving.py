"""The studio's ASGI application with its static files, and the HTTP server that runs it."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import signal
import socket
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as Path_
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from honeyguide.errors import ConfigError
from honeyguide.studio import (
    auth,
    changes,
    collection,
    compare,
    label,
    monitoring,
    new_topic,
    page,
    queries,
    runs,
    watching,
)
from honeyguide.studio.auth import AuthGate
from honeyguide.studio.endpoints import RouteAnswerer, drain_body, problem_response
from honeyguide.studio.routes import Route, api_page, describe_api, fill_template
from honeyguide.studio.runs import SharedObjects, StudioRuns

STATIC_FOLDER = Path(__file__).parent / "static"
_MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
    "": "text/plain; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
}


class StaticAssets:
    def __init__(self, folder: Path = STATIC_FOLDER) -> None:
        self._files = {
            path.relative_to(folder).as_posix(): path
            for path in folder.rglob("*")
            if path.is_file() and path.suffix in _MEDIA_TYPES
        }

    def find_file(self, name: str, known: str = "") -> Response | None:
        """A file, unless the browser has it already (``known``: its If-None-Match)."""
        path = self._files.get(name)
        if path is None:
            return None
        body = path.read_bytes()
        tag = f'"{hashlib.sha256(body).hexdigest()[:24]}"'
        # Asked again each time: after an upgrade, old scripts must not meet a new server.
        headers = {
            "Content-Type": _MEDIA_TYPES[path.suffix],
            "Content-Security-Policy": auth.PAGE_POLICY,
            "Cache-Control": "no-cache",
            "ETag": tag,
        }
        return Response(b"", 304, headers) if known == tag else Response(body, 200, headers)


# -- The application --


SEND_S = 60.0
"""A listener that takes nothing for so long is cut."""
ADMIT_KEY = "honeyguide.admit"
"""In a request's state: what the server wants to be told when it has passed the gate."""
_DRAINED_BYTES = 100_000
"""Bytes of a body that are taken from somebody who was refused."""


def all_routes() -> tuple[Route, ...]:
    """Everything that may be asked of the studio."""
    screens = (runs, new_topic, monitoring, collection, page, label, changes, watching)
    return tuple(route for screen in (*screens, compare, queries) for route in screen.ROUTES)


def build_app(
    gate: auth.AuthGate,
    runs: StudioRuns,
    shared: SharedObjects,
    entered: Callable[[], None] = lambda: None,
) -> ASGIApp:
    """The whole application, on the folder of collections that the runs are in; somebody who signs
    in is told to ``entered``."""
    return GuardedApp(
        _route_app(all_routes(), RouteAnswerer(runs, shared), StaticAssets()), gate, entered
    )


def _route_app(known: Sequence[Route], desk: RouteAnswerer, pages: StaticAssets) -> Starlette:
    @cache
    def openapi_bytes() -> bytes:
        return msgspec.json.encode(describe_api(known))

    async def openapi_document(_: Request) -> Response:
        return Response(openapi_bytes(), media_type="application/json")

    async def api_docs(_: Request) -> Response:
        headers = {"Content-Security-Policy": auth.PAGE_POLICY}
        return Response(api_page(known), media_type="text/html", headers=headers)

    async def static_file(request: Request) -> Response:
        name = request.path_params.get("path", "index.html")
        found = pages.find_file(name, request.headers.get("if-none-match", ""))
        return problem_response(404, "there is no such file") if found is None else found

    async def http_error(_: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        why = {404: "there is nothing at this path", 405: "this path takes another method"}
        headers = getattr(error, "headers", None) or {}
        answer = problem_response(status, why.get(status, "this cannot be answered"))
        answer.headers.update(headers)
        return answer

    # One path may have several methods, and of two paths the one without a placeholder goes first.
    ordered = sorted(known, key=lambda route: "{" in route.path.rpartition("/")[2])
    return Starlette(
        routes=[
            Path_("/", static_file, methods=["GET"]),
            Path_("/static/{path:path}", static_file, methods=["GET"]),
            Path_("/api/openapi.json", openapi_document, methods=["GET"]),
            Path_("/api/docs", api_docs, methods=["GET"]),
            *(Path_(r.path, desk.make_endpoint(r), methods=[r.method]) for r in ordered),
        ],
        exception_handlers={HTTPException: http_error},
    )


class _ListenerStalled(Exception):
    """The listener takes nothing."""


class GuardedApp:
    """The gate before the application, and the headers of safety on every answer."""

    def __init__(
        self, app: ASGIApp, gate: auth.AuthGate, entered: Callable[[], None] = lambda: None
    ) -> None:
        self._app = app
        self._gate = gate
        self._entered = entered

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        if scope["type"] != "http":
            return await send({"type": "websocket.close", "code": 1008})
        headers = {
            key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]
        }
        query = scope["query_string"].decode("latin-1")
        asked = (scope["method"], scope["path"])
        sender = _with_safe_headers(send)
        refused = self._gate.refusal_of(*asked, query, headers)
        if refused is None and not auth.is_public_path(*asked):
            _admit_connection(scope)
        if refused is not None:
            answer = problem_response(refused.status, refused.why)
            if scope["path"] == "/":
                answer = Response(
                    fill_template("refused.html", why=refused.why),
                    refused.status,
                    media_type="text/html",
                )
            await drain_body(receive, _DRAINED_BYTES)
            answer.headers["Connection"] = "close"
            return await answer(scope, receive, sender)
        if asked == ("POST", auth.SIGN_IN_PATH):
            answer = self._sign_in(headers)
            self._entered()
            return await answer(scope, receive, sender)
        query = auth.split_pass(query)[0]
        if asked == ("GET", auth.LOGIN_PATH):
            return await self._signed_address(query)(scope, receive, sender)
        # One that takes nothing is cut by the server when nothing more comes from here.
        with suppress(_ListenerStalled):
            plain = {**scope, "query_string": query.encode("latin-1")}
            await self._app(plain, receive, sender)
        return None

    def _sign_in(self, headers: dict[str, str]) -> Response:
        grant = self._gate.sign_in(headers)
        body = msgspec.json.encode({"key": grant.key})
        return Response(body, 200, {"Set-Cookie": grant.cookie}, "application/json")

    def _signed_address(self, query: str) -> Response:
        try:
            (address,) = parse_qs(query, max_num_fields=1)["for"]
        except (KeyError, ValueError):
            return problem_response(400, "for must be one address")
        body = msgspec.json.encode({"address": self._gate.signed_address(address)})
        return Response(body, media_type="application/json")


def _admit_connection(scope: Scope) -> None:
    """Tell the server that this connection is one of ours."""
    admit: Callable[[], None] | None = scope.get("state", {}).get(ADMIT_KEY)
    if admit is not None:
        admit()


def _with_safe_headers(send: Send) -> Send:
    async def safe_send(message: Message) -> None:
        if message["type"] == "http.response.start":
            fields: list[Any] = list(message.get("headers", ()))
            names = {key.lower() for key, _ in fields}
            fields += [
                (key.lower().encode(), value.encode("latin-1"))
                for key, value in auth.SAFETY_HEADERS.items()
                if key.lower().encode() not in names
            ]
            message = {**message, "headers": fields}
        try:
            async with asyncio.timeout(SEND_S):
                await send(message)
        except TimeoutError:
            raise _ListenerStalled from None

    return safe_send


# -- The server --

_CONNECTIONS = 256
"""At once, that have passed the gate; of more, the one that asked for nothing for longest is cut.
A browser opens six, and an open screen keeps one of them for events; it connects again then."""
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
    began = asked = 0.0
    """When it was opened, and when its last request came."""
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
            self.asked = self.loop.time()
            # The application starts in the loop's next turn, and finds it.
            self.scope.setdefault("state", {})[ADMIT_KEY] = self.admit

    def admit(self) -> None:
        """The gate let it pass: another makes room for it."""
        known = [one for one in self._all_connections() if one.admitted]
        if not self.admitted and len(known) >= _CONNECTIONS:
            min(known, key=lambda one: one.asked).cut_connection()
        self.admitted = True

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
