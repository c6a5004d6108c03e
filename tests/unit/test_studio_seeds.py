"""Testing seeds, on a web made of a dictionary and in simulated time."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from honeyguide.errors import ConfigError, FetchTimeout
from honeyguide.lab.simulate import run_simulated
from honeyguide.net.polite_fetch import PoliteFetcher, RequestPacer
from honeyguide.studio.new_topic import (
    SeedTrial,
    SeedTrier,
    seed_address,
    try_each_seed,
)
from tests.unit.crawling import FakeWeb

PAGE = "<title>Owls</title><p>The owl hunts at night.</p><a href=/more>more</a>"


def asked(web: FakeWeb, *seeds: str) -> list[SeedTrial]:
    async def ask() -> list[SeedTrial]:
        polite = PoliteFetcher(web, web.now, pacer=RequestPacer(web.now))
        return await try_each_seed(polite, seeds)

    return run_simulated(ask())


def test_it_says_what_came_of_each() -> None:
    web = FakeWeb({
        "https://a.example/": PAGE,
        "https://b.example/": (301, {"Location": "https://a.example/"}, ""),
        "https://c.example/robots.txt": "User-agent: *\nDisallow: /",
        "https://d.example/": FetchTimeout("https://d.example/", "no answer in 10 s"),
        "https://g.example/": "\x00\x01\x02\x03" * 100,
    })  # fmt: skip
    seeds = (
        "a.example",
        "https://b.example/",
        "c.example/",
        "d.example",
        "e.example/x",
        "nothing",
        "g.example",
    )
    a, b, c, d, e, f, g = asked(web, *seeds)
    assert (a.ok, a.said, a.words, a.links) == (True, "Owls", 6, 1)
    assert (b.ok, b.url) == (True, "https://a.example/")
    assert (c.ok, "robots.txt" in c.said) == (False, True)
    assert (d.ok, "no answer in 10 s" in d.said) == (False, True)
    assert (e.ok, "404" in e.said) == (False, True)
    assert (f.ok, "not a full name" in f.said) == (False, True)
    assert (g.ok, g.said) == (False, "this is not a page: it holds no text")


def test_no_host_is_hurried() -> None:
    """Also where seeds of other hosts lead to it."""
    here: dict[str, Any] = {f"https://a.example/{number}": PAGE for number in range(4)}
    away: dict[str, Any] = {
        f"https://b{number}.example/": (302, {"Location": f"https://a.example/{number}"}, "")
        for number in range(4)
    }
    web = FakeWeb(here | away)
    found = asked(web, *here, *away)
    assert all(one.ok for one in found)
    times = [at for at, url in web.asked if "//a.example" in url]
    assert len(times) == 9  # robots.txt once, and each page for both of its seeds
    assert all(later - sooner >= 1.0 for sooner, later in pairwise(times))


@pytest.mark.parametrize("text", ["/etc/passwd", "file:///etc/passwd", "a" * 1900, "\0", "http://"])
def test_a_seed_is_never_a_file(text: str) -> None:
    with pytest.raises(ConfigError):
        seed_address(text)


def test_this_machine_is_not_asked(tmp_path: Path) -> None:
    (found,) = SeedTrier(tmp_path).try_seeds(["http://127.0.0.1:9/"], "me@example.org", "")
    assert not found.ok


def test_a_contact_is_needed(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="contact"):
        SeedTrier(tmp_path).try_seeds(["http://a.example/"], "", "")
