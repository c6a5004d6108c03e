"""What the pages that a link stands on are worth together."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from honeyguide.config import parse
from honeyguide.crawl import parents as module
from honeyguide.crawl.explain import explain
from honeyguide.crawl.given import Given
from honeyguide.crawl.parents import BestParent, Parents
from honeyguide.strategies.ontology_ann import OntologyAnn
from honeyguide.types import Channel, Failure, Link, Page, Url, Verdict, Visit
from tests.unit.crawling import FakeWeb, crawl, rows


def page(name: str) -> Link:
    return Link(Url(f"http://a.org/{name}"), source=Url("http://a.org/"))


def link(name: str, source: str = "hub", parent: float = 0.9) -> Link:
    return Link(Url(f"http://b.org/{name}"), source=page(source).url, parent=parent)


def worth(parents: Parents, one: Link) -> float:
    (told,) = parents.told((one,))
    assert told._replace(parent=one.parent) == one, "nothing else is changed"
    return told.parent


def test_what_many_good_pages_link_to_goes_before_what_one_does() -> None:
    parents = Parents()
    for name in ("one", "two", "three"):
        parents.found(page(name), 0.9, [link("many", name)])
    parents.found(page("best"), 1.0, [link("once", "best", 1.0)])
    assert worth(parents, link("many")) == pytest.approx((3 * 0.9 + 0.2) / 4)
    assert worth(parents, link("once", "best", 1.0)) == pytest.approx((1 + 0.2) / 2)
    assert worth(parents, link("many")) > worth(parents, link("once", "best", 1.0))


def test_a_bad_page_lowers_what_a_good_one_promised() -> None:
    parents = Parents()
    parents.found(page("good"), 0.9, [link("x", "good")])
    before = worth(parents, link("x", "good"))
    parents.found(page("bad"), 0.0, [link("x", "bad", 0.0), link("x", "bad", 0.0)])
    assert worth(parents, link("x", "good")) == pytest.approx((0.9 + 0.2) / 3), "counted once"
    assert worth(parents, link("x", "good")) < before


def test_of_a_link_that_it_never_met_the_page_it_was_found_on_is_known() -> None:
    assert worth(Parents(), link("x", parent=0.6)) == pytest.approx((0.6 + 0.2) / 2)


def test_a_seed_stands_on_no_page() -> None:
    seed = Link(Url("http://a.org/"))
    assert Parents().told((seed,)) == [seed]


def test_a_redirect_brings_along_what_was_told_of_it() -> None:
    (told,) = Parents().told((link("old"),))
    onward = told._replace(url=link("new").url, source=told.url, channel="redirect")
    assert Parents().told((onward,)) == [onward], "not drawn towards the poor page twice"


def test_what_people_judged_links_like_any_other_page() -> None:
    good = Page(Url("http://a.org/good"), links=(link("x", "good", 0.0),))
    parents = Parents(Given({good.url: 1.0}, (good,)))
    parents.found(page("hub"), 0.3, [link("x")])
    assert worth(parents, link("x")) == pytest.approx((0.3 + 1.0 + 0.2) / 3)


def test_what_was_followed_is_forgotten_and_a_redirect_hands_its_pages_on() -> None:
    parents = Parents()
    parents.found(page("hub"), 0.9, [link("old"), link("gone")])
    parents.followed(Visit(link("old"), 0.0, moved=link("new").url))
    parents.followed(Visit(link("gone"), 0.0, verdict=Verdict(0.5)))
    assert worth(parents, link("new", parent=0.0)) == pytest.approx((0.9 + 0.2) / 2)
    assert worth(parents, link("gone", parent=0.0)) == pytest.approx(0.1)


def test_what_will_be_tried_again_keeps_its_pages() -> None:
    parents, best = Parents(), BestParent()
    busy = Failure("status", "503", final=False)
    for one in (parents, best):
        one.found(page("hub"), 0.9, [link("x")])
        one.followed(Visit(link("x"), 0.0, failure=busy))
        assert one.told((link("x", parent=0.0),))[0].parent > 0.5


def test_a_page_that_is_judged_again_counts_once() -> None:
    parents = Parents()
    for verdict in (0.49, 0.9):
        parents.found(page("hub"), verdict, [link("x")])
    assert worth(parents, link("x")) == pytest.approx((0.9 + 0.2) / 2)


def test_an_example_that_is_visited_counts_once_and_as_people_said() -> None:
    good = Page(page("good").url, links=(link("x", "good"),))
    parents = Parents(Given({good.url: 1.0}, (good,)))
    parents.found(page("good"), 0.3, [link("x", "good", 0.3)])
    assert worth(parents, link("x", "good", 0.3)) == pytest.approx((1.0 + 0.2) / 2)


@pytest.mark.parametrize("channel", ["sitemap", "feed", "redirect"])
def test_what_stands_on_no_page_is_not_drawn_towards_a_poor_one(channel: Channel) -> None:
    parents, listed = Parents(), link("x")._replace(channel=channel)
    parents.found(page("list"), 0.9, [listed])
    assert parents.told((listed,)) == [listed]
    parents.found(page("hub"), 0.1, [link("x", parent=0.1)])
    assert parents.told((listed,)) == [listed], "and a page does not take away from it"


def test_a_link_met_again_outlives_one_that_was_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LINKS", 2)
    parents = Parents()
    for n, name in enumerate(("old", "once", "old", "new")):
        parents.found(page(str(n)), 0.9, [link(name)])
    assert worth(parents, link("old", parent=0.0)) == pytest.approx((1.8 + 0.2) / 3)
    assert worth(parents, link("once", parent=0.0)) == pytest.approx(0.1)


def test_an_endless_address_is_not_remembered() -> None:
    parents, endless = Parents(), link("x" * 1000)
    parents.found(page("hub"), 0.9, [endless])
    assert worth(parents, endless._replace(parent=0.0)) == pytest.approx(0.1)


def test_it_remembers_so_many_links_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LINKS", 3)
    parents = Parents()
    for n in range(5):
        parents.found(page("hub"), 0.9, [link(str(n))])
    assert worth(parents, link("4", parent=0.0)) > 0.5
    assert worth(parents, link("0", parent=0.0)) == pytest.approx(0.1)


@pytest.mark.parametrize("odd", [math.nan, math.inf, -1.0, 2.0])
def test_a_verdict_that_is_no_chance_counts_as_none(odd: float) -> None:
    parents = Parents()
    parents.found(page("hub"), odd, [link("x")])
    assert worth(parents, link("x")) == pytest.approx(0.1)


def test_the_best_page_is_remembered_when_links_are_ranked_anew() -> None:
    best = BestParent()
    best.found(page("poor"), 0.2, [link("x", "poor", 0.2)])
    best.found(page("good"), 0.9, [link("x", "good", 0.9)])
    best.found(page("bad"), 0.1, [link("x", "bad", 0.1)])
    first, seed = link("x", "poor", 0.2), Link(Url("http://a.org/"))
    assert best.told((first, seed)) == [first._replace(parent=0.9), seed]
    assert best.told((link("unheard"),)) == [link("unheard")]
    best.followed(Visit(first, 0.0, verdict=Verdict(0.5)))
    assert best.told((first,)) == [first]


def test_the_best_page_is_remembered_of_so_many_links(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LINKS", 3)
    best = BestParent()
    for n in range(5):
        best.found(page("hub"), 0.9, [link(str(n))])
    told = best.told([link(str(n), parent=0.0) for n in range(5)])
    assert [one.parent for one in told] == [0.0, 0.0, 0.9, 0.9, 0.9]


def test_a_hard_focus_drops_links_of_irrelevant_pages_only() -> None:
    parents, names = Parents(), ("relevant", "irrelevant")
    for name, verdict in zip(names, (0.51, 0.49), strict=True):
        parents.found(page(name), verdict, [link(name, name, verdict)])
    kept, dropped = OntologyAnn(hard_focus=True).rank(parents.told([link(name) for name in names]))
    assert kept > 0
    assert dropped == 0


def test_in_a_crawl_what_many_pages_have_in_common_goes_first(tmp_path: Path) -> None:
    """The surest page has a link of its own; two others have one in common."""
    hubs = {"surest": (40, "lonely"), "other": (12, "shared"), "third": (12, "shared")}
    pages = {
        name: f'<title>{name}</title><p>{"cell " * many}<a href="/{to}">x</a>'
        for name, (many, to) in hubs.items()
    }
    pages |= {name: f"<title>{name}</title>" for name in ("lonely", "shared")}
    web = FakeWeb({f"http://a.test/{name}": html for name, html in pages.items()})
    seeds = [f"http://a.test/{name}" for name in hubs]

    def order(strategy: str) -> list[str]:
        web.asked.clear()
        crawl(
            tmp_path / strategy,
            web,
            seeds,
            crawl={"strategy": strategy, "concurrency": 1},
            topic={"keywords": ["cell"]},
        )
        found = [url.rpartition("/")[2] for url in web.paths()]
        return [name for name in found if name in ("lonely", "shared")]

    assert order("ontology_ann") == ["shared", "lonely"]
    assert order("ontology_weights") == ["lonely", "shared"]
    found = rows(tmp_path / "ontology_ann")
    told = [found[f"http://a.test/{name}"].link.parent for name in ("shared", "lonely")]
    assert told[0] > told[1], "what it was worth lies in the journal"


def hub(*targets: str, words: str = "") -> str:
    anchors = " ".join(f'<a href="/{to}">x</a>' for to in targets)
    return f"<title>page</title><p>{words} {anchors}"


def visited(web: FakeWeb) -> list[str]:
    return [url.rpartition("/")[2] for url in web.paths()]


def of(pages: dict[str, str]) -> FakeWeb:
    return FakeWeb({f"http://a.test/{name}": html for name, html in pages.items()})


def by_network(folder: Path, web: FakeWeb, **topic: list[str]) -> None:
    crawl(
        folder,
        web,
        ["http://a.test/start"],
        crawl={"strategy": "ontology_ann", "concurrency": 1},
        topic={"keywords": ["cell"], **topic},
    )


def test_in_a_crawl_a_worse_page_takes_away_what_a_better_one_promised(tmp_path: Path) -> None:
    """Both stand on a good page, one of them on two bad ones besides."""
    web = of(
        {
            "start": hub("good", "bad", "worse", words="cell " * 90),
            "good": hub("doubted", "sure", words="cell " * 40),
            "bad": hub("doubted"),
            "worse": hub("doubted"),
            "doubted": hub(),
            "sure": hub(),
        }
    )
    by_network(tmp_path, web)
    assert visited(web)[-2:] == ["sure", "doubted"]


def test_in_a_crawl_what_bad_examples_link_to_waits(tmp_path: Path) -> None:
    """Two like links on one page; a page that somebody called bad has one of them."""
    web = of(
        {
            "start": hub("first", "second", words="cell " * 30),
            "bad": hub("first", words="soup " * 30),
            "good": hub("far", words="cell " * 30),
            "first": hub(),
            "second": hub(),
            "far": hub(),
        }
    )
    by_network(tmp_path, web, bad=["http://a.test/bad"], good=["http://a.test/good"])
    order = visited(web)
    assert order.index("second") < order.index("first")


def test_in_a_crawl_a_canonical_address_waits_behind_what_is_new(tmp_path: Path) -> None:
    words = "cell " * 30
    prefers = '<link rel="canonical" href="http://a.test/same">'
    web = of(
        {
            "start": hub("one?x=1", words=words),
            "one?x=1": prefers + hub("new", words=words),
            "same": hub("new", words=words + " same"),
            "new": hub(words=words),
        }
    )
    by_network(tmp_path, web)
    order = visited(web)
    assert order.index("new") < order.index("same")


def test_of_a_waiting_link_is_explained_what_its_score_says(tmp_path: Path) -> None:
    web = of({"start": hub("one", "two", words="cell " * 30), "one": hub(), "two": hub()})
    tables: dict[str, Any] = {
        "crawl": {"strategy": "ontology_ann", "concurrency": 1, "pages": 1},
        "topic": {"keywords": ["cell"], "seeds": ["http://a.test/start"]},
        "fetch": {"contact": "tester@example.org"},
        "store": {"warc": False},
    }
    crawl(tmp_path, web, ["http://a.test/start"], **tables)
    told = explain(tmp_path, parse(tables), "http://a.test/two", 0.0)
    assert told.waiting is not None
    assert told.reasons[0].weight == pytest.approx(told.waiting.queued, abs=0.01)
    assert told.reasons[0].what == f"on pages worth {told.waiting.queued:.2f} together"
