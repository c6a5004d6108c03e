"""Alqaraleh & Sırın: the link sorter. Backlinks and their quality, originality, key words."""

from __future__ import annotations

from math import log, sqrt
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honeyguide.links import authority
from honeyguide.links.authority import LinkAuthority, TextOriginality
from honeyguide.links.history import LinkHistory
from honeyguide.strategies.link_sorter import LinkSorter
from honeyguide.text.vectors import TermRarities, TopicProfile, cosine_similarity
from honeyguide.types import Link, LinkStats, Page, Url, Verdict, Visit
from tests.unit.crawling import FakeWeb, crawl, rows

LONG = " ".join(f"word{n} of the long story" for n in range(60))
OTHER = " ".join(f"another{n} tale is told here" for n in range(60))


def standing(*keywords: str) -> LinkAuthority:
    return LinkAuthority([TopicProfile(keywords or ("honey", "bee"), "", "en")], "en")


def page(url: str, text: str = "", title: str = "") -> Page:
    return Page(Url(url), title=title, text=text)


def found(ledger: LinkHistory, source: str, *links: Link, text: str = "", title: str = "") -> None:
    ledger.record_page(Link(Url(source)), 0.5, links, page(source, text, title))


def to(url: str, source: str, anchor: str = "") -> Link:
    return Link(Url(url), Url(source), anchor)


def told(ledger: LinkHistory, *links: Link) -> list[LinkStats]:
    yields = [link.yields for link in ledger.annotate_links(links)]
    assert all(y is not None for y in yields)
    return [y for y in yields if y is not None]


def visited(ledger: LinkHistory, url: str, score: float) -> None:
    ledger.record_visit(Visit(Link(Url(url), Url("http://s.org/")), 0.0, verdict=Verdict(score)))


def test_the_weights_of_the_formula() -> None:
    strategy = LinkSorter(keywords=("honey",))
    known = LinkStats(
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, authority=0.5, originality=0.25, topic_similarity=0.75
    )
    link = to("http://x.org/", "http://a.org/")._replace(yields=known)
    assert strategy.rank([link]) == [pytest.approx(0.4 * 0.5 + 0.2 * 0.25 + 0.4 * 0.75)]
    backing, original, alike = strategy.explain(link)
    assert [backing.weight, original.weight, alike.weight] == pytest.approx([0.2, 0.05, 0.3])
    heavy = LinkSorter(
        keywords=("honey",), backlink_weight=3, originality_weight=0, keyword_weight=1
    )
    assert heavy.rank([link]) == [pytest.approx((3 * 0.5 + 0.75) / 4)], "beside each other"
    nothing = LinkSorter(backlink_weight=0, originality_weight=0, keyword_weight=0)
    assert nothing.rank([link]) == [0.0]


def test_backing_counts_hosts_by_the_share_of_good_pages_they_gave() -> None:
    ledger = LinkHistory(0.5, standing())
    one = to("http://x.org/1", "http://good.org/")
    two = to("http://x.org/2", "http://poor.org/")
    both = to("http://x.org/3", "http://good.org/")
    new = to("http://x.org/4", "http://new.org/")
    found(ledger, "http://good.org/", one, both)
    found(ledger, "http://good.org/again", both)
    found(ledger, "http://poor.org/", two, both)
    found(ledger, "http://new.org/", new)
    for n, score in enumerate((0.9, 0.8, 0.7, 0.1)):
        visited(ledger, f"http://good.org/{n}", score)
        visited(ledger, f"http://poor.org/{n}", 0.9 - score)
    most = log(1 + 0.75 + 0.25)
    sums = {one: 0.75, two: 0.25, both: 1.0, new: 0.5}
    for yields, expected in zip(told(ledger, *sums), sums.values(), strict=True):
        assert yields.authority == pytest.approx(log(1 + expected) / most)
    (alone,) = told(ledger, two)
    assert alone.authority == pytest.approx(log(1.25) / most), "beside the best-backed link so far"


def test_on_a_single_host_every_link_is_as_well_backed_as_any_other() -> None:
    """Whatever came of the host meanwhile: or links found in good times would go first."""
    ledger = LinkHistory(0.5, standing())
    for n, score in enumerate((0.0, 0.9, 0.9, 0.1, 0.0, 0.2)):
        source = f"http://a.org/{n}"
        link = to(f"http://a.org/to/{n}", source)
        found(ledger, source, link)
        visited(ledger, source, score)
        (yields,) = told(ledger, link)
        assert yields.authority == 1.0


def test_a_farm_of_worthless_hosts_backs_nothing() -> None:
    ledger = LinkHistory(0.5, standing())
    spam, honest = to("http://spam.org/", "http://f0.org/"), to("http://x.org/", "http://good.org/")
    visited(ledger, "http://good.org/", 0.9)
    found(ledger, "http://good.org/", honest)
    for n in range(40):
        visited(ledger, f"http://f{n}.org/", 0.0)
        found(ledger, f"http://f{n}.org/", spam)
    farmed, backed = told(ledger, spam, honest)
    assert farmed.authority == 0.0
    assert backed.authority == 1.0


def test_links_on_copied_pages_are_less_original() -> None:
    ledger = LinkHistory(0.5, standing())
    first, second = to("http://x.org/1", "http://a.org/"), to("http://x.org/2", "http://b.org/")
    mixed, unheard = to("http://x.org/3", "http://a.org/"), to("http://x.org/4", "http://z.org/")
    found(ledger, "http://a.org/", first, mixed, text=LONG)
    found(ledger, "http://b.org/", second, mixed, text=LONG.replace("word7", "changed7"))
    one, two, both, nobody = told(ledger, first, second, mixed, unheard)
    assert one.originality == 1.0
    assert two.originality < 0.2
    assert both.originality == pytest.approx((1 + two.originality) / 2), "the mean over its pages"
    assert nobody.originality == 1.0


def test_originality_is_one_less_the_largest_resemblance() -> None:
    originality = TextOriginality()
    assert originality.score_and_store("") == 1.0, "no word, no likeness"
    assert originality.score_and_store("Hello there") == 1.0
    assert originality.score_and_store(" hello   THERE ") == 0.0, "a short text is a copy or none"
    assert originality.score_and_store("Hello you") == 1.0
    assert originality.score_and_store(LONG) == 1.0
    assert originality.score_and_store(OTHER) > 0.9
    words = LONG.split()
    half = " ".join(words[: len(words) // 2])
    shingles = [{tuple(t[n : n + 3]) for n in range(len(t) - 2)} for t in (words, half.split())]
    jaccard = len(shingles[0] & shingles[1]) / len(shingles[0] | shingles[1])
    assert originality.score_and_store(half) == pytest.approx(1 - jaccard, abs=0.15)
    assert originality.score_and_store(LONG) == 0.0


def test_only_the_newest_texts_are_remembered() -> None:
    originality = TextOriginality(stored=100)
    texts = [f"text number {n}" for n in range(250)]
    assert all(originality.score_and_store(text) == 1.0 for text in texts)
    assert originality.score_and_store(texts[-100]) == 0.0
    assert originality.score_and_store(texts[-110]) == 1.0, "forgotten"


def test_a_link_is_alike_by_its_anchor_and_its_pages_key_words() -> None:
    ledger = LinkHistory(0.5, standing())
    named, bare = (
        to("http://x.org/1", "http://a.org/", "Honey bees"),
        to("http://x.org/2", "http://a.org/"),
    )
    far = to("http://x.org/3", "http://b.org/", "Railways")
    both = to("http://x.org/4", "http://b.org/", "About honey")
    bees = "Keeping bees: honey, wax and hives. Bees make honey in hives."
    found(ledger, "http://a.org/", named, bare, text=bees)
    found(ledger, "http://b.org/", far, both, text="Trains run on rails between stations. " * 3)
    one, two, three, four = (
        yields.topic_similarity for yields in told(ledger, named, bare, far, both)
    )
    assert 1 >= one > two > 0, "the page's words count, and the anchor's as well"
    assert three == 0.0
    assert 0 < four < one


def test_the_cosine_is_that_of_tf_idf() -> None:
    rarities = TermRarities("en")
    common = [f"A page with rails and number {n}" for n in range(9)]
    for n, text in enumerate((*common, "A page with honey and rails")):
        rarities.page_keywords(page(f"http://a.org/{n}", text), 3)
    honey, rail = 1 + log(11 / 2), 1 + log(11 / 11)
    assert rarities.rarity_of("honey") == pytest.approx(honey)
    assert rarities.rarity_of("rail") == pytest.approx(rail)
    topic = TopicProfile(("honey", "rails"), "", "en").unit_vector(rarities.rarity_of)
    twice = (1 + log(2)) * rail
    expected = (honey * honey + rail * twice) / (
        sqrt(honey**2 + rail**2) * sqrt(honey**2 + twice**2)
    )
    said = ("honey", "rail", "rail")
    assert cosine_similarity(topic, said, rarities.rarity_of) == pytest.approx(expected)
    assert cosine_similarity(topic, ("honey",), rarities.rarity_of) > cosine_similarity(
        topic, ("rail",), rarities.rarity_of
    )
    assert (
        cosine_similarity({}, said, rarities.rarity_of)
        == cosine_similarity(topic, (), rarities.rarity_of)
        == 0.0
    )


def test_key_words_are_rare_elsewhere() -> None:
    rarities = TermRarities("en")
    for n in range(5):
        rarities.page_keywords(page(f"http://a.org/{n}", "Contact imprint archive. " * 5), 3)
    both = page("http://a.org/x", "Contact imprint archive nectar.", title="Nectar")
    assert rarities.page_keywords(both, 1) == ("nectar",)
    assert rarities.page_keywords(page("http://a.org/none"), 3) == ()


def test_several_topics_count_by_the_nearest() -> None:
    stood = LinkAuthority(
        [TopicProfile(("honey",), "", "en"), TopicProfile(("rails",), "", "en")], "en"
    )
    ledger = LinkHistory(0.5, stood)
    links = [to("http://x.org/1", "http://a.org/", said) for said in ("Honey", "Rails", "Soup")]
    assert [y.topic_similarity for y in told(ledger, *links)] == pytest.approx([1.0, 1.0, 0.0])


def test_where_a_redirect_leads_inherits_the_backing() -> None:
    ledger = LinkHistory(0.5, standing())
    old, target = to("http://x.org/old", "http://a.org/"), Url("http://x.org/new")
    for name in ("a", "b", "c"):
        found(ledger, f"http://{name}.org/", old._replace(source=Url(f"http://{name}.org/")))
    (before,) = told(ledger, old)
    ledger.record_visit(Visit(old, 0.0, moved=target))
    (after,) = told(ledger, old._replace(url=target, source=old.url, channel="redirect"))
    assert after.authority == before.authority > 0


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_LINKS", "_PAGES", "_HOSTS"):
        monkeypatch.setattr(authority, name, 10)
    stood = standing()
    ledger = LinkHistory(0.5, stood)
    for n in range(60):
        source = f"http://h{n}.org/"
        links = [to(f"http://x.org/{n}/{m}", source) for m in range(20)]
        found(ledger, source, *links, to("http://x.org/last", source), text=f"words of page {n}")
        visited(ledger, source, 0.5)
    assert max(len(stood._links), len(stood._pages), len(stood._hosts)) <= 10
    assert all(len(place.hosts) <= authority._MAX_BACKERS for place in stood._links.values())


def test_who_does_not_ask_is_not_told() -> None:
    ledger = LinkHistory(0.5)
    link = to("http://x.org/1", "http://a.org/", "honey")
    found(ledger, "http://a.org/", link, text=LONG)
    (yields,) = told(ledger, link)
    assert (yields.authority, yields.originality, yields.topic_similarity) == (0.0, 1.0, 0.0)


_SITES = st.integers(0, 3).map(lambda n: f"http://h{n}.org/")
_STEPS = st.tuples(_SITES, st.integers(0, 5), st.text(max_size=40), st.floats(0, 1), st.booleans())


@settings(max_examples=100, deadline=None)
@given(st.lists(_STEPS, max_size=40))
def test_parts_and_ranks_are_chances(steps: list[tuple[str, int, str, float, bool]]) -> None:
    """Whatever happens, in whatever order, with whatever words."""
    ledger = LinkHistory(0.5, standing())
    strategy = LinkSorter(keywords=("honey", "bee"))
    links = [to(f"http://x.org/{n}", "http://h0.org/", "honey " * n) for n in range(6)]
    for source, n, text, score, seen in steps:
        if seen:
            visited(ledger, links[n].url if n % 2 else source, score)
        else:
            found(ledger, source, links[n]._replace(source=Url(source)), text=text, title=text)
        ranked = ledger.annotate_links(links)
        for link in ranked:
            assert link.yields is not None
            parts = (link.yields.authority, link.yields.originality, link.yields.topic_similarity)
            assert all(0 <= part <= 1 for part in parts)
        assert all(0 <= score <= 1 for score in strategy.rank(ranked))


def test_a_crawl_follows_what_the_sorter_says_and_can_explain_it(tmp_path: Path) -> None:
    body = "<p>The honey of the bee. A bee makes honey; bees keep honey in the hive.</p>" * 3
    hub = (
        '<p>A list.</p><a href="http://a.org/soup">Soup</a> <a href="http://a.org/honey">Honey</a>'
    )
    web = FakeWeb({
        "http://a.org/": hub,
        "http://a.org/honey": body + '<a href="http://b.org/">More</a>',
        "http://a.org/soup": "<p>Boil it.</p>",
        "http://b.org/": body,
    })  # fmt: skip
    crawl(tmp_path, web, ["http://a.org/"], crawl={"strategy": "link_sorter", "concurrency": 1})
    assert web.paths() == [f"http://{p}" for p in ("a.org/", "a.org/honey", "b.org/", "a.org/soup")]
    row = rows(tmp_path)["http://b.org/"]
    assert row.link.yields is not None
    assert row.link.yields.topic_similarity > 0.5, "the words of its page, not its own"
    strategy = LinkSorter(keywords=("honey", "bee"))
    assert strategy.rank([row.link])[0] == pytest.approx(row.score, abs=0.05)
    again = crawl(tmp_path, web, ["http://a.org/"], crawl={"strategy": "link_sorter"})
    assert again.progress.visits == 4, "a resumed crawl reads its journal and has nothing to do"


def test_a_resumed_crawl_remembers_its_hosts_and_texts(tmp_path: Path) -> None:
    body = f"<p>Honey of the bee, honey of bees in the hive.</p><p>{LONG}</p>"
    web = FakeWeb({
        "http://a.org/": body + '<a href="http://b.org/">Honey</a> <a href="/copy">Bees</a>',
        "http://a.org/copy": body + '<a href="http://c.org/">Honey</a>',
        "http://b.org/": f"<p>Honey of the bee.</p><p>{OTHER}</p>",
        "http://c.org/": "<p>Honey.</p>",
    })  # fmt: skip
    few = {"strategy": "link_sorter", "concurrency": 1, "pages": 1}
    crawl(tmp_path, web, ["http://a.org/"], crawl=few)
    assert web.paths() == ["http://a.org/"]
    crawl(tmp_path, web, ["http://a.org/"], crawl=few | {"pages": 10})
    found = rows(tmp_path)
    assert set(web.paths()) == set(found) == {
        "http://a.org/", "http://a.org/copy", "http://b.org/", "http://c.org/",
    }  # fmt: skip
    last = found["http://c.org/"].link.yields
    assert last is not None
    assert last.authority == 1.0, "a.org gave nothing but relevant pages"
    assert last.originality < 0.5, "it stands on a copy of what the first run read"
