"""How long each view of the studio takes on a large collection: milliseconds of server time.

    python bench/studio.py [--visits 200000] [--folder FOLDER] [--rounds 5] [--write]

Makes a collection of so many visits (once; a folder that holds one is used again), lets the studio
index it, and asks every view through the studio's own application, without a network. With --write
the figures go to bench/results/studio.json.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from honeyguide.config.settings import StoreSettings
from honeyguide.store.searches import SearchResultRow, SearchRow
from honeyguide.store.store import Store
from honeyguide.studio.auth import AuthGate
from honeyguide.studio.runs import SharedObjects, StudioRuns
from honeyguide.studio.search_index import Indexer
from honeyguide.studio.serving import build_app
from honeyguide.types import Failure, Label, Link, Page, Reason, Response, Url, Verdict, Visit

RESULT = Path(__file__).parent / "results" / "studio.json"
START = 1_700_000_000.0
TONGUES = ("en",) * 12 + ("de", "tr", "fr", "")
TOPIC = """
[topic]
description = "beekeeping and honey"
keywords = ["honey", "beekeeping", "apiary"]
seeds = ["https://site0.example.org/"]
[fetch]
contact = "studio@example.org"
"""
ENGINE = """
[search]
engine = "searxng"
url = "https://search.example.org/search"
"""


def words(generator: random.Random, count: int) -> list[str]:
    """Words as they are in texts: few that are everywhere, many that are nearly nowhere."""
    drawn = [int(generator.paretovariate(0.7)) for _ in range(count)]
    return [f"w{n % 200_000}" for n in drawn]


def visit(number: int, generator: random.Random, sites: int) -> Visit:
    site = min(int(generator.paretovariate(0.6)), sites)
    url = Url(f"https://site{site}.example.org/{number}")
    source = Url(f"https://site{site}.example.org/{number // 3}") if number else None
    at, generation = START + 0.4 * number, 1 + number // 1400
    link = Link(url, source, f"anchor {number}", depth=min(number, 9), parent=0.5)
    queued = round(generator.random(), 3)
    if generator.random() < 0.08:
        kind = generator.choice(("timeout", "dns", "status", "robots", "wrong_type"))
        gone = Failure(kind, "no answer")  # type: ignore[arg-type]
        return Visit(link, at, generation, queued, queued, failure=gone)
    score = round(generator.betavariate(0.6, 1.2), 4)
    text = " ".join(words(generator, 220))
    if score >= 0.5:
        text += " honey and beekeeping in the apiary"
    page = Page(url, f"Page {number} " + " ".join(words(generator, 4)), "About", ("One",), text,
                language="en", detected_language=generator.choice(TONGUES))  # fmt: skip
    reasons = (Reason("“honey” ×3", 0.4), Reason("“beekeeping” ×1", 0.2))
    answer = Response(url, 200, (), b"x" * 100, b"x" * 100, b"", b"", "192.0.2.1", at, 0.2)
    return Visit(link, at, generation, queued, queued, response=answer, page=page,
                 verdict=Verdict(score, reasons))  # fmt: skip


def made(visits: int, seed: int = 1) -> Iterator[Visit]:
    generator = random.Random(seed)
    for number in range(visits):
        yield visit(number, generator, max(10, visits // 100))


def make(folder: Path, visits: int) -> None:
    """A collection of so many visits, 2,000 of them labelled by two people."""
    if (folder / "made").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "topic.toml").write_text(TOPIC)
    batch: list[Visit] = []
    with Store.open(folder, "crawl", StoreSettings(warc=False)) as store:
        store.set_meta("threshold", "0.5")
        for each in made(visits):
            batch.append(each)
            if len(batch) == 2000:
                with store.transaction():
                    store.append_visits(batch)
                batch = []
        with store.transaction():
            store.append_visits(batch)
            rows = store.visits.iter_visits(page=True, limit=2000)
            store.labels.add(
                Label(row.url, float(row.id % 2), ("ann", "bob")[row.id % 2], row.at)
                for row in list(rows)
            )
    (folder / "made").touch()


def search(folder: Path, queries: int = 200, pages: int = 5) -> None:
    """What so many queries would have found of it."""
    if (folder / "searched").exists():
        return
    (folder / "topic.toml").write_text(f"{TOPIC}{ENGINE}")
    generator = random.Random(2)
    with Store.open(folder, "write") as store:
        rows = list(store.visits.iter_visits(page=True, limit=20_000))
        for number in range(queries):
            query = " ".join(words(generator, 1 + number % 3))
            for page in range(1, pages + 1):
                found = [
                    SearchResultRow(row.url, row.title, "honey")
                    for row in generator.sample(rows, 10)
                ]
                made = SearchRow(START, "searxng", query, page, results=10, fresh=5)
                store.searches.add_search(made, found)
    (folder / "searched").touch()


VIEWS: dict[str, str] = {
    "live": "live",
    "choices": "choices",
    "newest": "visits",
    "newest, page 2": "visits?after={next}",
    "relevant, best first": "visits?kind=relevant&sort=best",
    "score range, worst first": "visits?least=0.4&most=0.6&sort=worst",
    "one host": "visits?host=site1.example.org&sort=best",
    "small host": "visits?host=site1999.example.org",
    "language": "visits?language=tr&kind=relevant",
    "dates": "visits?since=1700010000&until=1700050000&sort=best",
    "labelled good": "visits?label=good&sort=best",
    "not labelled": "visits?label=none",
    "changed": "visits?changed=true",
    "failures": "visits?kind=failed",
    "a rare word": "visits?words=w31337",
    "a common word, best match": "visits?words=honey",
    "a word of every page": "visits?words=w1",
    "a common word, by score": "visits?words=honey&sort=best",
    "a phrase": "visits?words=%22honey+and+beekeeping%22+-w7",
    "words and filters": "visits?words=honey&language=tr&least=0.9&sort=best",
    "any word that begins so": "visits?words=w10*",
    "a page": "page?visit={last}",
    "topic": "topic",
    "runs": "run",
    "questions": "label/questions",
    "a question's text": "label/text?visit={last}",
    "people": "label/people",
    "what labels buy": "label/worth",
    "next in line": "label/top",
    "changes": "changes",
    "back-test": "changes/trial",
    "watched": "watched",
    "next visits": "watched/next",
    "generations": "generations",
    "queries": "queries",
    "suggestions": "queries/suggestions",
    "all collections": "/api/collections",
    "metrics": "/metrics",
}
"""Paths, below the collection unless they begin with a slash."""


async def ask(app: Any, token: str, path: str) -> tuple[int, bytes]:
    """One request to the application, without a network."""
    path, _, query = path.partition("?")
    said: list[Any] = []
    headers = [(b"host", b"127.0.0.1"), (b"authorization", f"Bearer {token}".encode())]
    scope = {
        "type": "http", "method": "GET", "path": path, "raw_path": path.encode(),
        "query_string": query.encode(), "headers": headers, "http_version": "1.1",
        "scheme": "http", "server": ("127.0.0.1", 80), "client": ("127.0.0.1", 9), "root_path": "",
    }  # fmt: skip

    asked = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive() -> dict[str, Any]:
        if not asked:
            await asyncio.Event().wait()  # this listener never goes away
        return asked.pop()

    async def send(message: Any) -> None:
        said.append(message)

    await app(scope, receive, send)
    return said[0]["status"], b"".join(part.get("body", b"") for part in said[1:])


def _whole(name: str, path: str) -> str:
    return path if path.startswith("/") else f"/api/c/{name}/{path}"


async def measure(root: Path, name: str, rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Milliseconds by the clock and of CPU, of every round of every view."""
    gate, kept = AuthGate(1), SharedObjects()
    app = build_app(gate, StudioRuns(root), kept)
    status, body = await ask(app, gate.token, f"/api/c/{name}/visits")
    first = json.loads(body)
    values = {"next": first["next"], "last": first["rows"][0]["visit"]}
    found: dict[str, list[tuple[float, float]]] = {}
    for view, path in VIEWS.items():
        for _ in range(rounds):
            began, cpu = time.perf_counter(), time.process_time()
            status, body = await ask(app, gate.token, _whole(name, path.format(**values)))
            took, cpu = time.perf_counter() - began, time.process_time() - cpu
            if status != 200:
                raise SystemExit(f"{view}: {status} {body[:300]!r}")
            found.setdefault(view, []).append((round(1000 * took, 1), round(1000 * cpu, 1)))
    kept.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--visits", type=int, default=200_000)
    parser.add_argument("--folder", type=Path, help="where the collection is, or goes")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="keep the figures")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as spare:
        folder = (chosen.folder or Path(spare) / "big").resolve()
        make(folder, chosen.visits)
        search(folder)
        began, cpu = time.perf_counter(), time.process_time()
        indexed = Indexer(folder).catch_up()
        took, cpu = time.perf_counter() - began, time.process_time() - cpu
        print(f"{indexed.visits} visits; indexed in {took:.1f} s, {cpu:.1f} s of CPU")
        found = asyncio.run(measure(folder.parent, folder.name, chosen.rounds))
    for view, figures in found.items():
        took, cpu = (sorted(each)[len(each) // 2] for each in zip(*figures, strict=True))
        slowest = max(each for each, _ in figures)
        print(f"{view:28} {took:7.1f} ms  slowest {slowest:7.1f} ms  CPU {cpu:7.1f} ms")
    print(f"slowest of all: {max(took for each in found.values() for took, _ in each):.1f} ms")
    if chosen.write:
        facts = {
            "visits": indexed.visits,
            "python": platform.python_version(),
            "load": os.getloadavg()[0],
            "milliseconds by the clock and of CPU": found,
        }
        RESULT.write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
