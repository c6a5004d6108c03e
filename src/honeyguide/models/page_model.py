"""The page model: logistic regression on the words of pages around what was stated of the topic.

The training pages differ from those of a crawl: people show what they want and few bad pages. So
log-odds are calibrated with visited pages: they are taken for bad, except those that are more like
the good ones, as in the two steps of Liu et al. 2002. The model does not train on them: against
three good pages of one site, all other sites would be bad.

When several examples concern the same page, the label of a person has priority over a verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from honeyguide.models import logistic
from honeyguide.models.logistic import Floats
from honeyguide.models.svm import Ints, Linear, class_folds, fit_platt
from honeyguide.types import Example, Url

_AUTHORITY = {"visit": 0, "judge": 1, "seed": 2, "user": 3}


def settle_examples(examples: Iterable[Example]) -> dict[Url, Example]:
    """One example for each page, the newest last: labels of people before own verdicts, of equals
    the last."""
    best: dict[Url, Example] = {}
    for example in examples:
        known = best.get(example.page.url)
        if known is None or _AUTHORITY[example.by] >= _AUTHORITY[known.by]:
            best.pop(example.page.url, None)
            best[example.page.url] = example
    return best


def choose_examples(examples: Sequence[Example], most: int) -> list[Example]:
    """At most so many examples: labels of people first, then the newest verdicts.

    ``visit`` examples are left out: they repeat verdicts of the strategy, certain or not.
    """
    settled = settle_examples(example for example in examples if example.by != "visit")
    people = [e for e in settled.values() if e.by != "judge"][-most:]
    judged = [e for e in settled.values() if e.by == "judge"]
    room = most - len(people)
    return people + (judged[-room:] if room else [])


def has_both_kinds(examples: Sequence[Example]) -> bool:
    """Whether there are good and bad examples."""
    return len({example.target >= 0.5 for example in examples}) == 2


# --- The model ---


Sparse = tuple[Floats, NDArray[Any], NDArray[Any]]

_STRICT = 0.1
_UNPENALISED = 1e-6
_STRICT_BIAS, _STRICT_HINT = 10.0, 5.0
"""Penalties where something was stated of the topic: examples move it as little as necessary."""
_CAP = 3
"""There all pages together count at most as so many for each good one."""
MAX_STATED_ODDS = 3.0
"""Largest log-odds of stated words: examples must be able to overrule them."""
_BESIDE, _LEAST = 300, 10
"""Newest visits that verdicts are calibrated with; fewer than the least are ignored."""
_FAR = 3.0
"""With a single good page: distance of good pages from the rest in standard deviations."""
_SELDOM = 2.0
"""How much more often a page is expected to be bad than good."""
_WEIGHT = {"user": 3.0, "seed": 2.0, "judge": 1.0, "visit": 1.0}
"""Weight of an example: labels of people count more than own verdicts."""


class PageModel(NamedTuple):
    """P(good) = σ(slope·(z + hint·h) + shift): log-odds z by the machine, h by stated words."""

    machine: Linear
    slope: float = 1.0
    shift: float = 0.0
    hint: float = 0.0


class PageTrainingSet(NamedTuple):
    """Training examples, and visits that nobody judged."""

    labelled: list[Example]
    unjudged: list[Example]
    good_count: int
    """Good pages from people."""

    @property
    def basis(self) -> str:
        """A text that identifies the set; visits count when their number doubles."""
        labels = " ".join(f"{e.page.url} {e.target:.3f}" for e in self.labelled)
        return f"{labels} {len(self.unjudged).bit_length()}"

    @property
    def has_contrast(self) -> bool:
        return has_both_kinds(self.labelled)


def select_training_set(examples: Sequence[Example], few: int) -> PageTrainingSet:
    """Examples of people; while they are few, also confident verdicts of the strategy."""
    people = [e for e in examples if e.by in ("seed", "user")]
    own = [e for e in examples if e.by == "judge"]
    good = sum(e.target >= 0.5 for e in people)
    if good >= few:
        # Where people showed hardly any bad page, somebody must.
        own = [e for e in own if e.target < 0.5] if len(people) - good < few else []
    known = settle_examples((*people, *own))
    if good >= few and len(known) - good >= few:
        # Pages that people called bad say it better than any that were only seen.
        return PageTrainingSet(list(known.values()), [], good)
    visits = settle_examples(e for e in examples if e.by == "visit" and not e.foreign)
    unjudged = [e for url, e in visits.items() if url not in known][-_BESIDE:]
    return PageTrainingSet(list(known.values()), unjudged if len(unjudged) >= _LEAST else [], good)


def train_page_model(
    rows: Sparse,
    unjudged_rows: Sparse,
    size: int,
    training: PageTrainingSet,
    hints: Floats | None,
    *,
    few: int,
) -> PageModel:
    """From the words of the known pages and of unjudged ones. ``hints``: log-odds of the stated
    words, for both. Until people gave ``few`` good pages the examples are only added to the hints;
    then the hints fade."""
    from scipy.sparse import csr_array

    known, many = len(training.labelled), training.good_count >= few
    lesson = _TrainingMatrix(rows, size, training, None if hints is None or many else hints[:known])
    found = lesson.fit_rows(np.arange(known))
    machine, hint = Linear(found[:size], float(found[size])), 0.0
    seen = np.asarray(csr_array(unjudged_rows, shape=(len(training.unjudged), size)) @ found[:size])
    seen = seen + found[size]
    if hints is not None and not many:
        hint = 1 + float(found[-1])
        seen = seen + hint * hints[known:]
        # What lifts most pages says little: take half of it back.
        lifted = float(np.median(seen - hints[known:])) if len(seen) else 0.0
        return PageModel(machine, shift=-max(0.0, lifted / 2), hint=hint)
    slope, shift = lesson.calibrate_odds(seen)
    if hints is None:
        return PageModel(machine, slope, shift)
    share = few / (few + 2 * training.good_count)
    slope, shift = (1 - share) * slope, (1 - share) * shift
    return PageModel(machine, slope, shift, share / slope)


class _TrainingMatrix:
    """The known pages as a matrix: words, 1, and stated words."""

    def __init__(
        self, rows: Sparse, size: int, training: PageTrainingSet, hints: Floats | None
    ) -> None:
        from scipy.sparse import csr_array, hstack

        count = len(training.labelled)
        self.targets = np.array([e.target for e in training.labelled])
        self.good = self.targets >= 0.5
        self.certainty = np.array([_WEIGHT[e.by] for e in training.labelled])
        total = count if hints is None else min(count, _CAP * max(training.good_count, 1))
        self._weights = self.certainty.copy()
        for side in (self.good, ~self.good):  # they count the same in all
            self._weights[side] *= total / (2 * self._weights[side].sum())
        columns = [csr_array(rows, shape=(count, size)), csr_array(np.ones((count, 1)))]
        penalties = [_STRICT] * size + [_UNPENALISED]
        self._offsets = np.zeros(count) if hints is None else hints
        if hints is not None:
            columns.append(csr_array(hints[:, None]))
            penalties[-1:] = [_STRICT_BIAS, _STRICT_HINT]
        self._columns = hstack(columns, format="csr")
        self._penalties = np.array(penalties)

    def fit_rows(self, part: Ints) -> Floats:
        return logistic.fit_logistic(
            self._columns[part],
            self.targets[part],
            weights=self._weights[part],
            offsets=self._offsets[part],
            penalties=self._penalties,
        )

    def calibrate_odds(self, seen: Floats) -> tuple[float, float]:
        """Slope and shift that turn log-odds into probabilities, from pages outside the training:
        known ones in cross-validation, and visits."""
        outside, parts = np.zeros(len(self.good)), class_folds(self.good)
        for train, test in parts:
            outside[test] = self._offsets[test] + self._columns[test] @ self.fit_rows(train)
        strange = np.sort(seen)
        lower = strange[: (len(strange) + 1) // 2]
        if not parts:  # one of a kind: it cannot be left out
            spread = float(lower.std()) if len(lower) else 0.0
            if spread < 1e-6:
                return 1.0, 0.0
            slope = 2 / (_FAR * spread)
            return slope, -slope * (float(lower.mean()) + _FAR * spread)
        values, good, weights = outside, self.good, self._weights
        if len(strange):
            weights = self.certainty
            line = (float(lower.mean()) + float(np.median(outside[good]))) / 2
            bad = strange[strange < line]
            values = np.r_[outside, bad]
            good = np.r_[good, np.zeros(len(bad), np.bool_)]
            weights = np.r_[weights, np.ones(len(bad))]
            weights[~good] *= _SELDOM * weights[good].sum() / weights[~good].sum()
        slope, shift = fit_platt(values, good, weights)
        # Folds of a handful of pages may tell them apart the wrong way round.
        return (slope, shift) if slope > 0 else (1.0, 0.0)
