"""Visits for the store's tests, and what other people's readers say of our WARC files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
from warcio.archiveiterator import ArchiveIterator

from honeyguide.store.store import Store
from honeyguide.types import (
    DuplicateOf,
    Failure,
    Link,
    Page,
    Reason,
    Response,
    Url,
    Verdict,
    Visit,
)

WORDS = ("honey", "bee", "hive", "nectar", "wax", "comb", "guide", "bird", "forest", "tree")


def prose(seed: int, words: int = 120) -> str:
    """A text of its own for each seed."""
    return " ".join(
        f"{WORDS[(seed * 7 + i * i) % len(WORDS)]}{seed * i % 97}" for i in range(words)
    )


def answer(url: str, payload: bytes = b"<p>hello</p>", status: int = 200, **more: Any) -> Response:
    head = f'HTTP/1.1 {status} X\r\nContent-Type: text/html\r\nETag: "e1"\r\n\r\n'.encode()
    values: dict[str, Any] = {
        "headers": (("Content-Type", "text/html; charset=utf-8"), ("ETag", '"e1"')),
        "body": payload,
        "request_head": b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n",
        "head": head,
        "ip": "192.0.2.7",
        "started": 1_700_000_000.0,
        "elapsed": 0.25,
        **more,
    }
    return Response(url=Url(url), status=status, payload=payload, **values)


def good(number: int, score: float = 0.9, text: str | None = None, **more: Any) -> Visit:
    """A visit that brought a page."""
    url = Url(f"https://host{number % 3}.example.org/{number}")
    text = prose(number) if text is None else text
    values: dict[str, Any] = {
        "link": Link(url, Url("https://example.org/"), f"anchor {number}", "before", "after"),
        "at": 1_700_000_000.0 + number,
        "generation": 1 + number // 10,
        "initial_score": 0.25,
        "score": 0.5,
        "response": answer(url, f"<p>{number} {text}</p>".encode()),
        "page": Page(url, f"Page {number}", "About", ("One", "Two"), text, language="en"),
        "verdict": Verdict(score, (Reason("honey", 0.5),)),
        **more,
    }
    return Visit(**values)


def bad(number: int, kind: str = "timeout") -> Visit:
    url = Url(f"https://down.example.org/{number}")
    return Visit(Link(url), 1_700_000_000.0 + number, failure=Failure(kind, "no answer", False))  # type: ignore[arg-type]


def copy(number: int, of: str) -> Visit:
    return good(number, duplicate=DuplicateOf(Url(of), exact=True))


def records(path: Path) -> Iterator[tuple[str, str, bytes]]:
    """Type, target and content of every record, each digest checked by warcio."""
    with path.open("rb") as file:
        for record in ArchiveIterator(file, check_digests="raise"):
            content = record.content_stream().read()
            assert record.digest_checker.passed is not False, record.digest_checker.problems
            yield record.rec_type, record.rec_headers.get_header("WARC-Target-URI"), content


def warc_files(folder: Path) -> list[Path]:
    return sorted((folder / "warc").glob("*.warc.gz"))


def change(folder: Path, sql: str, *values: object) -> None:
    """What a stranger might do to a collection."""
    connection = apsw.Connection(str(folder / "collection.db"))
    connection.execute(sql, values)
    connection.close()


def small(folder: Path) -> Path:
    """A collection of five good visits."""
    with Store.open(folder, "crawl") as store, store.transaction():
        store.append_visits([good(n) for n in range(5)])
    return folder


def crawl(folder: Path) -> None:
    """One more visit, as a crawl would append it."""
    with Store.open(folder, "crawl") as store, store.transaction():
        store.append_visits([good(99)])
