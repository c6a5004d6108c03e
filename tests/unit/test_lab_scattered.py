"""A made web of forums and blogs that do not know of each other."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from honeyguide.errors import ConfigError
from honeyguide.lab.graph import Graph
from honeyguide.lab.made.parameters import plan_of
from honeyguide.lab.made.web import MadeWeb
from honeyguide.lab.page_reader import Reader
from honeyguide.lab.responses import Desk
from honeyguide.lab.web import without_scheme
from honeyguide.types import Page, Url
from honeyguide.url import host

PLAN = "seed=7,hosts=60,pages=900,scattered=0.9,zipf=0.3,focus=0.9,mirrors=0,islands=0"
WEB = MadeWeb(plan_of(PLAN))
TOPIC = WEB.topics[0]
READER = Reader(Desk(WEB))


def page_at(url: str) -> Page:
    page = READER.page(READER.answer(Url(url)))
    assert page is not None
    return page


def test_nobody_links_to_a_scattered_host() -> None:
    assert len(WEB.scattered) == 54
    away: Counter[str] = Counter()
    for url in WEB.urls():
        for link in page_at(url).links:
            if host(link.url) != host(url):
                away[host(link.url)] += 1
    assert away, "they do link to the others"
    assert not WEB.scattered & away.keys()


def test_their_own_links_stay_at_home_and_reach_most_of_it() -> None:
    graph = Graph(Desk(WEB))
    for name in sorted(WEB.scattered)[:10]:
        own = {without_scheme(url) for url in WEB.urls() if host(url) == name}
        reached = graph.reachable([f"http://{name}/"])
        assert len(own & reached) > 0.9 * len(own)
        others = {key.partition("/")[0] for key in reached} & WEB.scattered
        assert others == {name}


def test_one_host_in_five_is_on_topic_and_mostly() -> None:
    homes = WEB.homes(TOPIC)
    assert 0.12 < len(homes) / len(WEB.hosts) < 0.28
    good = Counter(host(url) for url in WEB.labelled(TOPIC))
    sizes = Counter(host(url) for url in WEB.urls())
    shares = [good[name] / (sizes[name] - 1) for name in homes if name in WEB.scattered]
    assert sum(shares) / len(shares) > 0.75


def test_front_pages_look_alike_and_are_no_ones_topic() -> None:
    fronts = [page_at(f"http://{name}/") for name in sorted(WEB.scattered)]
    assert {page.title for page in fronts} == {"Board index", "Home page and latest posts"}
    assert all(WEB.labels(page.url) == () for page in fronts)
    assert not {page.url for page in fronts} & set(WEB.labelled(TOPIC))
    boards = [page for page in fronts if page.title == "Board index"]
    assert all("Please read the rules" in page.text for page in boards)
    ordinary = WEB.labels("http://www.h0.example/")
    assert len(ordinary) <= 1


def test_labels_agree_with_the_list_of_them() -> None:
    for topic in WEB.topics:
        assert all(WEB.labels(url) == (topic,) for url in WEB.labelled(topic))
    labelled = sum(len(list(WEB.labelled(topic))) for topic in WEB.topics)
    assert labelled == sum(bool(WEB.labels(url)) for url in WEB.urls())


def test_threads_quote_what_was_said_before() -> None:
    quotes = 0
    for url in list(WEB.labelled(TOPIC))[:60]:
        record = WEB.find(url)
        assert record is not None
        body = record.body.decode()
        if host(url) in WEB.scattered and "wrote:</cite>" in body:
            quotes += 1
            said = body.partition("wrote:</cite> ")[2].partition("</blockquote>")[0]
            assert body.count(re.split(r"[.!?]", said)[0]) >= 2
    assert quotes > 15


def test_the_same_plan_makes_the_same_bytes() -> None:
    other = MadeWeb(plan_of(PLAN))
    urls = list(WEB.urls())[::17]
    assert [WEB.find(url) for url in urls] == [other.find(url) for url in reversed(urls)][::-1]


def test_all_may_be_scattered_but_the_first() -> None:
    web = MadeWeb(plan_of("hosts=10,pages=100,scattered=1,mirrors=0,islands=0"))
    assert web.hosts - web.scattered == {"www.h0.example"}
    assert len(list(web)) == 100
    with pytest.raises(ConfigError, match="more than all hosts"):
        plan_of("scattered=1,mirrors=0.1")
