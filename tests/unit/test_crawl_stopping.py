"""Crawls that end because their topic does, in simulated time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from honeyguide.config.loading import parse_settings
from honeyguide.config.settings import StopSettings, StoreSettings
from honeyguide.crawl import stopping
from honeyguide.crawl.loop import CrawlLoop
from honeyguide.crawl.status import collection_status
from honeyguide.errors import ConfigError
from honeyguide.store.store import Store
from honeyguide.types import Verdict
from tests.unit.crawling import FakeWeb, crawl

SEED = "http://a.test/"
BEES = "<title>Bees</title><p>Honey bee, honey bee, honey bee number "
GOOD, POOR = 40, 440


def web() -> FakeWeb:
    """Forty good pages and many poor ones, each on its host; the good ones link to them all."""
    good = [f"http://g{n}.test/honey{n}" for n in range(GOOD)]
    poor = [f"http://p{n}.test/steam{n}" for n in range(POOR)]
    links = "".join(
        f'<p><a href="{url}">{"honey bee" if url in good else "steam"}</a>'
        for url in (*good, *poor)
    )
    pages: dict[str, Any] = {SEED: BEES + "zero" + links}
    pages |= {url: f"{BEES} {n * n}{links}" for n, url in enumerate(good)}
    pages |= {url: f"<p>Steam engine {n * n} without wings" for n, url in enumerate(poor)}
    return FakeWeb(pages)


@pytest.mark.parametrize(
    ("stop", "says"),
    [
        ({"coverage": 0.9}, "relevant pages in reach are found (stop.coverage = 0.9)"),
        ({"precision": 0.05}, "of the last 200 visits were relevant (stop.precision = 0.05)"),
    ],
)
def test_a_crawl_stops_when_its_topic_ends(tmp_path: Path, stop: dict[str, Any], says: str) -> None:
    report = crawl(tmp_path, web(), [SEED], stop=stop, crawl={"concurrency": 4})
    assert says in report.reason
    assert 200 <= report.progress.visits < POOR
    assert report.progress.relevant == GOOD + 1
    assert report.estimate.found == GOOD + 1
    assert report.progress.waiting > 50


def test_nothing_stops_it_unasked_or_too_early(tmp_path: Path) -> None:
    whole = crawl(tmp_path / "one", web(), [SEED])
    assert whole.reason == "no link is left to follow"
    stop = {"coverage": 0.5, "precision": 0.9, "min_visits": 300}
    late = crawl(tmp_path / "two", web(), [SEED], stop=stop, crawl={"concurrency": 1})
    assert "(stop." in late.reason
    assert 300 <= late.progress.visits <= 311


def test_a_resumed_crawl_knows_what_the_first_one_knew(tmp_path: Path) -> None:
    place = web()
    known: list[str] = []

    def look(ring: CrawlLoop) -> None:
        known.append(ring.coverage.to_record())

    first = crawl(tmp_path, place, [SEED], crawl={"pages": 150})
    crawl(tmp_path, place, [SEED], crawl={"pages": 150}, meanwhile=look)
    assert known[0].startswith(f"[150, {first.progress.relevant},")
    assert first.progress.relevant > 10
    with Store.open(tmp_path, "read") as store:
        told = stopping.coverage_estimate(store, first.progress.waiting, crawled=False)
        assert told == first.estimate
        settings = parse_settings(
            {"topic": {"seeds": [SEED]}, "fetch": {"contact": "a@example.org"}}
        )
        assert collection_status(store, settings, 5).estimate == first.estimate
    report = crawl(tmp_path, place, [SEED], stop={"coverage": 0.9}, crawl={"pages": 0})
    assert "(stop.coverage = 0.9)" in report.reason
    asked = len(place.asked)
    again = crawl(tmp_path, place, [SEED], stop={"coverage": 0.9}, crawl={"pages": 0})
    assert again.reason.endswith("(stop.coverage = 0.9)"), "it knows at once"
    assert len(place.asked) == asked


def test_a_record_that_is_lost_or_stale_is_counted_anew(tmp_path: Path) -> None:
    report = crawl(tmp_path, web(), [SEED], crawl={"pages": 150})
    with Store.open(tmp_path, "crawl", StoreSettings(warc=False)) as store:
        record = stopping.restore_coverage(store).to_record()
        store.set_meta("coverage", "no record")
        assert stopping.coverage_estimate(store, 1, crawled=False) is None
        anew = stopping.restore_coverage(store)
        assert anew.to_record() == record
        assert anew.estimate(report.progress.waiting) == report.estimate
        stopping.save_coverage(store, anew)
        with store.transaction():
            row = next(store.visits.iter_visits(relevant=True))
            store.visits.update_verdict(row.id, Verdict(0.0))
            store.counter.recount_relevant(0.5)
        assert stopping.coverage_estimate(store, 1, crawled=False) is None, (
            "another page counts now"
        )
        assert stopping.restore_coverage(store).relevant == report.progress.relevant - 1


def test_what_is_asked_for_this_time_goes_before_the_topics_own() -> None:
    own = StopSettings(coverage=0.5, min_visits=7)
    assert stopping.override_stop_rules(own) == own
    assert stopping.override_stop_rules(own, precision=0.02) == replace(own, precision=0.02)
    assert stopping.override_stop_rules(own, coverage=0.9, precision=0.0).coverage == 0.9
    assert stopping.override_stop_rules(own, coverage=0.0).coverage == 0, "not this time"
    for share in (90.0, -0.1, float("nan")):
        with pytest.raises(ConfigError, match="coverage is a share"):
            stopping.override_stop_rules(own, coverage=share)


def test_shares_are_shares() -> None:
    for key in ("precision", "coverage"):
        with pytest.raises(ConfigError, match=f"stop.{key} is a share"):
            parse_settings({"stop": {key: 90}})
