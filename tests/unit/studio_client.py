"""The studio's whole application without a socket: requests in, answers out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from starlette.types import ASGIApp, Message

from honeyguide.studio.auth import AuthGate
from honeyguide.studio.runs import SharedObjects, StudioRuns
from honeyguide.studio.serving import build_app

PORT = 8765


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """Asks as the studio's own page would; ``headers`` with None are left out."""

    def __init__(self, root: Path, command: Sequence[str] = ("false",), app: Any = None) -> None:
        self.root = root
        self.gate = AuthGate(PORT)
        self.runs = StudioRuns(root, command)
        self.kept = SharedObjects()
        self.app: ASGIApp = app or build_app(self.gate, self.runs, self.kept)

    def get(self, path: str, headers: Mapping[str, str | None] | None = None) -> Answer:
        return self.ask("GET", path, b"", headers)

    def post(
        self, path: str, body: object, headers: Mapping[str, str | None] | None = None
    ) -> Answer:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.ask("POST", path, content, headers)

    def ask(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str | None] | None = None,
    ) -> Answer:
        given: dict[str, str | None] = {
            "host": f"127.0.0.1:{PORT}",
            "authorization": f"Bearer {self.gate.token}",
            "content-type": "application/json",
            "x-honeyguide": "1",
        }
        given |= headers or {}
        sent = {key: value for key, value in given.items() if value is not None}
        return asyncio.run(asked(self.app, method, path, body, sent))

    def close(self) -> None:
        self.runs.close()
        self.kept.close()


async def asked(
    app: ASGIApp, method: str, path: str, body: bytes, headers: Mapping[str, str]
) -> Answer:
    place, _, query = path.partition("?")
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method,
        "scheme": "http", "path": place, "raw_path": quote(place).encode(), "root_path": "",
        "query_string": query.encode(), "server": ("127.0.0.1", PORT), "client": ("127.0.0.1", 1),
        "headers": [(key.encode(), value.encode("latin-1")) for key, value in headers.items()],
    }  # fmt: skip
    pending = [{"type": "http.request", "body": body, "more_body": False}]
    said: list[Message] = []

    async def receive() -> Message:
        if pending:
            return pending.pop()
        await asyncio.sleep(60)
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        said.append(message)

    await app(scope, receive, send)
    found = {key.decode().lower(): value.decode("latin-1") for key, value in said[0]["headers"]}
    return Answer(said[0]["status"], found, b"".join(one.get("body", b"") for one in said[1:]))
