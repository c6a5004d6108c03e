"""A crawl that ends before anything was learned judges what it found all the same, or says so."""

from __future__ import annotations

from pathlib import Path

from honeyguide.api.create import create
from honeyguide.crawl.status import Report
from honeyguide.types import UNKNOWN_SCORE
from tests.end_to_end.crawling import journal
from tests.end_to_end.test_learning import weave
from tests.site.server import Site


def crawled(site: Site, folder: Path, pages: int, **topic: list[str]) -> Report:
    seed = next(iter(weave(site)))
    collection = create(
        folder,
        seeds=[seed],
        contact="tester@example.org",
        pages=pages,
        fetch={"private_addresses": True},
        politeness={"loopback_delay_s": 0.0},
        **topic,
    )
    report = collection.crawl()
    assert not report.failed
    return report


def test_good_pages_that_never_came_are_not_waited_for(site: Site, tmp_path: Path) -> None:
    host = site.addresses[0]
    good = [site.url(host, f"/p{n}") for n in (2, 4, 6, 2998)]
    bad = [site.url(host, f"/p{n}") for n in (3, 5, 7)]
    folder = tmp_path / "birds"
    assert not crawled(site, folder, 7, good=good, bad=bad).warnings
    verdicts = {str(row.url): row.verdict or 0.0 for row in journal(folder) if row.has_page}
    assert len(verdicts) == 7
    assert UNKNOWN_SCORE not in verdicts.values()
    assert verdicts[good[0]] > 0.5 > verdicts[bad[0]]


def test_pages_that_nobody_can_judge_are_told(site: Site, tmp_path: Path) -> None:
    good = [site.url(site.addresses[0], f"/p{n}") for n in (2, 4)]
    report = crawled(site, tmp_path / "birds", 3, good=good)
    assert any("not judged yet" in warning for warning in report.warnings), report.warnings
