"""Made webs: the same everywhere, as the knobs say, and true to their labels."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import time
from collections import Counter
from dataclasses import fields, replace
from pathlib import Path
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.config.loading import parse_settings
from honeyguide.errors import ConfigError
from honeyguide.lab.graph import WebGraph
from honeyguide.lab.responses import LabResponder
from honeyguide.lab.simulate import simulate_crawl
from honeyguide.lab.synthetic.seeded_random import DAY_S
from honeyguide.lab.synthetic.topology import SyntheticPlan, parse_plan
from honeyguide.lab.synthetic.web import SyntheticWeb
from honeyguide.lab.trials import distinctive_words
from honeyguide.lab.web import RecordedResponse, without_scheme
from honeyguide.parse.read import parse_page
from honeyguide.store.store import Store
from honeyguide.types import Link, Page, Response, Url

ROOT = Path(__file__).parents[2]
SMALL = SyntheticPlan(seed=5, hosts=40, pages=3000)
CLEAN = replace(SMALL, errors=0, redirects=0, traps=0, near_copies=0, mirrors=0)
WEB = SyntheticWeb(SMALL)


def answer(web: SyntheticWeb, url: str) -> RecordedResponse:
    record = web.find(url)
    assert record is not None, url
    return record


def page_at(web: SyntheticWeb, url: str) -> Page:
    record = answer(web, url)
    body = record.body
    response = Response(Url(url), record.status, record.headers, body, body, b"", b"", "", 0.0, 0.0)
    return parse_page(response, Link(Url(url)))


def content_links(web: SyntheticWeb, url: str) -> list[Link]:
    """Links that the page's author chose: what leads to one page of a site or of another."""
    return [
        link
        for link in page_at(web, url).links
        if not any(word in link.tag_path for word in ("nav", "top", "menu", "footer"))
        and "/list/" not in link.url
    ]


def some(web: SyntheticWeb, count: int) -> list[str]:
    return [web.random_page(number) for number in range(count)]


def digest(web: SyntheticWeb, count: int = 60) -> str:
    text = b"".join(answer(web, url).body for url in some(web, count))
    return hashlib.sha256(text).hexdigest()


def test_the_same_plan_makes_the_same_bytes() -> None:
    other = SyntheticWeb(SMALL)
    urls = some(WEB, 60)
    backwards = {url: answer(other, url) for url in reversed(urls)}
    assert all(answer(WEB, url) == backwards[url] for url in urls)
    assert digest(WEB) != digest(SyntheticWeb(replace(SMALL, seed=6)))


def test_another_process_makes_the_same_bytes() -> None:
    code = (
        "from honeyguide.lab.synthetic.topology import parse_plan\n"
        "from tests.unit.test_lab_synthetic import *\n"
        "sys.stdout.write(digest(SyntheticWeb(parse_plan('seed=5,hosts=40,pages=3000'))))"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == digest(WEB)


def test_every_page_is_known_by_its_address() -> None:
    web = SyntheticWeb(replace(SMALL, pages=800))
    urls = {record.url: record for record in web}
    assert len(urls) == len(web) >= 800
    assert {record.status for record in urls.values()} == {200}
    for label in web.topics:
        known = list(web.urls_labelled(label))
        assert len(known) == sum(label in record.labels for record in urls.values()) > 0
        assert all(urls[url].labels == web.labels_of(url) == (label,) for url in known)


def test_all_topics_occur_and_other_languages_have_no_label() -> None:
    web = SyntheticWeb(replace(SMALL, hosts=200, pages=5000))
    counts = [len(list(web.urls_labelled(topic))) for topic in web.topics]
    assert len(counts) == 12
    assert min(counts) > 100
    assert max(counts) == counts[0]
    assert 0.08 < 1 - sum(counts) / len(web) < 0.12
    languages = Counter(page_at(web, url).language for url in some(web, 150))
    assert set(languages) == {"en", "tr", "ru", "el", "ar", "zh"}


def test_links_of_pages_lead_to_pages() -> None:
    web = SyntheticWeb(replace(CLEAN, redirects=0.2))
    statuses: Counter[int] = Counter()
    for url in some(web, 80):
        for link in page_at(web, url).links:
            statuses[answer(web, link.url).status] += 1
    assert set(statuses) == {200, 301}


def test_errors_and_redirects_are_as_frequent_as_planned() -> None:
    web = SyntheticWeb(replace(SMALL, errors=0.1, redirects=0.2))
    seen = Counter(
        web.resource_kind(link.url) for url in some(web, 300) for link in content_links(web, url)
    )
    total = sum(seen.values())
    assert seen["moved"] / total == pytest.approx(0.2, abs=0.03)
    dead = [seen["gone"], seen["broken"], seen["busy"]]
    assert sum(dead) / total == pytest.approx(0.1, abs=0.03)
    assert min(dead) > 0


def test_redirects_end_at_the_page() -> None:
    web = SyntheticWeb(replace(SMALL, redirects=1.0, errors=0.0))
    hops: Counter[int] = Counter()
    for url in some(web, 60):
        for link in content_links(web, url):
            record, count = answer(web, link.url), 0
            while record.is_redirect:
                record, count = answer(web, record.header("location")), count + 1
            assert record.status == 200
            hops[count] += 1
    assert set(hops) <= {0, 1, 2, 3, 4}  # none: the way to an island
    assert hops[1] > hops[2] > 0 < hops[4]


def test_a_busy_server_comes_and_goes() -> None:
    web = SyntheticWeb(replace(SMALL, errors=1.0))
    url = next(
        link.url
        for page in some(web, 50)
        for link in content_links(web, page)
        if web.resource_kind(link.url) == "busy"
    )
    statuses = [answer(web.at_time(60.0 * minute), url).status for minute in range(40)]
    assert Counter(statuses).keys() == {200, 503}
    assert statuses == [answer(web.at_time(60.0 * minute + 1), url).status for minute in range(40)]


@pytest.mark.parametrize("locality", [0.0, 0.3, 0.8])
def test_locality_is_as_planned(locality: float) -> None:
    web = SyntheticWeb(replace(CLEAN, locality=locality, islands=0, pages=100_000))
    same = total = inside = 0
    for url in some(web, 200):
        if not (label := web.labels_of(url)):
            continue
        for link in content_links(web, url):
            same += web.labels_of(link.url) == label
            inside += link.url.split("/")[2] == url.split("/")[2]
            total += 1
    assert total > 1500
    assert same / total == pytest.approx(locality, abs=0.04)
    assert inside / total == pytest.approx(0.7, abs=0.05)


def test_only_hubs_link_to_their_own_topic() -> None:
    web = SyntheticWeb(replace(CLEAN, hubs_only=True, islands=0, pages=100_000))
    for url in some(web, 100):
        label = web.labels_of(url)
        assert not label or all(
            web.labels_of(link.url) != label for link in content_links(web, url)
        )
    for host in sorted(web.hosts)[:10]:
        entries = content_links(web, f"http://{host}/list/0")
        counts = Counter(web.labels_of(link.url) for link in entries)
        assert len(counts) == 1
        assert len(entries) >= 12


def test_listings_have_pages_and_end() -> None:
    for host in sorted(WEB.hosts)[:10]:
        url, count = f"http://{host}/list/0", 0
        while url:
            count += 1
            assert WEB.resource_kind(url) == "listing"
            turns = [link for link in page_at(WEB, url).links if link.anchor == "next"]
            onward = [x.url.partition("&sid")[0] for x in turns if "page=" in x.url]
            url = next((x for x in onward if x.endswith(f"page={count + 1}")), "")
        assert 2 <= count <= 5
        assert WEB.find(f"http://{host}/list/0?page={count + 1}") is None


def test_islands_are_reached_over_bridges_only() -> None:
    web = SyntheticWeb(replace(CLEAN, islands=0.2, hosts=20, pages=400))
    assert len(web.island_hosts) >= 3
    ways: Counter[str] = Counter()
    for record in web:
        here = record.url.split("/")[2]
        if here in web.island_hosts:
            continue
        for link in page_at(web, record.url).links:
            if (there := link.url.split("/")[2]) in web.island_hosts:
                assert web.resource_kind(record.url) == "bridge"
                assert web.labels_of(record.url) != web.labels_of(f"http://{there}/")
                ways[there] += 1
    assert set(ways) == web.island_hosts
    graph = WebGraph(LabResponder(web))
    reached = {key.partition("/")[0] for key in graph.reachable_from(["http://www.h0.example/"])}
    assert web.island_hosts <= reached


def test_calendars_never_end() -> None:
    web = SyntheticWeb(replace(SMALL, traps=1.0))
    url, seen = "http://www.h3.example/cal/2031/05", set()
    for _ in range(30):
        links = page_at(web, url).links
        assert len(links) < 30
        url = next(link.url for link in links if link.anchor == "later")
        assert url not in seen
        seen.add(url)
    assert url.endswith("/cal/2033/11")
    assert web.resource_kind(url) == "calendar"


def test_sessions_never_end_and_are_no_new_pages() -> None:
    web = SyntheticWeb(replace(SMALL, traps=1.0))
    url, seen = "http://www.h3.example/", set()
    for _ in range(10):
        url = next(link.url for link in page_at(web, url).links if "sid=" in link.url)
        assert url not in seen
        seen.add(url)
    assert web.resource_kind(url) == "session"
    assert web.labels_of(url) == ()
    plain = url.partition("?sid=")[0].partition("&sid=")[0]
    assert page_at(web, url).text == page_at(web, plain).text
    assert web.find("http://www.h3.example/about?sid=00000000") is None


def test_what_can_be_reached_has_an_end_in_spite_of_traps() -> None:
    web = SyntheticWeb(replace(SMALL, traps=1.0, hosts=10, pages=300))
    free = SyntheticWeb(replace(SMALL, traps=0.0, hosts=10, pages=300))
    start = ["http://www.h0.example/"]
    good = {without_scheme(url) for topic in web.topics for url in web.urls_labelled(topic)}
    without, within = (
        WebGraph(LabResponder(each)).reachable_from(start) & good for each in (free, web)
    )
    assert len(within) > 0.9 * len(without) > 200
    assert any(web.is_endless(link.url) for link in page_at(web, start[0]).links)
    assert not any(web.is_endless("http://" + key) for key in within)


def test_traps_are_all_that_a_web_without_them_lacks() -> None:
    web, free = SyntheticWeb(replace(SMALL, traps=1.0)), SyntheticWeb(replace(SMALL, traps=0.0))
    for url in some(web, 40):
        trapped = [x for x in page_at(web, url).links if "/cal/" not in x.url]
        plain = {x.url.partition("?sid=")[0].partition("&sid=")[0] for x in trapped}
        assert plain == {link.url for link in page_at(free, url).links}


def test_near_copies_are_near() -> None:
    web = SyntheticWeb(replace(CLEAN, hosts=4, pages=400, near_copies=0.5, changes=1.0)).at_time(
        10 * DAY_S
    )
    copies = 0
    for record in web:
        original = web.original_url(record.url)
        assert (original != record.url) == (b"Copy number" in record.body)
        if original != record.url:
            one, two = (shingles(page_at(web, url).text) for url in (record.url, original))
            assert len(one & two) / len(one | two) > 0.8
            assert answer(web, original).body != record.body
            copies += 1
    assert 0.15 < copies / len(web) < 0.35


def shingles(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"[a-z]+|[^\W_]", text.lower())  # Chinese has no spaces
    return set(zip(words, words[1:], words[2:], strict=False))


def test_mirrors_are_exact() -> None:
    web = SyntheticWeb(replace(SMALL, mirrors=0.3))
    assert len(web.mirror_hosts) > 3
    checked = 0
    for url in some(web, 200):
        host = url.split("/")[2]
        if host in web.mirror_hosts:
            other = url.replace(host, web.mirror_hosts[host], 1)
            assert answer(web, url).body == answer(web, other).body
            checked += 1
    assert checked > 20


def test_pages_change_as_often_as_they_should() -> None:
    web = SyntheticWeb(replace(SMALL, changes=2.0))
    urls = some(web, 400)
    rates = [web.change_rate(url) for url in urls]
    assert max(rates) > 5 * median(rates) > 0
    versions = [web.page_version(url, 100 * DAY_S) for url in urls]
    expected = sum(rates) * 100
    assert sum(versions) == pytest.approx(expected, abs=6 * expected**0.5)
    # Poisson: the deviations of single pages are as large as chance makes them.
    spread = sum((n - r * 100) ** 2 / (r * 100) for n, r in zip(versions, rates, strict=True))
    assert 0.7 < spread / len(urls) < 1.4


def test_versions_only_grow_and_show() -> None:
    web = SyntheticWeb(replace(SMALL, changes=5.0))
    url = max(some(web, 20), key=web.change_rate)
    counts = [web.page_version(url, hour * 3600.0) for hour in range(0, 24 * 30, 3)]
    assert counts[0] == 0
    assert counts == sorted(counts)
    bodies: dict[int, bytes] = {}
    for hour, count in zip(range(0, 24 * 30, 3), counts, strict=True):
        body = answer(web.at_time(hour * 3600.0), url).body
        assert bodies.setdefault(count, body) == body
    assert len(set(bodies.values())) == len(bodies) > 3


def test_fifty_million_pages_take_no_time() -> None:
    began = time.process_time()
    web = SyntheticWeb(SyntheticPlan(seed=3, hosts=20_000, pages=50_000_000))
    assert len(web) >= 50_000_000
    assert time.process_time() - began < 1
    urls = some(web, 200)
    answer(web, urls[0])
    began = time.process_time()
    assert {answer(web, url).status for url in urls} == {200}
    assert time.process_time() - began < 0.4  # 2 ms a page, on a slow machine
    with pytest.raises(ConfigError, match="50,000,000"):
        next(web.urls_labelled("borg"))


def test_addresses_tell_only_what_they_should() -> None:
    silent = SyntheticWeb(replace(SMALL, telling_urls=0.0))
    assert not any("-" in url for url in some(silent, 300))
    telling = SyntheticWeb(replace(SMALL, telling_urls=1.0, languages=0.0))
    slugged = [url for url in some(telling, 300) if not url.endswith("example/")]
    assert sum("-" in url for url in slugged) > 0.8 * len(slugged)
    assert WEB.find(slugged[0] + "x") is None


@given(st.text(max_size=60))
def test_any_address_is_survived(rest: str) -> None:
    for key in (rest, "www.h1.example/" + rest, f"www.h1.example/cal/{rest}/01"):
        record = WEB.lookup(key)
        assert record is None or record.url == "http://" + key


@pytest.mark.parametrize(
    "plan",
    [
        SyntheticPlan(hosts=1, pages=1),
        SyntheticPlan(hosts=2, pages=2, islands=0.9, mirrors=0),
        SyntheticPlan(hosts=3, pages=40, topics=("borg",), locality=0.0, languages=0.0, focus=1.0),
        SyntheticPlan(hosts=30, pages=30, mirrors=0.9, islands=0),
        SyntheticPlan(hosts=5, pages=500, languages=1.0, links=0, zipf=0.0, words=1),
    ],
)
def test_odd_plans_make_webs_too(plan: SyntheticPlan) -> None:
    web = SyntheticWeb(plan)
    for record in web:
        page_at(web, record.url)
    assert len(list(web)) == len(web)


def test_the_graph_reaches_most_pages() -> None:
    web = SyntheticWeb(replace(SMALL, traps=0.0, hosts=20, pages=500))
    reached = WebGraph(LabResponder(web)).reachable_from(["http://www.h0.example/"])
    pages = {without_scheme(record.url) for record in web}
    assert len(pages & reached) > 0.9 * len(pages)
    assert not any("/private/" in key for key in reached)


def test_hosts_answer_after_their_own_time() -> None:
    web = SyntheticWeb(replace(SMALL, hosts=500))
    times = [web.host_latency(host) for host in web.hosts]
    assert median(times) == pytest.approx(0.2, rel=0.2)
    assert max(times) > 1.0
    assert web.host_latency("www.h1.example") == web.host_latency("www.h1.example")
    assert web.host_latency("elsewhere.example") > 0


def harvest(folder: Path, web: SyntheticWeb, topic: str, strategy: str) -> int:
    relevant = sorted(web.urls_labelled(topic))
    others = [url for url in some(web, 60) if topic not in web.labels_of(url)]
    keywords = distinctive_words(
        topic,
        [answer(web, url).body for url in relevant[5:25]],
        [answer(web, url).body for url in others],
    )
    settings = parse_settings(
        {
            "topic": {"name": topic, "keywords": list(keywords), "seeds": relevant[:3]},
            "crawl": {"strategy": strategy, "pages": 300, "concurrency": 4},
            "scope": {"sitemaps": "never"},
            "fetch": {"contact": "https://example.org/lab", "lab": "http://127.0.0.1:1"},
            "store": {"warc": False, "min_free_mb": 0},
        }
    )
    simulate_crawl(folder, settings, LabResponder(web), latency=web.host_latency)
    with Store.open(folder, "read") as store:
        return sum(
            topic in web.labels_of(row.url) for row in store.visits.iter_visits() if row.has_page
        )


def test_a_keyword_crawl_finds_more_than_a_blind_one(tmp_path: Path) -> None:
    found = {
        strategy: harvest(tmp_path / strategy, WEB, "borg", strategy)
        for strategy in ("keyword", "breadth")
    }
    assert found["keyword"] > 1.3 * found["breadth"] > 0


def test_a_plan_is_read_from_one_line() -> None:
    assert parse_plan("") == SyntheticPlan()
    plan = parse_plan("seed=7, pages=100_000,locality=0.6,hubs_only=true,topics=borg+restic,zipf=1")
    assert plan == SyntheticPlan(
        seed=7, pages=100_000, hubs_only=True, topics=("borg", "restic"), zipf=1.0
    )


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("page=3", "did you mean pages"),
        ("pages", "knob=value"),
        ("pages=many", "whole number"),
        ("locality=2", "between 0 and 1"),
        ("locality=nan", "between 0 and 1"),
        ("hosts=0", "hosts"),
        ("hosts=300,pages=200", "at least as many"),
        ("topics=cooking", "no topic 'cooking'"),
        ("islands=0.6,mirrors=0.6", "no ordinary hosts"),
        ("seed=-1", "seed"),
    ],
)
def test_a_wrong_plan_says_what_is_wrong(spec: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        parse_plan(spec)


def test_every_knob_is_documented() -> None:
    text = (ROOT / "docs" / "how-to" / "made-web.md").read_text("utf-8")
    assert [f.name for f in fields(SyntheticPlan) if f"`{f.name}`" not in text] == []
