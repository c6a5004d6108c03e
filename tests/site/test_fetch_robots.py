"""Every robots.txt of the zoo, fetched and read as a crawl would."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from honeyguide.errors import FetchError
from honeyguide.fetch.http import CurlFetcher
from honeyguide.net.robots import RobotsCache, RobotsRules
from honeyguide.types import Request, Url
from tests.conftest import opened
from tests.site.fetching import HASTY, fetcher
from tests.site.robots import ROBOTS, mount_robots, robots_host
from tests.site.server import Site

NOTHING = (False, False)
OPEN = (True, True)
RULED = (True, False)
WANTED: dict[str, tuple[bool, bool]] = {
    "busy": NOTHING, "broken": NOTHING, "unavailable": NOTHING, "silent": NOTHING,
    "slow": NOTHING, "reset": NOTHING, "garbage": NOTHING, "all": NOTHING,
    "moved-private": NOTHING, "many-rules": NOTHING,
    "missing": OPEN, "gone": OPEN, "forbidden": OPEN, "unauthorised": OPEN, "endless": OPEN,
    "moved-6": OPEN, "moved-nowhere": OPEN, "moved-loop": OPEN, "html": OPEN, "long": OPEN,
    "long-line": OPEN, "binary": OPEN, "empty": OPEN, "blank": OPEN,
    "no-agent": OPEN, "not-us": OPEN, "percent": OPEN, "wildcard-bomb": OPEN, "compressed": OPEN,
    "utf16": OPEN,
}  # fmt: skip
"""Whether ``/`` and ``/private`` may be asked for; every other is RULED."""

DELAYS = {
    "good": None, "delay-3": 3.0, "delay-0.5": 0.5, "delay-120": 120.0, "delay-negative": None,
    "delay-word": None, "delay-nan": None, "delay-inf": None,
}  # fmt: skip


async def learn(fetch: CurlFetcher, robots: RobotsCache, name: str) -> RobotsRules:
    """As the ring does it: ask, follow, until there are rules."""
    origin = f"http://{robots_host(name)}"
    for _ in range(10):
        url = robots.request_url(origin, time.time())
        request = Request(url, limit=512 * 1024, truncate=True, any_type=True)
        try:
            rules = robots.learn_outcome(origin, await fetch.fetch(request), time.time())
        except FetchError as error:
            rules = robots.learn_outcome(origin, error, time.time())
        if rules is not None:
            return rules
    raise AssertionError(f"{name}: no end of redirects")


@pytest.fixture(scope="module")
def zoo() -> Iterator[Site]:
    with opened() as site:
        mount_robots(site)
        yield site


@pytest.fixture(scope="module")
def rules(zoo: Site) -> dict[str, RobotsRules]:
    async def work() -> list[RobotsRules]:
        fetch = fetcher(replace(HASTY, private_addresses=False), proxy=zoo.proxy)
        try:
            return await asyncio.gather(*(learn(fetch, RobotsCache(), name) for name in ROBOTS))
        finally:
            await fetch.aclose()

    return dict(zip(ROBOTS, asyncio.run(work()), strict=True))


@pytest.mark.parametrize("name", ROBOTS)
def test_what_may_be_asked_for(rules: dict[str, RobotsRules], name: str) -> None:
    site = f"http://{robots_host(name)}"
    begun = time.process_time()
    allowed = tuple(rules[name].allows(Url(site + path)) for path in ("/", "/private"))
    long = rules[name].allows(Url(f"{site}/{'a' * 2000}"))
    assert time.process_time() - begun < 0.3
    assert allowed == WANTED.get(name, RULED)
    assert long == (allowed[0] or name == "us")


@pytest.mark.parametrize("name", DELAYS)
def test_how_long_to_rest(rules: dict[str, RobotsRules], name: str) -> None:
    assert rules[name].crawl_delay == DELAYS[name]


def test_a_delay_without_reason_is_a_number(rules: dict[str, RobotsRules]) -> None:
    delay = rules["delay-1e9"].crawl_delay
    assert delay == 86_400.0


def test_sitemaps_are_addresses_and_few(rules: dict[str, RobotsRules]) -> None:
    assert len(rules["sitemaps-many"].sitemaps) <= 100
    for url in rules["sitemaps-foreign"].sitemaps:
        assert url.startswith(("http://", "https://"))
    assert "http://victim.test/s.xml" in rules["sitemaps-foreign"].sitemaps


def test_redirects_of_robots_are_counted(zoo: Site, rules: dict[str, RobotsRules]) -> None:
    assert rules
    assert len(zoo.hits("moved-5.test")) == 6
    assert len(zoo.hits("moved-loop.test")) == 6
    assert len(zoo.hits("good.test")) == 2, "its own, and one by a redirect from elsewhere"
