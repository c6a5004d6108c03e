"""A watch of 100,000 pages: memory, what it costs while nothing is due, how soon a due page starts.

    python bench/watch/many.py [--pages 100000] [--seconds 60]

The pages are rows of a collection, visited a moment ago and not due for days; nothing but one page
of this machine is ever fetched. That page is added while the watch runs. Writes
bench/results/watch-many.json.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from honeyguide.config.loading import parse_settings
from honeyguide.config.settings import Settings
from honeyguide.crawl.from_settings import build_strategy
from honeyguide.learning import topics
from honeyguide.store.store import Store
from honeyguide.types import Url
from honeyguide.url import canonical_url
from honeyguide.watch.build import open_watch
from honeyguide.watch.watcher import Watcher

RESULT = Path(__file__).parents[1] / "results" / "watch-many.json"


class Page(BaseHTTPRequestHandler):
    asked: list[float] = []
    came = threading.Event()

    def do_GET(self) -> None:
        if self.path == "/page":
            Page.asked.append(time.time())
            Page.came.set()
        self.send_response(200 if self.path == "/page" else 404)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<p>Something to watch.</p>")

    def log_message(self, *_: Any) -> None:
        pass


def fill(folder: Path, count: int, now: float) -> None:
    """Pages on 2,000 hosts, seen a moment ago, that change once in some days."""
    urls = [Url(f"https://h{n % 2000}.example/page/{n}") for n in range(count)]
    with Store.open(folder, "crawl") as store, store.transaction():
        store.watched.add_pages(urls, "import", now)
        rows = store.watched.iter_rows()
        store.watched.save_rows(
            [row._replace(visited=now, succeeded=now, digest=b"x" * 16, visits=3) for row in rows]
        )


async def measure(folder: Path, settings: Settings, seconds: float, url: Url) -> dict[str, float]:
    began = time.process_time()
    async with open_watch(
        folder,
        settings,
        build_strategy(settings),
        0,
        lambda store: topics.load_effective_labels(store, settings),
        lambda _: True,
    ) as watch:
        running = asyncio.create_task(watch.run())
        await asyncio.sleep(3)
        opened_s = time.process_time() - began
        before = time.process_time()
        await asyncio.sleep(seconds)
        idle = (time.process_time() - before) / seconds
        with Store.open(folder, "write") as other:
            other.watched.add_pages([url], "user", time.time())
        added = time.time()
        await asyncio.to_thread(Page.came.wait, 30)
        watch.stop()
        tally = await running
    assert isinstance(watch, Watcher)
    return {
        "pages": tally.watched,
        "start_cpu_s": round(opened_s, 2),
        "idle_cores": round(idle, 5),
        "due_page_started_after_s": round(Page.asked[0] - added, 2) if Page.asked else -1.0,
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pages", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=60.0)
    chosen = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = canonical_url(f"http://127.0.0.1:{server.server_port}/page")
    assert url is not None
    settings = parse_settings(
        {
            "topic": {"seeds": ["https://example.org/"], "keywords": ["something"]},
            "fetch": {"contact": "bench@example.org", "private_addresses": True},
            "politeness": {"loopback_delay_s": 0.0},
            # Nothing else is due while it is measured.
            "watch": {"requests_per_hour": 500, "min_interval_s": 86_400.0},
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        fill(Path(folder), chosen.pages, time.time())
        found = asyncio.run(measure(Path(folder), settings, chosen.seconds, url))
    server.shutdown()
    RESULT.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
