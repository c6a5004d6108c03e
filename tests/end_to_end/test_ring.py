"""What the ring does with each kind of answer, seen in the journal and in the site's log."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import ClassVar, Self

import pytest

from honeyguide import registry
from honeyguide.api.collection import Collection
from honeyguide.crawl.build import open_crawl
from honeyguide.errors import DiskFull
from honeyguide.store.visits import VisitRow
from honeyguide.types import Example, Link, Page, Reason, StrategyTraits, Verdict
from tests.end_to_end.crawling import collection, journal
from tests.site.exchange import Exchange, page, text
from tests.site.server import Site
from tests.site.web import weave

BEES = "<title>Bees</title><p>The honey bee keeps honey in the hive. Honey, bee, hive, honey."


def crawl(folder: Path, **more: int) -> dict[str, VisitRow]:
    """The last visit to each address."""
    Collection(folder).crawl(**more)
    return {row.url: row for row in journal(folder)}


def test_redirects_are_followed_as_links(site: Site, tmp_path: Path) -> None:
    a, b = site.addresses[:2]

    async def move(exchange: Exchange) -> None:
        await exchange.answer(status=301, headers=[("Location", site.url(b, "/new"))])

    async def loop(exchange: Exchange) -> None:
        await exchange.answer(status=302, headers=[("Location", exchange.call.path + "x")])

    site.route(a, "/old", move)
    site.route(a, "/loop*", loop)
    site.route(b, "/new", page(BEES))
    collection(tmp_path / "c", [site.url(a, "/old"), site.url(a, "/loop")])
    rows = crawl(tmp_path / "c")
    assert rows[site.url(a, "/old")].moved == site.url(b, "/new")
    new = rows[site.url(b, "/new")]
    assert (new.channel, new.hops, new.source, new.relevant) == (
        "redirect",
        1,
        site.url(a, "/old"),
        1,
    )
    assert rows[site.url(a, "/loopxxxxx")].failure == "too_many_redirects"
    assert site.hits(b)[0].path == "/robots.txt", "the target's own robots.txt comes first"


def test_a_page_that_wants_its_cookie_gets_it(site: Site, tmp_path: Path) -> None:
    a = site.addresses[0]

    async def picky(exchange: Exchange) -> None:
        if "seen=yes" in exchange.call.header("cookie"):
            await exchange.answer(BEES)
        else:
            headers = [("Location", "/"), ("Set-Cookie", "seen=yes")]
            await exchange.answer(status=302, headers=headers)

    site.route(a, "/", picky)
    collection(tmp_path / "c", [site.url(a, "/")])
    assert crawl(tmp_path / "c")[site.url(a, "/")].relevant


def test_sitemaps_and_feeds_lead_on(site: Site, tmp_path: Path) -> None:
    a, b = site.addresses[:2]
    entries = "".join(f"<url><loc>{site.url(a, f'/s{n}')}</loc></url>" for n in range(3))
    inner = f"<urlset>{entries}</urlset>".encode()
    index = f"<sitemapindex><sitemap><loc>{site.url(a, '/in.xml.gz')}</loc></sitemap>" + (
        f"<sitemap><loc>{site.url(b, '/evil.xml')}</loc></sitemap></sitemapindex>"
    )
    item = f"<item><title>Hive</title><link>{site.url(a, '/f')}</link></item>"
    feed = f"<rss><channel>{item}</channel></rss>"
    site.route(a, "/robots.txt", text(f"Sitemap: {site.url(a, '/map.xml')}\n"))
    site.route(a, "/map.xml", page(index, "application/xml"))
    site.route(a, "/in.xml.gz", page(gzip.compress(inner), "application/gzip"))
    alternate = '<link rel="alternate" type="application/rss+xml" href="/feed">'
    site.route(a, "/", page(f"<head>{alternate}</head>{BEES}"))
    site.route(a, "/feed", page(feed, "application/rss+xml"))
    for name in ("s0", "s1", "s2", "f"):
        site.route(a, f"/{name}", page(f"{BEES} {name} {'x' * 50} {name * 30}"))
    collection(tmp_path / "c", [site.url(a, "/")])
    rows = crawl(tmp_path / "c")
    assert {rows[site.url(a, f"/s{n}")].channel for n in range(3)} == {"sitemap"}
    assert rows[site.url(a, "/f")].channel == "feed"
    assert rows[site.url(a, "/f")].anchor == "Hive"
    assert rows[site.url(a, "/map.xml")].verdict is None, "lists are not judged"
    assert not site.hits(b), "a sitemap speaks for its own site only"


def test_the_wishes_of_pages_are_obeyed(site: Site, tmp_path: Path) -> None:
    a = site.addresses[0]
    links = '<a href="/kept">honey</a> <a rel="nofollow" href="/not">bee</a>'
    site.route(a, "/", page(f'<meta name="robots" content="noindex">{BEES}{links}'))
    alone = '<meta name="robots" content="nofollow">'
    site.route(a, "/kept", page(f'{alone}{BEES}<a href="/n2">x</a>'))
    collection(tmp_path / "c", [site.url(a, "/")])
    rows = crawl(tmp_path / "c")
    assert set(rows) == {site.url(a, "/"), site.url(a, "/kept")}
    hidden = rows[site.url(a, "/")]
    assert (hidden.failure, hidden.has_page, hidden.warc) == ("noindex", 0, None)
    assert rows[site.url(a, "/kept")].may_follow == 0


def test_copies_are_marked_and_session_traps_end(site: Site, tmp_path: Path) -> None:
    a = site.addresses[0]
    words = " ".join(f"honey bee hive word{n}" for n in range(80))

    async def session(exchange: Exchange) -> None:
        links = "".join(f'<a href="/?sid={exchange.nth}{n}">honey bee {n}</a>' for n in range(9))
        await exchange.answer(f"<title>Bees</title><main><p>{words}</p></main>{links}")

    site.route(a, "/*", session)
    collection(tmp_path / "c", [site.url(a, "/")])
    rows = crawl(tmp_path / "c", pages=100)
    assert len(rows) < 30, "links of copies are not followed"
    copies = [row for row in rows.values() if row.copy_of]
    assert len(copies) == len(rows) - 1
    assert {row.copy_of for row in copies} == {site.url(a, "/")}


def test_a_domain_has_a_quota(site: Site, tmp_path: Path) -> None:
    a = site.addresses[0]

    months = count()

    async def calendar(exchange: Exchange) -> None:
        n = next(months)
        await exchange.answer(f"<title>Month {n}</title>day {n} <a href='/m{n + 1}'>next {n}</a>")

    site.route(a, "/*", calendar)
    collection(tmp_path / "c", [site.url(a, "/")], scope={"pages_per_domain": 12})
    report = Collection(tmp_path / "c").crawl()
    assert report.progress.visits == 11, "robots.txt is part of the quota"
    assert "no host is ready" in report.reason


def test_a_full_disk_loses_nothing(site: Site, tmp_path: Path) -> None:
    web = weave(site, site.addresses[:3], pages=40)
    folder = tmp_path / "c"
    made = collection(folder, [site.url(site.addresses[0], "/")])

    async def cramped() -> None:
        async with open_crawl(folder, made.settings) as ring:
            database = ring.store.database.connection
            used = int(database.execute("PRAGMA page_count").get)
            database.execute(f"PRAGMA max_page_count = {used + 30}")
            await ring.run()

    with pytest.raises(DiskFull):
        asyncio.run(cramped())
    before = {(row.id, row.url) for row in journal(folder)}
    assert 0 < len(before) < len(web.urls)
    rows = crawl(folder)
    assert before <= {(row.id, row.url) for row in rows.values()}
    assert set(rows) == set(web.urls)


def test_a_changed_topic_is_a_new_generation(site: Site, tmp_path: Path) -> None:
    weave(site, site.addresses[:2], pages=10)
    folder = tmp_path / "c"
    collection(folder, [site.url(site.addresses[0], "/")])
    first = crawl(folder, pages=5)
    assert {row.generation for row in first.values()} == {0}
    topic = folder / "topic.toml"
    topic.write_text(topic.read_text().replace('"hive"', '"castle"'))
    rows = crawl(folder, pages=10)
    assert [row.generation for row in sorted(rows.values())] == [0] * 5 + [1] * 5


@dataclass(frozen=True)
class Pupil:
    """Learns one thing: how many examples it has seen."""

    traits: ClassVar[StrategyTraits] = StrategyTraits(learns=True)
    lessons: int = 0

    def judge(self, page: Page) -> Verdict:
        return Verdict(0.9 if "honey" in page.text else 0.1, (Reason("honey", 0.9),))

    def rank(self, links: Sequence[Link]) -> list[float]:
        return [0.5 for _ in links]

    def explain(self, link: Link) -> tuple[Reason, ...]:
        return (Reason(f"{self.lessons} lessons", 0.5),)

    def learn(self, examples: Sequence[Example]) -> Self:
        return replace(self, lessons=len(examples))


def test_generations_are_learned_while_it_crawls(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(registry.BUILTIN_STRATEGIES, "pupil", f"{__name__}:Pupil")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    weave(site, site.addresses[:2], pages=30)
    folder = tmp_path / "c"
    collection(
        folder,
        [site.url(site.addresses[0], "/")],
        crawl={"strategy": "pupil", "concurrency": 2},
        learn={"every": 5},
        politeness={"loopback_delay_s": 0.3},  # the process that learns must have time to start
    )
    rows = crawl(folder, pages=40)
    assert len({row.generation for row in rows.values()}) > 1
    again = crawl(folder, pages=60)
    assert max(row.generation for row in again.values()) >= max(
        row.generation for row in rows.values()
    ), "a resumed crawl goes on with the newest generation"
