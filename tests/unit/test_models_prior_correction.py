"""What labels add to a model that was there before them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from honeyguide.errors import ModelError
from honeyguide.models.prior_correction import PriorCorrection, fit_correction
from honeyguide.store.generations import pack_strategy, unpack_strategy
from honeyguide.strategies.ontology_weights import OntologyWeights
from honeyguide.text.vectors import Lexicon, fit_lexicon, page_text
from honeyguide.types import Concept, Example, Link, Page, Reason, Url, Verdict

WORDS = {True: "honey wax comb hive nectar", False: "engine gear wheel brake piston"}


def page(good: bool, number: int) -> Page:
    said = [f"{word} other{number % 7} thing{number % 5}" for word in WORDS[good].split()]
    return Page(Url(f"http://e.org/{good}/{number}"), text=" ".join(said * 4))


def labels(each: int, by: Any = "user") -> list[Example]:
    pages = [(page(good, n), good) for n in range(each) for good in (True, False)]
    return [Example(Link(p.url), p, float(good), by) for p, good in pages]


def fitted(
    lessons: Sequence[Example], score: Callable[[Page], float]
) -> tuple[PriorCorrection | None, Lexicon]:
    words, rows = fit_lexicon([page_text(e.page) for e in lessons])
    return fit_correction(lessons, rows, len(words), [score(e.page) for e in lessons]), words


def corrected(lessons: Sequence[Example], score: Callable[[Page], float], asked: Page) -> Verdict:
    correction, words = fitted(lessons, score)
    assert correction is not None
    given = Verdict(score(asked), (Reason("given", 1.0),))
    return correction.correct_verdict(
        given, *words.to_rows((page_text(asked),)).row(), words.top_reasons
    )


def test_without_labels_of_people_of_both_kinds_the_model_stands_as_it_is() -> None:
    for lessons in ([], labels(20, "judge"), labels(20)[::2]):
        assert fitted(lessons, lambda _: 0.9)[0] is None


def test_few_labels_move_it_and_many_overrule_it() -> None:
    moved = [
        corrected(labels(each), lambda _: 0.05, page(True, 1000)).score for each in (1, 3, 10, 100)
    ]
    assert 0.05 < moved[0] < 0.5 < moved[-1]
    assert moved == sorted(moved)


def test_what_it_agrees_with_stays() -> None:
    unlike = Page(Url("http://e.org/x"), text="quite another matter " * 9)
    given = {e.page.url: 0.05 + 0.9 * e.target for e in labels(3)}
    for score in (0.05, 0.95):
        given[unlike.url] = score
        found = corrected(labels(3), lambda p: given[p.url], unlike)
        assert abs(found.score - score) < 0.06


def test_it_says_what_the_model_said_and_what_labels_add() -> None:
    told = corrected(labels(10), lambda _: 0.5, page(True, 0)).reasons
    assert told[0] == Reason("given", 1.0)
    assert any(reason.what.startswith("from labels: “") and reason.weight > 0 for reason in told)


def test_an_ontology_adapts_where_it_is_asked_to() -> None:
    fixed = OntologyWeights(concepts=(Concept("engine", 0),))
    ours = replace(fixed, adapts=True)
    wanted, other = page(True, 99), page(False, 99)
    assert ours.judge(wanted) == fixed.judge(wanted)
    assert fixed.learn(labels(20)).judge(wanted).score == 0.0
    taught = ours.learn(labels(20))
    assert taught.judge(wanted).score > 0.5 > taught.judge(other).score
    again = unpack_strategy(pack_strategy("it", taught), lambda _: OntologyWeights)
    assert again.judge(wanted) == taught.judge(wanted)
    with pytest.raises(ModelError, match="not equally long"):
        replace(taught, label_words=None)


@pytest.mark.parametrize(
    "damage",
    [{"weights": np.array([np.nan])}, {"shift": float("inf")}, {"stretch": float("nan")}],
    ids=lambda damage: next(iter(damage)),
)
def test_a_damaged_one_of_a_stranger_is_refused(damage: dict[str, Any]) -> None:
    sound = PriorCorrection(np.array([0.5]), 0.0, 0.0)
    with pytest.raises(ModelError, match="a saved correction is damaged"):
        replace(sound, **damage)
