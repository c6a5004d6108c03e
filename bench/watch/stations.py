"""What every configuration shares: the fetcher, the repository of versions, the comparison."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator
from pathlib import Path

from honeyguide.change import Change
from honeyguide.config.settings import FetchSettings
from honeyguide.fetch.http import CurlFetcher
from honeyguide.parse.blocks import read_snapshot
from honeyguide.store.database import Database
from honeyguide.store.versions import VersionTable, body_digest
from honeyguide.types import Response, Url
from honeyguide.watch.compare.page_change import compare_snapshots
from honeyguide.watch.revisit_flow import DuePage

GROUP = 64
"""Versions that are committed together, in every configuration."""


def urls(port: int, hosts: int, pages: int) -> list[Url]:
    return [Url(f"http://127.0.0.{n % hosts + 1}:{port}/page/{n}") for n in range(pages)]


def fetcher() -> CurlFetcher:
    """Loopback is asked without rest, which only a bench may do."""
    settings = FetchSettings(private_addresses=True, cookies=False)
    return CurlFetcher(settings, user_agent="honeyguide-bench", archives=False)


def differ(old: bytes, response: Response) -> Change | None:
    """The ladder after the digest: blocks, moves, significance."""
    if old == response.body:
        return None
    url, kind = response.url, response.header("content-type")
    return compare_snapshots(read_snapshot(old, url, kind), read_snapshot(response.body, url, kind))


class Repository:
    """Versions in a collection's database; several threads take turns."""

    def __init__(self, path: Path) -> None:
        self._db = Database(path, "crawl")
        self._versions = VersionTable(self._db)
        self._lock = threading.Lock()
        self._new: list[tuple[Url, bytes]] = []

    def fill(self, bodies: list[tuple[Url, bytes]]) -> None:
        with self._db.transaction():
            for url, body in bodies:
                self._versions.add_version(url, body, time.time())

    def old(self, url: Url) -> bytes:
        with self._lock:
            found = self._versions.latest_version(url)
            return b"" if found is None else self._versions.read_body(url, found.number)

    def put(self, url: Url, body: bytes) -> None:
        with self._lock:
            self._new.append((url, body))
            if len(self._new) >= GROUP:
                self._commit()

    async def due(self, wanted: list[Url]) -> AsyncIterator[DuePage]:
        found = [(url, self._versions.latest_version(url)) for url in wanted]
        for n, (url, row) in enumerate(found):
            if row is not None:
                yield DuePage(url, n, digest=bytes.fromhex(row.digest), size=row.size)

    def close(self) -> None:
        with self._lock:
            self._commit()
        self._db.close()

    def _commit(self) -> None:
        with self._db.transaction():
            for url, body in self._new:
                self._versions.add_version(url, body, time.time())
        self._new.clear()


__all__ = ["Repository", "body_digest", "differ", "fetcher", "urls"]
