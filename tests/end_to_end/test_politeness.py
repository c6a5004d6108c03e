"""Politeness, proved from the servers' own log of a real crawl."""

from __future__ import annotations

import time
from pathlib import Path

from tests.end_to_end.crawling import collection, honeyguide, journal
from tests.end_to_end.politeness_probe import assert_polite
from tests.site.exchange import Exchange, page, text
from tests.site.server import Site
from tests.site.web import weave

ROBOTS = """\
User-agent: *
Disallow: /

User-agent: honeyguide
Disallow: /p3.html
Disallow: /p*7.html$
Crawl-delay: 0.5
"""


def test_a_whole_crawl_is_polite(site: Site, tmp_path: Path) -> None:
    hosts = site.addresses[:4]
    web = weave(site, hosts, pages=12)
    site.route(hosts[1], "/robots.txt", text(ROBOTS))
    folder = tmp_path / "bees"
    collection(folder, [site.url(hosts[0], "/")], politeness={"loopback_delay_s": 0.2})
    done = honeyguide("crawl", folder, "--quiet")
    assert done.returncode == 0, done.stderr
    delays = dict.fromkeys(hosts, 0.2) | {hosts[1]: 0.5}
    assert_polite(site.log, delays=delays, robots={hosts[1]: ROBOTS})
    forbidden = {site.url(hosts[1], "/p3.html"), site.url(hosts[1], "/p7.html")}
    rows = {row.url: row for row in journal(folder)}
    assert set(rows) == set(web.urls)
    assert {url for url, row in rows.items() if row.failure == "robots"} == forbidden
    agents = {hit.call.header("user-agent") for hit in site.log}
    assert len(agents) == 1
    assert "tester@example.org" in agents.pop()


def test_retry_after_is_obeyed_and_the_page_comes_back(site: Site, tmp_path: Path) -> None:
    host = site.addresses[0]

    async def busy_once(exchange: Exchange) -> None:
        if exchange.nth == 0:
            await exchange.answer("busy", status=503, headers=[("Retry-After", "2")])
        else:
            await exchange.answer("<title>Honey</title>the honey of the bee in a hive")

    site.route(host, "/", busy_once)
    folder = tmp_path / "bees"
    collection(folder, [site.url(host, "/")])
    done = honeyguide("crawl", folder, "--quiet")
    assert done.returncode == 0, done.stderr
    assert_polite(site.log, delays=0.0)
    rows = journal(folder)
    assert [(row.status, row.final, row.tries) for row in rows] == [(503, 0, 1), (200, 0, 2)]


def test_a_host_that_backs_off_for_long_does_not_hold_the_crawl(site: Site, tmp_path: Path) -> None:
    slow, fast = site.addresses[:2]

    async def gone(exchange: Exchange) -> None:
        await exchange.answer("no", status=429, headers=[("Retry-After", "7200")])

    site.route(slow, "/", gone)
    site.route(fast, "/", page("<title>Bee</title>bee honey hive"))
    folder = tmp_path / "bees"
    collection(folder, [site.url(slow, "/"), site.url(fast, "/")])
    began = time.monotonic()
    done = honeyguide("crawl", folder, "--json")
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - began < 50
    assert "no host is ready" in done.stdout
    again = honeyguide("crawl", folder, "--json")
    assert again.returncode == 0, again.stderr
    assert len([hit for hit in site.hits(slow) if hit.path == "/"]) == 1, "it came back too soon"


def test_a_crawl_delay_beyond_a_minute_parks_the_host(site: Site, tmp_path: Path) -> None:
    host = site.addresses[0]
    weave(site, [host], pages=3, robots="User-agent: *\nCrawl-delay: 120\n")
    folder = tmp_path / "bees"
    collection(folder, [site.url(host, "/")])
    done = honeyguide("crawl", folder, "--json")
    assert [hit.path for hit in site.log] == ["/robots.txt"]
    assert "no host is ready" in done.stdout


def test_robots_txt_that_fails_forbids_for_now(site: Site, tmp_path: Path) -> None:
    host = site.addresses[0]
    weave(site, [host], pages=3)

    async def broken(exchange: Exchange) -> None:
        await exchange.answer("oops", status=500)

    site.route(host, "/robots.txt", broken)
    folder = tmp_path / "bees"
    collection(folder, [site.url(host, "/")])
    done = honeyguide("crawl", folder, "--json")
    assert done.returncode == 6, done.stdout
    assert [hit.path for hit in site.log] == ["/robots.txt"]
    (row,) = journal(folder)
    assert (row.failure, row.final) == ("robots", 0)
