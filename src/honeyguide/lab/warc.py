"""Read the answers out of WARC files, of our own writing or anybody's.

Only what a lab needs: response and revisit records of http(s) addresses. A file that ends in
the middle of a record (its crawl may still be running) is read up to there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from honeyguide.errors import ConfigError, FetchError
from honeyguide.fetch.decode import decode
from honeyguide.lab.gzip_io import Unreadable, open_members, open_packed, pack
from honeyguide.lab.web import Headers, Recorded
from honeyguide.url import canonical

LARGEST = 64 << 20
"""Records and bodies beyond this are passed over."""


class Record(NamedTuple):
    headers: dict[str, str]
    content: bytes


class Answer(NamedTuple):
    status: int
    headers: Headers
    body: bytes


def read_warc(path: Path) -> Iterator[Recorded]:
    """Responses in file order; revisits of other addresses' bodies come last."""
    digests: dict[str, Recorded] = {}
    revisits: list[tuple[str, str]] = []
    for record in _records(path):
        url = canonical(record.headers.get("warc-target-uri", "").strip("<>"))
        digest = record.headers.get("warc-payload-digest", "")
        if url is None:
            continue
        kind = record.headers.get("warc-type")
        if kind == "revisit":
            revisits.append((url, digest))
        elif kind == "response" and (answer := parse_answer(record.content)):
            found = Recorded(url, answer.status, answer.headers, pack(answer.body))
            if digest:
                digests.setdefault(digest, found)
            yield found
    for again, digest in revisits:
        if (earlier := digests.get(digest)) and earlier.url != again:
            yield earlier._replace(url=again)


def parse_answer(content: bytes) -> Answer | None:
    """An HTTP answer as it was recorded; None if it is not one or does not decode."""
    head, gap, body = content.partition(b"\r\n\r\n")
    if not gap:
        head, _, body = content.partition(b"\n\n")
    first, *rest = head.decode("latin-1").splitlines() or [""]
    parts = first.split(None, 2)
    if len(parts) < 2 or not parts[0].startswith("HTTP/") or not parts[1].isdecimal():
        return None
    status = int(parts[1])
    if not 100 <= status <= 999:
        return None
    pairs = [(k.strip(), v.strip()) for k, colon, v in (r.partition(":") for r in rest) if colon]
    named = {key.lower(): value for key, value in pairs}
    if named.get("transfer-encoding", "").lower().endswith("chunked"):
        body = _joined(body)
    try:
        body = decode("", body, named.get("content-encoding", ""), limit=LARGEST, ratio=1000)
    except FetchError:
        return None
    return Answer(status, tuple(pairs), body)


def _records(path: Path) -> Iterator[Record]:
    try:
        with open_members(path) if path.suffix == ".gz" else open_packed(path) as file:
            while (record := _record(file)) is not None:
                yield record
    except (*Unreadable, ValueError) as error:
        raise ConfigError(f"{path} is not a readable WARC file: {error}") from error


def _record(file: IO[bytes]) -> Record | None:
    line = b"\r\n"
    while line in (b"\r\n", b"\n"):
        line = file.readline(1024)
    if not line:
        return None
    if not line.startswith(b"WARC/"):
        raise ValueError(f"a record starts with {line[:40]!r}")
    headers: dict[str, str] = {}
    for _ in range(1000):
        line = file.readline(65_536)
        if line in (b"\r\n", b"\n", b""):
            break
        name, _, value = line.decode("utf-8", "replace").partition(":")
        headers[name.strip().lower()] = value.strip()
    length = int(headers.get("content-length", "0"))
    if length > LARGEST:
        while length > 0 and (piece := file.read(min(length, 1 << 20))):
            length -= len(piece)
        return Record({}, b"")
    content = file.read(max(length, 0))
    return Record(headers, content) if len(content) == length else None


def _joined(body: bytes) -> bytes:
    """Chunks put together; a body that is not chunked although it says so stays as it is."""
    parts: list[bytes] = []
    at = 0
    while True:
        end = body.find(b"\r\n", at, at + 100)
        try:
            size = int(body[at:end].partition(b";")[0], 16) if end >= 0 else -1
        except ValueError:
            size = -1
        if size < 0:
            return b"".join(parts) if parts else body
        if size == 0:
            return b"".join(parts)
        parts.append(body[end + 2 : end + 2 + size])
        at = end + 2 + size + 2
