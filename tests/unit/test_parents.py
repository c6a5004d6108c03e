"""What the pages that a link stands on are worth together."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from honeyguide.crawl import parents as module
from honeyguide.crawl.given import Given
from honeyguide.crawl.parents import BestParent, Parents
from honeyguide.strategies.ontology_ann import OntologyAnn
from honeyguide.types import Link, Page, Url, Verdict, Visit
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
