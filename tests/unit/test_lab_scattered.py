"""A made web of forums and blogs that do not know of each other."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from honeyguide.errors import ConfigError
from honeyguide.lab.graph import LabPageReader, WebGraph
from honeyguide.lab.responses import LabResponder
from honeyguide.lab.synthetic.topology import parse_plan
from honeyguide.lab.synthetic.web import SyntheticWeb
from honeyguide.lab.web import without_scheme
from honeyguide.types import Page, Url
from honeyguide.url import host_of

PLAN = "seed=7,hosts=60,pages=900,scattered=0.9,zipf=0.3,focus=0.9,mirrors=0,islands=0"
WEB = SyntheticWeb(parse_plan(PLAN))
TOPIC = WEB.topics[0]
READER = LabPageReader(LabResponder(WEB))


def page_at(url: str) -> Page:
    page = READER.parse_page(READER.response_for(Url(url)))
    assert page is not None
    return page


def test_nobody_links_to_a_scattered_host() -> None:
    assert len(WEB.scattered_hosts) == 54
    away: Counter[str] = Counter()
    for url in WEB.page_urls():
        for link in page_at(url).links:
            if host_of(link.url) != host_of(url):
                away[host_of(link.url)] += 1
    assert away, "they do link to the others"
    assert not WEB.scattered_hosts & away.keys()


def test_their_own_links_stay_at_home_and_reach_most_of_it() -> None:
    graph = WebGraph(LabResponder(WEB))
    for name in sorted(WEB.scattered_hosts)[:10]:
        own = {without_scheme(url) for url in WEB.page_urls() if host_of(url) == name}
        reached = graph.reachable_from([f"http://{name}/"])
        assert len(own & reached) > 0.9 * len(own)
        others = {key.partition("/")[0] for key in reached} & WEB.scattered_hosts
        assert others == {name}


def test_one_host_in_five_is_on_topic_and_mostly() -> None:
    homes = WEB.home_hosts(TOPIC)
    assert 0.12 < len(homes) / len(WEB.hosts) < 0.28
    good = Counter(host_of(url) for url in WEB.urls_labelled(TOPIC))
    sizes = Counter(host_of(url) for url in WEB.page_urls())
    shares = [good[name] / (sizes[name] - 1) for name in homes if name in WEB.scattered_hosts]
    assert sum(shares) / len(shares) > 0.75


def test_front_pages_look_alike_and_are_no_ones_topic() -> None:
    fronts = [page_at(f"http://{name}/") for name in sorted(WEB.scattered_hosts)]
    assert {page.title for page in fronts} == {"Board index", "Home page and latest posts"}
    assert all(WEB.labels_of(page.url) == () for page in fronts)
    assert not {page.url for page in fronts} & set(WEB.urls_labelled(TOPIC))
    boards = [page for page in fronts if page.title == "Board index"]
    assert all("Please read the rules" in page.text for page in boards)
    ordinary = WEB.labels_of("http://www.h0.example/")
    assert len(ordinary) <= 1


def test_labels_agree_with_the_list_of_them() -> None:
    for topic in WEB.topics:
        assert all(WEB.labels_of(url) == (topic,) for url in WEB.urls_labelled(topic))
    labelled = sum(len(list(WEB.urls_labelled(topic))) for topic in WEB.topics)
    assert labelled == sum(bool(WEB.labels_of(url)) for url in WEB.page_urls())


def test_threads_quote_what_was_said_before() -> None:
    quotes = 0
    for url in list(WEB.urls_labelled(TOPIC))[:60]:
        record = WEB.find(url)
        assert record is not None
        body = record.body.decode()
        if host_of(url) in WEB.scattered_hosts and "wrote:</cite>" in body:
            quotes += 1
            said = body.partition("wrote:</cite> ")[2].partition("</blockquote>")[0]
            assert body.count(re.split(r"[.!?]", said)[0]) >= 2
    assert quotes > 15


def test_the_same_plan_makes_the_same_bytes() -> None:
    other = SyntheticWeb(parse_plan(PLAN))
    urls = list(WEB.page_urls())[::17]
    assert [WEB.find(url) for url in urls] == [other.find(url) for url in reversed(urls)][::-1]


def test_all_may_be_scattered_but_the_first() -> None:
    web = SyntheticWeb(parse_plan("hosts=10,pages=100,scattered=1,mirrors=0,islands=0"))
    assert web.hosts - web.scattered_hosts == {"www.h0.example"}
    assert len(list(web)) == 100
    with pytest.raises(ConfigError, match="more than all hosts"):
        parse_plan("scattered=1,mirrors=0.1")
