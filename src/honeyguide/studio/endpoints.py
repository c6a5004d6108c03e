"""Turns HTTP requests into calls of routes, and their results or errors into responses.

The only file, beside app.py and serving.py, that knows Starlette and msgspec's errors.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import math
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, suppress
from functools import partial
from typing import Any, cast

import anyio
import msgspec
from anyio.to_thread import run_sync
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Send

from honeyguide.errors import ConfigError, HoneyguideError, StoreError
from honeyguide.studio import routes
from honeyguide.studio.runs import SharedObjects, StudioRuns

_log = logging.getLogger(__name__)

BODY_S = 30.0
"""Longest time that a body may take to arrive."""
DRAIN_S = 2.0
"""Longest time for what is left of a body that is refused."""
MAX_BODY_BYTES = 15_000_000
"""Bytes of a body: ten million of a file, as base64 in JSON."""
_UNREAD_STATUSES = (408, 413, 415)
"""Refusals of bodies that were not read to their end: nobody reads the rest."""
_QUERY_FIELDS = 100
_QUERY_CHARS = 28_000
"""Parameters of a query, and its characters."""


class RequestRefused(Exception):
    """A request that is no good, and the status that says so."""

    def __init__(self, status: int, why: str, field: str = "") -> None:
        super().__init__(why)
        self.status = status
        self.field = field


class RouteAnswerer:
    """Answers requests by routes; holds what answers share."""

    def __init__(self, runs: StudioRuns, shared: SharedObjects, threads: int = 24) -> None:
        self._runs = runs
        self._shared = shared
        self._limiter = anyio.CapacityLimiter(threads)

    def make_endpoint(self, route: routes.Route) -> Callable[[Request], Awaitable[Response]]:
        async def answer_request(request: Request) -> Response:
            try:
                arguments = await self._decode_arguments(route, request)
                result = await run_sync(partial(route.answer, *arguments), limiter=self._limiter)
                return await self._make_response(result)
            except RequestRefused as error:
                answer = problem_response(error.status, str(error), error.field)
                if error.status in _UNREAD_STATUSES:
                    await drain_body(request.receive, route.most_bytes)
                    answer.headers["Connection"] = "close"
                return answer
            except HoneyguideError as error:
                return problem_response(
                    _error_status(error), str(error), getattr(error, "field", "")
                )
            except ClientDisconnect:
                return problem_response(400, "the request was not finished")
            except Exception:  # noqa: BLE001 - our own bug: logged; the browser is told no more
                _log.exception("%s %s", route.method, route.path)
                return problem_response(500, "the studio failed; its terminal says how")

        return answer_request

    async def _decode_arguments(self, route: routes.Route, request: Request) -> list[Any]:
        params = dict(request.path_params)
        folder = None
        if "name" in params:
            folder = routes.find_collection(self._runs.root, params.pop("name"))
            if folder is None:
                raise RequestRefused(404, "there is no collection of that name")
        person = routes.clean_person(request.headers.get("x-honeyguide-person", ""))
        arguments: list[Any] = [
            routes.RequestContext(self._runs.root, folder, person, self._runs, self._shared)
        ]
        if route.query is not None:
            arguments.append(_decode_query(route.query, request, params))
        if route.body is not None:
            arguments.append(_decode_body(route.body, await _read_body(request, route.most_bytes)))
        return arguments

    async def _make_response(self, result: Any) -> Response:
        if isinstance(result, routes.RawAnswer):
            return Response(result.body, headers={**result.headers, "Content-Type": result.media})
        if isinstance(result, routes.StreamAnswer):
            headers = {**result.headers, "Content-Type": result.media, "X-Accel-Buffering": "no"}
            return _ClosingStream(self._send_chunks(result.chunks), headers=headers)
        body = await run_sync(msgspec.json.encode, result, limiter=self._limiter)
        return Response(body, media_type="application/json")

    async def _send_chunks(
        self, chunks: Iterator[bytes] | AsyncIterator[bytes]
    ) -> AsyncGenerator[bytes]:
        """Piece by piece; closed also when the listener went away."""
        try:
            if isinstance(chunks, AsyncIterator):
                async for chunk in chunks:
                    yield chunk
            else:
                while (
                    piece := await run_sync(next, chunks, None, limiter=self._limiter)
                ) is not None:
                    yield piece
        except HoneyguideError as error:
            # The head is long sent: all that can be done is to end before the end.
            _log.warning("a stream ended early: %s", error)
            raise
        finally:
            if (close := getattr(chunks, "aclose", getattr(chunks, "close", None))) is not None:
                with anyio.CancelScope(shield=True):
                    ended = close()
                    if inspect.isawaitable(ended):
                        await ended


class _ClosingStream(StreamingResponse):
    """One whose source is closed whatever happens; Starlette leaves that to the collector."""

    async def stream_response(self, send: Send) -> None:
        async with aclosing(cast("AsyncGenerator[bytes]", self.body_iterator)):
            await super().stream_response(send)


async def drain_body(receive: Receive, most: int) -> None:
    """Take in what is left of a body that nobody wants: who is still sending when the connection
    ends never hears why. Not for ever, and not without end."""
    with suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_S):
            while most > 0:
                message = await receive()
                if message["type"] != "http.request" or not message.get("more_body"):
                    return
                most -= len(message.get("body", b""))


def problem_response(status: int, why: str, field: str = "") -> Response:
    """What went wrong, for people and for programs, and in which field if it is in one."""
    problem = {"error": why.encode("utf-8", "replace").decode()[:2_000]}
    if field:
        problem["field"] = field
    return Response(msgspec.json.encode(problem), status_code=status, media_type="application/json")


def _error_status(error: HoneyguideError) -> int:
    if isinstance(error, routes.ResourceMissing):
        return 404
    if isinstance(error, StoreError):
        return 409
    return 400 if isinstance(error, ConfigError) else 422


async def _read_body(request: Request, most: int) -> bytes:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise RequestRefused(415, "the body must be JSON, with the content type application/json")
    most = min(most, MAX_BODY_BYTES)
    length = request.headers.get("content-length", "0")
    if length.isdecimal() and int(length[:20]) > most:
        raise RequestRefused(413, f"the body is larger than {most} bytes")
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_S):
            async for chunk in request.stream():
                body += chunk
                if len(body) > most:
                    raise RequestRefused(413, f"the body is larger than {most} bytes")
    except TimeoutError:
        raise RequestRefused(408, f"the body did not arrive within {BODY_S:.0f} seconds") from None
    return bytes(body)


def _decode_body(kind: type, body: bytes) -> Any:
    try:
        return _check_finite(msgspec.json.decode(body, type=kind))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        field, why = routes.explain_decode_error("body", str(error))
        raise RequestRefused(400, why, field) from None


def _decode_query(kind: type, request: Request, params: dict[str, str]) -> Any:
    """Query and path parameters as one typed value; a list takes a parameter several times."""
    items = request.query_params.multi_items()
    if len(request.url.query) > _QUERY_CHARS or len(items) > _QUERY_FIELDS:
        raise RequestRefused(414, "the query is too long")
    lists = {
        field.name
        for field in msgspec.structs.fields(kind)
        if isinstance(msgspec.inspect.type_info(field.type), _LIST_TYPES)
    }
    values: dict[str, Any] = {}
    for key, value in items:
        if key in lists:
            values.setdefault(key, []).append(value)
        else:
            values[key] = value
    try:
        return _check_finite(msgspec.convert(values | params, kind, strict=False))
    except (msgspec.ValidationError, OverflowError) as error:
        field, why = routes.explain_decode_error("query", str(error))
        raise RequestRefused(400, why, field) from None


_LIST_TYPES = (msgspec.inspect.ListType, msgspec.inspect.VarTupleType, msgspec.inspect.SetType)


def _check_finite(value: Any) -> Any:
    """A number that is none (NaN, infinity) would slip through every bound."""
    for name in value.__struct_fields__:
        field = getattr(value, name)
        if isinstance(field, float) and not math.isfinite(field):
            raise RequestRefused(400, f"{name} must be a number")
    return value
