"""The fetcher against everything the site can do: the right word for it, in time, in bounds."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from math import inf

import pytest

from honeyguide.errors import (
    ConnectError,
    FetchError,
    FetchTimeout,
    Forbidden,
    ProtocolError,
    TlsError,
    TooLarge,
    WrongType,
)
from honeyguide.types import Request, Response, Url
from honeyguide.url import canonical_url
from tests.site.behaviours import CATALOGUE
from tests.site.client import until
from tests.site.fetching import HASTY, Outcome, fetch_all, fetch_one
from tests.site.log import overlaps
from tests.site.redirects import FOREIGN, MALFORMED, PRIVATE
from tests.site.server import Site
from tests.site.wire import PAGE

HOST = "127.0.0.2"
GUARDED = replace(HASTY, private_addresses=False)
PATHS = [path.replace("*", "0") for path in CATALOGUE]

FAILURES: dict[str, type[FetchError] | tuple[type[FetchError], ...]] = {
    "/wire/silent": FetchTimeout,
    "/wire/slow-headers": FetchTimeout,
    "/wire/slow-body": FetchTimeout,
    "/wire/stalled-body": FetchTimeout,
    "/wire/endless-body": TooLarge,
    "/wire/endless-chunks": TooLarge,
    "/wire/endless-headers": ProtocolError,
    "/wire/endless-trailers": ProtocolError,
    "/wire/endless-continue": ProtocolError,
    "/wire/header-bomb": ProtocolError,
    "/wire/header-line": ProtocolError,
    "/wire/header-crowd": ProtocolError,
    "/wire/header-without-colon": ProtocolError,
    "/wire/header-with-nul": ProtocolError,
    "/wire/chunk-size-garbage": ProtocolError,
    "/wire/chunk-size-huge": ProtocolError,
    "/wire/chunk-without-end": ProtocolError,
    "/wire/chunks-cut": ConnectError,
    "/wire/chunks-unfinished": ConnectError,
    "/wire/length-too-long": ConnectError,
    "/wire/length-negative": ProtocolError,
    "/wire/length-garbage": ProtocolError,
    "/wire/length-twice": ProtocolError,
    "/wire/closed-at-once": ConnectError,
    "/wire/closed-in-head": (ConnectError, ProtocolError),
    "/wire/closed-in-body": ConnectError,
    "/wire/reset-at-once": ConnectError,
    "/wire/reset-in-body": ConnectError,
    "/wire/garbage": ProtocolError,
    "/wire/http09": ProtocolError,
    "/wire/http2-preface": ProtocolError,
    "/wire/status-garbage": ProtocolError,
    "/wire/status-long": ProtocolError,
    "/wire/version-garbage": ProtocolError,
    "/coding/gzip-bomb": TooLarge,
    "/coding/deflate-bomb": TooLarge,
    "/coding/brotli-bomb": TooLarge,
    "/coding/zstd-bomb": TooLarge,
    "/coding/zstd-claim": (ProtocolError, TooLarge),
    "/coding/zstd-window": (ProtocolError, TooLarge),
    "/coding/nested-bomb": TooLarge,
    "/coding/nested-deep": ProtocolError,
    "/coding/corrupt": ProtocolError,
    "/coding/lie-plain": ProtocolError,
    "/coding/lie-other": ProtocolError,
    "/coding/unknown": ProtocolError,
    "/coding/garbage-label": ProtocolError,
    "/redirect/twice": ProtocolError,
    "/content/image": WrongType,
    "/content/octets": WrongType,
    "/content/huge-sized": TooLarge,
    "/content/huge-unsized": TooLarge,
    "/content/huge-image": WrongType,
    "/sitemap/good.xml.gz": WrongType,
    "/sitemap/gz-bomb.xml.gz": WrongType,
}
"""What is no answer; every other path of the catalogue gives a Response."""

WHOLE = (
    "/wire/late", "/wire/tiny-chunks", "/wire/early-hints", "/wire/bare-newlines", "/wire/poisoned",
    "/coding/gzip", "/coding/x-gzip", "/coding/gzip-junk-behind", "/coding/deflate",
    "/coding/deflate-raw", "/coding/brotli", "/coding/zstd", "/coding/identity",
    "/coding/upper-case", "/coding/nested", "/coding/mixed", "/coding/no-trailer",
    "/content/no-type", "/content/type-garbage", "/content/type-long", "/cookie/foreign",
)  # fmt: skip
"""Strange but right: the page arrives whole."""


@pytest.fixture(scope="module")
def outcomes(wild: Site) -> dict[str, Outcome]:
    """The whole catalogue, once, a dozen at a time."""
    urls = [wild.url(wild.addresses[i % 20], path) for i, path in enumerate(PATHS)]
    return dict(zip(PATHS, fetch_all(urls), strict=True))


@pytest.mark.parametrize("path", PATHS)
def test_each_has_its_own_end(outcomes: dict[str, Outcome], path: str) -> None:
    result, seconds = outcomes[path]
    wanted: type | tuple[type, ...] = FAILURES.get(path, Response)
    if path == "/mood/dying":  # on a kept connection that breaks, curl asks once more by itself
        wanted = (Response, ConnectError)
    assert isinstance(result, wanted), f"{result!r} after {seconds:.1f} s"
    assert seconds < HASTY.total_s + 2


@pytest.mark.parametrize("path", WHOLE)
def test_the_strange_but_right_arrive_whole(outcomes: dict[str, Outcome], path: str) -> None:
    assert outcomes[path].response.status == 200
    assert outcomes[path].response.body == PAGE


def test_details(outcomes: dict[str, Outcome]) -> None:
    def body(path: str) -> bytes:
        return outcomes[path].response.body

    assert body("/wire/length-too-short") == PAGE[:10]
    assert body("/wire/length-and-chunks") == b"body"
    assert outcomes["/wire/header-folded"].response.header("x-fold") == "a b"
    assert body("/coding/gzip-members") == PAGE + b"second"
    assert (PAGE * 50).startswith(body("/coding/truncated"))
    assert body("/coding/empty") == b""
    assert body("/coding/unlabelled").startswith(b"\x1f\x8b")
    assert len(outcomes["/redirect/endless"].response.payload) <= 65_536
    assert len(outcomes["/redirect/big"].response.payload) <= 65_536


@pytest.mark.parametrize(
    "path", [p for p in PATHS if p.startswith(("/status/", "/redirect/status"))]
)
def test_every_status_is_an_answer(outcomes: dict[str, Outcome], path: str) -> None:
    assert outcomes[path].response.status == int(path.rpartition("/")[2])


def test_locations_come_as_sent(outcomes: dict[str, Outcome]) -> None:
    for folder, places in (("private", PRIVATE), ("foreign", FOREIGN), ("malformed", MALFORMED)):
        for i, place in enumerate(places):
            assert outcomes[f"/redirect/{folder}/{i}"].response.header("location") == place.strip()
    forged = outcomes["/redirect/crlf-encoded"].response
    assert forged.header("x-forged") == ""
    assert "%0d%0a" in forged.header("location")


def test_nothing_was_followed(wild: Site, outcomes: dict[str, Outcome]) -> None:
    assert len(outcomes) == len(PATHS)
    asked = {hit.path for hit in wild.log}
    assert asked <= set(PATHS)
    assert not asked & {"/redirect/chain/1", "/redirect/farther/1"}


@pytest.mark.parametrize("place", PRIVATE)
def test_private_places_are_refused(wild: Site, place: str) -> None:
    url = canonical_url(place)
    assert url is not None
    for proxy in ("", wild.proxy):
        before = len(wild.log)
        assert isinstance(fetch_one(url, GUARDED, proxy=proxy).result, Forbidden)
        assert len(wild.log) == before


def test_our_own_addresses_are_refused_too(wild: Site) -> None:
    results = fetch_all([wild.url(host, "/mirror") for host in wild.addresses[:3]], GUARDED)
    assert all(isinstance(result, Forbidden) for result, _ in results)


@pytest.mark.parametrize("place", FOREIGN)
def test_foreign_schemes_never_become_addresses(wild: Site, place: str) -> None:
    assert canonical_url(place, Url(wild.url(HOST, "/"))) is None
    result, _ = fetch_one(Request(Url(place)))
    assert isinstance(result, FetchError)


def test_malformed_places_end_in_words(wild: Site) -> None:
    """Whatever of a bad Location is an address at all can be asked for without harm."""
    base = Url(wild.url("x.test", "/"))
    urls = [url for place in MALFORMED if (url := canonical_url(place, base))]
    assert urls
    for result, seconds in fetch_all(urls, GUARDED, proxy=wild.proxy):
        assert isinstance(result, Response | FetchError)
        assert seconds < 2


@pytest.mark.parametrize("path", ["/wire/poisoned", "/wire/length-too-short", "/wire/garbage",
                                  "/wire/reset-in-body", "/content/huge-image"])  # fmt: skip
def test_the_next_answer_on_the_host_is_its_own(wild: Site, path: str) -> None:
    urls = [wild.url("127.0.0.7", p) for p in ("/mood/503", path, "/mirror", path, "/mirror")]
    outcomes = fetch_all(urls, at_once=1)
    for at in (2, 4):
        assert b"User-Agent: Honeyguide/" in outcomes[at].response.body


def test_one_fetch_is_not_many_requests(wild: Site) -> None:
    """On a kept connection curl may ask once more; a host that breaks is not hammered."""
    for path in ("/wire/reset-at-once", "/wire/closed-at-once", "/wire/garbage"):
        before = len(wild.log)
        fetch_all([wild.url("127.0.0.8", p) for p in ("/mirror", path)], at_once=1)
        assert len(wild.log) - before <= 3


def test_silence_is_cut_before_the_total(wild: Site) -> None:
    patient = replace(HASTY, read_s=1.0, total_s=20.0)
    urls = [wild.url(HOST, path) for path in ("/wire/silent", "/wire/stalled-body")]
    for result, seconds in fetch_all(urls, patient):
        assert isinstance(result, FetchTimeout)
        assert result.detail == "no data for 1 s"
        assert 0.9 < seconds < 3


def test_a_body_that_drips_is_no_silence(wild: Site) -> None:
    impatient = replace(HASTY, read_s=0.4, total_s=1.5)
    result, seconds = fetch_one(wild.url(HOST, "/wire/slow-body"), impatient)
    assert isinstance(result, FetchTimeout)
    assert "no data" not in result.detail
    assert seconds > 1.3


def test_the_site_sees_us_leave(wild: Site) -> None:
    """An aborted transfer closes its connection: no host keeps working for nobody."""
    for path in ("/wire/endless-body", "/content/huge-image", "/wire/slow-body"):
        fetch_one(wild.url("127.0.0.9", path))
        until(lambda: wild.hits("127.0.0.9")[-1].finished < inf)
        assert wild.hits("127.0.0.9")[-1].path == path


def test_an_abort_ends_before_the_next_begins(wild: Site) -> None:
    """The site's log is exact: it shows no overlap where there was none."""
    paths = ("/content/huge-image", "/mirror", "/wire/endless-chunks", "/content/huge-sized")
    urls = [wild.url("127.0.0.10", path) for path in paths * 5]
    before = len(wild.hits("127.0.0.10"))
    fetch_all(urls, at_once=1)
    hits = wild.hits("127.0.0.10")[before:]
    assert len(hits) == 20
    assert overlaps(hits) == []


def test_a_refused_connection(site: Site) -> None:
    site.mount(None, CATALOGUE)
    site.refuse(HOST)
    assert isinstance(fetch_one(site.url(HOST, "/mirror")).result, ConnectError)
    site.accept(HOST)
    assert fetch_one(site.url(HOST, "/mirror")).response.status == 200


def test_a_host_that_dies_in_between(site: Site) -> None:
    """The kept connection is gone and nobody answers; then it is back."""
    site.mount(None, CATALOGUE)

    def kill() -> None:
        while not site.log:
            time.sleep(0.01)
        site.refuse(HOST)

    killer = threading.Thread(target=kill)
    killer.start()
    slow = fetch_one(site.url(HOST, "/wire/slow-body"))
    killer.join()
    assert isinstance(slow.result, ConnectError)
    site.accept(HOST)
    assert fetch_one(site.url(HOST, "/mirror")).response.status == 200


def test_plain_http_where_tls_was_expected(wild: Site) -> None:
    assert isinstance(fetch_one(f"https://{HOST}:{wild.port}/").result, TlsError)


def test_names_through_the_proxy(wild: Site) -> None:
    response = fetch_one("http://slow.test/mirror?a=b", GUARDED, proxy=wild.proxy).response
    assert b"Host: slow.test\n" in response.body
    hit = wild.hits("slow.test")[-1]
    assert hit.call.proxied
    assert hit.path == "/mirror?a=b"
    assert response.request_head.startswith(b"GET http://slow.test/mirror?a=b HTTP/1.1\r\n")


def test_the_request_is_recorded_as_sent(wild: Site) -> None:
    asked = Request(Url(wild.url(HOST, "/mirror")), etag='"a"', referer=Url("http://r.test/"))
    response = fetch_one(asked).response
    sent = [f"{name}: {value}" for name, value in wild.hits(HOST)[-1].call.headers]
    assert response.request_head.decode().split("\r\n")[1:-2] == sent
    assert 'If-None-Match: "a"' in sent
    assert "Referer: http://r.test/" in sent


def test_headers_cannot_be_injected(wild: Site) -> None:
    evil = "x\r\nX-Forged: yes"
    request = Request(Url(wild.url(HOST, "/mirror")), etag=evil, modified=evil, referer=Url(evil))
    assert b"forged" not in fetch_one(request).response.body.lower()
