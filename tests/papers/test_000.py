"""Iliou et al.: two classifiers, equation 1, the gate, and learning from examples."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest

from honeyguide.models.svm import Linear, Rbf
from honeyguide.store.generations import pack_strategy, unpack_strategy
from honeyguide.strategies.hybrid_svm import HybridSvm
from honeyguide.text.vectors import fit_lexicon, page_text
from honeyguide.types import UNKNOWN_SCORE, Example, Link, Page, Url

BIRDS = ("plumage", "migration", "finch", "feather", "nest", "wing", "beak", "egg", "song", "flock")
SOUPS = ("soup", "spoon", "salt", "kettle", "broth", "onion", "carrot", "stove", "recipe", "bowl")
COMMON = tuple(f"common{n}" for n in range(300))
START = Url("http://e.org/")


def text(own: Sequence[str], dice: random.Random, length: int = 120) -> str:
    """A tenth of the words is the topic's own."""
    return " ".join(dice.choice(own if dice.random() < 0.1 else COMMON) for _ in range(length))


def example(
    number: int, good: bool, by: Literal["seed", "user", "judge", "visit"] = "user"
) -> Example:
    dice = random.Random(number)
    own = BIRDS if good else SOUPS
    url = Url(f"http://e.org/{number}")
    source = None if by == "seed" else START
    link = Link(url, source, anchor=f"{dice.choice(own)} page", before=dice.choice(own))
    return Example(link, Page(url, text=text(own, dice)), float(good), by)


def some(good: int, bad: int, first: int = 0) -> list[Example]:
    truth = [True] * good + [False] * bad
    return [example(first + number, is_good) for number, is_good in enumerate(truth)]


@pytest.fixture(scope="module")
def learned() -> HybridSvm:
    return HybridSvm().learn(some(20, 20))


def test_defaults_are_the_papers() -> None:
    fresh = HybridSvm()
    assert (fresh.page_weight, fresh.link_weight, fresh.threshold) == (0.1, 0.9, 0.5)
    assert fresh.kernel == "rbf"
    assert not fresh.use_url_terms


def test_equation_1(learned: HybridSvm) -> None:
    free = replace(learned, alone=True)
    link = Link(Url("http://e.org/x"), START, anchor="finch", after="of the feather")
    assert learned.link_words is not None
    assert learned.link_machine is not None
    h = learned.link_machine.scores(learned.link_words.to_rows(("finch of the feather",)))[0]
    for p in (0.0, 0.3, 1.0):
        assert free.rank([link._replace(parent=p)]) == [pytest.approx(0.1 * p + 0.9 * h)]


def test_both_classifiers_read_links(learned: HybridSvm) -> None:
    link = Link(Url("http://e.org/x"), START, anchor="finch", after="of the feather", parent=0.0)
    said = []
    for words, machine in (
        (learned.link_words, learned.link_machine),
        (learned.page_words, learned.page_machine),
    ):
        assert words is not None
        assert machine is not None
        said += machine.scores(words.to_rows(("finch of the feather",)))
    assert said[0] != pytest.approx(said[1])
    assert learned.rank([link]) == [pytest.approx(0.9 * sum(said) / 2)], "ours: the mean"
    assert replace(learned, alone=True).rank([link]) == [pytest.approx(0.9 * said[0])]


def test_words_that_only_pages_taught_count_in_links(learned: HybridSvm) -> None:
    assert learned.page_words is not None
    assert learned.link_words is not None
    new = set(learned.page_words.names) - set(learned.link_words.names)
    word = next(word for word in ("common1", "common2", "common3") if word in new)
    told = {r.what for r in learned.explain(Link(START, START, anchor=f"finch {word}"))}
    assert {"“finch”", f"“{word}”"} <= told
    as_paper = {
        r.what
        for r in replace(learned, alone=True).explain(Link(START, START, anchor=f"finch {word}"))
    }
    assert "“finch”" in as_paper
    assert f"“{word}”" not in as_paper


def test_only_more_than_t_is_followed(learned: HybridSvm) -> None:
    good = Link(Url("http://e.org/x"), START, anchor="plumage and migration", parent=1.0)
    bad = Link(Url("http://e.org/y"), START, anchor="soup recipe", parent=1.0)
    seed = Link(Url("http://e.org/z"))
    strict = replace(learned, gate=True)
    high, low, first = strict.rank([good, bad, seed])
    assert high > 0.5
    assert low == 0.0
    assert first == 1.0, "seeds pass"
    (exactly,) = replace(strict, threshold=high).rank([good])
    assert exactly == 0.0, "strictly greater"
    assert "not to be followed" in " ".join(r.what for r in strict.explain(bad))
    last = learned.rank([bad])
    assert 0 < last[0] <= 0.5, "ours: after the others, in their order"


def test_the_kernel_is_too_flat_for_its_own_sign_but_not_for_ours() -> None:
    from sklearn.svm import SVC

    examples = some(20, 30)
    lexicon, rows = fit_lexicon([page_text(e.page) for e in examples])
    dense = np.zeros((50, len(lexicon)))
    for number in range(50):
        values, places = rows.row(number)
        dense[number, places] = values
    truth = [e.target >= 0.5 for e in examples]
    machine = SVC(kernel="rbf", C=1.0, gamma="auto", tol=1e-3).fit(dense, truth)
    assert not machine.predict(dense).any(), "all negative, even what it was taught"
    ours = HybridSvm().learn(examples)
    assert isinstance(ours.page_machine, Rbf)
    assert ours.page_machine.gamma == 1 / len(lexicon)
    assert [ours.judge(e.page).score >= 0.5 for e in examples] == truth


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_more_labels_make_it_better(kernel: Literal["rbf", "linear"]) -> None:
    # Their protocol in small: the same test pages, judged after more and more training pages.
    test = some(23, 18, first=10_000)

    def f_measure(strategy: HybridSvm) -> float:
        said = [strategy.judge(e.page).score >= 0.5 for e in test]
        right = sum(1 for s, e in zip(said, test, strict=True) if s and e.target)
        return 2 * right / (sum(said) + 23)

    few, many = (HybridSvm(kernel=kernel).learn(some(n, n)) for n in (3, 60))
    assert f_measure(many) > 0.9
    assert f_measure(many) > f_measure(few)


def test_untrained_it_believes_the_topics_words_or_the_parent() -> None:
    page = example(1, True).page
    link = Link(Url("http://e.org/x"), START, anchor="plumage", parent=0.4)
    assert HybridSvm().judge(page).score == UNKNOWN_SCORE
    assert HybridSvm().rank([link]) == [0.4]
    told = HybridSvm(keywords=("plumage",))
    assert told.judge(Page(START, text="plumage " * 9)).score > 0.4
    high, low = told.rank([link, link._replace(anchor="soup")])
    assert high > low == pytest.approx(0.1 * 0.4), "not gated while nothing was learned"


def test_one_class_teaches_nothing() -> None:
    fresh = HybridSvm()
    assert fresh.learn(some(5, 0)) is fresh
    assert fresh.learn(some(0, 5)) is fresh
    assert fresh.learn(()) is fresh
    assert fresh.learn([example(1, True, "visit"), example(2, False, "visit")]) is fresh


def test_seeds_teach_the_page_classifier_only() -> None:
    seeds = [example(n, n % 2 == 0, "seed") for n in range(12)]
    learned = HybridSvm(fewest_links=1).learn(seeds)
    assert learned.page_machine is not None
    assert learned.link_machine is None
    link = Link(Url("http://e.org/x"), START, anchor="plumage migration finch")
    high, low = learned.rank([link, link._replace(anchor="soup broth kettle")])
    assert high > low, "meanwhile the page classifier reads the context"
    both = learned.learn([*seeds, example(20, True), example(21, False)])
    assert both.link_machine is not None


def test_a_persons_word_goes_before_our_own() -> None:
    examples = some(10, 10)
    wrong = [replace(e, target=1 - e.target, by="judge") for e in examples]
    right = HybridSvm(kernel="linear").learn([*examples, *wrong])
    assert all((right.judge(e.page).score >= 0.5) == (e.target >= 0.5) for e in examples)


def test_original_examples_weigh_double() -> None:
    page = Page(START, text="plumage soup")
    other = Page(START, text="gravel")
    pages = [replace(page, url=Url(f"http://e.org/{n}")) for n in range(12)]
    examples = [
        *(Example(Link(p.url), p, 1.0, "seed") for p in pages[:6]),
        *(Example(Link(p.url), p, 0.0, "judge") for p in pages[6:]),
        Example(Link(START), other, 0.0, "judge"),
    ]
    assert HybridSvm(kernel="linear").learn(examples).judge(page).score > 0.55


def test_the_lexicon_is_made_anew_from_each_training_set(learned: HybridSvm) -> None:
    assert learned.page_words is not None
    assert "gravel" not in learned.page_words.names
    gravel = Page(Url("http://e.org/g"), text="gravel quarry " * 30)
    assert learned.judge(gravel).score == 0.0, "no known word, no evidence"
    again = learned.learn([*some(20, 20), Example(Link(gravel.url, START), gravel, 1.0, "user")])
    assert again.judge(gravel).score > 0.5


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_reasons_name_words_for_and_against(kernel: Literal["rbf", "linear"]) -> None:
    learned = HybridSvm(kernel=kernel).learn(some(20, 20))
    page = Page(START, text="plumage migration finch soup soup common1 common2")
    reasons = {r.what: r.weight for r in learned.judge(page).reasons}
    assert reasons["“plumag”"] > 0 > reasons["“soup”"]
    told = {r.what: r.weight for r in learned.explain(Link(START, START, anchor="finch soup"))}
    assert told["“finch”"] > 0 > told["“soup”"]
    assert told["the pages that it is on score 1.00"] == 0.1
    assert learned.explain(Link(START, START)), "a link without words"


def test_words_of_the_address_if_asked_for() -> None:
    examples = [
        replace(e, link=e.link._replace(
            url=Url(f"http://e.org/{'birds' if e.target else 'kitchen'}/{n}"), anchor="", before=""
        ))
        for n, e in enumerate(some(12, 12))
    ]  # fmt: skip
    links = [
        Link(Url("http://e.org/birds/99"), START), Link(Url("http://e.org/kitchen/99"), START)
    ]  # fmt: skip
    high, low = (
        HybridSvm(use_url_terms=True, gate=False, fewest_links=2).learn(examples).rank(links)
    )
    assert high > low + 0.3
    same, as_this = HybridSvm(gate=False, fewest_links=2).learn(examples).rank(links)
    assert same == as_this


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_bad_examples_do_no_harm(kernel: Literal["rbf", "linear"]) -> None:
    empty = Page(Url("http://e.org/empty"))
    huge = Page(Url("http://e.org/huge"), text="plumage soup " * 50_000)
    alike = [
        replace(example(n, n % 2 == 0), page=Page(Url(f"http://e.org/{n}"), text="same words"))
        for n in range(8)
    ]
    nothing = [replace(e, page=replace(e.page, text="")) for e in some(3, 3)]
    for examples in (some(1, 1), some(2, 3), alike, nothing, [*some(2, 2), *alike, *nothing]):
        learned = HybridSvm(kernel=kernel).learn(examples)
        for page in (empty, huge, examples[0].page):
            assert 0 <= learned.judge(page).score <= 1
        assert all(0 <= s <= 1 for s in learned.rank([e.link for e in examples]))


@pytest.mark.parametrize(("kernel", "kind"), [("rbf", Rbf), ("linear", Linear)])
def test_a_learned_one_is_saved_whole(kernel: Literal["rbf", "linear"], kind: type) -> None:
    learned = HybridSvm(kernel=kernel, fewest_links=5).learn(some(12, 12))
    assert isinstance(learned.link_machine, kind)
    again = unpack_strategy(pack_strategy("hybrid_svm", learned), lambda _: HybridSvm)
    test = some(5, 5, first=500)
    assert [again.judge(e.page) for e in test] == [learned.judge(e.page) for e in test]
    assert again.rank([e.link for e in test]) == learned.rank([e.link for e in test])
    assert isinstance(again.page_machine, kind)
