"""What a robots.txt says to us, however it is written, and how little of it must be kept."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.net.robots import (
    LONGEST_DELAY_S,
    MAX_FILE_CHARS,
    MAX_RULES,
    parse_group,
    parse_robots,
)
from honeyguide.types import Url

SITE = "https://a.test"


def allows(text: str, path: str) -> bool:
    return parse_robots(text, "honeyguide", SITE).allows(Url(SITE + path))


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
        ("User-agent: honeyguide\nCrawl-delay: 2\nUser-agent: *\nDisallow: /a", "/a", False),
        ("User-agent: x\nCrawl-delay: 2\nUser-agent: honeyguide\nDisallow: /a", "/a", False),
        ("User-agent: *\nSitemap: /s\nUser-agent: x\nHost: a\nDisallow: /a", "/a", False),
        ("User-agent: *\nDisallow:\nCrawl-delay: 2\nUser-agent: x\nDisallow: /a", "/a", True),
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
    [("3", 3.0), ("0.5", 0.5), ("120", 120.0), ("1e9", LONGEST_DELAY_S), ("-1", None),
     ("abc", None), ("nan", None), ("inf", None), ("", None)],
)  # fmt: skip
def test_crawl_delay(value: str, delay: float | None) -> None:
    text = f"User-agent: x\nCrawl-delay: 7\nUser-agent: *\nCrawl-delay: {value}\n"
    assert parse_robots(text, "honeyguide", SITE).crawl_delay == delay


def test_a_delay_is_for_the_agents_named_just_before_it() -> None:
    lines = ["User-agent: honeyguide", "Crawl-delay: 7", "User-agent: *", "Crawl-delay: 3",
             "Disallow: /a", "Crawl-delay: 4"]  # fmt: skip
    for agent, delay in (("honeyguide", 7), ("x", 4)):
        rules = parse_robots("\n".join(lines), agent, SITE)
        assert (rules.crawl_delay, rules.disallowed) == (delay, ("/a",))


def test_sitemaps() -> None:
    lines = ["Sitemap: /s.xml", "sitemap: https://b.test/t.xml", "Sitemap: ftp://x/",
             "Sitemap: /s.xml", "Sitemap:"] + [f"Sitemap: /{n}" for n in range(200)]  # fmt: skip
    found = parse_robots("\n".join(lines), "honeyguide", SITE).sitemaps
    assert found[:3] == (f"{SITE}/s.xml", "https://b.test/t.xml", f"{SITE}/")
    assert len(found) == 100


def test_sitemaps_of_endless_addresses_are_dropped() -> None:
    text = f"Sitemap: /{'a' * 3000}\nSitemap: /{'é' * 1000}\nSitemap: /s.xml"
    assert parse_robots(text, "honeyguide", SITE).sitemaps == (f"{SITE}/s.xml",)


HOSTILE = {
    "agents times rules": "".join(f"User-agent: b{n}\n" for n in range(9000))
    + "User-agent: *\n" + "".join(f"Disallow: /{n}\n" for n in range(MAX_RULES)),
    "many wildcards": "User-agent: *\n" + "".join(f"Disallow: /*{n}z\n" for n in range(MAX_RULES)),
    "one wildcard often": "User-agent: *\n" + "Disallow: /*z\n" * 35_000,
    "lines": "\n" * 500_000,
    "number": "User-agent: *\nCrawl-delay: " + "9" * 500_000,
    "one rule of wildcards": "User-agent: *\nDisallow: /" + "*a" * 250_000 + "b",
    "rules of wildcards": "User-agent: *\n"
    + "".join("Disallow: /" + "*a" * 500 + f"b{n}\n" for n in range(500)),
    "blanks": "User-agent: *\nDisallow" + " " * 500_000 + "x",
    "escapes": "User-agent: *\nDisallow: /" + "%61" * 160_000,
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_cost_little(name: str) -> None:
    started = time.process_time()
    rules = parse_robots(HOSTILE[name], "honeyguide", SITE)
    assert rules.allows(Url(f"{SITE}/{'a' * 2000}"))
    assert time.process_time() - started < 2.0


def test_of_too_many_rules_the_unknown_ones_may_forbid_anything() -> None:
    text = "User-agent: *\nAllow: /open\n" + "".join(f"Disallow: /{n}\n" for n in range(40_000))
    started = time.process_time()
    rules = parse_robots(text, "honeyguide", SITE)
    assert time.process_time() - started < 2.0
    assert len(rules.disallowed) < MAX_RULES
    assert not rules.allows(Url(f"{SITE}/39999"))
    assert not rules.allows(Url(f"{SITE}/x"))
    assert rules.allows(Url(f"{SITE}/open/x"))


LINES = st.lists(
    st.one_of(
        st.tuples(
            st.sampled_from(
                ["User-agent:", "user agent ", "Allow:", "Disallow: ", "disalow ", "Crawl-delay:",
                 "Sitemap:", "sitemaps: ", "#", "", "Nonsense: "]
            ),
            st.one_of(
                st.sampled_from(
                    ["*", "honeyguide", "other", "/", "/a", "/a**b$", "*$", "/%61%2f",
                     "/index.html",
                     "/a/index.html", "/é", "3", "1e9", "0.1", "nan", "/s.xml", "//b.test/s#x",
                     "", ":", "/a # b", "\ufeff/", "\x85/x\x0b", "/" + "a" * 2100]
                ),
                st.text(max_size=12),
            ),
        ).map("".join),
        st.text(max_size=20),
    ),
    max_size=25,
).map("\n".join)  # fmt: skip


@given(LINES)
def test_the_compact_text_says_the_same(text: str) -> None:
    group = parse_group(text, "honeyguide", SITE)
    assert parse_robots(group.minimal_text, "honeyguide", SITE) == parse_robots(
        text, "honeyguide", SITE
    )
    assert parse_group(group.minimal_text, "honeyguide", SITE) == group


def test_the_compact_text_of_a_full_file_says_the_same() -> None:
    longest = "".join(f"Disallow:/{n}{'x' * 90}\n" for n in range(5200))
    maps = "".join(f"Sitemap:/{n}{'é' * 300}\n" for n in range(100))
    for text in (f"{maps}useragent:*\n{longest}", f"User-agent:*\nDisallow:/\n{longest}"):
        group = parse_group(text[:MAX_FILE_CHARS], "honeyguide", SITE)
        assert parse_group(group.minimal_text, "honeyguide", SITE) == group
