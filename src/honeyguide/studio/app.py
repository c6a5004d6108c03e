"""The studio's application: the gate, the API, and the page."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from typing import Any
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
    label,
    live,
    metrics,
    openapi,
    queries,
)
from honeyguide.studio import (
    home as start,
)
from honeyguide.studio import (
    page_preview as rendered,
)
from honeyguide.studio.auth import (
    HEADERS,
    PAGE_POLICY,
    PASSES,
    SIGN_IN,
    Gate,
    Refusal,
    is_open,
    without_pass,
)
from honeyguide.studio.endpoints import Desk, drained, problem
from honeyguide.studio.routes import Route
from honeyguide.studio.runs import Runs
from honeyguide.studio.shared_state import Kept
from honeyguide.studio.static_files import Pages, refusal

SEND_S = 60.0
"""A listener that takes nothing for so long is cut."""
ADMIT = "honeyguide.admit"
"""In a request's state: what the server wants to be told when it has passed the gate."""
_DRAINED = 100_000
"""Bytes of a body that are taken from somebody who was refused."""


def routes() -> tuple[Route, ...]:
    """Everything that may be asked of the studio."""
    screens = (start, control, live, collection, rendered, label, changes, compare, metrics)
    return tuple(route for screen in (*screens, queries) for route in screen.ROUTES)


def build(
    gate: Gate, runs: Runs, kept: Kept, entered: Callable[[], None] = lambda: None
) -> ASGIApp:
    """The whole application, on the folder of collections that the runs are in; somebody who signs
    in is told to ``entered``."""
    return Guarded(_inner(routes(), Desk(runs, kept), Pages()), gate, entered)


def _inner(known: Sequence[Route], desk: Desk, pages: Pages) -> Starlette:
    @cache
    def document() -> bytes:
        return msgspec.json.encode(openapi.describe(known))

    async def described(_: Request) -> Response:
        return Response(document(), media_type="application/json")

    async def docs(_: Request) -> Response:
        headers = {"Content-Security-Policy": PAGE_POLICY}
        return Response(openapi.page(known), media_type="text/html", headers=headers)

    async def static(request: Request) -> Response:
        name = request.path_params.get("path", "index.html")
        found = pages.get(name, request.headers.get("if-none-match", ""))
        if found is None:
            return problem(404, "there is no such file")
        return Response(found.body, found.status, found.headers)

    async def unknown(_: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 500
        why = {404: "there is nothing at this path", 405: "this path takes another method"}
        headers = getattr(error, "headers", None) or {}
        answer = problem(status, why.get(status, "this cannot be answered"))
        answer.headers.update(headers)
        return answer

    # One path may have several methods, and of two paths the one without a placeholder goes first.
    ordered = sorted(known, key=lambda route: "{" in route.path.rpartition("/")[2])
    return Starlette(
        routes=[
            Path_("/", static, methods=["GET"]),
            Path_("/static/{path:path}", static, methods=["GET"]),
            Path_("/api/openapi.json", described, methods=["GET"]),
            Path_("/api/docs", docs, methods=["GET"]),
            *(Path_(r.path, desk.endpoint(r), methods=[r.method]) for r in ordered),
        ],
        exception_handlers={HTTPException: unknown},
    )


class _Stalled(Exception):
    """The listener takes nothing."""


class Guarded:
    """The gate before the application, and the headers of safety on every answer."""

    def __init__(
        self, app: ASGIApp, gate: Gate, entered: Callable[[], None] = lambda: None
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
        sender = _safe(send)
        refused = self._gate.refuses(*asked, query, headers)
        if refused is None and not is_open(*asked) and not _admitted(scope):
            refused = Refusal(503, "too many connections")
        if refused is not None:
            answer = problem(refused.status, refused.why)
            if scope["path"] == "/":
                answer = Response(refusal(refused.why), refused.status, media_type="text/html")
            await drained(receive, _DRAINED)
            answer.headers["Connection"] = "close"
            return await answer(scope, receive, sender)
        if asked == ("POST", SIGN_IN):
            answer = self._welcome(headers)
            self._entered()
            return await answer(scope, receive, sender)
        query = without_pass(query)[0]
        if asked == ("GET", PASSES):
            return await self._passing(query)(scope, receive, sender)
        # One that takes nothing is cut by the server when nothing more comes from here.
        with suppress(_Stalled):
            plain = {**scope, "query_string": query.encode("latin-1")}
            await self._app(plain, receive, sender)
        return None

    def _welcome(self, headers: dict[str, str]) -> Response:
        given = self._gate.welcome(headers)
        body = msgspec.json.encode({"key": given.key})
        return Response(body, 200, {"Set-Cookie": given.cookie}, "application/json")

    def _passing(self, query: str) -> Response:
        try:
            (address,) = parse_qs(query, max_num_fields=1)["for"]
        except (KeyError, ValueError):
            return problem(400, "for must be one address")
        body = msgspec.json.encode({"address": self._gate.passing(address)})
        return Response(body, media_type="application/json")


def _admitted(scope: Scope) -> bool:
    """Tell the server that this connection is one of ours; it says whether there is room."""
    admit = scope.get("state", {}).get(ADMIT)
    return admit is None or bool(admit())


def _safe(send: Send) -> Send:
    async def sender(message: Message) -> None:
        if message["type"] == "http.response.start":
            given: list[Any] = list(message.get("headers", ()))
            names = {key.lower() for key, _ in given}
            given += [
                (key.lower().encode(), value.encode("latin-1"))
                for key, value in HEADERS.items()
                if key.lower().encode() not in names
            ]
            message = {**message, "headers": given}
        try:
            async with asyncio.timeout(SEND_S):
                await send(message)
        except TimeoutError:
            raise _Stalled from None

    return sender
