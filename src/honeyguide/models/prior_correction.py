"""What labels add to a model that was there before them.

A trained category model, or an ontology, is where a topic begins. Its log-odds p of a page are the
offset of a logistic regression, z = (1 + stretch)·p + shift + Σ weight·word (words by tf-idf).
Stretch, shift and weights are shrunk towards 0 (a ridge, as a normal prior around the given model),
so that without labels the model stands as it is, with few it is moved where they speak, and with
many it is overruled. How firmly words are held is cross-validated: a model that explains the labels
keeps its way, one of another topic is left soon.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from honeyguide.models import untrusted
from honeyguide.models.logistic import Floats, fit_logistic, log_odds, logistic_chance
from honeyguide.models.page_model import has_both_kinds
from honeyguide.models.svm import Ints, SparseArrays, class_folds
from honeyguide.types import Example, Reason, Verdict

_NAME = "a saved correction"
_SURE = 0.001
"""The given model's probabilities are held this far from 0 and 1: labels must be able to overrule
them."""
_PERSON, _OWN = 3.0, 1.0
"""Weight of a person's label, and of an own verdict."""
_WORD_FIRMNESS = (100.0, 30.0, 10.0, 3.0, 1.0)
"""How firmly the words' weights may be held to 0 …"""
_STRETCH_FIRMNESS, _SHIFT_FIRMNESS = 10.0, 3.0
"""… and how firmly stretch and shift are."""
_CLEAR_GAIN = 1.0
"""Log likelihood of all labels by which looser words must be better."""
_DIGITS = 5


@dataclass(frozen=True, eq=False)
class PriorCorrection:
    """How the verdicts of a given model are moved by labels."""

    weights: Floats
    """Log-odds of each word."""
    stretch: float
    shift: float

    def __post_init__(self) -> None:
        """Check a saved one, which may come from a stranger."""
        untrusted.check_numbers(_NAME, self.weights, np.array([self.stretch, self.shift]))

    def correct_verdict(
        self,
        given: Verdict,
        values: Floats,
        places: Ints,
        name_words: Callable[[Ints, Floats], Sequence[Reason]],
    ) -> Verdict:
        """The given model's verdict of a page with these words, moved by what the labels say of
        them; its own reasons first."""
        shares = values * self.weights[places]
        z = (1 + self.stretch) * log_odds(given.score, _SURE) + self.shift + float(shares.sum())
        learned = (Reason(f"from labels: {r.what}", r.weight) for r in name_words(places, shares))
        score = round(logistic_chance(z), _DIGITS)
        return given._replace(score=score, reasons=(*given.reasons, *learned))


def fit_correction(
    lessons: Sequence[Example], rows: SparseArrays, size: int, given: Sequence[float]
) -> PriorCorrection | None:
    """What these examples add to a given model, whose verdicts on them are ``given``; None: no
    person has labelled a page yet, or all examples are of one kind. ``rows``: their words, of
    ``size`` in all."""
    from scipy.sparse import csr_array, hstack

    if all(e.by == "judge" for e in lessons) or not has_both_kinds(lessons):
        return None
    offsets = np.array([log_odds(score, _SURE) for score in given])
    targets = np.array([e.target for e in lessons])
    from_people = np.array([e.by != "judge" for e in lessons])
    table = csr_array(rows, shape=(len(lessons), size))
    columns = hstack([table, np.column_stack([offsets, np.ones(len(lessons))])], format="csr")

    def fit_part(part: Any, firmness: float) -> Floats:
        return fit_logistic(
            columns[part],
            targets[part],
            weights=np.where(from_people[part], _PERSON, _OWN),
            offsets=offsets[part],
            penalties=np.r_[np.full(size, firmness), _STRETCH_FIRMNESS, _SHIFT_FIRMNESS],
        )

    def held_out_loss(firmness: float) -> float:
        """Of people's labels, each by a fit without it."""
        total = 0.0
        for rest, part in class_folds(targets >= 0.5):
            told = part[from_people[part]]
            z = offsets[told] + columns[told] @ fit_part(rest, firmness)
            total += float((np.logaddexp(0, z) - targets[told] * z).sum())
        return total

    best, *looser = _WORD_FIRMNESS
    least = held_out_loss(best)
    for firmness in looser:
        if (now := held_out_loss(firmness)) < least - _CLEAR_GAIN:
            best, least = firmness, now
    found = fit_part(np.arange(len(lessons)), best)
    return PriorCorrection(found[:-2], float(found[-2]), float(found[-1]))
