"""The cache of rules: what an answer means, where redirects may lead, what is kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.errors import ConnectError, FetchError, Forbidden
from honeyguide.net import robots
from honeyguide.net.robots import CLOSED_TTL_S, MAX_FILE_CHARS, RULES_TTL_S, RobotsCache
from honeyguide.types import Response, Url

SITE = "https://a.test"


def answer(status: int = 200, body: bytes = b"", location: str = "", url: str = "") -> Response:
    headers = (("Location", location),) if location else ()
    address = Url(url or f"{SITE}/robots.txt")
    return Response(address, status, headers, body, body, b"", b"", "", 0.0, 0.0)


def test_only_what_concerns_us_is_kept() -> None:
    text = "# " + "long " * 5000 + "\nUser-agent: x\nDisallow: /\n\nUser-agent: *\nDisallow: /a\n"
    cache = RobotsCache()
    cache.learn_outcome(SITE, answer(200, text.encode()), 5.0)
    assert cache.dump_entry(SITE) == (SITE, 5.0, 200, "User-agent:*\nDisallow:/a")


@given(st.binary(max_size=400), st.sampled_from(["/", "/a?b=c", "/%ff"]))
def test_any_bytes_are_a_robots_txt(body: bytes, path: str) -> None:
    learned = RobotsCache().learn_outcome(SITE, answer(body=b"User-agent: *\nAllow: " + body), 0.0)
    assert learned is not None
    assert learned.allows(Url(SITE + path)) in (True, False)


def test_only_the_beginning_is_read() -> None:
    body = b"#" * MAX_FILE_CHARS + b"\nUser-agent: *\nDisallow: /"
    learned = RobotsCache().learn_outcome(SITE, answer(body=body), 0.0)
    assert learned is not None
    assert learned.allows(Url(f"{SITE}/x"))


@pytest.mark.parametrize(
    ("outcome", "allowed", "lasts"),
    [
        (answer(404), True, RULES_TTL_S), (answer(403), True, RULES_TTL_S),
        (answer(429), False, CLOSED_TTL_S), (answer(500), False, CLOSED_TTL_S),
        (answer(503), False, CLOSED_TTL_S), (answer(999), False, CLOSED_TTL_S),
        (answer(304), True, RULES_TTL_S), (answer(301), True, RULES_TTL_S),
        (answer(204), True, RULES_TTL_S),
        (answer(302, location="javascript:x"), True, RULES_TTL_S),
        (ConnectError("u"), False, CLOSED_TTL_S), (Forbidden("u"), False, CLOSED_TTL_S),
        (answer(404, b"User-agent: *\nDisallow: /"), True, RULES_TTL_S),
    ],
)  # fmt: skip
def test_what_an_outcome_means(outcome: Response | FetchError, allowed: bool, lasts: float) -> None:
    cache = RobotsCache()
    learned = cache.learn_outcome(SITE, outcome, 1000.0)
    assert learned is not None
    assert learned.allows(Url(f"{SITE}/x")) is allowed
    assert learned.expires == 1000.0 + lasts
    assert cache.get_rules(SITE, 999.0 + lasts) is learned
    assert cache.get_rules(SITE, 1000.0 + lasts) is None
    assert cache.get_rules(SITE, 999.0) is None


def test_redirects_are_followed_five_times() -> None:
    cache = RobotsCache()
    assert cache.request_url(SITE, 0.0) == f"{SITE}/robots.txt"
    for hop in range(5):
        url = cache.request_url(SITE, 0.0)
        assert cache.learn_outcome(SITE, answer(301, location=f"/r/{hop}", url=url), 0.0) is None
        assert cache.request_url(SITE, 0.0) == f"{SITE}/r/{hop}"
    learned = cache.learn_outcome(SITE, answer(301, location="/on", url=f"{SITE}/r/4"), 0.0)
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
    site, cache = "https://a.test:8443", RobotsCache()
    moved = answer(302, location=location, url=f"{site}/robots.txt")
    learned = cache.learn_outcome(site, moved, 1000.0)
    if followed:
        assert learned is None
        assert cache.request_url(site, 1000.0) == location.replace(
            "/elsewhere", f"{site}/elsewhere"
        )
    else:
        assert learned is not None
        assert learned.closed
        assert learned.expires == 1000.0 + CLOSED_TTL_S
        assert cache.request_url(site, 1000.0) == f"{site}/robots.txt"


def test_a_stranger_cannot_send_us_on_to_another_page() -> None:
    cache = RobotsCache()
    assert cache.learn_outcome(SITE, answer(301, location="https://b.test/robots.txt"), 0.0) is None
    onward = answer(301, location="/expensive", url="https://b.test/robots.txt")
    learned = cache.learn_outcome(SITE, onward, 0.0)
    assert learned is not None
    assert learned.closed


def test_rules_behind_a_redirect_hold_for_the_origin_that_redirected() -> None:
    cache = RobotsCache()
    assert cache.learn_outcome(SITE, answer(301, location="https://b.test/robots.txt"), 0.0) is None
    found = answer(200, b"User-agent: *\nDisallow: /a", url="https://b.test/robots.txt")
    cache.learn_outcome(SITE, found, 0.0)
    learned = cache.get_rules(SITE, 1.0)
    assert learned is not None
    assert not learned.allows(Url(f"{SITE}/a"))
    assert cache.get_rules("https://b.test", 1.0) is None


def test_dump_and_load() -> None:
    first, second = RobotsCache(), RobotsCache()
    first.learn_outcome(SITE, answer(200, b"User-agent: *\nDisallow: /a"), 5.0)
    first.learn_outcome("http://x.test", ConnectError("u"), 6.0)
    for origin in (SITE, "http://x.test"):
        entry = first.dump_entry(origin)
        assert entry is not None
        for take in (second.load_text, second.restore_entry):
            take(*entry)
            assert second.get_rules(origin, 7.0) == first.get_rules(origin, 7.0)
            assert second.dump_entry(origin) == entry
    assert first.dump_entry("http://x.test") == (
        "http://x.test",
        6.0,
        robots.UNREACHABLE_STATUS,
        "",
    )


def test_bounded_in_number_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(robots, "MAX_ORIGINS", 3)
    monkeypatch.setattr(robots, "MAX_CHARACTERS", 1000)
    cache = RobotsCache()
    for name in "abc":
        cache.learn_outcome(name, answer(404), 0.0)
    cache.get_rules("a", 0.0)
    cache.learn_outcome("d", answer(404), 0.0)
    assert [name for name in "abcd" if cache.get_rules(name, 0.0)] == ["a", "c", "d"]
    for name in "xyz":
        cache.learn_outcome(name, answer(200, b"User-agent: *\nDisallow: /" + b"a" * 400), 0.0)
    assert [name for name in "xyz" if cache.get_rules(name, 0.0)] == ["y", "z"]
    assert cache.dump_entry("x") is None


def test_huge_files_do_not_drive_out_small_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(robots, "MAX_ORIGINS", 100)
    monkeypatch.setattr(robots, "MAX_CHARACTERS", 100 * 100)
    cache = RobotsCache()
    small, large = b"User-agent: *\nDisallow: /a", b"User-agent: *\nDisallow: /" + b"a" * 3000
    for n in range(50):
        cache.learn_outcome(f"http://small{n}.test", answer(200, small), 0.0)
    for n in range(500):
        assert cache.learn_outcome(f"http://large{n}.test", answer(200, large), 0.0) is not None
        assert cache.get_rules(f"http://large{n}.test", 0.0) is not None
    assert all(cache.get_rules(f"http://small{n}.test", 0.0) for n in range(50))


def test_rules_are_made_again_when_they_were_shelved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(robots, "MAX_READY_BYTES", 5000)
    cache = RobotsCache()
    body = b"User-agent: *\n" + b"".join(b"Disallow: /%d\n" % n for n in range(20))
    first = cache.learn_outcome(SITE, answer(200, body), 0.0)
    for n in range(20):
        cache.learn_outcome(f"http://x{n}.test", answer(200, body), 0.0)
    assert len(cache) == 21
    assert len(cache._ready) < 3
    again = cache.get_rules(SITE, 1.0)
    assert again == first
    assert again is not first


def test_restoring_reads_nothing_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = RobotsCache()
    with monkeypatch.context() as patch:
        patch.delattr(robots, "parse_robots")
        for n in range(100):
            cache.restore_entry(f"http://x{n}.test", 0.0, 200, "User-agent:*\nDisallow:/a")
    rules = cache.get_rules("http://x7.test", 1.0)
    assert rules is not None
    assert not rules.allows(Url("http://x7.test/a"))
