"""What must hold for a collection after a crash, and what must hold when its crawl is done."""

from __future__ import annotations

import io
from collections import Counter
from contextlib import redirect_stdout
from pathlib import Path

from bench.crash.served import AT_ONCE
from tests.site.web import Web
from warcio.checker import Checker  # type: ignore[import-untyped]

from honeyguide.errors import HoneyguideError
from honeyguide.frontier.frontier import LinkFrontier
from honeyguide.frontier.order import make_order
from honeyguide.store.store import Store
from honeyguide.store.visits import VisitRow
from honeyguide.store.warc import sha1_digest

Seen = dict[int, tuple[str, float]]
"""Visits as a reader sees them: number → address and time."""


def rows_of(folder: Path) -> list[VisitRow]:
    """The journal; empty if the crawl died before it made the database."""
    if not (folder / "collection.db").exists():
        return []
    try:
        with Store.open(folder, "read") as store:
            return list(store.visits.iter_visits())
    except HoneyguideError as error:
        if "holds no collection yet" in str(error):
            return []
        raise


def seen(rows: list[VisitRow]) -> Seen:
    return {row.id: (row.url, row.at) for row in rows}


def faults(folder: Path) -> list[str]:
    """What is wrong with it, after a crawl's opening cut off what it should."""
    found: list[str] = []
    try:
        with Store.open(folder, "crawl") as store:
            found += store.warc_archive.warnings
        rows = rows_of(folder)
        if not rows:
            return found
        with Store.open(folder, "read") as store:
            store.database.check_integrity()
            found += _frontier(store, rows)
            found += _records(store, rows)
    except HoneyguideError as error:
        return [*found, f"{type(error).__name__}: {error}"]
    return found + [f"{f.name} is no valid WARC" for f in _files(folder) if not _valid(f)]


def unfinished(folder: Path, web: Web) -> list[str]:
    """What is wrong with a crawl that ran to its end: every page once, and all of it there."""
    rows = rows_of(folder)
    times = Counter(row.url for row in rows)
    found = [f"{url} was visited {count} times" for url, count in times.items() if count > 1]
    found += [f"{url} was not visited" for url in set(web.urls) - set(times)]
    found += [f"{row.url}: {row.failure}" for row in rows if row.failure]
    named = {row.warc for row in rows}
    found += [f"{f.name} belongs to no visit" for f in _files(folder) if f.name not in named]
    return found + faults(folder)


def _frontier(store: Store, rows: list[VisitRow]) -> list[str]:
    """The frontier knows every visit as done, and as many links wait as the journal says; those
    that were under way when it was written wait again."""
    frontier = LinkFrontier(store.frontier_log, make_order("best", 1))
    found = []
    done = [row.url for row in rows if row.final]
    for url, wanted in zip(done, frontier.still_wanted(done), strict=True):
        if wanted:
            found.append(f"{url} was visited and would be visited again")
    said = store.get_meta("waiting") or "0"
    if not 0 <= len(frontier) - int(said) <= AT_ONCE:
        found.append(f"{len(frontier)} links wait, the journal says {said}")
    return found


def _records(store: Store, rows: list[VisitRow]) -> list[str]:
    """Every answer that the journal speaks of can be read back, byte for byte."""
    found = []
    for row in rows:
        if row.status is None:
            continue
        record = store.warc_record(row)
        if record is None:
            found.append(f"{row.url} has no record")
        elif record[0].get("WARC-Type") == "response":
            payload = record[1].partition(b"\r\n\r\n")[2]
            if sha1_digest(payload) != row.payload_digest:
                found.append(f"{row.url} has another payload than the journal says")
    return found


def _files(folder: Path) -> list[Path]:
    return sorted((folder / "warc").glob("*.warc.gz"))


def _valid(file: Path) -> bool:
    class Arguments:
        inputs = (str(file),)
        verbose = False
        expected_errors = 0

    if file.stat().st_size == 0:
        return True  # made, and nothing committed to it yet
    with redirect_stdout(io.StringIO()):
        return bool(Checker(Arguments()).process_all() == 0)
