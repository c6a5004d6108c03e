"""The studio's own files: the page, its scripts and its style. A list made at the start says which
there are, so no path of a request is ever looked up on the disk.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as Path_
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from honeyguide.studio import (
    changes,
    collection,
    compare,
    control,
    home,
    label,
    monitoring,
    new_topic,
    openapi,
    page,
    queries,
    watching,
)
from honeyguide.studio.auth import (
    LOGIN_PATH,
    PAGE_POLICY,
    SAFETY_HEADERS,
    SIGN_IN_PATH,
    AuthGate,
    AuthRefusal,
    is_public_path,
    split_pass,
)
from honeyguide.studio.endpoints import RouteAnswerer, drain_body, problem_response
from honeyguide.studio.routes import Route
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


class StaticAnswer(NamedTuple):
    status: int
    body: bytes
    headers: dict[str, str]


class StaticAssets:
    def __init__(self, folder: Path = STATIC_FOLDER) -> None:
        self._files = {
            path.relative_to(folder).as_posix(): path
            for path in folder.rglob("*")
            if path.is_file() and path.suffix in _MEDIA_TYPES
        }

    def find_file(self, name: str, known: str = "") -> StaticAnswer | None:
        """A file, unless the browser has it already (``known``: its If-None-Match)."""
        path = self._files.get(name)
        if path is None:
            return None
        body = path.read_bytes()
        tag = f'"{hashlib.sha256(body).hexdigest()[:24]}"'
        # Asked again each time: after an upgrade, old scripts must not meet a new server.
        headers = {
            "Content-Type": _MEDIA_TYPES[path.suffix],
            "Content-Security-Policy": PAGE_POLICY,
            "Cache-Control": "no-cache",
            "ETag": tag,
        }
        return StaticAnswer(304, b"", headers) if known == tag else StaticAnswer(200, body, headers)


def refusal_page(why: str) -> bytes:
    """What somebody sees who cannot be let in; ``why`` is our own text."""
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><title>Honeyguide</title>"
        "<meta name=viewport content='width=device-width'>"
        f"<h1>Honeyguide studio</h1><p>Not yet: {why}.</p>"
        "<p>The address is on the terminal where <code>honeyguide serve</code> runs; "
        "it has <code>#token=…</code> in it. Open it once in this browser.</p></html>"
    ).encode()


# --------------------------------------------------------------------------------------------------
# The studio's application: the gate, the API, and the page.
# --------------------------------------------------------------------------------------------------


SEND_S = 60.0
"""A listener that takes nothing for so long is cut."""
ADMIT_KEY = "honeyguide.admit"
"""In a request's state: what the server wants to be told when it has passed the gate."""
_DRAINED_BYTES = 100_000
"""Bytes of a body that are taken from somebody who was refused."""


def all_routes() -> tuple[Route, ...]:
    """Everything that may be asked of the studio."""
    screens = (home, control, new_topic, monitoring, collection, page, label, changes, watching)
    routes = [route for screen in (*screens, compare, queries) for route in screen.ROUTES]
    return (*routes, *monitoring.METRICS_ROUTES)


def build_app(
    gate: AuthGate,
    runs: StudioRuns,
    kept: SharedObjects,
    entered: Callable[[], None] = lambda: None,
) -> ASGIApp:
    """The whole application, on the folder of collections that the runs are in; somebody who signs
    in is told to ``entered``."""
    return GuardedApp(
        _route_app(all_routes(), RouteAnswerer(runs, kept), StaticAssets()), gate, entered
    )


def _route_app(known: Sequence[Route], desk: RouteAnswerer, pages: StaticAssets) -> Starlette:
    @cache
    def openapi_bytes() -> bytes:
        return msgspec.json.encode(openapi.describe_api(known))

    async def openapi_document(_: Request) -> Response:
        return Response(openapi_bytes(), media_type="application/json")

    async def api_docs(_: Request) -> Response:
        headers = {"Content-Security-Policy": PAGE_POLICY}
        return Response(openapi.api_page(known), media_type="text/html", headers=headers)

    async def static_file(request: Request) -> Response:
        name = request.path_params.get("path", "index.html")
        found = pages.find_file(name, request.headers.get("if-none-match", ""))
        if found is None:
            return problem_response(404, "there is no such file")
        return Response(found.body, found.status, found.headers)

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
        self, app: ASGIApp, gate: AuthGate, entered: Callable[[], None] = lambda: None
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
        if refused is None and not is_public_path(*asked) and not _is_admitted(scope):
            refused = AuthRefusal(503, "too many connections")
        if refused is not None:
            answer = problem_response(refused.status, refused.why)
            if scope["path"] == "/":
                answer = Response(refusal_page(refused.why), refused.status, media_type="text/html")
            await drain_body(receive, _DRAINED_BYTES)
            answer.headers["Connection"] = "close"
            return await answer(scope, receive, sender)
        if asked == ("POST", SIGN_IN_PATH):
            answer = self._sign_in(headers)
            self._entered()
            return await answer(scope, receive, sender)
        query = split_pass(query)[0]
        if asked == ("GET", LOGIN_PATH):
            return await self._signed_address(query)(scope, receive, sender)
        # One that takes nothing is cut by the server when nothing more comes from here.
        with suppress(_ListenerStalled):
            plain = {**scope, "query_string": query.encode("latin-1")}
            await self._app(plain, receive, sender)
        return None

    def _sign_in(self, headers: dict[str, str]) -> Response:
        given = self._gate.sign_in(headers)
        body = msgspec.json.encode({"key": given.key})
        return Response(body, 200, {"Set-Cookie": given.cookie}, "application/json")

    def _signed_address(self, query: str) -> Response:
        try:
            (address,) = parse_qs(query, max_num_fields=1)["for"]
        except (KeyError, ValueError):
            return problem_response(400, "for must be one address")
        body = msgspec.json.encode({"address": self._gate.signed_address(address)})
        return Response(body, media_type="application/json")


def _is_admitted(scope: Scope) -> bool:
    """Tell the server that this connection is one of ours; it says whether there is room."""
    admit = scope.get("state", {}).get(ADMIT_KEY)
    return admit is None or bool(admit())


def _with_safe_headers(send: Send) -> Send:
    async def safe_send(message: Message) -> None:
        if message["type"] == "http.response.start":
            given: list[Any] = list(message.get("headers", ()))
            names = {key.lower() for key, _ in given}
            given += [
                (key.lower().encode(), value.encode("latin-1"))
                for key, value in SAFETY_HEADERS.items()
                if key.lower().encode() not in names
            ]
            message = {**message, "headers": given}
        try:
            async with asyncio.timeout(SEND_S):
                await send(message)
        except TimeoutError:
            raise _ListenerStalled from None

    return safe_send
