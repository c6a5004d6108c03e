"""The bench's web: pages on 127.0.0.1 and up, each answered after an injected latency.

    python -m bench.watch.server PORT HOSTS PAGES

``/_set?latency=0.05&seed=3`` sets the latency and edits a tenth of the pages; ``/_stats`` counts.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from contextlib import suppress
from hashlib import blake2b
from typing import cast
from urllib.parse import parse_qsl, urlsplit

from bench.watch.pages import changed, page


class Site:
    def __init__(self, pages: int) -> None:
        self.pages = pages
        self.versions: Counter[int] = Counter()
        self.latency = 0.05
        self.etags = False
        self.stats: Counter[str] = Counter()
        self.under_way = 0

    def answer(self, target: str, tag: str) -> tuple[float, bytes]:
        """(seconds to wait, the answer)."""
        url = urlsplit(target)
        if url.path.startswith("/page/"):
            number = int(url.path[6:])
            body = page(number, self.versions[number])
            mark = f'"{blake2b(body, digest_size=8).hexdigest()}"' if self.etags else ""
            self.stats["pages"] += 1
            if mark and tag == mark:
                self.stats["not modified"] += 1
                return self.latency, f"HTTP/1.1 304 Not Modified\r\nETag: {mark}\r\n\r\n".encode()
            return self.latency, answer(200, body, f"ETag: {mark}\r\n" if mark else "")
        if url.path == "/_set":
            self.set(dict(parse_qsl(url.query)))
            return 0, answer(200, b"ok")
        if url.path == "/_stats":
            found, self.stats = self.stats, Counter()
            return 0, answer(200, json.dumps(found).encode())
        return 0, answer(404, b"")

    def set(self, wanted: dict[str, str]) -> None:
        self.latency = float(wanted.get("latency", self.latency))
        self.etags = wanted.get("etags", str(int(self.etags))) == "1"
        if "reset" in wanted:
            self.versions.clear()
        if "seed" in wanted:
            self.versions.update(changed(self.pages, int(wanted["seed"])))
        for number in range(self.pages):
            page(number, self.versions[number])  # made now, not while somebody waits


def answer(status: int, body: bytes, more: str = "") -> bytes:
    head = (
        f"HTTP/1.1 {status} {'OK' if status == 200 else 'Not Found'}\r\n"
        f"Content-Type: text/html; charset=utf-8\r\n{more}Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class Connection(asyncio.Protocol):
    """HTTP/1.1, GET only, requests one after another: all that a bench needs."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while b"\r\n\r\n" in self.buffer:
            head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
            lines = head.decode("latin-1").split("\r\n")
            headers = {
                k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:])
            }
            wait, reply = self.site.answer(lines[0].split()[1], headers.get("if-none-match", ""))
            close = headers.get("connection", "").lower() == "close"
            self.site.under_way += 1
            peak = max(self.site.stats["peak"], self.site.under_way)
            self.site.stats["peak"] = peak
            asyncio.get_running_loop().call_later(wait, self.reply, reply, close)

    def reply(self, reply: bytes, close: bool) -> None:
        self.site.under_way -= 1
        if not self.transport.is_closing():
            self.transport.write(reply)
            if close:
                self.transport.close()


async def main(port: int, hosts: int, pages: int) -> None:
    site = Site(pages)
    site.set({})
    loop = asyncio.get_running_loop()
    for number in range(1, hosts + 1):
        await loop.create_server(lambda: Connection(site), f"127.0.0.{number}", port, backlog=1024)
    print("ready", flush=True)
    await asyncio.sleep(4 * 3600)  # it ends by itself, should nobody end it


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(main(*map(int, sys.argv[1:4])))
