"""The cache of rules: what an answer means, where redirects may lead, what is kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.errors import ConnectError, FetchError, Forbidden
from honeyguide.fetch import robots
from honeyguide.fetch.robots import DAY, HOUR, Robots
from honeyguide.fetch.robots_groups import CHARACTERS
from honeyguide.types import Response, Url

SITE = "https://a.test"


def answer(status: int = 200, body: bytes = b"", location: str = "", url: str = "") -> Response:
    headers = (("Location", location),) if location else ()
    address = Url(url or f"{SITE}/robots.txt")
    return Response(address, status, headers, body, body, b"", b"", "", 0.0, 0.0)


def test_only_what_concerns_us_is_kept() -> None:
    text = "# " + "long " * 5000 + "\nUser-agent: x\nDisallow: /\n\nUser-agent: *\nDisallow: /a\n"
    cache = Robots()
    cache.learn(SITE, answer(200, text.encode()), 5.0)
    assert cache.dump(SITE) == (SITE, 5.0, 200, "User-agent:*\nDisallow:/a")


@given(st.binary(max_size=400), st.sampled_from(["/", "/a?b=c", "/%ff"]))
def test_any_bytes_are_a_robots_txt(body: bytes, path: str) -> None:
    learned = Robots().learn(SITE, answer(body=b"User-agent: *\nAllow: " + body), 0.0)
    assert learned is not None
    assert learned.allows(Url(SITE + path)) in (True, False)


def test_only_the_beginning_is_read() -> None:
    body = b"#" * CHARACTERS + b"\nUser-agent: *\nDisallow: /"
    learned = Robots().learn(SITE, answer(body=body), 0.0)
    assert learned is not None
    assert learned.allows(Url(f"{SITE}/x"))


@pytest.mark.parametrize(
    ("outcome", "allowed", "lasts"),
    [
        (answer(404), True, DAY), (answer(403), True, DAY), (answer(429), False, HOUR),
        (answer(500), False, HOUR), (answer(503), False, HOUR), (answer(999), False, HOUR),
        (answer(304), True, DAY), (answer(301), True, DAY), (answer(204), True, DAY),
        (answer(302, location="javascript:x"), True, DAY),
        (ConnectError("u"), False, HOUR), (Forbidden("u"), False, HOUR),
        (answer(404, b"User-agent: *\nDisallow: /"), True, DAY),
    ],
)  # fmt: skip
def test_what_an_outcome_means(outcome: Response | FetchError, allowed: bool, lasts: float) -> None:
    cache = Robots()
    learned = cache.learn(SITE, outcome, 1000.0)
    assert learned is not None
    assert learned.allows(Url(f"{SITE}/x")) is allowed
    assert learned.expires == 1000.0 + lasts
    assert cache.rules(SITE, 999.0 + lasts) is learned
    assert cache.rules(SITE, 1000.0 + lasts) is None
    assert cache.rules(SITE, 999.0) is None


def test_redirects_are_followed_five_times() -> None:
    cache = Robots()
    assert cache.request_url(SITE, 0.0) == f"{SITE}/robots.txt"
    for hop in range(5):
        url = cache.request_url(SITE, 0.0)
        assert cache.learn(SITE, answer(301, location=f"/r/{hop}", url=url), 0.0) is None
        assert cache.request_url(SITE, 0.0) == f"{SITE}/r/{hop}"
    learned = cache.learn(SITE, answer(301, location="/on", url=f"{SITE}/r/4"), 0.0)
    assert learned is not None
    assert learned.allows(Url(f"{SITE}/x"))
    assert cache.request_url(SITE, 0.0) == f"{SITE}/robots.txt"


@pytest.mark.parametrize(
    ("location", "followed"),
    [
        ("/elsewhere", True), ("http://a.test/x?y", True), ("https://a.test:8443/x", True),
        ("https://a.test/x", True), ("https://b.test/robots.txt", True),
        ("http://b.test:99/robots.txt", True), ("https://a.test:9999/x", False),
        ("https://b.test/", False), ("https://b.test/robots.txt?x", False),
        ("https://b.test/expensive?q=1", False), ("https://www.a.test/x", True),
    ],
)  # fmt: skip
def test_where_a_redirect_of_robots_may_lead(location: str, followed: bool) -> None:
    site, cache = "https://a.test:8443", Robots()
    moved = answer(302, location=location, url=f"{site}/robots.txt")
    learned = cache.learn(site, moved, 1000.0)
    if followed:
        assert learned is None
        assert cache.request_url(site, 1000.0) == location.replace(
            "/elsewhere", f"{site}/elsewhere"
        )
    else:
        assert learned is not None
        assert learned.closed
        assert learned.expires == 1000.0 + HOUR
        assert cache.request_url(site, 1000.0) == f"{site}/robots.txt"


def test_a_stranger_cannot_send_us_on_to_another_page() -> None:
    cache = Robots()
    assert cache.learn(SITE, answer(301, location="https://b.test/robots.txt"), 0.0) is None
    onward = answer(301, location="/expensive", url="https://b.test/robots.txt")
    learned = cache.learn(SITE, onward, 0.0)
    assert learned is not None
    assert learned.closed


def test_rules_behind_a_redirect_hold_for_the_origin_that_redirected() -> None:
    cache = Robots()
    assert cache.learn(SITE, answer(301, location="https://b.test/robots.txt"), 0.0) is None
    found = answer(200, b"User-agent: *\nDisallow: /a", url="https://b.test/robots.txt")
    cache.learn(SITE, found, 0.0)
    learned = cache.rules(SITE, 1.0)
    assert learned is not None
    assert not learned.allows(Url(f"{SITE}/a"))
    assert cache.rules("https://b.test", 1.0) is None


def test_dump_and_load() -> None:
    first, second = Robots(), Robots()
    first.learn(SITE, answer(200, b"User-agent: *\nDisallow: /a"), 5.0)
    first.learn("http://x.test", ConnectError("u"), 6.0)
    for origin in (SITE, "http://x.test"):
        entry = first.dump(origin)
        assert entry is not None
        for take in (second.load, second.restore):
            take(*entry)
            assert second.rules(origin, 7.0) == first.rules(origin, 7.0)
            assert second.dump(origin) == entry
    assert first.dump("http://x.test") == ("http://x.test", 6.0, robots.UNREACHABLE, "")


def test_bounded_in_number_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(robots, "ORIGINS", 3)
    monkeypatch.setattr(robots, "MEMORY", 1000)
    cache = Robots()
    for name in "abc":
        cache.learn(name, answer(404), 0.0)
    cache.rules("a", 0.0)
    cache.learn("d", answer(404), 0.0)
    assert [name for name in "abcd" if cache.rules(name, 0.0)] == ["a", "c", "d"]
    for name in "xyz":
        cache.learn(name, answer(200, b"User-agent: *\nDisallow: /" + b"a" * 400), 0.0)
    assert [name for name in "xyz" if cache.rules(name, 0.0)] == ["y", "z"]
    assert cache.dump("x") is None


def test_huge_files_do_not_drive_out_small_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(robots, "ORIGINS", 100)
    monkeypatch.setattr(robots, "MEMORY", 100 * 100)
    cache = Robots()
    small, large = b"User-agent: *\nDisallow: /a", b"User-agent: *\nDisallow: /" + b"a" * 3000
    for n in range(50):
        cache.learn(f"http://small{n}.test", answer(200, small), 0.0)
    for n in range(500):
        assert cache.learn(f"http://large{n}.test", answer(200, large), 0.0) is not None
        assert cache.rules(f"http://large{n}.test", 0.0) is not None
    assert all(cache.rules(f"http://small{n}.test", 0.0) for n in range(50))


def test_rules_are_made_again_when_they_were_shelved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(robots, "READY", 5000)
    cache = Robots()
    body = b"User-agent: *\n" + b"".join(b"Disallow: /%d\n" % n for n in range(20))
    first = cache.learn(SITE, answer(200, body), 0.0)
    for n in range(20):
        cache.learn(f"http://x{n}.test", answer(200, body), 0.0)
    assert len(cache) == 21
    assert len(cache._ready) < 3
    again = cache.rules(SITE, 1.0)
    assert again == first
    assert again is not first


def test_restoring_reads_nothing_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Robots()
    with monkeypatch.context() as patch:
        patch.delattr(robots, "read")
        for n in range(100):
            cache.restore(f"http://x{n}.test", 0.0, 200, "User-agent:*\nDisallow:/a")
    rules = cache.rules("http://x7.test", 1.0)
    assert rules is not None
    assert not rules.allows(Url("http://x7.test/a"))
