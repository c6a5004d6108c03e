from __future__ import annotations

import pytest

from honeyguide.models.page_model import choose_examples
from honeyguide.strategies.ontology_ann import OntologyAnn
from honeyguide.strategies.ontology_weights import OntologyWeights
from honeyguide.types import Concept, Example, Link, Page, Url

CATS = (Concept("big cat", 0, ("large feline", "panther")), Concept("lion", 1))


def page(text: str, number: int = 0) -> Page:
    return Page(Url(f"http://e.org/{number}"), text=text)


def example(text: str, target: float, number: int, by: str = "user") -> Example:
    return Example(Link(Url(f"http://e.org/{number}")), page(text, number), target, by)  # type: ignore[arg-type]


def test_reasons_say_which_concepts_counted() -> None:
    verdict = OntologyWeights(concepts=CATS).judge(page("Cats and lions, a big cat."))
    assert [r.what for r in verdict.reasons] == ["cat… ×2", "lion… ×1"]
    assert sum(r.weight for r in verdict.reasons) == pytest.approx(verdict.score, abs=0.01)
    lessons = [example("lion cat", 1, 1), example("soup lion", 0, 2), example("cat", 1, 3)]
    for ann in (OntologyAnn(concepts=CATS), OntologyAnn(concepts=CATS, house=True)):
        weights = {r.what: r.weight for r in ann.learn(lessons * 2).judge(page("cat lion")).reasons}
        assert weights["cat… ×1"] > 0 > weights["lion… ×1"]


def test_phrases_and_synonyms_count_if_wished() -> None:
    text = page("A panther is a large feline.")
    assert OntologyWeights(concepts=CATS).judge(text).score == 0
    reasons = OntologyWeights(concepts=CATS, phrases=True).judge(text).reasons
    assert {r.what for r in reasons} == {"panther… ×1", "“large feline” ×1"}


def test_length_can_be_taken_out() -> None:
    short, long = page("cat " + "x " * 99), page("cat " + "x " * 999)
    raw, even = OntologyWeights(concepts=CATS), OntologyWeights(concepts=CATS, per_words=400)
    assert raw.judge(short).score == raw.judge(long).score
    assert even.judge(short).score > even.judge(long).score


@pytest.mark.parametrize("strategy", [OntologyWeights(concepts=CATS), OntologyAnn(concepts=CATS)])
def test_one_kind_only_teaches_nothing(strategy: OntologyWeights | OntologyAnn) -> None:
    assert strategy.learn([example("cat", 1, n) for n in range(20)]) is strategy
    assert strategy.learn([example("", 0, 1), example("cat", 1, 2, "visit")]) is strategy


def test_own_verdicts_do_not_move_theta() -> None:
    strategy = OntologyWeights(concepts=CATS)
    lessons = [example("cat " * 16, 1, 1, "judge"), example("cat", 0, 2, "judge")]
    assert strategy.learn(lessons).theta == strategy.theta


def test_theta_stays_once_it_rests_on_enough_pages() -> None:
    """Verdicts of one crawl are on one scale."""

    def lessons(count: int, word: int) -> list[Example]:
        return [example("cat " * (word if n % 2 else word - 2), n % 2, n) for n in range(count)]

    first = OntologyWeights(concepts=CATS).learn(lessons(10, 8))
    more = first.learn(lessons(30, 40))
    assert more.theta != first.theta, "ten pages are few"
    assert more.learn(lessons(60, 8)) is more


def test_people_have_the_last_word() -> None:
    lessons = [example("a", 1, 1), example("a", 0, 1, "judge"), example("b", 0, 2, "judge")]
    assert [(e.by, e.target) for e in choose_examples(lessons, 10)] == [("user", 1), ("judge", 0)]
    assert [e.by for e in choose_examples(lessons, 1)] == ["user"]
    assert [e.target for e in choose_examples([example("a", 1, 1), example("a", 0, 1)], 5)] == [0]
    assert OntologyAnn(concepts=()).learn([example("a", 1, 1), example("b", 0, 2)]).network is None


def test_own_verdicts_alone_make_no_network() -> None:
    strategy = OntologyAnn(concepts=CATS)
    own = [example("cat " * 9 if n % 2 else "soup", n % 2, n, "judge") for n in range(20)]
    assert strategy.learn(own) is strategy
    people = [example("cat " * 8, 1, 50, "seed"), example("salt", 0, 51, "seed")]
    assert strategy.learn([*own, *people]).network is not None
