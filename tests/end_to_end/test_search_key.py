"""A key goes to the engine that it is for, and nowhere else: everything a crawl leaves is read."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import quote

import pytest

from honeyguide.api.search import allow_engine
from tests.end_to_end.crawling import collection, honeyguide

KEY = "k3y-SECRET/abc+def=="
FORMS = (KEY, quote(KEY, safe=""), base64.b64encode(KEY.encode()).decode(), KEY.encode().hex())
PAGE = b"<title>Hive</title><p>Honey bee hive. The honey bee gathers honey in the hive.</p>"


class Engine:
    """An engine that repeats the key wherever it can; it serves the pages that it finds, too."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        engine = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                key = self.headers.get("X-Subscription-Token", "")
                if not self.path.startswith("/res"):
                    engine.keys += [f"page: {key}"] if key else []
                    found = not self.path.startswith("/robots")
                    self.say(200 if found else 404, PAGE if found else b"", "text/html")
                    return
                engine.keys.append(key)
                if len(engine.keys) % 4 == 0:
                    self.say(503, " ".join(FORMS).encode(), "text/plain")
                    return
                told = " ".join(FORMS)
                rows = [
                    {
                        "url": f"http://127.0.0.2:{engine.port}/{len(engine.keys)}/{n}",
                        "title": f"Honey {told}",
                        "description": f"bee {told}",
                    }
                    for n in range(10)
                ]
                answer = {"web": {"results": rows}, "query": {"more_results_available": True}}
                self.say(200, json.dumps(answer).encode(), "application/json")

            def say(self, status: int, body: bytes, kind: str) -> None:
                self.send_response(status, KEY if self.path.startswith("/res") else None)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        asked = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = asked.server_address[1]
        # Results that lead to the engine itself would be dropped.
        self._servers = [asked, ThreadingHTTPServer(("127.0.0.2", self.port), Handler)]
        self._threads = [
            Thread(target=server.serve_forever, args=(0.01,), daemon=True)
            for server in self._servers
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        for server, thread in zip(self._servers, self._threads, strict=True):
            server.shutdown()
            server.server_close()
            thread.join()


@contextmanager
def engine() -> Iterator[Engine]:
    made = Engine()
    try:
        yield made
    finally:
        made.close()


def left(*folders: Path) -> Iterator[tuple[str, bytes]]:
    """Every file, unpacked where it is packed."""
    for folder in folders:
        for file in folder.rglob("*"):
            if file.is_file():
                body = file.read_bytes()
                yield str(file), gzip.decompress(body) if file.suffix == ".gz" else body


def test_a_key_is_left_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HONEYGUIDE_SEARCH_KEY", KEY)
    for name in ("state", "config"):
        monkeypatch.setenv(f"XDG_{name.upper()}_HOME", str(tmp_path / name))
    with engine() as served:
        made = collection(
            tmp_path / "bees",
            [],
            search={
                "engine": "brave",
                "url": f"http://127.0.0.1:{served.port}/res",
                "queries": ["honey bee"],
                "per_minute": 0,
                "per_month": 100,
                "price": 5.0,
            },
        )
        allow_engine(made.settings, made.folder)
        bees, out = made.folder, tmp_path / "out"
        out.mkdir()
        told = [
            honeyguide("queries", "test", bees),
            honeyguide("queries", "run", bees, "hive honey", "--json"),
            honeyguide("crawl", bees, "--pages", 25),
            honeyguide("queries", "list", bees, "--json"),
            honeyguide("status", bees, "--json"),
            honeyguide("explain", bees, f"http://127.0.0.2:{served.port}/2/0"),
            honeyguide("export", bees, "--to", out / "all.csv", "--all"),
            honeyguide("export", bees, "--to", out / "all.jsonl", "--all"),
            honeyguide("export", bees, "--to", out / "all.warc.gz", "--all"),
        ]
    assert served.keys, "it was asked"
    assert set(served.keys) == {KEY}, "and nobody else was told"
    assert (bees / "warc").exists(), told[2].stderr
    assert sum(1 for _ in left(out)) == 3, [done.stderr for done in told]
    for done in told:
        assert "Traceback" not in done.stderr
        for form in FORMS:
            assert form not in done.stdout + done.stderr, done.args
    for name, body in left(bees, out, tmp_path / "state", tmp_path / "config"):
        for form in FORMS:
            assert form.encode() not in body, name
