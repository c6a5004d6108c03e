"""Which labels would help most: the choice, the pages it is made from, and people who differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honeyguide import registry
from honeyguide.config.loading import parse_settings
from honeyguide.config.settings import Settings
from honeyguide.learning.active_learning import LabelledText, UnlabelledPage, choose_questions
from honeyguide.learning.label_queries import (
    answer_gain,
    ask_for_labels,
    label_questions,
    unlabelled_rows,
)
from honeyguide.store.labels import find_contradictions
from honeyguide.store.store import Store
from honeyguide.strategies.keyword import Keyword
from honeyguide.types import Label, Url
from tests.unit.crawling import FakeWeb, crawl
from tests.unit.test_training_feed import FINCH, SOUP, address, birds, is_finch

TRAIN = "train engine rail station ticket signal coach buffer "


def whys(
    pages: list[UnlabelledPage], told: list[LabelledText], count: int, **more: Any
) -> list[str]:
    return [question.why for question in choose_questions(pages, told, count, **more)]


def places(
    pages: list[UnlabelledPage], told: list[LabelledText], count: int, **more: Any
) -> list[int]:
    return [question.place for question in choose_questions(pages, told, count, **more)]


def test_the_nearest_to_the_threshold_goes_first() -> None:
    pages = [UnlabelledPage(v, f"{FINCH} w{n}") for n, v in enumerate((0.02, 0.95, 0.6, 0.3))]
    assert places(pages, [], 1) == [2]
    assert places(pages, [], 1, threshold=0.3) == [3]
    assert [question.why for question in choose_questions(pages, [], 2)] == ["above", "below"]


def test_half_of_the_questions_are_about_both_sides_of_the_cut() -> None:
    """Also where all verdicts are near 0 or 1, and far more pages are left out than kept."""
    pages = [UnlabelledPage(0.98 + 0.001 * n, f"yes{n} really{n} " * 5) for n in range(10)]
    pages += [UnlabelledPage(0.0002 * n, f"no{n} never{n} " * 5) for n in range(90)]
    asked = choose_questions(pages, [], 16)
    kept = [question for question in asked if pages[question.place].verdict >= 0.5]
    assert 6 <= len(kept) <= 9
    reasons = [question.why for question in asked]
    assert reasons.count("above") == 4
    assert reasons.count("below") == 6
    assert all(pages[q.place].verdict > 0.01 for q in asked if q.why == "below")


def test_pages_of_a_template_are_asked_about_once() -> None:
    template = "menu shop basket contact imprint privacy terms help login register " * 9
    pages = [UnlabelledPage(0.5 + 0.001 * n, f"{template} w{n}") for n in range(30)]
    pages += [UnlabelledPage(0.9, f"{FINCH} {n} f{n} g{n} " * 3) for n in range(3)]
    pages += [UnlabelledPage(0.1, f"{SOUP} {n} s{n} t{n} " * 3) for n in range(3)]
    asked = places(pages, [], 5)
    assert sum(place < 30 for place in asked) <= 1


def test_questions_are_spread_over_sites() -> None:
    pages = [UnlabelledPage(0.6, f"x{n} y{n} z{n} " * 4, "large.org") for n in range(40)]
    pages += [UnlabelledPage(0.6, f"a{n} b{n} c{n} " * 4, f"{n}.org") for n in range(10)]
    asked = places(pages, [], 10)
    assert len({pages[place].site for place in asked}) >= 5


def test_a_typical_page_stands_for_many() -> None:
    pages = [UnlabelledPage(0.2, f"{TRAIN} t{n} u{n} v{n}") for n in range(20)]
    pages += [UnlabelledPage(0.2, f"alone{n} odd{n} rare{n} " * 3) for n in range(10)]
    (first,) = choose_questions(pages[::-1], [], 1, labels=7)
    assert first.why == "typical"
    assert first.place >= 10


def test_a_batch_is_spread() -> None:
    alike = [UnlabelledPage(0.5, FINCH + f"w{n}") for n in range(4)]
    pages = [*alike, UnlabelledPage(0.4, SOUP), UnlabelledPage(0.4, TRAIN)]
    assert set(places(pages, [], 3)[1:3]) & {4, 5}
    first, second = places(pages, [], 2)
    assert first < 4 <= second, "another page of the same words would teach nothing"


def test_what_is_like_a_labelled_page_is_not_asked_again() -> None:
    pages = [UnlabelledPage(0.5, FINCH + "one"), UnlabelledPage(0.45, SOUP + "two")]
    assert places(pages, [], 1) == [0]
    assert places(pages, [LabelledText(FINCH + "one", 1.0)], 1) == [1]


def test_one_in_eight_is_a_sure_yes_and_one_a_sure_no_like_the_good_ones() -> None:
    pages = [UnlabelledPage(0.46 + 0.01 * n, f"middle{n} text{n} " * 5) for n in range(12)]
    pages += [UnlabelledPage(0.97, f"yes{n} really{n} " * 5) for n in range(3)]
    pages += [UnlabelledPage(0.01, f"no{n} never{n} " * 5) for n in range(3)]
    pages.append(UnlabelledPage(0.02, FINCH + "lake shore boat river canoe"))
    told = [LabelledText(FINCH + "nest", 1.0), LabelledText(SOUP, 0.0)]
    asked = choose_questions(pages, told, 8)
    kinds = {question.why: question.place for question in asked}
    assert [question.why for question in asked].count("sure") == 1
    assert pages[kinds["sure"]].verdict >= 0.57
    assert kinds["missed"] == len(pages) - 1
    one_by_one = [choose_questions(pages, told, 1, labels=n)[0].why for n in range(8)]
    assert one_by_one.count("sure") == one_by_one.count("missed") == 1, "also one at a time"


def test_it_says_why() -> None:
    nothing = [UnlabelledPage(0.49, f"{FINCH} {n}", known=False) for n in range(3)]
    assert whys(nothing, [], 1) == ["unknown"]
    large = [UnlabelledPage(0.5, f"{FINCH} {n}", "a.org") for n in range(8)]
    others = [UnlabelledPage(0.5, f"{SOUP} {n}", f"{n}.org") for n in range(8)]
    assert whys(large + others, [], 1) == ["site"]
    assert places(large + others, [], 1)[0] < 8
    assert whys(large + others, [LabelledText("train", 1.0, "a.org")], 1) != ["site"], (
        "it has its label"
    )
    seen = [
        UnlabelledPage(0.45, FINCH),
        UnlabelledPage(0.5, FINCH + "nest"),
        UnlabelledPage(0.2, SOUP),
    ]
    assert whys(seen, [], 2) == ["above", "below"]


def test_nothing_to_ask_about() -> None:
    assert choose_questions([], [LabelledText("x", 1.0)], 5) == []
    assert choose_questions([UnlabelledPage(0.5, "")], [], 0) == []
    assert (
        len(
            choose_questions(
                [UnlabelledPage(0.5, ""), UnlabelledPage(1.0, "")], [LabelledText("", 0.0)], 5
            )
        )
        == 2
    )


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 1), st.text(max_size=30), st.sampled_from("ab")), max_size=12),
    st.lists(st.tuples(st.text(max_size=30), st.floats(0, 1)), max_size=4),
    st.integers(0, 15),
    st.floats(0.01, 1),
    st.integers(0, 9),
)
def test_each_page_is_asked_once_and_the_same_every_time(
    seen: list[tuple[float, str, str]],
    labelled: list[tuple[str, float]],
    count: int,
    threshold: float,
    before: int,
) -> None:
    pages = [UnlabelledPage(*one) for one in seen]
    told = [LabelledText(*one) for one in labelled]
    found = choose_questions(pages, told, count, threshold=threshold, labels=before)
    assert len({question.place for question in found}) == len(found) == min(count, len(pages))
    assert all(0 <= question.place < len(pages) for question in found)
    assert found == choose_questions(pages, told, count, threshold=threshold, labels=before)


def topic(**more: Any) -> Settings:
    return parse_settings({"topic": {"seeds": [address(0)]}, **more})


def test_pages_that_are_labelled_or_copies_are_not_asked_about(tmp_path: Path) -> None:
    text = "a honey bee and her hive, told at length so that two pages resemble each other " * 9
    same = f"<title>bees</title><p>{text}"
    links = "".join(f'<a href="/{name}">honey {name}</a> ' for name in ("b", "c", "d", "e"))
    web = FakeWeb(
        {
            "http://a.test/a": f"<p>the start {links}",
            "http://a.test/b": same,
            "http://a.test/c": same,
            "http://a.test/d": f"<p>{SOUP * 9}",
            "http://a.test/e": f"<p>{FINCH * 9}",
        }
    )
    crawl(tmp_path, web, ["http://a.test/a"])
    with Store.open(tmp_path, "write") as store:
        both = {"http://a.test/b", "http://a.test/c"}
        (kept,) = {row.url for row in unlabelled_rows(store, [])} & both
        copy = (both - {kept}).pop()
        store.labels.add([Label(Url("http://a.test/d"), 0.0), Label(Url(copy), 1.0)])
        asked = {question.row.url for question in label_questions(store, topic(), 9)}
        assert asked == {"http://a.test/a", "http://a.test/e"}
        given_away = topic(topic={"seeds": [address(0)], "bad": ["http://a.test/e"]})
        assert [q.row.url for q in label_questions(store, given_away, 9)] == ["http://a.test/a"]


@pytest.mark.parametrize("name", registry.strategy_names())
def test_every_strategy_asks(name: str, tmp_path: Path) -> None:
    tables: dict[str, Any] = {"crawl": {"strategy": name, "pages": 12, "concurrency": 1}}
    told = {"keywords": ["finch", "plumage"], "good": [address(40)], "bad": [address(41)]}
    crawl(tmp_path, birds(), [address(0)], topic=told, **tables)
    with Store.open(tmp_path, "read") as store:
        asked = label_questions(store, topic(**tables), 5)
        again = label_questions(store, topic(**tables), 5)
    assert len(asked) == 5
    assert asked == again
    assert all(question.because and 0 <= question.verdict <= 1 for question in asked)


def test_the_budget_says_how_much_may_be_asked(tmp_path: Path) -> None:
    crawl(tmp_path, birds(), [address(0)], crawl={"pages": 12, "concurrency": 1})
    with Store.open(tmp_path, "write") as store:
        free = ask_for_labels(store, tmp_path, topic(), 4)
        assert (free.left, len(free.questions)) == (None, 4)
        bound = topic(learn={"budget": 3})
        found = ask_for_labels(store, tmp_path, bound, 4)
        assert (found.left, len(found.questions)) == (3, 3)
        assert found.questions == free.questions[:3]
        store.labels.add([Label(question.row.url, 1.0) for question in found.questions])
        assert ask_for_labels(store, tmp_path, bound, 4) == (0, [])
        assert ask_for_labels(store, tmp_path, topic(), 0) == (None, [])


def test_verdicts_of_an_earlier_generation_are_given_anew(tmp_path: Path) -> None:
    tables: dict[str, Any] = {"crawl": {"strategy": "hybrid_svm", "pages": 20, "concurrency": 1}}
    untaught: dict[str, Any] = {"keywords": []}
    crawl(tmp_path, birds(), [address(0)], topic=untaught, **tables)
    with Store.open(tmp_path, "write") as store:
        assert {q.why for q in label_questions(store, topic(**tables), 2)} == {"unknown"}
        done = [row.url for row in store.visits.iter_visits(page=True)][:12]
        store.labels.add([Label(url, float(is_finch(url))) for url in done])
    tables["crawl"]["pages"] = 22
    crawl(tmp_path, birds(), [address(0)], topic=untaught, **tables)
    with Store.open(tmp_path, "read") as store:
        assert store.generations.live_number()
        asked = label_questions(store, topic(**tables), 6)
    assert asked
    assert all(question.relevant == is_finch(question.row.url) for question in asked)


def test_what_answers_brought_is_told(tmp_path: Path) -> None:
    crawl(tmp_path, birds(), [address(0)], crawl={"pages": 30, "concurrency": 1})
    with Store.open(tmp_path, "write") as store:
        assert answer_gain(store) is None, "nobody has answered"
        rows = list(store.visits.iter_visits(page=True))
        finches = sum(is_finch(row.url) for row in rows[4:])
        now = rows[-1].at
        number = store.generations.next_number()
        store.generations.save(number, "keyword", Keyword(keywords=("finch",)), "", now)
        store.labels.add([Label(row.url, 0.0, "ada", now + 10) for row in rows[:4]])
        waiting = answer_gain(store)
        assert waiting is not None
        assert (waiting.answers, waiting.waiting) == (4, 4)
        assert "Nothing has learned" in str(waiting)
        other = Keyword(keywords=("soup",))
        store.generations.save(number + 1, "keyword", other, "", now + 20)
        gain = answer_gain(store)
        assert gain is not None
        assert gain.waiting == 0
        assert 0 < gain.went_out <= finches
        assert gain.pages == len(rows) - 4
        assert (
            f"{gain.came_in} of {gain.pages} other pages came in, {gain.went_out} went out"
            in str(gain)
        )
        store.labels.add([Label(rows[5].url, 0.0, "ada", now + 30)])
        later = answer_gain(store)
        assert later is not None
        assert "1 of them still wait" in str(later)
        precise = gain._replace(expected_precision=0.8)
        assert "about 80% of what is kept is right" in str(precise)


def test_people_who_differ_are_told_apart() -> None:
    a, b, c = (Url(f"https://example.org/{x}") for x in "abc")
    labels = [
        (1, Label(a, 1.0, "ada")),
        (2, Label(b, 1.0, "ada")),
        (4, Label(b, 0.8, "bob")),
        (5, Label(a, 0.0, "bob")),
        (6, Label(a, 0.1, "cleo")),
        (7, Label(c, 0.0, "bob")),
    ]
    assert find_contradictions(labels) == [
        (labels[3][1], labels[0][1]),
        (labels[4][1], labels[0][1]),
    ]
    assert find_contradictions(labels, 5) == [(labels[4][1], labels[0][1])]
    assert find_contradictions(labels, 6) == []


def test_disagreement_is_of_places_and_not_of_scales() -> None:
    """Links promise little, pages are judged high: only the one that changes places disagrees."""
    pages = [UnlabelledPage(0.5 + n / 20, f"{FINCH} w{n}", promise=n / 100) for n in range(8)]
    pages[6] = UnlabelledPage(pages[6].verdict, TRAIN, promise=0.0)
    pages.append(UnlabelledPage(0.5, SOUP))  # a seed: nothing was promised
    found = choose_questions(pages, [], 9, choice="disagreement")
    assert found[0] == (6, "split")
    assert 8 not in [question.place for question in found]


def test_novelty_asks_once_of_each_host_that_nobody_labelled() -> None:
    pages = [UnlabelledPage(0.5, f"{FINCH} {n}", f"{n % 3}.org") for n in range(9)]
    found = choose_questions(pages, [LabelledText(SOUP, 1.0, "0.org")], 9, choice="novelty")
    assert sorted(pages[question.place].site for question in found) == ["1.org", "2.org"]
    assert {question.why for question in found} == {"host"}


def test_uncertainty_never_asks_about_the_sure_ones_first() -> None:
    pages = [
        UnlabelledPage(v, f"{FINCH} w{n}")
        for n, v in enumerate((0.99, 0.98, 0.52, 0.01, 0.47, 0.55))
    ]
    assert set(places(pages, [], 3, choice="uncertainty")) == {2, 4, 5}
