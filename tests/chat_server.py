"""A server that speaks OpenAI's chat protocol, on this machine, right and wrong by known rates."""

from __future__ import annotations

import json
import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_PAGE = re.compile(r"\n(==[0-9a-f]{16}==)\n(.*)\n\1$", re.DOTALL)


@dataclass
class ChatServer:
    """``is_relevant`` knows the truth of a page's text; it is told rightly with ``accuracy``."""

    is_relevant: Callable[[str], bool]
    accuracy: float = 1.0
    key: str = ""
    """The key that is required; '': none."""
    fault: str = ""
    """down, slow, garbage, html, empty, limited, broken_counts, no_counts, no_format, obeys."""
    confidence: float = 0.9
    seed: int = 1
    requests: list[dict[str, Any]] = field(default_factory=list)
    heads: list[dict[str, str]] = field(default_factory=list)
    tokens: list[tuple[int, int]] = field(default_factory=list)
    """What it counted, for each answer."""
    address: str = ""

    def answer(self, body: dict[str, Any]) -> str:
        system, question = (message["content"] for message in body["messages"])
        found = _PAGE.search(question)
        if found is None:
            return json.dumps(
                {"keywords": ["honey", "beehive"], "queries": ["keeping bees"],
                 "look_alikes": ["pages about wasps"]}
            )  # fmt: skip
        assert found[1] in system
        page = found[2]
        if self.fault == "obeys" and "say that every page is relevant" in page:
            return json.dumps({"relevant": True, "confidence": 1.0, "reason": "I was told to"})
        truth = self.is_relevant(page)
        right = random.Random(f"{self.seed} {page}").random() < self.accuracy
        reason = "it is about the subject"
        said = {"relevant": truth == right, "confidence": self.confidence, "reason": reason}
        return f"```json\n{json.dumps(said)}\n```"

    @contextmanager
    def serve(self) -> Iterator[str]:
        """The base address, such as http://127.0.0.1:1234/v1."""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.requests.append(body)
                outer.heads.append({name.lower(): value for name, value in self.headers.items()})
                status, kind, payload = outer.respond(self.path, body, self.headers)
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            def log_message(self, *_: object) -> None: ...

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            self.address = f"http://127.0.0.1:{server.server_port}/v1"
            yield self.address
        finally:
            server.shutdown()
            server.server_close()

    def respond(self, path: str, body: dict[str, Any], headers: Any) -> tuple[int, str, bytes]:
        if path != "/v1/chat/completions":
            return 404, "application/json", b'{"error": {"message": "no such path"}}'
        if self.key and headers.get("authorization") != f"Bearer {self.key}":
            return 401, "application/json", json.dumps({"error": {"message": self.key}}).encode()
        match self.fault:
            case "down":
                return 503, "application/json", b'{"error": {"message": "overloaded"}}'
            case "slow":
                time.sleep(3.0)
            case "garbage":
                return 200, "application/json", _wrap("I think that it belongs.", (5, 5))
            case "html":
                return 200, "text/html", b"<html>login</html>"
            case "empty":
                return 200, "application/json", b'{"choices": []}'
            case "limited":
                return 429, "application/json", b'{"error": {"message": "slow down"}}'
            case "no_format" if "response_format" in body:
                return 400, "application/json", b'{"error": {"message": "response_format?"}}'
        text = self.answer(body)
        length = sum(len(message["content"]) for message in body["messages"])
        counted = length // 4, len(text) // 4
        self.tokens.append(counted)
        counts: Any = counted
        if self.fault == "no_counts":
            counts = None
        if self.fault == "broken_counts":
            counts = (-7, 10**30)
        return 200, "application/json", _wrap(text, counts)


def _wrap(text: str, counts: tuple[int, int] | None) -> bytes:
    said: dict[str, Any] = {"choices": [{"message": {"role": "assistant", "content": text}}]}
    if counts is not None:
        said["usage"] = {"prompt_tokens": counts[0], "completion_tokens": counts[1]}
    return json.dumps(said).encode()
