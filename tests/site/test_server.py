"""The misbehaving web behaves as told: tried with a bare client."""

from __future__ import annotations

import asyncio
import threading
import time
from itertools import pairwise
from math import inf

import pytest

from tests.site.behaviours import CATALOGUE
from tests.site.client import ask, connect, drain, until
from tests.site.exchange import Exchange, page
from tests.site.log import Hit
from tests.site.robots import ROBOTS, mount_robots, robots_host
from tests.site.server import Site
from tests.site.traps import busy, flapping, mirror
from tests.site.web import weave
from tests.site.wire import endless_body, late, reset_at_once, silent


def test_every_address_is_a_host(site: Site) -> None:
    site.pages(None, {"/": "hello"})
    assert len(site.addresses) == 20
    for address in site.addresses:
        assert ask(address, site.port).endswith(b"hello")
    assert [hit.host for hit in site.log] == list(site.addresses)


def test_names_are_reached_as_through_a_proxy(site: Site) -> None:
    site.pages("slow.test", {"/a?b=c": "by name"})
    answer = ask("127.0.0.1", site.port, "http://slow.test/a?b=c", host="slow.test")
    assert answer.endswith(b"by name")
    (hit,) = site.hits("slow.test")
    assert (hit.path, hit.status, hit.call.proxied) == ("/a?b=c", 200, True)


def test_the_nearest_route_answers(site: Site) -> None:
    site.pages(None, {"/a": "any host", "/x/*": "any rest"})
    site.pages("127.0.0.2", {"/a": "this host", "/x/y/*": "longer", "/q": "bare", "/q?1": "query"})
    for address, path, wanted in (
        ("127.0.0.3", "/a", b"any host"),
        ("127.0.0.2", "/a", b"this host"),
        ("127.0.0.2", "/x/y/z", b"longer"),
        ("127.0.0.2", "/x/z", b"any rest"),
        ("127.0.0.2", "/q?1", b"query"),
        ("127.0.0.2", "/q?2", b"bare"),
        ("127.0.0.2", "/none", b"<title>Not found</title>"),
    ):
        assert ask(address, site.port, path).endswith(wanted)


def test_a_connection_is_kept_and_numbered(site: Site) -> None:
    site.pages(None, {"/": "x"})
    with connect("127.0.0.1", site.port) as wire:
        for _ in range(2):
            wire.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert wire.recv(1000).endswith(b"x")
    ask("127.0.0.1", site.port)
    first, second, third = (hit.connection for hit in site.log)
    assert first == second != third


def test_headers_are_recorded(site: Site) -> None:
    site.route(None, "/", mirror)
    assert b"X-Own: yes" in ask("127.0.0.1", site.port, more="X-Own: yes\r\n")
    assert site.log[0].call.header("x-own") == "yes"
    assert abs(site.log[0].wall - time.time()) < 5


def test_what_is_no_http_gets_400(site: Site) -> None:
    for junk in (b"\x16\x03\x01\x02\x00", b"GET /\r\n\r\n", b"GET / SMTP/1\r\n\r\n"):
        with connect("127.0.0.1", site.port) as wire:
            wire.sendall(junk)
            assert drain(wire).startswith(b"HTTP/1.1 400")
    assert site.log == []


def test_overlaps_and_gaps_are_seen(site: Site) -> None:
    site.route(None, "/", late)
    threads = [threading.Thread(target=ask, args=("127.0.0.2", site.port)) for _ in range(2)]
    threads.append(threading.Thread(target=ask, args=("127.0.0.3", site.port)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ((one, other),) = site.overlaps()
    assert one.host == other.host == "127.0.0.2"
    assert site.gaps("127.0.0.2")[0] < 0


def test_one_after_the_other_is_no_overlap(site: Site) -> None:
    site.pages(None, {"/": "y" * 300_000})
    for _ in range(20):
        ask("127.0.0.2", site.port)
    assert site.overlaps() == []
    gaps = site.gaps("127.0.0.2")
    assert len(gaps) == 19
    assert all(0 < gap < 1 for gap in gaps)
    assert site.gaps("127.0.0.9") == []


def test_a_host_dies_and_returns(site: Site) -> None:
    site.pages(None, {"/": "alive"})
    with connect("127.0.0.2", site.port) as kept:
        site.refuse("127.0.0.2")
        assert drain(kept) == b""
    with pytest.raises(ConnectionRefusedError):
        connect("127.0.0.2", site.port)
    assert ask("127.0.0.3", site.port).endswith(b"alive")
    site.accept("127.0.0.2")
    assert ask("127.0.0.2", site.port).endswith(b"alive")


def test_a_reset_is_a_reset(site: Site) -> None:
    site.route(None, "/", reset_at_once)
    with connect("127.0.0.1", site.port) as wire:
        wire.sendall(b"GET / HTTP/1.1\r\n\r\n")
        with pytest.raises(ConnectionResetError):
            wire.recv(1)


def test_routes_remember(site: Site) -> None:
    site.mount(None, {"/flapping": flapping, "/busy": busy(1, retry="9")})
    for _ in range(4):
        ask("127.0.0.1", site.port, "/flapping")
    ask("127.0.0.1", site.port, "/busy")
    ask("127.0.0.1", site.port, "/busy")
    assert [hit.status for hit in site.log] == [503, 200, 503, 200, 429, 200]
    assert ("Retry-After", "9") in site.log[4].sent


def test_the_end_of_a_client_ends_the_request(site: Site) -> None:
    site.mount(None, {"/silent": silent, "/endless": endless_body})
    for path in ("/silent", "/endless"):
        with connect("127.0.0.1", site.port) as wire:
            wire.sendall(f"GET {path} HTTP/1.1\r\n\r\n".encode())
            until(lambda: site.log and site.log[-1].finished == inf)
            assert site.log[-1].path == path
        until(lambda: site.log[-1].finished < inf)


def test_no_behaviour_goes_on_for_ever(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.site.connection.LIFETIME_S", 0.2)
    monkeypatch.setattr("tests.site.exchange.BYTES", 3_000_000)
    site.mount(None, {"/silent": silent, "/endless": endless_body})
    assert ask("127.0.0.1", site.port, "/silent") == b""
    with connect("127.0.0.1", site.port) as wire:
        wire.sendall(b"GET /endless HTTP/1.1\r\n\r\n")
        assert 2_900_000 < len(drain(wire, 10_000_000)) <= 3_000_000


def test_closing_is_quick_whatever_goes_on() -> None:
    before = threading.active_count()
    with Site(3) as site:
        site.mount(None, {"/silent": silent, "/endless": endless_body})
        wires = [connect(a, site.port) for a in site.addresses for _ in range(5)]
        for wire, path in zip(wires, ["/silent", "/endless", ""] * 5, strict=True):
            wire.sendall(f"GET {path} HTTP/1.1\r\n\r\n".encode() if path else b"GET")
        until(lambda: len(site.log) == 10)
        begun = time.monotonic()
        site.close()
        assert time.monotonic() - begun < 1
    assert threading.active_count() == before
    assert all(hit.finished < inf for hit in site.log)
    for wire in wires:
        wire.close()


def test_a_mistake_in_a_behaviour_is_shown() -> None:
    async def wrong(x: Exchange) -> None:
        raise ZeroDivisionError

    site = Site(1).__enter__()
    site.route(None, "/", wrong)
    assert ask("127.0.0.1", site.port) == b""
    with pytest.raises(ZeroDivisionError):
        site.close()


def test_every_behaviour_ends_when_its_client_goes(site: Site) -> None:
    """All at once, each for half a second and a few megabytes at most."""
    site.mount(None, CATALOGUE)
    mount_robots(site)
    site.route(None, "/plain", page("plain"))
    targets = [path.replace("*", "0") for path in CATALOGUE]
    targets += [f"http://{robots_host(name)}/robots.txt" for name in ROBOTS]

    async def visit(target: str) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
        try:
            writer.write(f"GET {target} HTTP/1.1\r\nHost: a.test\r\n\r\n".encode())
            async with asyncio.timeout(0.5):
                for _ in range(100):
                    if not await reader.read(65536):
                        break
        except (ConnectionError, TimeoutError):
            pass
        writer.close()

    async def visit_all() -> None:
        for at in range(0, len(targets), 50):
            await asyncio.gather(*map(visit, targets[at : at + 50]))

    asyncio.run(visit_all())
    until(lambda: all(hit.finished < inf for hit in site.log))
    assert len(site.log) == len(targets)
    assert 404 not in [hit.status for hit in site.log if "404" not in hit.path + hit.host
                       and hit.host != "missing.test"]  # fmt: skip
    assert ask("127.0.0.1", site.port, "/plain").endswith(b"plain")


def test_a_web_is_whole_and_the_same_for_one_seed(site: Site) -> None:
    hosts = ["127.0.0.2", "127.0.0.3", "bees.test"]
    web = weave(site, hosts, 8, robots="User-agent: *\nCrawl-delay: 1\n")
    assert len(web.urls) == 24
    assert 0 < len(web.relevant) < 24
    body = ask("127.0.0.2", site.port)
    assert ask("127.0.0.2", site.port, "/robots.txt").endswith(b"Crawl-delay: 1\n")
    for url in web.urls:
        where = url if "bees.test" in url else url.partition(str(site.port))[2]
        address = "127.0.0.1" if "bees.test" in url else url[7:].partition(":")[0]
        assert ask(address, site.port, where).startswith(b"HTTP/1.1 200")
    assert weave(site, hosts, 8) == web
    assert ask("127.0.0.2", site.port) == body
    weave(site, hosts, 8, seed=2)
    assert ask("127.0.0.2", site.port) != body


def test_the_log_is_in_order_of_arrival(site: Site) -> None:
    site.pages(None, {"/": "x"})
    for _ in range(5):
        ask("127.0.0.1", site.port)
    hits: list[Hit] = site.log
    assert all(a.finished <= b.received for a, b in pairwise(hits))
