from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.errors import ConnectError, FetchError, Forbidden
from honeyguide.fetch import robots
from honeyguide.fetch.robots import DAY, HOUR, Robots
from honeyguide.fetch.rules import CHARACTERS, parse
from honeyguide.types import Response, Url

SITE = "https://a.test"


def answer(status: int = 200, body: bytes = b"", location: str = "", url: str = "") -> Response:
    headers = (("Location", location),) if location else ()
    address = Url(url or f"{SITE}/robots.txt")
    return Response(address, status, headers, body, body, b"", b"", "", 0.0, 0.0)


def allows(text: str, path: str) -> bool:
    return parse(text, "honeyguide", SITE).allows(Url(SITE + path))


@pytest.mark.parametrize(
    ("text", "path", "allowed"),
    [
        ("", "/x", True),
        ("User-agent: *\nDisallow: /", "/x", False),
        ("User-agent: *\nDisallow: /", "/robots.txt", True),
        ("User-agent: *\nDisallow:", "/x", True),
        ("Disallow: /", "/x", True),
        ("User-agent: HoneyGuide\nDisallow: /a\n\nUser-agent: *\nDisallow: /", "/b", True),
        ("User-agent: honeyguide/1.2 x\nDisallow: /a", "/a", False),
        ("User-agent: honeyguide-news\nDisallow: /a", "/a", True),
        ("User-agent: honey\nDisallow: /a", "/a", True),
        ("User-agent: *\nUser-agent: x\nDisallow: /a", "/a", False),
        ("User-agent: *\nDisallow: /a\nUser-agent: x\nDisallow: /b", "/b", True),
        ("User-agent: honeyguide\nUser-agent: *\nAllow: /a\nDisallow: /", "/a", True),
        ("User-agent: honeyguide\nDisallow: /a\nUser-agent: honeyguide\nDisallow: /b", "/a", False),
        ("User-agent: *\nDisallow: /a\nAllow: /a", "/a", True),
        ("User-agent: *\nDisallow: /a*b$", "/axxb", False),
        ("User-agent: *\nDisallow: /a*b$", "/axxbc", True),
        ("User-agent: *\nDisallow: /a*b$", "/ab", False),
        ("User-agent: *\nDisallow: /ab*b$", "/ab", True),
        ("User-agent: *\nDisallow: /a$", "/a", False),
        ("User-agent: *\nDisallow: /a$", "/a/", True),
        ("User-agent: *\nDisallow: *.pdf", "/x/y.pdf?z", False),
        ("User-agent: *\nDisallow: /*\nAllow: /*.html$", "/x.html", True),
        ("User-agent: *\nAllow: /page\nDisallow: /*.htm", "/page.htm", False),
        ("User-agent: *\nDisallow: /%7euser", "/~user", False),
        ("User-agent: *\nDisallow: /ü", "/%c3%bc", False),
        ("User-agent: *\nDisallow: /a%2fb", "/a/b", True),
        ("User-agent: *\rDisallow: /a\r", "/a", False),
        ("User-agent: *\r\nDisallow: /a # because", "/a", False),
        ("user agent *\ndisalow /a", "/a", False),
        ("\ufeffUser-agent: *\nDisallow: /a", "/a", False),
        ("User-agent: *\nDisallow: /a\x0b\nDisallow: /b", "/b", False),
        ("<html>Disallow: /</html>", "/a", True),
    ],
)
def test_rules(text: str, path: str, allowed: bool) -> None:
    assert allows(text, path) is allowed


@pytest.mark.parametrize(
    ("value", "delay"),
    [("3", 3.0), ("0.5", 0.5), ("120", 120.0), ("1e9", 1e9), ("-1", None), ("abc", None),
     ("nan", None), ("inf", None), ("", None)],
)  # fmt: skip
def test_crawl_delay(value: str, delay: float | None) -> None:
    text = f"User-agent: x\nCrawl-delay: 7\nUser-agent: *\nCrawl-delay: {value}\n"
    assert parse(text, "honeyguide", SITE).crawl_delay == delay


def test_sitemaps() -> None:
    lines = ["Sitemap: /s.xml", "sitemap: https://b.test/t.xml", "Sitemap: ftp://x/",
             "Sitemap: /s.xml", "Sitemap:"] + [f"Sitemap: /{n}" for n in range(200)]  # fmt: skip
    found = parse("\n".join(lines), "honeyguide", SITE).sitemaps
    assert found[:3] == (f"{SITE}/s.xml", "https://b.test/t.xml", f"{SITE}/")
    assert len(found) == 100


HOSTILE = {
    "agents times rules": "".join(f"User-agent: b{n}\n" for n in range(9000))
    + "User-agent: *\n" + "".join(f"Disallow: /{n}\n" for n in range(9000)),
    "many wildcards": "User-agent: *\n" + "".join(f"Disallow: /*{n}z\n" for n in range(40_000)),
    "one rule of wildcards": "User-agent: *\nDisallow: /" + "*a" * 250_000 + "b",
    "rules of wildcards": "User-agent: *\n"
    + "".join("Disallow: /" + "*a" * 500 + f"b{n}\n" for n in range(500)),
    "blanks": "User-agent: *\nDisallow" + " " * 500_000 + "x",
    "escapes": "User-agent: *\nDisallow: /" + "%61" * 160_000,
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_cost_little(name: str) -> None:
    started = time.process_time()
    rules = parse(HOSTILE[name], "honeyguide", SITE)
    assert rules.allows(Url(f"{SITE}/{'a' * 2000}"))
    assert time.process_time() - started < 2.0


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
        assert cache.learn(SITE, answer(301, location=f"//b.test/{hop}", url=url), 0.0) is None
        assert cache.request_url(SITE, 0.0) == f"https://b.test/{hop}"
    learned = cache.learn(SITE, answer(301, location="/on", url="https://b.test/4"), 0.0)
    assert learned is not None
    assert learned.allows(Url(f"{SITE}/x"))
    assert cache.request_url(SITE, 0.0) == f"{SITE}/robots.txt"


def test_rules_behind_a_redirect_hold_for_the_origin_that_redirected() -> None:
    cache = Robots()
    assert cache.learn(SITE, answer(301, location="https://b.test/r"), 0.0) is None
    cache.learn(SITE, answer(200, b"User-agent: *\nDisallow: /a", url="https://b.test/r"), 0.0)
    learned = cache.rules(SITE, 1.0)
    assert learned is not None
    assert not learned.allows(Url(f"{SITE}/a"))
    assert cache.rules("https://b.test", 1.0) is None


def test_dump_and_load() -> None:
    first, second = Robots(), Robots()
    first.learn(SITE, answer(200, b"User-agent: *\nDisallow: /a"), 5.0)
    first.learn("http://x.test", ConnectError("u"), 6.0)
    for origin in (SITE, "http://x.test"):
        second.load(*first.dump(origin))
        assert second.rules(origin, 7.0) == first.rules(origin, 7.0)
        assert second.dump(origin) == first.dump(origin)
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
        cache.learn(name, answer(200, b"#" * 400), 0.0)
    assert len(cache) == 2
