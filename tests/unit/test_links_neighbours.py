"""What came of the links beside a link."""

from __future__ import annotations

from pathlib import Path

import pytest

from honeyguide.crawl.loop import CrawlLoop
from honeyguide.links import link_stats
from honeyguide.links.link_stats import (
    NEIGHBOUR_PRIOR,
    NO_JUDGED_LINKS,
    JudgedPages,
    NeighbourLinks,
    WaitingLinkStats,
)
from honeyguide.types import Example, Link, Page, Url
from tests.unit.crawling import crawl
from tests.unit.test_training_feed import address, birds

LIST, OTHER = Url("http://a.org/list"), Url("http://a.org/other")


def row(*names: str) -> list[Url]:
    return [Url(f"http://a.org/{name}") for name in names]


class Told:
    """Waiting links and their neighbours, as the ledger keeps them."""

    def __init__(self, given: JudgedPages | None = None) -> None:
        self.waiting: dict[Url, WaitingLinkStats] = {}
        self.beside = NeighbourLinks(given or JudgedPages(), self.waiting)

    def found(self, urls: list[Url], wanted: list[Url], source: Url = LIST) -> None:
        for url in dict.fromkeys(wanted):
            self.waiting.setdefault(url, WaitingLinkStats()).sources += (source,)
        self.beside.record_row(source, urls, {url: self.waiting[url] for url in wanted})

    def followed(self, url: Url, value: float) -> list[Url]:
        return self.beside.record_outcome(url, self.waiting.pop(url, None), value)

    def of(self, url: Url) -> float:
        return self.waiting[url].neighbour_mean()


def test_the_nearest_neighbours_count_most() -> None:
    beside, urls = Told(), row(*map(str, range(12)))
    beside.found(urls, urls)
    assert {beside.of(url) for url in urls} == {NEIGHBOUR_PRIOR}
    changed = beside.followed(urls[0], 1.0)
    assert changed == urls[1:9], "the nearest first, and no further than eight places"
    told = [beside.of(url) for url in urls[1:]]
    assert told[0] > told[1] > told[7] > NEIGHBOUR_PRIOR == told[8]


def test_it_does_not_matter_when_a_page_is_met() -> None:
    before, after, urls = Told(), Told(), row("1", "2", "3")
    before.found(urls, urls)
    before.followed(urls[0], 1.0)
    before.followed(urls[1], 0.0)
    after.followed(urls[0], 1.0)
    after.followed(urls[1], 0.0)
    after.found(urls, [urls[2]])
    assert after.of(urls[2]) == pytest.approx(before.of(urls[2]))
    assert after.of(urls[2]) < NEIGHBOUR_PRIOR + 0.3, "the nearer was a bad one"


def test_what_a_redirect_leads_to_counts_where_the_link_stood() -> None:
    beside, urls = Told(), row("1", "2")
    beside.found(urls, urls)
    (moved,) = row("1/")
    met = beside.waiting[moved] = beside.waiting.pop(urls[0])
    met.former = (urls[0],)
    beside.followed(moved, 1.0)
    assert beside.of(urls[1]) > NEIGHBOUR_PRIOR


def test_judged_pages_need_not_be_followed() -> None:
    urls = row("good", "beside", "1", "2", "3", "4", "5", "6", "7", "8", "far")
    beside = Told(JudgedPages({Url("http://a.org/good/"): 1.0}))
    beside.found(urls, urls)
    once = beside.of(urls[1])
    assert once > NEIGHBOUR_PRIOR == beside.of(urls[-1])
    assert beside.followed(urls[0], 0.0) == [], "its verdict is no news"
    assert beside.of(urls[1]) == once


def test_its_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link_stats, "_FOLLOWED_LINKS", 10)
    monkeypatch.setattr(link_stats, "_PAGES", 10)
    beside = Told()
    for n in range(20):
        urls = row(f"{n}/first", "x" * 1000, *(f"{n}/{m}" for m in range(400)))
        beside.found(urls, urls, Url(f"http://a.org/{n}"))
        beside.followed(urls[0], 1.0)
        beside.followed(urls[1], 1.0)
    rows = beside.beside._rows
    assert len(rows) <= 10 >= len(beside.beside._outcomes)
    assert max(len(row) for row in rows.values()) <= 300 + 2 * 8
    assert max(len(url) for row in rows.values() for url in row) <= 500


def test_every_place_of_a_link_counts_up_to_eight() -> None:
    told, urls = Told(), row("1", "2", "3")
    told.found([urls[0], urls[1], urls[0]], urls[:2])
    told.found([urls[0], urls[2]], [urls[0], urls[2]], OTHER)
    assert told.followed(urls[0], 1.0) == urls[1:]
    assert told.waiting[urls[1]].known == pytest.approx(2 * told.waiting[urls[2]].known)
    many = Told()
    for n in range(20):
        many.found(row("x", str(n)), row("x", str(n)), Url(f"http://a.org/list/{n}"))
    assert many.followed(row("x")[0], 1.0) == row(*map(str, range(8)))


def test_what_judged_pages_link_to() -> None:
    urls = row("1", "2")
    page = Page(Url("http://a.org/good"), links=tuple(Link(url) for url in (*urls, urls[0])))
    bad = Page(Url("http://a.org/bad"), links=(Link(urls[1]),))
    other = Page(Url("http://a.org/other"), links=(Link(urls[1]),))
    given = JudgedPages({page.url: 1.0, bad.url: 0.0}, (page, bad, other))
    assert given.named.get(urls[0], NO_JUDGED_LINKS) == (1.0, 1)
    assert given.named.get(urls[1], NO_JUDGED_LINKS) == (1.0, 2), "what nobody judged says nothing"
    assert given.named.get(page.url, NO_JUDGED_LINKS) == (0.0, 0)
    assert page.url in given
    assert other.url not in given.values
    assert JudgedPages({Url("http://a.org/"): 7.0}).values[Url("http://a.org")] == 0.0


def test_what_a_judged_page_links_to_counts_once() -> None:
    page = Page(Url("http://a.org/good"), links=(Link(row("1")[0]),))
    examples = [Example(Link(page.url), page, value, "seed") for value in (1.0, 0.0)]
    given = JudgedPages.from_examples(examples, {Url("http://a.org/bad"): 0.0})
    given.add_page(page)
    assert given.named == {row("1")[0]: (1.0, 1)}, "good for one of several topics"
    assert given.values[Url("http://a.org/bad/")] == 0.0


def test_a_resumed_crawl_knows_what_judged_pages_link_to(tmp_path: Path) -> None:
    topic = {"keywords": ["finch"], "good": [address(41)], "bad": [address(42)]}
    told: list[dict[Url, tuple[float, int]]] = []

    def look(ring: CrawlLoop) -> None:
        assert ring.link_knowledge is not None
        told.append(dict(ring.link_knowledge._judged.named))

    for pages in (8, 9):
        limits = {"strategy": "honeyguide", "pages": pages, "concurrency": 1}
        tables = {"crawl": limits, "topic": topic, "store": {"warc": True}}
        crawl(tmp_path / "birds", birds(), [address(0)], meanwhile=look, **tables)
    before, after = told
    assert not before
    assert after == {Url(address(n)): (0.0, 1) for n in range(43, 51)}, "good ones are seeds"
