"""Barbosa & Freire 2007: links by what such links led to, in one class or in levels."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest

from honeyguide.errors import ConfigError, ModelError
from honeyguide.store.generations import pack_strategy, unpack_strategy
from honeyguide.strategies.adaptive_links import AdaptiveLinks
from honeyguide.strategies.adaptive_links import _words_worth as worth
from honeyguide.text.link_text import LinkField, choose_link_words
from honeyguide.types import Example, Link, Page, Url

SIZES: dict[LinkField, int] = {"url": 150, "anchor": 150, "around": 100}
START = Url("http://start.org/")
PAPER = AdaptiveLinks(fewest_links=2, keywords=("article",), alone=True)


def visit(
    url: str, target: float, anchor: str, source: str = START, around: str = "", text: str = ""
) -> Example:
    link = Link(Url(url), Url(source), anchor=anchor, before=around, after=around)
    return Example(link, Page(link.url, text=text), target, "visit")


def crawl(good: int = 12, bad: int = 12) -> list[Example]:
    """Links that say “article” led to relevant pages; those that say “shop” did not."""
    return [
        *(visit(f"http://a{n}.org/x{n}", 0.9, "article here", around="read") for n in range(good)),
        *(visit(f"http://b{n}.com/y{n}", 0.1, "shop here", around="buy") for n in range(bad)),
    ]


def chains(number: int = 8) -> list[Example]:
    """start → index → archive → article (relevant), and many shops beside."""
    found = []
    for n in range(number):
        index, archive, article = (f"http://e{n}.org/{step}" for step in "iar")
        found += [
            visit(index, 0.1, "index list"),
            visit(archive, 0.1, "archive year", index),
            visit(article, 0.9, "article text", archive),
            *(visit(f"http://e{n}.org/s{m}", 0.0, "shop cart") for m in range(4)),
        ]
    return found


def mixed() -> list[Example]:
    """As :func:`crawl`, on good and bad pages alike."""
    pages = (0.2, 0.5, 0.8)
    return [
        replace(e, link=e.link._replace(parent=pages[n % 3])) for n, e in enumerate(crawl(30, 30))
    ]


def link(anchor: str, url: str = "http://new.net/q") -> Link:
    return Link(Url(url), START, anchor=anchor, parent=0.3)


def test_before_it_learned_a_link_is_worth_its_page() -> None:
    fresh = AdaptiveLinks(fewest_links=2, keywords=("article",))
    assert fresh.rank([link("article"), link("x")._replace(parent=0.8)]) == [0.3, 0.8]
    assert fresh.explain(link("article"))[0].weight == 0.3


def test_it_learns_from_visits_which_words_pay() -> None:
    learned = PAPER.learn(crawl())
    high, low = learned.rank([link("another article"), link("the shop")])
    assert high > 0.6
    assert low < 0.4
    reasons = {r.what: r.weight for r in learned.explain(link("an article"))}
    assert reasons["“articl” in the anchor"] > 0
    assert "leads to a relevant page at once" in learned.explain(link("an article"))[0].what
    assert learned.rank([Link(START)]) == [1.0], "a seed"


def test_links_without_a_learned_word_go_by_their_pages() -> None:
    ours = replace(PAPER, alone=False).learn(mixed())
    unheard = [link("unheard")._replace(parent=parent) for parent in (0.1, 0.3, 0.9)]
    low, middle, high = ours.rank(unheard)
    assert low < middle < high
    article = link("article")._replace(parent=0.3)
    assert ours.rank([article])[0] > middle, "what was learned counts besides"
    assert ours.explain(article)[1].what == "the pages that it is on score 0.30"
    paper = PAPER.learn(mixed())
    assert len(set(paper.rank(unheard))) == 1, "the words alone"
    assert not any("together" in reason.what for reason in paper.explain(article))


def test_words_count_as_far_as_they_proved_right() -> None:
    right = replace(PAPER, alone=False).learn(mixed())
    assert right.words_count > 0.3
    dice, outcomes = random.Random(5), [e.target for e in mixed()]
    dice.shuffle(outcomes)
    chance = [replace(e, target=one) for e, one in zip(mixed(), outcomes, strict=True)]
    by_chance = replace(PAPER, alone=False).learn(chance)
    moved = [
        abs(scores[0] - scores[1])
        for learned in (right, by_chance)
        for scores in [learned.rank([link("article"), link("shop")])]
    ]
    assert moved[1] < 0.2 * moved[0], "words that told nothing hardly move a link"


def test_the_worth_of_words_is_what_they_add_to_their_pages() -> None:
    dice = np.random.default_rng(3)
    good = np.arange(200) % 2 == 0
    telling = np.where(good, 2.0, -2.0) + dice.normal(0, 1, 200)
    blind = [link("x")._replace(parent=0.5) for _ in good]
    assert worth(telling, blind, good) > 0.5
    assert worth(dice.normal(0, 2, 200), blind, good) < 0.2
    assert worth(-telling, blind, good) == 0, "words that are wrong are not believed the other way"
    said = [
        one._replace(parent=0.98 if told else 0.02) for one, told in zip(blind, good, strict=True)
    ]
    assert worth(telling, said, good) < 0.5 * worth(telling, blind, good), "pages said it already"


@pytest.mark.parametrize("levels", [(), (9,), (-1,), (3,), ("0",), (0, 0)])
def test_a_damaged_generation_is_known_as_such(levels: tuple[int, ...]) -> None:
    learned = PAPER.learn(crawl())
    with pytest.raises(ModelError, match="damaged"):
        replace(learned, link_levels=levels)
    with pytest.raises(ConfigError, match="words_count"):
        replace(learned, words_count=1e9)


def test_an_unsure_verdict_teaches_nothing_about_its_link() -> None:
    unsure = [replace(e, target=0.6 if e.target > 0.5 else 0.4) for e in crawl()]
    people = [
        Example(Link(url), Page(url, text=words), float(good), "seed")
        for n in range(6)
        for good, words in [(n % 2, "finch nest" if n % 2 else "soup salt")]
        for url in [Url(f"http://e.org/{n}")]
    ]
    assert PAPER.learn([*people, *unsure]).link_machines == ()
    said = [replace(e, by="user") for e in unsure]
    assert PAPER.learn([*people, *said]).link_machines, "a person was sure"
    assert PAPER.learn(unsure).link_machines, "keywords are seldom sure"


def test_its_own_surest_verdicts_teach_the_critic_beside_peoples() -> None:
    def page(n: int, words: str, target: float, by: Literal["seed", "judge"]) -> Example:
        url = Url(f"http://e.org/{by}{n}")
        return Example(Link(url), Page(url, text=f"{words} {words}"), target, by)

    people = [
        page(n, "finch nest" if n % 2 else "soup salt", float(n % 2), "seed") for n in range(8)
    ]
    own = [
        page(n, "finch plumage" if n % 2 else "soup pepper", float(n % 2), "judge")
        for n in range(8)
    ]
    unheard = Page(Url("http://e.org/new"), text="plumage plumage")
    assert PAPER.learn([*people, *own]).judge(unheard).score > 0.5
    assert replace(PAPER, believes=0).learn([*people, *own]).judge(unheard).score == 0
    assert PAPER.learn(own).page_machine is None, "nobody else said anything"


def test_no_more_bad_links_than_good_ones() -> None:
    learned = PAPER.learn(crawl(good=8, bad=400))
    high, undecided = learned.rank([link("article"), link("unheard")])
    assert high > 0.6
    assert undecided == pytest.approx(0.5, abs=0.25), "400 against 8 would say 0.02"


def test_a_draw_of_each_class_always_the_same() -> None:
    some = AdaptiveLinks(fewest_links=2, keywords=("article",), most=6)
    test = [link("article"), link("shop"), link("here")]
    once, again = (some.learn(crawl(60, 60)).rank(test) for _ in range(2))
    assert once == again
    assert once[0] > once[1]


def test_one_class_teaches_nothing() -> None:
    fresh = AdaptiveLinks(fewest_links=2, keywords=("article",))
    for examples in ([], crawl(5, 0), crawl(0, 5)):
        assert fresh.learn(examples) is fresh


def test_levels_are_steps_to_a_relevant_page() -> None:
    learned = replace(PAPER, classes="levels").learn(chains())
    assert learned.link_levels == (0, 1, 2, 3)
    test = [link(word) for word in ("article text", "archive year", "index list", "shop cart")]
    first, second, third, last = learned.rank(test)
    assert 2 / 3 < first < 1, "(2 - level + P) / 3"
    assert 1 / 3 < second < 2 / 3
    assert last < third < 1 / 3
    assert "in two steps" in learned.explain(test[1])[0].what
    assert "nowhere" in learned.explain(test[3])[0].what


def test_a_relevant_page_is_at_no_deeper_level() -> None:
    # Both pages of a chain are relevant: there is no link that is one step away.
    examples = []
    for n in range(8):
        first, then = f"http://e{n}.org/a", f"http://e{n}.org/b"
        examples += [visit(first, 0.9, "article"), visit(then, 0.9, "article", first)]
        examples += [visit(f"http://e{n}.org/s", 0.0, "shop")]
    learned = AdaptiveLinks(fewest_links=2, keywords=("x",), classes="levels").learn(examples)
    assert learned.link_levels == (0, 3)


def test_links_in_circles_do_not_confuse_the_levels() -> None:
    circle = [
        visit("http://e.org/a", 0.1, "list", "http://e.org/b"),
        visit("http://e.org/b", 0.9, "article", "http://e.org/a"),
        visit("http://e.org/c", 0.0, "shop", "http://e.org/c"),
    ]
    learned = AdaptiveLinks(fewest_links=2, keywords=("x",), classes="levels").learn(circle)
    assert all(0 <= score <= 1 for score in learned.rank([link("list"), link("shop")]))


def test_the_address_alone_if_asked_for() -> None:
    examples = [
        replace(e, link=e.link._replace(url=Url(f"http://h.org/{word}/{n}")))
        for n, e in enumerate(crawl())
        for word in ["news" if e.target > 0.5 else "store"]
    ]
    learned = AdaptiveLinks(fewest_links=2, keywords=("x",), fields=("url",)).learn(examples)
    high, low = (learned.rank([link("", f"http://h.org/{w}/z")])[0] for w in ("news", "store"))
    assert high > low + 0.3
    assert learned.rank([link("article")]) == learned.rank([link("shop")])


def test_labels_make_a_better_critic_than_keywords() -> None:
    told = AdaptiveLinks(fewest_links=2, keywords=("plumage",))
    page = Page(Url("http://e.org/p"), text="finch migration " * 10)
    assert told.judge(page).score == 0
    labels: list[Example] = []
    for n in range(12):
        good = n % 2 == 0
        url = Url(f"http://e.org/{n}")
        by: Literal["seed", "user"] = "seed" if n < 4 else "user"
        words = "finch migration nest" if good else "soup spoon salt"
        labels.append(Example(Link(url), Page(url, text=f"{words} {n}"), float(good), by))
    learned = told.learn(labels)
    assert learned.judge(page).score > 0.5
    assert learned.judge(Page(page.url, text="plumage " * 50)).score > 0, "no known word: keywords"
    assert learned.rank([link("x")]) == [0.3], "labels without links teach the critic only"


def test_a_label_overrules_the_verdict() -> None:
    examples = crawl()
    labels = [replace(e, target=1 - e.target, by="user") for e in examples]
    learned = AdaptiveLinks(fewest_links=2, keywords=("x",)).learn([*labels, *examples])
    high, low = learned.rank([link("shop here"), link("article here")])
    assert high > low


def test_features_are_the_frequent_words_of_each_field() -> None:
    links = [
        Link(Url(f"http://www{n}.birds.org/birdwatching/of/ab"), anchor="Migrating plumages",
             before="see", after="lark" if n < 5 else "finch")
        for n in range(20)
    ]  # fmt: skip
    words = choose_link_words(links, ("url", "anchor", "around"), SIZES)
    assert words.anchor == ("migrat", "plumag")
    assert words.around == ("finch",), "more than 5 times, and no stop words"
    assert words.url == ("bird",), "birdwatching merged into bird, short words left out"
    assert words.tlds == ("org",)
    few = choose_link_words(links[:8], ("around",), SIZES)
    assert few.around == ("lark", "finch"), "more than once where none has more than 10"
    assert few.tlds == ()
    small = choose_link_words(links, ("anchor",), {**SIZES, "anchor": 1})
    assert small.anchor == ("migrat",)


def test_rows_are_ones_and_address_words_find_the_stem_within() -> None:
    links = [Link(Url(f"http://{n}.org/bird"), anchor="bird") for n in range(12)]
    words = choose_link_words(links, ("url", "anchor", "around"), SIZES)
    rows = words.to_rows([
        Link(Url("http://x.org/songbirds/bird"), anchor="songbirds"),
        Link(Url("http://x.net/"), anchor=""),
        Link(Url("http://x.net/"), anchor="birds bird birds"),
    ])  # fmt: skip
    assert [words.names[p] for p in rows.row(0)[1]] == ["a host in .org", "“bird” in the address"]
    assert rows.row(1)[1].tolist() == []
    assert [words.names[p] for p in rows.row(2)[1]] == ["“bird” in the anchor"]
    assert set(rows.values.tolist()) == {1.0}
    assert words.to_rows([]).starts.tolist() == [0]


@pytest.mark.parametrize("classes", ["binary", "levels"])
def test_a_learned_one_is_saved_whole(classes: Literal["binary", "levels"]) -> None:
    learned = AdaptiveLinks(fewest_links=2, keywords=("article",), classes=classes).learn(chains())
    again = unpack_strategy(pack_strategy("adaptive_links", learned), lambda _: AdaptiveLinks)
    test = [link("article"), link("shop"), link("archive index")]
    assert again.rank(test) == learned.rank(test)
    assert again.explain(test[0]) == learned.explain(test[0])
    assert len(again.link_machines) == (1 if classes == "binary" else 4)


def test_a_handful_of_links_teaches_nothing_about_links() -> None:
    fresh = AdaptiveLinks(keywords=("article",))
    assert fresh.learn(crawl(good=19, bad=60)).link_machines == ()
    assert fresh.learn(crawl(good=20, bad=60)).link_machines


def test_the_static_crawler_learns_from_links_only_once() -> None:
    fresh = AdaptiveLinks(fewest_links=2, keywords=("article",), once=True)
    first = fresh.learn(crawl())
    assert first.link_words is not None
    later = first.learn(crawl(good=30, bad=30))
    assert later.link_machines is first.link_machines
    assert replace(first, once=False).learn(crawl(good=30, bad=30)).link_machines is not (
        first.link_machines
    )
