"""The page model: few labels, many unjudged pages, and words that state the topic."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import numpy as np
import pytest

from honeyguide.models.page_model import (
    PageModel,
    ScoreMixture,
    fit_mixture,
    select_training_set,
    train_page_model,
)
from honeyguide.strategies.honeyguide import Honeyguide
from honeyguide.text.vectors import fit_lexicon
from honeyguide.types import Example, Link, Page, Url

KINDS = {
    "bird": ("feather wing beak perch song flight plumage hatch", "animal species habitat prey"),
    "mammal": ("fur milk hoof paw whisker den cub mane", "animal species habitat prey"),
    "city": ("street mayor station bridge market council suburb tram", "river population"),
    "king": ("throne crown reign battle heir treaty duke castle", "century population"),
}


def make_pages(kind: str, count: int) -> list[Page]:
    """Pages with some words of their kind, some of kinds alike, and some of no kind."""
    own, shared = (words.split() for words in KINDS[kind])
    found = []
    for number in range(count):
        dice = random.Random(f"{kind} {number}")
        noise = [f"word{dice.randrange(60)}" for _ in range(6)]
        words = [*dice.choices(own, k=5), *dice.choices(shared, k=5), *noise, "the site menu"]
        found.append(Page(Url(f"http://e.org/{kind}{number}"), title="", text=" ".join(words)))
    return found


def visited(pages: Iterable[Page], channel: str = "page") -> list[Example]:
    return [Example(Link(page.url, channel=channel), page, 0.0, "visit") for page in pages]


def labelled(pages: Iterable[Page], target: float) -> list[Example]:
    return [Example(Link(page.url), page, target, "user") for page in pages]


def crowd(birds: int = 20, mammals: int = 30, others: int = 75) -> list[Page]:
    return [
        *make_pages("bird", birds),
        *make_pages("mammal", mammals),
        *make_pages("city", others),
        *make_pages("king", others),
    ]


def mean_score(judge: Honeyguide, kind: str) -> float:
    """Of pages that it has not seen."""
    return float(np.mean([judge.judge(page).score for page in make_pages(kind, 60)[40:]]))


def test_three_good_pages_do_not_make_their_neighbours_certain() -> None:
    pages = crowd()
    judge = Honeyguide().learn([*labelled(pages[:3], 1.0), *visited(pages)])
    assert mean_score(judge, "bird") > 0.8
    assert mean_score(judge, "mammal") < 0.5
    assert mean_score(judge, "city") < 0.1


@pytest.mark.parametrize("birds", [8, 40])
def test_probabilities_are_those_of_the_crawl(birds: int) -> None:
    """However many good pages are among the examples, the mean says how many there are."""
    pages = crowd(birds, 0)
    examples = [*labelled(make_pages("bird", 60)[40:], 1.0), *labelled(pages[birds : birds + 9], 0)]
    judge = Honeyguide().learn([*examples, *visited(pages)])
    scores = [judge.judge(page).score for page in pages]
    assert np.mean(scores) == pytest.approx(birds / len(pages), abs=0.05)


def test_labels_lead_where_stated_words_mislead() -> None:
    """The words stand on all animals, and unjudged animals outnumber the labels."""
    pages = crowd()
    strategy = Honeyguide(keywords=("animal", "species", "habitat", "prey"))
    untold = strategy.learn(visited(pages))
    assert mean_score(untold, "mammal") > 0.5
    told = [
        *labelled(make_pages("bird", 44)[40:], 1.0),
        *labelled(make_pages("mammal", 44)[40:], 0),
    ]
    judge = strategy.learn([*told, *visited(pages)])
    assert mean_score(judge, "bird") > 0.8
    assert mean_score(judge, "mammal") < 0.3


def test_seeds_are_weak_examples_unless_they_are_doors() -> None:
    pages = crowd()
    start = [*visited(pages[:2], "seed"), *visited(pages[2:])]
    judge = Honeyguide().learn(start)
    assert mean_score(judge, "bird") > 0.5 > mean_score(judge, "city")
    assert Honeyguide(seeds_are_doors=True).learn(start).page_machine is None


def test_a_seed_unlike_the_stated_words_is_a_door() -> None:
    pages = crowd()
    doors = visited(make_pages("city", 44)[40:], "seed")
    judge = Honeyguide(keywords=("feather", "wing")).learn([*doors, *visited(pages)])
    assert mean_score(judge, "bird") > 0.5 > mean_score(judge, "city")


def train(examples: Sequence[Example]) -> PageModel | None:
    training = select_training_set(examples)
    pages = [e.page for e in (*training.labelled, *training.unjudged)]
    words, rows = fit_lexicon([page.text for page in pages], least=2)
    return train_page_model(rows, len(words), training, None)


def test_nothing_shows_what_is_wanted() -> None:
    assert train(visited(crowd())) is None


def test_it_is_fitted_again_after_labels_and_growth() -> None:
    pages = crowd()
    before = select_training_set(visited(pages[:100])).basis_text
    assert select_training_set(visited(pages[:101])).basis_text == before
    assert select_training_set(visited(pages[:150])).basis_text != before
    told = [*visited(pages[:100]), *labelled(pages[:1], 1.0)]
    assert select_training_set(told).basis_text != before


@pytest.mark.parametrize("share", [0.05, 0.3, 0.6])
def test_a_mixture_is_taken_apart(share: float) -> None:
    dice = np.random.default_rng(3)
    good = dice.random(600) < share
    scores = np.where(good, dice.normal(0.7, 0.08, 600), dice.normal(0.1, 0.08, 600))
    found = fit_mixture(scores, np.array([]), np.array([]), 1e9)
    assert found.share == pytest.approx(share, abs=0.03)
    assert found.rest == pytest.approx(0.1, abs=0.03)
    assert found.good == pytest.approx(0.7, abs=0.05)
    assert found.rest < found.even_score < found.good
    assert found.log_odds(found.even_score) == pytest.approx(0.0, abs=0.05)


def test_log_odds_of_a_mixture_by_hand() -> None:
    """Equal widths of 1, means 0 and 2: the log-odds are 2·score - 2 + the prior's."""
    found = ScoreMixture(0.0, 2.0, 1.0, 1.0, 0.5)
    assert found.even_score == pytest.approx(1.0)
    assert found.odds_line[0] == pytest.approx(2.0)
    assert found.log_odds(1.5) == pytest.approx(1.0)


def test_most_pages_may_be_good() -> None:
    """Three of four pages are: the lower half of them is no picture of the others."""
    scores = np.r_[np.linspace(0.02, 0.06, 10), np.linspace(0.55, 0.65, 30)]
    known, labels = np.array([0.58, 0.6, 0.61]), np.ones(3)
    found = fit_mixture(scores, known, labels, 1e9)
    assert found.rest < 0.1
    assert found.share > 0.5
    assert found.log_odds(0.6) > 0 > found.log_odds(0.05)


@pytest.mark.parametrize("good_width", [1.0, 1.5, 3.0])
@pytest.mark.parametrize("share", [0.02, 0.3, 0.9])
def test_the_even_score_is_where_the_log_odds_are_0(good_width: float, share: float) -> None:
    found = ScoreMixture(-1.0, 4.0, 1.0, good_width, share)
    slope, shift = found.odds_line
    even = found.even_score
    if -1.0 < even < 4.0:
        assert found.log_odds(even) == pytest.approx(0.0, abs=1e-9)
    else:  # the nearest to it
        assert abs(found.log_odds(even)) <= abs(found.log_odds(1.5))
    assert slope * even + shift == pytest.approx(found.log_odds(even), abs=1e-9)


def test_a_kind_that_shares_few_words_is_not_given_up() -> None:
    """Good pages are birds and kings; sixty birds were visited, and ten kings."""
    pages = [page for kind in KINDS for page in make_pages(kind, 10 if kind == "king" else 60)]
    told = [
        *labelled([*make_pages("bird", 64)[60:], *make_pages("king", 64)[60:]], 1.0),
        *labelled([*make_pages("mammal", 64)[60:], *make_pages("city", 64)[60:]], 0.0),
    ]
    judge = Honeyguide().learn([*told, *visited(pages)])
    assert min(mean_score(judge, kind) for kind in ("bird", "king")) > 0.8
    assert max(mean_score(judge, kind) for kind in ("mammal", "city")) < 0.2
