"""The studio's own files: the page, its scripts and its style. A list made at the start says which
there are, so no path of a request is ever looked up on the disk."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

from honeyguide.studio.auth import PAGE_POLICY

FOLDER = Path(__file__).parent / "static"
_MEDIA = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
    "": "text/plain; charset=utf-8",
    ".txt": "text/plain; charset=utf-8",
}


class Page(NamedTuple):
    status: int
    body: bytes
    headers: dict[str, str]


class Pages:
    def __init__(self, folder: Path = FOLDER) -> None:
        self._files = {
            path.relative_to(folder).as_posix(): path
            for path in folder.rglob("*")
            if path.is_file() and path.suffix in _MEDIA
        }

    def get(self, name: str, known: str = "") -> Page | None:
        """A file, unless the browser has it already (``known``: its If-None-Match)."""
        path = self._files.get(name)
        if path is None:
            return None
        body = path.read_bytes()
        tag = f'"{hashlib.sha256(body).hexdigest()[:24]}"'
        # Asked again each time: after an upgrade, old scripts must not meet a new server.
        headers = {
            "Content-Type": _MEDIA[path.suffix],
            "Content-Security-Policy": PAGE_POLICY,
            "Cache-Control": "no-cache",
            "ETag": tag,
        }
        return Page(304, b"", headers) if known == tag else Page(200, body, headers)


def refusal(why: str) -> bytes:
    """What somebody sees who cannot be let in; ``why`` is our own text."""
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><title>Honeyguide</title>"
        "<meta name=viewport content='width=device-width'>"
        f"<h1>Honeyguide studio</h1><p>Not yet: {why}.</p>"
        "<p>The address is on the terminal where <code>honeyguide serve</code> runs; "
        "it has <code>#token=…</code> in it. Open it once in this browser.</p></html>"
    ).encode()
