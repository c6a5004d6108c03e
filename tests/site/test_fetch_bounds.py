"""What the fetcher keeps: memory within bounds, cookies where they belong, caps as asked."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

from honeyguide.errors import FetchError, TooLarge, WrongType
from honeyguide.types import Request, Url
from tests.site.client import until
from tests.site.fetching import HASTY, fetch_all, fetch_one
from tests.site.server import Site

HOST = "127.0.0.3"
MB = 1_000_000
GREEDY = (
    "/coding/gzip-bomb", "/coding/deflate-bomb", "/coding/brotli-bomb", "/coding/zstd-bomb",
    "/coding/zstd-claim", "/coding/zstd-window", "/coding/nested-bomb", "/wire/endless-body",
    "/wire/endless-chunks", "/wire/endless-headers", "/wire/endless-trailers",
    "/wire/endless-continue", "/wire/header-bomb", "/content/huge-sized", "/content/huge-unsized",
)  # fmt: skip


def memory() -> int:
    """Bytes that this process has now; its peak is counted anew from here on."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pytest.skip("this system does not tell the peak of a process's memory")
    return peak()


def peak() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


@pytest.mark.parametrize("path", GREEDY)
def test_memory_stays_within_bounds(wild: Site, path: str) -> None:
    before = memory()
    result, _ = fetch_one(wild.url(HOST, path))
    assert isinstance(result, FetchError)
    assert peak() - before < 100 * MB


def test_many_bombs_at_once(wild: Site) -> None:
    before = memory()
    urls = [wild.url(HOST, "/coding/gzip-bomb?" + str(i)) for i in range(32)]
    assert all(isinstance(result, TooLarge) for result, _ in fetch_all(urls, at_once=32))
    assert peak() - before < 150 * MB


def test_little_of_what_is_unwanted_leaves_the_host(wild: Site) -> None:
    """Aborted at the head: not sixty megabytes for nothing."""
    result = fetch_one(wild.url("127.0.0.4", "/content/huge-image")).result
    assert isinstance(result, WrongType)
    until(lambda: wild.hits("127.0.0.4")[-1].finished < inf, 1)


def test_the_caller_may_set_the_cap(wild: Site) -> None:
    url = Url(wild.url(HOST, "/content/links"))
    assert isinstance(fetch_one(Request(url, limit=1000)).result, TooLarge)
    assert len(fetch_one(Request(url, limit=1000, truncate=True)).response.body) == 1000
    bomb = Url(wild.url(HOST, "/coding/gzip-bomb"))
    cut = fetch_one(Request(bomb, limit=500_000, truncate=True)).response
    assert cut.body == bytes(500_000)
    endless = Url(wild.url(HOST, "/wire/endless-body"))
    assert len(fetch_one(Request(endless, limit=512_000, truncate=True)).response.body) == 512_000


def test_the_settings_set_the_cap(wild: Site) -> None:
    pages, xml = (wild.url(HOST, path) for path in ("/content/links", "/sitemap/big.xml"))
    small = replace(HASTY, html_mb=1.0, document_mb=2.0)
    assert isinstance(fetch_one(pages, small).result, TooLarge)
    assert fetch_one(pages, replace(HASTY, html_mb=4.0)).response.status == 200
    assert fetch_one(xml, small).response.status == 200
    assert isinstance(fetch_one(xml, replace(small, document_mb=1.0)).result, TooLarge)


def test_any_type_when_asked(wild: Site) -> None:
    for path in ("/content/image", "/sitemap/good.xml.gz"):
        assert fetch_one(Request(Url(wild.url(HOST, path)), any_type=True)).response.status == 200


def test_a_wall_of_cookies_opens(wild: Site) -> None:
    url = wild.url(HOST, "/cookie/required")
    assert [o.response.status for o in fetch_all([url, url], at_once=1)] == [403, 200]
    bare = replace(HASTY, cookies=False)
    assert [o.response.status for o in fetch_all([url, url], bare, at_once=1)] == [403, 403]
    again = wild.url(HOST, "/redirect/itself")
    assert [o.response.status for o in fetch_all([again, again], at_once=1)] == [302, 200]


def test_cookies_stay_where_they_belong(wild: Site) -> None:
    hosts = ("attacker.test", "victim.test", "other.co.uk", "test")
    urls = ["http://attacker.test/cookie/foreign"]
    urls += [f"http://{host}/mirror" for host in hosts]
    _, own, *others = fetch_all(urls, proxy=wild.proxy, at_once=1)
    for other in others:
        assert b"Cookie:" not in other.response.body
    (line,) = [x for x in own.response.body.decode().splitlines() if x.startswith("Cookie:")]
    cookies = line.removeprefix("Cookie: ").split("; ")
    assert len(cookies) <= 50
    assert len(line) < 16_384
    for never in ("stolen", "suffix", "com=", "old=", "huge", "bad", "secure", "__Host-x"):
        assert never not in line
    assert "own=1" in cookies
    assert "here=1" not in cookies, "its path is another"
    assert b"X-Forged" not in own.response.body


def test_cookies_of_numbers_are_not_shared(wild: Site) -> None:
    urls = [wild.url("127.0.0.1", "/cookie/foreign"), wild.url("127.0.0.5", "/mirror")]
    assert b"Cookie:" not in fetch_all(urls, at_once=1)[1].response.body


def test_validators(wild: Site) -> None:
    url = Url(wild.url(HOST, "/mood/validated"))
    first = fetch_one(Request(url)).response
    again = fetch_one(Request(url, etag=first.header("etag"))).response
    assert (first.status, again.status, again.body) == (200, 304, b"")
