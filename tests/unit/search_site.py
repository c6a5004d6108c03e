"""A search engine on this machine that speaks SearXNG's JSON, or misbehaves; and collections that
ask it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

from honeyguide.api.collection import Collection
from honeyguide.api.create import create
from honeyguide.api.search import allow_engine

EVIL = "\x1b[31mred\x07 \u202e<b>bold</b>"


class SearchSite:
    """Ten results on each of two pages, unless told otherwise."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []
        """Query and page."""
        self.status = 200
        self.body: bytes | None = None
        """Instead of results."""
        self.evil = False
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/search"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, query: str, page: int) -> bytes:
        if self.body is not None:
            return self.body
        rows = [
            {
                "url": f"https://{query.split()[0].strip(chr(34))}{page}.example/{n}",
                "title": f"{EVIL if self.evil else ''} Honey {n} of {query}",
                "content": "the bee gathers honey",
            }
            for n in range(10 if page < 3 else 0)
        ]
        return json.dumps({"query": query, "results": rows}).encode()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                said = parse_qs(urlsplit(self.path).query)
                query, page = said.get("q", [""])[0], int(said.get("pageno", ["1"])[0])
                site.asked.append((query, page))
                body = site.answer(query, page)
                self.send_response(site.status)
                kind = "application/json" if body.startswith(b"{") else "text/html"
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler


@contextmanager
def search_site() -> Iterator[SearchSite]:
    site = SearchSite()
    try:
        yield site
    finally:
        site.close()


def asking(folder: Path, url: str, **search: Any) -> Collection:
    """A collection about honey that may ask that engine, as often as it likes."""
    table = {"engine": "searxng", "url": url, "per_minute": 0.0} | search
    made = create(
        folder,
        seeds=["https://a.example/"],
        keywords=["honey", "bee"],
        contact="a@example.org",
        search={key: value for key, value in table.items() if value != ""},
    )
    allow_engine(made.settings, made.folder)
    return made
