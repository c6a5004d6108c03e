"""What became of links, and what a waiting link is told of it."""

from __future__ import annotations

import itertools
import math

from hypothesis import given, settings
from hypothesis import strategies as st

from honeyguide.links import history
from honeyguide.links.history import LinkHistory
from honeyguide.links.link_stats import JudgedPages
from honeyguide.types import DuplicateOf, Failure, Link, LinkStats, Page, Url, Verdict, Visit

HUB = Link(Url("http://a.org/hub"), source=Url("http://a.org/"), parent=0.9)


def link(path: str, source: Link = HUB, tag_path: str = "ul/li", host: str = "a.org") -> Link:
    return Link(Url(f"http://{host}/{path}"), source=source.url, tag_path=tag_path, parent=0.9)


def followed(
    ledger: LinkHistory, one: Link, score: float | None, copy: DuplicateOf | None = None
) -> None:
    verdict = None if score is None else Verdict(score)
    ledger.record_visit(Visit(one, 0.0, verdict=verdict, duplicate=copy))


def yields(ledger: LinkHistory, one: Link) -> LinkStats:
    (told,) = ledger.annotate_links((one,))
    assert told.yields is not None
    assert told._replace(yields=None) == one
    return told.yields


def test_siblings_of_a_good_page_are_lifted() -> None:
    ledger = LinkHistory(0.5)
    children = [link(str(n)) for n in range(4)]
    ledger.record_page(HUB, 0.2, children)
    before = yields(ledger, children[3])
    followed(ledger, children[0], 1.0)
    followed(ledger, children[1], 1.0)
    after = yields(ledger, children[3])
    assert after.siblings > before.siblings
    assert after.group > before.group
    assert after.host > before.host
    assert set(ledger.pop_changed_links()) == {children[2].url, children[3].url}, (
        "those that still wait"
    )
    assert ledger.pop_changed_links() == [], "told once"


def test_a_poor_place_on_the_page_does_not_blame_another() -> None:
    ledger = LinkHistory(0.5)
    good, poor = link("1"), link("2", tag_path="div.nav")
    ledger.record_page(HUB, 0.2, [good, poor, link("3"), link("4", tag_path="div.nav")])
    followed(ledger, good, 1.0)
    followed(ledger, poor, 0.0)
    listed = yields(ledger, link("3"))
    navigation = yields(ledger, link("4", tag_path="div.nav"))
    assert listed.group > navigation.group
    assert listed.host == navigation.host


def test_copies_and_failures_yield_nothing() -> None:
    for score, copy in ((1.0, DuplicateOf(Url("http://a.org/x"), True)), (None, None)):
        ledger = LinkHistory(0.5)
        followed(ledger, link("1"), score, copy)
        assert yields(ledger, link("2")).host < history._PRIOR_YIELD


def test_parents_are_counted_and_averaged() -> None:
    ledger = LinkHistory(0.5)
    target = link("x")
    other = Link(Url("http://b.org/"), source=Url("http://b.org/z"))
    ledger.record_page(HUB, 0.9, [target])
    ledger.record_page(other, 0.1, [target])
    found = yields(ledger, target)
    assert (found.best, found.relevant, round(found.parents, 6)) == (0.9, 1, 0.4)


def test_judged_pages_tell_of_links_before_any_is_followed() -> None:
    good, bad = Url("http://a.org/good"), Url("http://a.org/bad")
    target, known = link("x"), link("good")
    shown = Page(good, links=(target,)), Page(bad, links=(link("y"),))
    plain, ledger = (
        LinkHistory(0.5),
        LinkHistory(0.5, judged=JudgedPages({good: 1.0, bad: 0.0}, shown)),
    )
    for one in (plain, ledger):
        one.record_page(HUB, 0.2, [target, known, link("y")])
    before, told = yields(plain, target), yields(ledger, target)
    assert told.siblings > before.siblings, "a page that links to a good one"
    assert told.surprise > before.surprise
    assert told.beside > before.beside
    assert told.parents > before.parents, "a good page links to it"
    assert yields(ledger, link("y")).parents < yields(plain, link("y")).parents
    followed(ledger, known, 0.0)
    after = yields(ledger, target)
    assert (after.beside, after.siblings) >= (told.beside, before.siblings), "people know better"


def test_steps_since_the_last_relevant_page() -> None:
    ledger = LinkHistory(0.5)
    first = link("1")
    ledger.record_page(HUB, 0.9, [first])
    assert yields(ledger, first).barren == 0
    second = link("2", source=first)
    ledger.record_page(first, 0.1, [second])
    third = link("3", source=second)
    ledger.record_page(second, 0.1, [third])
    assert (yields(ledger, second).barren, yields(ledger, third).barren) == (1, 2)
    seed = Link(Url("http://s.org/"))
    ledger.record_page(seed, 0.0, [link("4", source=seed)])
    assert yields(ledger, link("4", source=seed)).barren == 0, "somebody chose it"


def test_old_news_fade() -> None:
    ledger = LinkHistory(0.5)
    for n in range(100):
        followed(ledger, link(str(n)), 1.0)
    assert yields(ledger, link("x")).host > 0.9
    for n in range(200):
        followed(ledger, link(f"later{n}"), 0.0)
    assert yields(ledger, link("x")).host < 0.1


def test_memory_is_bounded(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    for name in ("_PAGES", "_LINKS", "_GROUPS"):
        monkeypatch.setattr(history, name, 10)
    ledger = LinkHistory(0.5)
    for n in range(100):
        page = Link(Url(f"http://h{n}.org/"), source=HUB.url)
        ledger.record_page(
            page, 0.5, [link(f"{n}/{m}", page, host=f"h{n}.org") for m in range(300)]
        )
        followed(ledger, link(f"{n}/0", page, host=f"h{n}.org"), 1.0)
    sizes = [
        len(part) for part in (ledger._pages, ledger._link_stats, ledger._hosts, ledger._groups)
    ]
    assert max(sizes) <= 10
    assert len(ledger.pop_changed_links()) <= history._MAX_CHANGED + history._CHILDREN


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.integers(0, 9), st.floats(0, 1), st.booleans()), max_size=60
    )
)
def test_yields_are_chances(steps: list[tuple[int, int, float, bool]]) -> None:
    """Whatever happens, in whatever order."""
    ledger = LinkHistory(0.5)
    pages = [link(str(n)) for n in range(10)]
    for at, to, score, visited in steps:
        if visited:
            followed(ledger, pages[at], score)
        else:
            ledger.record_page(pages[at], score, [pages[to]._replace(source=pages[at].url)])
        for told in ledger.annotate_links(pages):
            assert told.yields is not None
            known = told.yields
            chances = (known.host, known.group, known.siblings, known.parents, known.best)
            assert all(0 <= chance <= 1 for chance in chances)
            assert known.relevant >= 0
            assert known.barren >= 0
            assert known.visits == ledger.visits
            assert abs(known.surprise) <= history.MAX_SURPRISE


def _promised(ledger: LinkHistory, one: Link, score: float, came: float) -> None:
    ledger.record_visit(Visit(one, 0.0, score=score, verdict=Verdict(came)))


def test_a_list_that_brings_more_than_promised_is_expected_to_go_on() -> None:
    ledger = LinkHistory(0.5)
    children = [link(str(n)) for n in range(9)]
    other = Link(Url("http://a.org/other"), source=HUB.url)
    elsewhere = link("z", other, tag_path="p")
    ledger.record_page(HUB, 0.2, children)
    ledger.record_page(other, 0.2, [elsewhere])
    lifts = [0.0]
    for child in children[:8]:
        _promised(ledger, child, 0.3, 0.9)
        lifts.append(yields(ledger, children[8]).surprise)
    gains = [after - before for before, after in itertools.pairwise(lifts)]
    assert gains[0] > 0.5
    assert max(gains[1:]) < gains[0], "surer and surer"
    assert lifts[-1] > 1.5
    assert 0 < yields(ledger, elsewhere).surprise < lifts[-1] / 2, "only its host is the same"


def test_what_was_promised_is_no_surprise() -> None:
    ledger = LinkHistory(0.5)
    children = [link(str(n)) for n in range(9)]
    ledger.record_page(HUB, 0.2, children)
    for child in children[:8]:
        _promised(ledger, child, 0.7, 0.7)
    assert yields(ledger, children[8]).surprise == 0.0
    _promised(ledger, children[7], 0.7, 0.1)
    assert yields(ledger, children[8]).surprise < -0.1


def test_dead_links_to_another_site_blame_the_page_they_stand_on() -> None:
    ledger = LinkHistory(0.5)
    evil = Link(Url("http://evil.org/"), source=HUB.url)
    dead = [link(f"dead{n}", evil, host="victim.org") for n in range(9)]
    true = link("true", HUB, host="victim.org")
    ledger.record_page(HUB, 0.9, [true])
    ledger.record_page(evil, 0.9, dead)
    before = yields(ledger, true)
    for one in dead[:8]:
        ledger.record_visit(Visit(one, 0.0, score=0.9, failure=Failure("status", "HTTP 404")))
    after = yields(ledger, true)
    assert (after.surprise, after.host_count, after.group_count) == (
        0.0,
        before.host_count,
        before.group_count,
    )
    assert yields(ledger, dead[8]).surprise < -1


def test_a_thousand_good_visits_buy_no_endless_trust() -> None:
    ledger = LinkHistory(0.5)
    children = [link(str(n)) for n in range(2_000)]
    ledger.record_page(HUB, 0.9, children)

    def follow(child: Link, came: float) -> float:
        """As a strategy would that believes in surprises and in nothing else."""
        expected = 1 / (1 + math.exp(-yields(ledger, child).surprise))
        _promised(ledger, child, expected, came)
        return expected

    for child in children[:1_000]:
        follow(child, 0.95)
    assert follow(children[1_000], 0.95) > 0.9
    expected = [follow(child, 0.0) for child in children[1_001:1_030]]
    assert expected[-1] < 0.5, "after 1,000 good ones as soon as after ten"


def test_a_page_that_is_judged_again_stands_as_it_stood() -> None:
    ledger = LinkHistory(0.5)
    children = [link(str(n)) for n in range(4)]
    ledger.record_page(HUB, 0.2, children, Page(HUB.url, links=tuple(children)))
    followed(ledger, children[1], 1.0)
    before = yields(ledger, children[0])
    ledger.record_page(HUB, 0.9, [children[0], children[2], children[3]])
    assert yields(ledger, children[0]).beside == before.beside, "counted once"
    followed(ledger, children[3], 0.0)
    far, near = yields(ledger, children[0]), yields(ledger, children[2])
    assert far.beside < before.beside
    assert far.beside > near.beside, "three places away, not two"
