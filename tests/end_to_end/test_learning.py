"""Labels that arrive in the middle of a crawl change what is fetched next, and outlive kill -9."""

from __future__ import annotations

import csv
import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from honeyguide.api.create import create
from honeyguide.errors import StoreError
from tests.end_to_end.crawling import honeyguide, journal, start
from tests.site.server import Site

FINCH = "finch plumage migration nest feather seed beak wing song flock"
SOUP = "soup kettle onion salt boil pepper broth ladle carrot simmer"
PAGES = 3000
DELAY = 0.1


def weave(site: Site) -> dict[str, bool]:
    """Pages of two kinds, alternating, each linking to the next eight; address → is it a finch?"""
    host = site.addresses[0]
    kinds = {f"/p{n}": n % 2 == 0 for n in range(PAGES)}
    for n, (path, finch) in enumerate(kinds.items()):
        links = " · ".join(
            f'<a href="/p{m}">{(FINCH if m % 2 == 0 else SOUP).split()[m % 10]} {m}</a>'
            for m in range(n + 1, min(n + 9, PAGES))
        )
        words = FINCH if finch else SOUP
        # Words around a link count: keep those of the page away from the first one.
        rest = "Everything else that stands here leads to one of these further pages:"
        text = " ".join([words] * 8)
        html = f"<title>page {n}</title><p>{text} number {n}</p><p>{rest} {links}</p>"
        site.pages(host, {path: html})
    return {site.url(host, path): finch for path, finch in kinds.items()}


def test_labels_in_the_middle_of_a_crawl(site: Site, tmp_path: Path) -> None:
    kinds = weave(site)
    folder = tmp_path / "birds"
    create(
        folder,
        seeds=[next(iter(kinds))],
        contact="tester@example.org",
        strategy="hybrid_svm",
        pages=0,
        fetch={"private_addresses": True},
        politeness={"loopback_delay_s": DELAY},
        crawl={"concurrency": 4},
        learn={"teacher": "interactive"},
    )
    crawl = start("crawl", folder, "--quiet")
    try:
        _until(crawl, lambda: _visits(folder) >= 90)
        before = [kinds[row.url] for row in journal(folder)]
        assert 0.3 < sum(before) / len(before) < 0.7, "untaught, it takes what comes"

        labels = tmp_path / "labels.csv"
        _write(labels, {row.url: kinds[row.url] for row in journal(folder)[:30]})
        told = honeyguide("label", folder, labels)
        assert told.returncode == 0, told.stderr
        _until(crawl, lambda: _live(folder) > 0)
        _until(crawl, lambda: newest(folder, kinds, 25) > 0.8)  # taught, it goes for finches
    finally:
        crawl.kill()  # kill -9, labels and generations must survive
        crawl.wait()
    live = _live(folder)
    assert live > 0

    again = start("crawl", folder, "--quiet")
    try:
        resumed = _visits(folder)
        _until(again, lambda: _visits(folder) >= resumed + 20)
        assert all(row.generation >= live for row in journal(folder)[resumed:])
        fresh = [kinds[row.url] for row in journal(folder)[resumed:]]
        assert sum(fresh) / len(fresh) > 0.8, "what was learned is still known"

        # A batch of wrong labels, for pages that were seen before anything was learned.
        wrong = {row.url: not kinds[row.url] for row in journal(folder)[30:90]}
        _write(labels, wrong)
        good = _live(folder)
        assert honeyguide("label", folder, labels).returncode == 0
        _until(again, lambda: any("held back" in note for note in _notes(folder)))
        assert _live(folder) == good, "the gate stopped it"
        assert honeyguide("generations", folder, "--use", 0).returncode == 0
        _until(again, lambda: journal(folder)[-1].generation == 0)
    finally:
        again.kill()
        again.wait()
    compared = honeyguide("generations", folder, "--compare", 0, live)
    assert "trained on these labels" in " ".join(compared.stderr.split())
    listed = honeyguide("generations", folder)
    assert "held back" in listed.stdout
    assert "*   0" in listed.stdout


def _until(crawl: subprocess.Popen[bytes], ready: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not ready():
        assert crawl.poll() is None, "the crawl ended"
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.1)


def newest(folder: Path, kinds: dict[str, bool], count: int) -> float:
    """Share of finches among the newest visits."""
    return sum(kinds[row.url] for row in journal(folder)[-count:]) / count


def _visits(folder: Path) -> int:
    try:
        return len(journal(folder))
    except StoreError:
        return 0  # the database is not made yet


def _live(folder: Path) -> int:
    rows = json.loads(honeyguide("generations", folder, "--json").stdout)
    return next(int(row["generation"]["number"]) for row in rows if row["live"])


def _notes(folder: Path) -> list[str]:
    rows = json.loads(honeyguide("generations", folder, "--json").stdout)
    return [row["generation"]["note"] for row in rows]


def _write(file: Path, labels: dict[str, bool]) -> None:
    with file.open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["url", "label"])
        writer.writerows([url, int(value)] for url, value in labels.items())
