"""What the pages that a link stands on are worth together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from honeyguide.api.explain import explain_url
from honeyguide.config.loading import parse_settings
from honeyguide.crawl.build import restore_source_bandit
from honeyguide.crawl.loop import CrawlLoop
from honeyguide.links import parent_pages
from honeyguide.links.link_stats import JudgedPages
from honeyguide.links.parent_pages import BestParent, MeanParent, ParentPlaces
from honeyguide.links.ranking import rank_links
from honeyguide.strategies.ontology_ann import OntologyAnn
from honeyguide.types import (
    Channel,
    Example,
    Failure,
    Link,
    Page,
    Reason,
    StrategyTraits,
    Url,
    Verdict,
    Visit,
)
from tests.unit.crawling import FakeWeb, crawl, rows


def page(name: str) -> Link:
    return Link(Url(f"http://a.org/{name}"), source=Url("http://a.org/"))


def link(name: str, source: str = "hub", parent: float = 0.9) -> Link:
    return Link(Url(f"http://b.org/{name}"), source=page(source).url, parent=parent)


def worth(parents: MeanParent, one: Link) -> float:
    (told,) = parents.annotate_links((one,))
    assert told._replace(parent=one.parent) == one, "nothing else is changed"
    return told.parent


def test_what_many_good_pages_link_to_goes_before_what_one_does() -> None:
    parents = MeanParent()
    for name in ("one", "two", "three"):
        parents.record_page(page(name), 0.9, [link("many", name)])
    parents.record_page(page("best"), 1.0, [link("once", "best", 1.0)])
    assert worth(parents, link("many")) == pytest.approx((3 * 0.9 + 0.2) / 4)
    assert worth(parents, link("once", "best", 1.0)) == pytest.approx((1 + 0.2) / 2)
    assert worth(parents, link("many")) > worth(parents, link("once", "best", 1.0))


def test_a_bad_page_lowers_what_a_good_one_promised() -> None:
    parents = MeanParent()
    parents.record_page(page("good"), 0.9, [link("x", "good")])
    before = worth(parents, link("x", "good"))
    parents.record_page(page("bad"), 0.0, [link("x", "bad", 0.0), link("x", "bad", 0.0)])
    assert worth(parents, link("x", "good")) == pytest.approx((0.9 + 0.2) / 3), "counted once"
    assert worth(parents, link("x", "good")) < before


def test_of_a_link_that_it_never_met_the_page_it_was_found_on_is_known() -> None:
    assert worth(MeanParent(), link("x", parent=0.6)) == pytest.approx((0.6 + 0.2) / 2)


def test_a_seed_stands_on_no_page() -> None:
    seed = Link(Url("http://a.org/"))
    assert MeanParent().annotate_links((seed,)) == [seed]


def test_a_redirect_brings_along_what_was_told_of_it() -> None:
    (told,) = MeanParent().annotate_links((link("old"),))
    onward = told._replace(url=link("new").url, source=told.url, channel="redirect")
    assert MeanParent().annotate_links((onward,)) == [onward], (
        "not drawn towards the poor page twice"
    )


def test_what_people_judged_links_like_any_other_page() -> None:
    good = Page(Url("http://a.org/good"), links=(link("x", "good", 0.0),))
    parents = MeanParent(JudgedPages({good.url: 1.0}, (good,)))
    parents.record_page(page("hub"), 0.3, [link("x")])
    assert worth(parents, link("x")) == pytest.approx((0.3 + 1.0 + 0.2) / 3)


def test_what_was_followed_is_forgotten_and_a_redirect_hands_its_pages_on() -> None:
    parents = MeanParent()
    parents.record_page(page("hub"), 0.9, [link("old"), link("gone")])
    parents.record_visit(Visit(link("old"), 0.0, moved=link("new").url))
    parents.record_visit(Visit(link("gone"), 0.0, verdict=Verdict(0.5)))
    assert worth(parents, link("new", parent=0.0)) == pytest.approx((0.9 + 0.2) / 2)
    assert worth(parents, link("gone", parent=0.0)) == pytest.approx(0.1)


def test_what_will_be_tried_again_keeps_its_pages() -> None:
    parents, best = MeanParent(), BestParent()
    busy = Failure("status", "503", final=False)
    for one in (parents, best):
        one.record_page(page("hub"), 0.9, [link("x")])
        one.record_visit(Visit(link("x"), 0.0, failure=busy))
        assert one.annotate_links((link("x", parent=0.0),))[0].parent > 0.5


def test_a_page_that_is_judged_again_counts_once() -> None:
    parents = MeanParent()
    for verdict in (0.49, 0.9):
        parents.record_page(page("hub"), verdict, [link("x")])
    assert worth(parents, link("x")) == pytest.approx((0.9 + 0.2) / 2)


def test_an_example_that_is_visited_counts_once_and_as_people_said() -> None:
    good = Page(page("good").url, links=(link("x", "good"),))
    parents = MeanParent(JudgedPages({good.url: 1.0}, (good,)))
    parents.record_page(page("good"), 0.3, [link("x", "good", 0.3)])
    assert worth(parents, link("x", "good", 0.3)) == pytest.approx((1.0 + 0.2) / 2)


@pytest.mark.parametrize("channel", ["sitemap", "feed", "redirect"])
def test_what_stands_on_no_page_is_not_drawn_towards_a_poor_one(channel: Channel) -> None:
    parents, listed = MeanParent(), link("x")._replace(channel=channel)
    parents.record_page(page("list"), 0.9, [listed])
    assert parents.annotate_links((listed,)) == [listed]
    parents.record_page(page("hub"), 0.1, [link("x", parent=0.1)])
    assert parents.annotate_links((listed,)) == [listed], "and a page does not take away from it"


def test_a_link_met_again_outlives_one_that_was_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parent_pages, "_LINKS", 2)
    parents = MeanParent()
    for n, name in enumerate(("old", "once", "old", "new")):
        parents.record_page(page(str(n)), 0.9, [link(name)])
    assert worth(parents, link("old", parent=0.0)) == pytest.approx((1.8 + 0.2) / 3)
    assert worth(parents, link("once", parent=0.0)) == pytest.approx(0.1)


def test_an_endless_address_is_not_remembered() -> None:
    parents, endless = MeanParent(), link("x" * 1000)
    parents.record_page(page("hub"), 0.9, [endless])
    assert worth(parents, endless._replace(parent=0.0)) == pytest.approx(0.1)


def test_it_remembers_so_many_links_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parent_pages, "_LINKS", 3)
    parents = MeanParent()
    for n in range(5):
        parents.record_page(page("hub"), 0.9, [link(str(n))])
    assert worth(parents, link("4", parent=0.0)) > 0.5
    assert worth(parents, link("0", parent=0.0)) == pytest.approx(0.1)


@pytest.mark.parametrize("odd", [math.nan, math.inf, -1.0, 2.0])
def test_a_verdict_that_is_no_chance_counts_as_none(odd: float) -> None:
    parents = MeanParent()
    parents.record_page(page("hub"), odd, [link("x")])
    assert worth(parents, link("x")) == pytest.approx(0.1)


def test_the_best_page_is_remembered_when_links_are_ranked_anew() -> None:
    best = BestParent()
    best.record_page(page("poor"), 0.2, [link("x", "poor", 0.2)])
    best.record_page(page("good"), 0.9, [link("x", "good", 0.9)])
    best.record_page(page("bad"), 0.1, [link("x", "bad", 0.1)])
    first, seed = link("x", "poor", 0.2), Link(Url("http://a.org/"))
    assert best.annotate_links((first, seed)) == [first._replace(parent=0.9), seed]
    assert best.annotate_links((link("unheard"),)) == [link("unheard")]
    best.record_visit(Visit(first, 0.0, verdict=Verdict(0.5)))
    assert best.annotate_links((first,)) == [first]


def test_the_best_page_is_remembered_of_so_many_links(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parent_pages, "_LINKS", 3)
    best = BestParent()
    for n in range(5):
        best.record_page(page("hub"), 0.9, [link(str(n))])
    told = best.annotate_links([link(str(n), parent=0.0) for n in range(5)])
    assert [one.parent for one in told] == [0.0, 0.0, 0.9, 0.9, 0.9]


def test_a_hard_focus_drops_links_of_irrelevant_pages_only() -> None:
    parents, names = MeanParent(), ("relevant", "irrelevant")
    for name, verdict in zip(names, (0.51, 0.49), strict=True):
        parents.record_page(page(name), verdict, [link(name, name, verdict)])
    kept, dropped = OntologyAnn(hard_focus=True).rank(
        parents.annotate_links([link(name) for name in names])
    )
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
        learn={"teacher": "none"},
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
    told = explain_url(tmp_path, parse_settings(tables), "http://a.test/two", 0.0)
    assert told.waiting is not None
    assert told.reasons[0].weight == pytest.approx(told.waiting.queued, abs=0.01)
    assert told.reasons[0].what == f"the pages that it is on score {told.waiting.queued:.2f}"
    alone = "scored by the page that it was found on only"
    assert any(reason.what.startswith(alone) for reason in told.reasons), "more is not known here"
    seen = explain_url(tmp_path, parse_settings(tables), "http://a.test/start", 0.0)
    assert not any(reason.what.startswith(alone) for reason in seen.reasons)


def row_of(*names: str) -> Page:
    return Page(page("list").url, links=tuple(link(name, "list", 0.4) for name in names))


def led_to(name: str, verdict: float, **more: Any) -> Visit:
    return Visit(link(name, "list", 0.4), 0.0, verdict=Verdict(verdict), **more)


def beside(*names: str) -> MeanParent:
    """A page that is worth .4, with these links."""
    parents, read = MeanParent(neighbours=True), row_of(*names)
    parents.record_page(page("list"), 0.4, read.links, read)
    return parents


NEAREST = math.exp(-1 / 3)


def test_what_came_of_a_link_tells_of_those_beside_it_and_most_of_the_nearest() -> None:
    parents = beside("first", "second", "third")
    parents.record_visit(led_to("first", 0.9))
    near, far = (worth(parents, link(name, "list", 0.4)) for name in ("second", "third"))
    assert near == pytest.approx((0.4 + NEAREST * 0.9 + 0.2) / (1 + NEAREST + 1))
    assert near > far > (0.4 + 0.2) / 2


def test_a_link_beside_bad_ones_is_worth_less() -> None:
    parents = beside("first", "second")
    parents.record_visit(led_to("first", 0.0))
    assert worth(parents, link("second", "list", 0.4)) < (0.4 + 0.2) / 2


def test_it_makes_no_difference_whether_a_neighbour_was_followed_before_the_page_was_met() -> None:
    before, after = MeanParent(neighbours=True), beside("first", "second")
    before.record_visit(led_to("first", 0.9))
    before.record_page(page("list"), 0.4, row_of("second").links, row_of("first", "second"))
    after.record_visit(led_to("first", 0.9))
    told = [worth(parents, link("second", "list", 0.4)) for parents in (before, after)]
    assert told[0] == pytest.approx(told[1]) != pytest.approx((0.4 + 0.2) / 2)


def test_a_neighbour_that_led_elsewhere_counts_where_it_led() -> None:
    parents = beside("old", "second")
    parents.record_visit(Visit(link("old"), 0.0, moved=link("new").url))
    assert worth(parents, link("second", "list", 0.4)) == pytest.approx((0.4 + 0.2) / 2)
    parents.record_visit(Visit(link("new", "old"), 0.0, verdict=Verdict(0.9)))
    assert worth(parents, link("second", "list", 0.4)) > (0.4 + 0.2) / 2


def test_neighbours_of_a_link_on_a_judged_page_count_too() -> None:
    read = row_of("first", "second")
    parents = MeanParent(JudgedPages({read.url: 1.0}, (read,)), neighbours=True)
    parents.record_page(page("list"), 0.3, read.links, read)
    assert worth(parents, link("second", "list", 0.3)) == pytest.approx((1.0 + 0.2) / 2)
    parents.record_visit(led_to("first", 0.0))
    assert worth(parents, link("second", "list", 0.3)) == pytest.approx(1.2 / (2 + NEAREST))


def test_one_that_must_not_learn_does_not_look_beside() -> None:
    parents, read = MeanParent(), row_of("first", "second")
    parents.record_page(page("list"), 0.4, read.links, read)
    parents.record_visit(led_to("first", 0.9))
    assert worth(parents, link("second", "list", 0.4)) == pytest.approx((0.4 + 0.2) / 2)


LIST = {
    "start": hub("hit", "twin", *(f"miss{n}" for n in range(12)), words="cell " * 90),
    "hit": hub(words="cell " * 90),
    "twin": hub(words="cell " * 90),
    **{f"miss{n}": hub(words="rain") for n in range(12)},
}
"""Good pages at the one end of a list, bad ones at the other."""


@pytest.mark.parametrize(
    ("teacher", "more", "learns"),
    [("automatic", {}, True), ("none", {}, False), ("automatic", {"neighbours": False}, False)],
)
@pytest.mark.parametrize("strategy", ["ontology_ann", "adaptive_links", "hybrid_svm"])
def test_in_a_crawl_it_is_learned_where_on_a_page_good_links_stand(
    tmp_path: Path, strategy: str, teacher: str, more: dict[str, bool], learns: bool
) -> None:
    crawl(
        tmp_path,
        of(LIST),
        ["http://a.test/start"],
        crawl={"strategy": strategy, "concurrency": 1},
        learn={"teacher": teacher},
        strategy=more,
        topic={"keywords": ["cell"]},
    )
    found = rows(tmp_path)
    ends = [found[f"http://a.test/{name}"].link.parent for name in ("twin", "miss11")]
    assert (ends[0] > ends[1]) is learns


def stopped(
    folder: Path,
    web: FakeWeb,
    ask: Callable[[CrawlLoop], None],
    pages: tuple[int, int],
    strategy: str = "ontology_ann",
    **topic: list[str],
) -> None:
    """A crawl that ends after so many pages and goes on; before each run somebody asks."""
    for most in pages:
        crawl(
            folder,
            web,
            ["http://a.test/start"],
            meanwhile=ask,
            crawl={"strategy": strategy, "concurrency": 1, "pages": most},
            topic={"keywords": ["cell"], **topic},
            store={"warc": True},
        )


def test_a_resumed_crawl_knows_the_pages_of_its_links_and_what_came_of_those_beside(
    tmp_path: Path,
) -> None:
    web = of(
        {
            "start": hub("one", "two", words="cell " * 90),
            "one": hub("bad", "x", words="cell " * 90),
            "two": hub("bad", "x", words="cell " * 90),
            "bad": hub(),
            "x": hub(),
        }
    )
    waiting = Link(Url("http://a.test/x"), source=Url("http://a.test/one"), parent=0.9)
    told: list[float] = []

    def ask(ring: CrawlLoop) -> None:
        assert ring.link_knowledge is not None
        told.append(ring.link_knowledge.annotate_links((waiting,))[0].parent)

    stopped(tmp_path, web, ask, (4, 5))
    pages_worth = rows(tmp_path)["http://a.test/one"].verdict
    assert pages_worth is not None
    assert told[0] == pytest.approx((0.9 + 0.2) / 2), "nothing is known before the first run"
    assert told[1] == pytest.approx((2 * pages_worth + 0.2) / (2 + 2 * NEAREST + 1))
    assert rows(tmp_path)[waiting.url].link.parent == pytest.approx(told[1])


SEED = Link(Url("http://a.org/old"), channel="seed")


@pytest.mark.parametrize("made", [MeanParent, ParentPlaces])
def test_where_a_seed_leads_goes_first_also_if_it_was_a_link_before(
    made: type[MeanParent] | type[ParentPlaces],
) -> None:
    standing = made()
    standing.record_page(page("hub"), 0.1, [link("new")])
    standing.record_visit(Visit(SEED, 0.0, moved=link("new").url))
    (told,) = standing.annotate_links((link("new", parent=0.1),))
    assert (told.channel, told.hops) == ("seed", 1), "which is worth the most to everybody"
    standing.record_visit(Visit(told, 0.0, verdict=Verdict(0.5)))
    assert standing.annotate_links((link("new", parent=0.1),))[0].channel == "link"


def test_a_redirect_that_failed_chooses_nothing() -> None:
    parents, failure = MeanParent(), Failure("too_many_redirects", "")
    parents.record_page(page("hub"), 0.1, [link("new")])
    parents.record_visit(Visit(SEED, 0.0, moved=link("new").url, failure=failure))
    assert parents.annotate_links((link("new"),))[0].channel == "link"


def test_a_bad_page_cannot_hide_the_links_of_the_page_that_it_leads_to(tmp_path: Path) -> None:
    web = of({"start": hub("list", words="cell " * 90), "list": hub("deep"), "deep": hub()})
    web.answers["http://a.test/bad"] = (301, {"Location": "http://a.test/list"}, "")
    by_network(tmp_path, web, bad=["http://a.test/bad"])
    assert "deep" in visited(web)


def test_a_page_that_never_counted_a_link_takes_nothing_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parent_pages, "_LINKS", 1)
    parents = MeanParent()
    parents.record_page(page("hub"), 0.9, [link("x")])
    parents.record_page(page("other"), 0.1, [link("y", "other")])
    parents.record_page(page("other"), 0.1, [link("x", "other")])
    parents.record_page(page("hub"), 0.0, [link("x")])
    assert worth(parents, link("x")) >= 0.0


def test_of_a_link_on_many_pages_the_first_few_tell_of_its_neighbours() -> None:
    parents = MeanParent(neighbours=True)
    parents.record_visit(led_to("first", 0.0))
    for n in range(20):
        read = Page(page(str(n)).url, links=row_of("first", "second").links)
        parents.record_page(page(str(n)), 0.4, [link("second", str(n))], read)
    told = worth(parents, link("second", "0"))
    assert told == pytest.approx((20 * 0.4 + 0.2) / (21 + 8 * NEAREST))


def test_a_page_judged_again_counts_its_neighbours_once() -> None:
    parents = beside("first", "second")
    parents.record_visit(led_to("first", 0.9))
    before = worth(parents, link("second", "list", 0.4))
    parents.record_page(page("list"), 0.4, row_of("second").links)
    assert worth(parents, link("second", "list", 0.4)) == pytest.approx(before)


def test_an_endless_chain_of_redirects_is_not_remembered() -> None:
    parents = MeanParent()
    parents.record_page(page("hub"), 0.9, [link("0")])
    for n in range(100):
        parents.record_visit(Visit(link(str(n)), 0.0, moved=link(str(n + 1)).url))
    assert len(parents._link_stats[link("100").url].former) == 8


def test_an_example_says_nothing_of_its_neighbours() -> None:
    parents = beside("first", "second")
    visit = led_to("first", 0.0)
    parents.record_visit(visit._replace(link=visit.link._replace(channel="example")))
    assert worth(parents, link("second", "list", 0.4)) == pytest.approx((0.4 + 0.2) / 2)


def test_many_long_addresses_are_not_all_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    from honeyguide.links import link_stats

    monkeypatch.setattr(link_stats, "_CHARACTERS", 100)
    near = link_stats.NeighbourLinks(JudgedPages(), {})
    for n in range(9):
        near.record_row(page(str(n)).url, [link("x" * 20).url], {})
    near.record_row(page("8").url, [link("x" * 20).url], {})
    assert [page(str(n)).url in near for n in (0, 5, 6, 8)] == [False, False, True, True]


def test_a_link_ranked_anew_keeps_the_words_of_its_best_place() -> None:
    places = ParentPlaces()
    first, better = link("x", "one", 0.2), link("x", "two", 0.8)._replace(anchor="cell")
    places.record_page(page("one"), 0.2, [first])
    places.record_page(page("two"), 0.8, [better])
    assert places.annotate_links((first,)) == [first], "the frontier knows the first"
    assert places.other_places((link("y"), first)) == [(1, better)]
    scores = rank_links(ByAnchor(), places, [first], anew=True)
    assert scores == [0.9]
    assert rank_links(ByAnchor(), places, [first]) == [0.1], (
        "what is new is compared by the frontier"
    )
    places.record_visit(Visit(first, 0.0, verdict=Verdict(0.5)))
    assert places.other_places((first,)) == []


def test_a_place_whose_page_is_judged_again_is_the_same_place() -> None:
    places = ParentPlaces()
    for verdict in (0.49, 0.9):
        places.record_page(page("two"), verdict, [link("x", "two", 1.0)])
    assert [place.parent for _, place in places.other_places((link("x", "one"),))] == [0.9]
    assert places.annotate_links((link("x", "two", 0.49),))[0].parent == 0.9, (
        "also of the place found first"
    )


def test_of_many_places_the_newest_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parent_pages, "_WORDED", 2)
    places = ParentPlaces()
    for n in range(9):
        places.record_page(page(str(n)), 0.5, [link("x", str(n))])
    found = [place.source for _, place in places.other_places((link("x"),))]
    assert found == [page(str(n)).url for n in range(5, 9)]
    for name in ("y", "z"):
        places.record_page(page("9"), 0.5, [link(name, "9")])
    assert places.other_places((link("x"),)) == []


def test_what_came_of_neighbours_counts_in_every_place() -> None:
    places, read = ParentPlaces(neighbours=True), row_of("first", "second")
    places.record_page(page("list"), 0.4, read.links, read)
    places.record_page(page("other"), 0.8, [link("second", "other", 0.8)])
    places.record_visit(led_to("first", 0.0))
    (told,) = places.annotate_links((link("second", "list", 0.4),))
    assert told.parent == pytest.approx(0.4 / (1 + NEAREST))
    ((_, further),) = places.other_places((link("second", "list", 0.4),))
    assert further.parent == pytest.approx(0.8 / (1 + NEAREST))


class ByAnchor:
    traits = StrategyTraits()

    def judge(self, page: Page) -> Verdict:
        raise AssertionError(page)

    def rank(self, links: Sequence[Link]) -> list[float]:
        return [0.9 if link.anchor else 0.1 for link in links]

    def explain(self, link: Link) -> tuple[Reason, ...]:
        raise AssertionError(link)

    def learn(self, examples: Sequence[Example]) -> ByAnchor:
        raise AssertionError(examples)


def test_in_a_crawl_the_words_of_the_best_place_outlive_a_generation(tmp_path: Path) -> None:
    """The link stands among words of the topic only on the second page; then a label comes."""
    names = [f"o{n}" for n in range(6)]
    web = of(
        {
            "start": hub("x", "second", *names, words="rain"),
            "second": "<title>page</title><p>cell cell <a href='/x'>cell membrane</a> cell",
            **{name: hub(words="rain") for name in names},
            "x": hub(words="cell"),
        }
    )
    scores: list[list[float]] = []

    def watch(ring: CrawlLoop) -> None:
        rerank = ring.frontier.rerank_all

        def heard(again: Any) -> None:
            first = Link(Url("http://a.test/x"), source=Url("http://a.test/start"), parent=0.7)
            other = first._replace(anchor="cell membrane", source=Url("http://a.test/second"))
            scores.append(again([first]) + ring.strategy.rank([first, other]))
            rerank(again)

        ring.frontier.rerank_all = heard  # type: ignore[method-assign]

    crawl(
        tmp_path,
        web,
        ["http://a.test/start", "http://a.test/second"],
        meanwhile=watch,
        crawl={"strategy": "hybrid_svm", "concurrency": 1, "pages": 9},
        topic={"keywords": ["cell"], "bad": ["http://a.test/o5"], "good": ["http://a.test/second"]},
        learn={"teacher": "interactive"},
    )
    assert scores
    for told, first, other in scores:
        assert told == pytest.approx(max(first, other), abs=0.05)
        assert told > first


def test_what_is_tried_again_after_a_stop_has_come_to_nothing_yet(tmp_path: Path) -> None:
    web = of(
        {
            "start": hub("busy", "x", words="cell " * 90),
            "busy": hub(),
            "x": hub(),
        }
    )
    web.answers["http://a.test/busy"] = (503, {"Retry-After": "900"}, "")
    known: list[float] = []

    def ask(ring: CrawlLoop) -> None:
        met = ring.link_knowledge._link_stats.get(Url("http://a.test/x"))  # type: ignore[union-attr]
        known.append(met.known if met is not None else -1.0)

    stopped(tmp_path, web, ask, (2, 3))
    assert known == [-1.0, 0.0]
    assert rows(tmp_path)["http://a.test/busy"].failure is not None


def test_after_a_stop_failures_count_as_they_did(tmp_path: Path) -> None:
    """One will be tried again and says nothing yet, another came to nothing."""
    web = of({"start": hub("gone", "busy", words="cell " * 90)})
    web.answers["http://a.test/busy"] = (503, {"Retry-After": "900"}, "")
    counted: list[int] = []
    tallied: list[float] = []

    def ask(ring: CrawlLoop) -> None:
        counted.append(ring.link_knowledge.visits)  # type: ignore[union-attr]
        sources = restore_source_bandit(ring.store, ring.settings)
        tallied.append(sources._tallies["link"].count)

    stopped(tmp_path, web, ask, (3, 4), strategy="honeyguide")
    failures = {url: row.final for url, row in rows(tmp_path).items() if row.failure is not None}
    assert failures == {"http://a.test/busy": 0, "http://a.test/gone": 1}
    assert counted == [0, 2], "start and gone"
    assert tallied == [0, 1], "the seed is nobody's link"


def test_after_a_stop_links_of_bad_pages_still_count_for_nothing(tmp_path: Path) -> None:
    web = of(
        {
            "start": hub("x", words="cell " * 90),
            "bad": hub("x", "y"),
            "x": hub(),
            "y": hub(),
        }
    )
    places: list[int] = []

    def ask(ring: CrawlLoop) -> None:
        met = ring.link_knowledge._link_stats.get(Url("http://a.test/x"))  # type: ignore[union-attr]
        places.append(len(met.places) if met is not None else 0)

    stopped(tmp_path, web, ask, (2, 3), "hybrid_svm", bad=["http://a.test/bad"])
    assert places == [0, 1]


def test_whoever_learns_ranks_the_links_in_front_again() -> None:
    assert (ParentPlaces().ahead, ParentPlaces(neighbours=True).ahead) == (0, MeanParent.ahead)
