"""The page model: a linear judge of pages that learns from few examples and from all other pages.

A crawl visits hundreds of pages that nobody judged. They show what is common (a word that stands
everywhere tells nothing) and how the pages of the topic differ from the rest. So the model is
semi-supervised (Nigam, McCallum, Thrun & Mitchell 2000: expectation maximisation; Liu et al. 2002:
good and unlabelled pages). In turns,

1. a ridge regression on tf-idf vectors is fitted to the labels and to the present probabilities of
   the unjudged pages, and each page is scored by the model of all *other* pages, which costs
   nothing more (leave-one-out in closed form);
2. a mixture of two normal distributions is fitted to these scores of the unjudged pages. It gives
   the share of good pages, and makes calibrated probabilities of scores.

Turns end when no probability moves any more.

Before the first turn, unjudged pages are what the stated words say of them. Without such words, or
examples, the pages that the crawl started from count as good.

Turns drift: words that stand on all animals make birds of mammals, and a topic of several kinds
of pages shrinks to the one whose pages are most alike. Unjudged pages outvote the labels then. So
where people's labels are known the model is the mean of two readings. In one each unjudged page
counts a third of a label; of several such readings the labels choose the best. In the other it
counts next to nothing (as in Nigam et al. 2000, where unlabelled documents are weighed down); this
one counts the more, the more labels are a sample, and not pages that people were asked about.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import chain, repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from honeyguide.models.logistic import Floats, sigmoid
from honeyguide.models.svm import Linear
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

MAX_STATED_ODDS = 3.0
"""Largest log-odds of stated words: examples must be able to overrule them."""
MIN_UNJUDGED = 20
"""Unjudged pages without which the mixture of good and other pages is not known."""
_MAX_UNJUDGED = 800
"""Unjudged pages that are read, taken evenly from all; the time grows with the cube."""
_GROWTH = 1.1
"""The model is fitted again when the unjudged pages grew so much."""
_MAX_ROUNDS = 12
_SETTLED = 0.01
"""Largest change of a probability in a round after which no more are needed."""
_PERSON = 3.0
"""Weight of a label of a person; an unjudged page has 1."""
_LEAST_SURE = 0.05
"""A label between yes and no, as of a language model, counts by how sure it is, and at least so."""
_CROWD, _LABELS = (1.0, 1.0), (0.01, 10.0)
"""Two readings: weight of an unjudged page, and penalty of the ridge regression (the vectors have
length 1). In the second the labels tell alone, and the unjudged pages only what is common."""
_FEW_DRAWN, _MOST_TRUST = 10.0, 2.0
"""The second reading counts half as much as it can when so many labels were drawn, and at most so
much more than the first where no words state the topic."""
_DRAWN = {"seed": 1.0, "user": 0.5}
"""How far a good page is a sample of the topic, by who named it: examples are, and pages that
people were asked about are in part."""
_ASKED_PART = 0.25
"""How far a page that people were asked about is a sample of its kind: it lies near the cut."""
_SMALL_LOSS = 0.1
"""Mean log loss of the labels that is as good as none."""
_CLEAR_GAIN = 1.0
"""Log likelihood of all labels by which one reading is clearly better than another."""
_RISING_WEIGHTS = (0.001, 0.03, 0.1, 0.3)
"""Of unjudged pages in the first rounds of a reading that goes from the labels on."""
_LEAST_CHANCE = 0.02
"""Labels are compared with probabilities no smaller than this: a person may err."""
_HINT = 0.5
"""Share of what stated words tell beside the regression: both read the same text."""
_LIKELY_HINT = 0.5
"""An unjudged page of which stated words say so much is good to begin with."""
SEED_RANK = 0.9
"""Where words are stated, a seed counts as good only if it is among the best tenth by them; else it
is a mere door."""
_USUAL_SHARE, _USUAL_PAGES = 0.2, 20.0
"""Share of good pages that is expected, and how many pages' worth of evidence this is."""
_ANCHOR = 3.0
"""Evidence of the labelled pages of a kind on the scores of this kind, in unjudged pages."""
_LEAST_DISTANCE = 0.1
_LEAST_SPREAD = 0.01
_SPAN = 6.0
"""Log-odds between an average good page and an average other one, in the units of the machine."""


class PageModel(NamedTuple):
    """P(good) = σ(slope·(z + hint·h) + shift): log-odds z by the machine, h by stated words."""

    machine: Linear
    slope: float = 1.0
    shift: float = 0.0
    hint: float = 0.0


class PageTrainingSet(NamedTuple):
    """Labelled pages, and pages of the crawl that nobody judged."""

    labelled: list[Example]
    unjudged: list[Example]
    good_count: int
    """Good pages from people."""
    seen: int
    """Unjudged pages, of which some were chosen."""
    seeds: NDArray[np.bool_]
    """Which of the unjudged pages the crawl started from, if these are examples."""

    @property
    def basis_text(self) -> str:
        """A text that identifies the set; it changes with labels, and when the crawl has grown."""
        labels = " ".join(f"{e.page.url} {e.target:.3f}" for e in self.labelled)
        return f"{labels} {int(math.log(self.seen + 1, _GROWTH))}"

    @property
    def is_sufficient(self) -> bool:
        """Whether it shows both what is wanted and what is not; stated words can tell the first."""
        return len(self.unjudged) >= MIN_UNJUDGED or has_both_kinds(self.labelled)


def select_training_set(
    examples: Sequence[Example], seeds_are_doors: bool = False
) -> PageTrainingSet:
    """Pages that people judged, and visited pages that nobody did."""
    known = settle_examples(e for e in examples if e.by in ("seed", "user"))
    visits = settle_examples(e for e in examples if e.by == "visit" and not e.foreign)
    unjudged = [e for url, e in visits.items() if url not in known]
    seen = len(unjudged)
    if seen > _MAX_UNJUDGED:
        unjudged = [unjudged[place * seen // _MAX_UNJUDGED] for place in range(_MAX_UNJUDGED)]
    good = sum(e.target >= 0.5 for e in known.values())
    seeds = [e.link.channel == "seed" and not seeds_are_doors for e in unjudged]
    return PageTrainingSet(list(known.values()), unjudged, good, seen, np.array(seeds, np.bool_))


def train_page_model(
    rows: Sparse, size: int, training: PageTrainingSet, hints: Floats | None
) -> PageModel | None:
    """From the words of the labelled pages, followed by the unjudged ones. ``hints``: log-odds of
    the stated words for all of them. None: nothing shows what is wanted."""
    from scipy.sparse import csr_array

    count = len(training.labelled)
    table = csr_array(rows, shape=(count + len(training.unjudged), size))
    likeness = (table @ table.T).toarray() + 1.0
    found = [_choose_crowd_reading(likeness, training, hints)]
    if count:
        narrow = _NARROW if hints is None else _EQUAL_WIDTHS
        found.append(_fit_reading(likeness, training, hints, narrow, (), *_LABELS))
    readings = [one for one in found if one is not None]
    if not readings:
        return None
    last = readings[-1]
    drawn = sum(1.0 if e.by == "seed" else _ASKED_PART for e in training.labelled)
    trust = drawn / (drawn + _FEW_DRAWN) * (1.0 if hints is not None else _MOST_TRUST)
    parts = np.array([1.0, trust]) if len(readings) == 2 else np.ones(1)
    # Each in units of its own spread, and their mean as sure as the last one.
    parts *= last.spread / np.array([one.spread for one in readings]) / parts.sum()
    slopes, shifts, shares, multipliers = (np.array([one[n] for one in readings]) for n in range(4))
    slope, shift, hint = float(parts @ slopes), float(parts @ shifts), float(parts @ shares)
    # In units in which good and other pages lie as far apart as in other models of log-odds.
    unit_size = _SPAN / max(last.distance * last.slope / slope, _LEAST_DISTANCE)
    mixed = unit_size * (parts * slopes / slope) @ multipliers
    machine = Linear(np.asarray(table.T @ mixed), float(mixed.sum()))
    return PageModel(machine, slope / unit_size, shift, hint * unit_size / slope)


def _choose_crowd_reading(
    likeness: Floats, training: PageTrainingSet, hints: Floats | None
) -> TopicReading | None:
    """What the topic is can be read from few examples in several ways: narrowly or widely, and from
    the stated words on or from the labels on. The first way stays, unless another costs clearly
    less: see :meth:`TopicReading.cost`."""

    def fit(firmness: float, weights: Sequence[float] = ()) -> TopicReading | None:
        return _fit_reading(likeness, training, hints, firmness, weights, *_CROWD)

    usual = _EQUAL_WIDTHS if hints is not None else _NARROW
    found = fit(usual)
    count = len(training.labelled)
    if found is None or found.loss < _SMALL_LOSS * count or not has_both_kinds(training.labelled):
        return found
    from_labels = [(firmness, _RISING_WEIGHTS) for firmness in (usual, _WIDE, _EQUAL_WIDTHS)]
    for firmness, weights in ((_WIDE, ()), *dict.fromkeys(from_labels)):
        other = fit(firmness, weights)
        if other and other.cost(training) < found.cost(training) - _CLEAR_GAIN:
            found = other
    return found


class TopicReading(NamedTuple):
    """One way to read what the topic is: log-odds of a page are slope·score + shift + hint·h, its
    score the sum of the multipliers, each times how alike its page is."""

    slope: float
    shift: float
    hint: float
    multipliers: Floats
    distance: float
    """Between the mean scores of good and of other pages."""
    spread: float
    """Standard deviation of the log-odds of unjudged pages."""
    loss: float
    """Log loss of all labels, each by a model without its page."""
    size: float
    """Expected number of good pages, labelled and unjudged ones."""

    def cost(self, training: PageTrainingSet) -> float:
        """How badly it explains the labels. Good pages that people named are a sample of the topic:
        in a topic of twice the size it is half as likely that each of them was drawn (the size
        principle: Tenenbaum & Griffiths 2001)."""
        drawn = sum(_DRAWN[e.by] for e in training.labelled if e.target >= 0.5)
        return self.loss + drawn * math.log(max(self.size, 1.0))


def _fit_reading(
    likeness: Floats,
    training: PageTrainingSet,
    hints: Floats | None,
    firmness: float,
    first_weights: Sequence[float],
    unjudged_weight: float,
    penalty: float,
) -> TopicReading | None:
    """``likeness``: of each page to each. ``first_weights``: of the unjudged pages in the first
    rounds, in which the labels lead."""
    from scipy.linalg.lapack import dpotrf, dpotri

    known = len(training.labelled)
    labels = np.array([e.target for e in training.labelled])
    targets = np.r_[labels, _first_guess(training, None if hints is None else hints[known:])]
    sure_seeds = np.r_[np.zeros(known, np.bool_), targets[known:] == 1.0]
    sure_seeds[known:] &= training.seeds
    if not (targets > 0.1).any():
        return None
    sure = np.maximum(np.abs(2 * labels - 1), _LEAST_SURE)
    certainty = np.r_[_PERSON * sure, np.full(len(training.unjudged), unjudged_weight)]
    for weight in chain(first_weights, repeat(unjudged_weight, _MAX_ROUNDS)):
        certainty[known:] = weight
        good, bad = (certainty * targets).sum(), (certainty * (1 - targets)).sum()
        # Both kinds count the same in all.
        weights = certainty * (targets / max(good, 1e-6) + (1 - targets) / max(bad, 1e-6))
        weights *= len(targets) / 2
        root, _ = dpotrf(likeness + np.diag(penalty / weights), lower=1)
        inverse, _ = dpotri(root, lower=1)
        inverse = inverse + np.tril(inverse, -1).T
        multipliers = inverse @ targets
        scores = targets - multipliers / np.diag(inverse)  # each by a model without this page
        mixture = fit_mixture(scores[known:], scores[:known], labels, firmness)
        slope, shift = mixture.odds_line
        odds = slope * scores + shift
        share, middle = 0.0, 0.0
        if hints is not None and known < len(hints):
            share, middle = _hint_share(hints[known:], sigmoid(odds[known:]))
            if share < 0 and not (labels >= 0.5).any():
                return None  # the opposite of what was stated; nobody called such a page good
            share = max(0.0, share)
            odds += share * (hints - middle)
        before, targets = targets, np.r_[labels, sigmoid(odds[known:])]
        targets[sure_seeds] = 1.0
        if weight == unjudged_weight and np.abs(targets - before).max() < _SETTLED:
            break
    chances = np.clip(sigmoid(odds[:known]), _LEAST_CHANCE, 1 - _LEAST_CHANCE)
    likely = labels * np.log(chances) + (1 - labels) * np.log(1 - chances)
    spread = max(float(np.std(odds[known:] if known < len(odds) else odds)), _LEAST_SPREAD)
    return TopicReading(
        slope, shift - share * middle, share, multipliers, mixture.good - mixture.rest, spread,
        float(-(sure * likely).sum()), float(targets.sum()),
    )  # fmt: skip


def _first_guess(training: PageTrainingSet, hints: Floats | None) -> Floats:
    """The probabilities of the unjudged pages before anything was learned."""
    seeds = training.seeds
    if hints is None:
        return seeds.astype(np.float64)
    guess = np.minimum(sigmoid(hints) / _LIKELY_HINT, 1.0)
    if len(hints):
        says_something = hints > -MAX_STATED_ODDS
        guess[seeds & says_something & (hints >= np.quantile(hints, SEED_RANK))] = 1.0
    return np.asarray(guess)


def _hint_share(hints: Floats, chances: Floats) -> tuple[float, float]:
    """How much the log-odds of stated words count, by how far they tell likely pages from the
    others (linear discriminant analysis), and the value at which they tell nothing. Below 0 they
    tell the opposite."""
    likely, rest = chances.sum() + 1e-9, (1 - chances).sum() + 1e-9
    good, other = (chances * hints).sum() / likely, ((1 - chances) * hints).sum() / rest
    spread = (chances * (hints - good) ** 2 + (1 - chances) * (hints - other) ** 2).mean()
    return _HINT * float((good - other) / (spread + 1e-3)), float(good + other) / 2


# --- The mixture of good and other pages ---


_EQUAL_WIDTHS, _NARROW, _WIDE = 1e9, 700.0, 200.0
"""How firmly scores of good pages are held to spread as little as those of others, in pages."""
_MIXTURE_ROUNDS = 60
_SETTLED_MIXTURE = 1e-6
_LOWER_PARTS = (0.5, 0.2)
_CLEARLY_LIKELIER = 0.05
"""Gain of the mean log likelihood by which one mixture is clearly better than another."""
_LEAST_WIDTH = 1e-3
_LEAST_SLOPE = 1e-3


class ScoreMixture(NamedTuple):
    """Two normal distributions. Log-odds are taken as linear in the score, by their tangent where
    a page is as likely good as not."""

    rest: float
    """Mean score of other pages …"""
    good: float
    """… and of good ones."""
    rest_width: float
    """Standard deviation of other pages …"""
    good_width: float
    """… and of good ones, never smaller."""
    share: float
    """Of good pages."""

    def log_odds(self, score: float) -> float:
        prior = math.log(self.share / (1 - self.share)) + math.log(self.rest_width)
        far, near = (score - self.rest) / self.rest_width, (score - self.good) / self.good_width
        return prior - math.log(self.good_width) + (far**2 - near**2) / 2

    def log_likelihood(self, scores: Floats) -> float:
        """Of these scores."""
        far, near = (scores - self.rest) / self.rest_width, (scores - self.good) / self.good_width
        rest = math.log((1 - self.share) / self.rest_width) - far**2 / 2
        good = math.log(self.share / self.good_width) - near**2 / 2
        return float(np.logaddexp(rest, good).sum())

    @property
    def even_score(self) -> float:
        """The score between both means at which the log-odds are 0, or the nearest to it."""
        if self.log_odds(self.rest) >= 0:
            return self.rest
        if self.log_odds(self.good) <= 0:
            return self.good
        apart, precision = self.good - self.rest, self.good_width**-2
        # The root above 0 of squared·t² + linear·t + constant, where t is the score above `rest`.
        squared = (self.rest_width**-2 - precision) / 2
        linear, constant = apart * precision, self.log_odds(self.rest)
        root = math.sqrt(max(linear**2 - 4 * squared * constant, 0.0))
        return self.rest - 2 * constant / (linear + root)

    @property
    def odds_line(self) -> tuple[float, float]:
        """Slope and shift of the log-odds, taken as linear."""
        even = self.even_score
        far, near = even - self.rest, even - self.good
        slope = max(far / self.rest_width**2 - near / self.good_width**2, _LEAST_SLOPE)
        return slope, self.log_odds(even) - slope * even


def fit_mixture(unjudged: Floats, known: Floats, labels: Floats, firmness: float) -> ScoreMixture:
    """Fit the mixture to scores of unjudged pages by expectation maximisation; ``known`` are scores
    of labelled pages, and ``labels`` what people said of them. These are not a sample: they tell
    where good and other pages lie, and not how many there are. ``firmness``: evidence, in pages,
    that both kinds spread alike.

    It begins with the lower half of the pages as other ones. Where most pages are good, that ends
    in a wrong place; so it begins with fewer, too, and the likelier mixture is taken."""
    lower = np.sort(np.r_[unjudged, known[labels < 0.5]])
    found = [
        _improve_mixture(lower[: max(2, int(len(lower) * part))], unjudged, known, labels, firmness)
        for part in _LOWER_PARTS
    ]
    first, *others = ((mixture.log_likelihood(unjudged), mixture) for mixture in found)
    best = max(others, key=lambda one: one[0])
    return best[1] if best[0] > first[0] + _CLEARLY_LIKELIER * len(unjudged) else first[1]


def _improve_mixture(
    lower: Floats, unjudged: Floats, known: Floats, labels: Floats, firmness: float
) -> ScoreMixture:
    """``lower``: scores of pages that are other ones to begin with."""
    good, few = labels >= 0.5, len(unjudged) < MIN_UNJUDGED
    rest, width = float(lower.mean()), max(1.6 * float(lower.std()), _LEAST_WIDTH)
    weights = np.ones(len(labels))
    if not few:
        for kind in (good, ~good):
            weights[kind] = min(1.0, _ANCHOR / max(1, kind.sum()))
        if good.sum() < 2 or known[good].mean() <= rest + 2 * width:
            weights[good] = 0.0  # a page or two cannot tell where good pages lie
    everything, certainty = np.r_[unjudged, known], np.r_[np.ones(len(unjudged)), weights]
    anchors = known[good & (weights > 0)]
    top = float(anchors.mean()) if len(anchors) else float(np.quantile(everything, 0.95))
    found = ScoreMixture(rest, max(top, rest + _LEAST_WIDTH), width, width, _USUAL_SHARE)
    for _ in range(_MIXTURE_ROUNDS):
        slope, shift = found.odds_line
        odds = slope * unjudged + shift
        chances = np.where(unjudged < found.rest, 0.0, sigmoid(odds))
        share = (chances.sum() + _USUAL_SHARE * _USUAL_PAGES) / (len(unjudged) + _USUAL_PAGES)
        likely = certainty * np.r_[chances, labels]
        others = certainty - likely
        rest = float(others @ everything / max(others.sum(), 1e-9))
        top = max(float(likely @ everything / max(likely.sum(), 1e-9)), rest + _LEAST_WIDTH)
        apart, spread = others @ (everything - rest) ** 2, likely @ (everything - top) ** 2
        common = firmness * (apart + spread) / max(certainty.sum(), 1e-9)
        rest_width = math.sqrt((apart + common) / (others.sum() + firmness))
        good_width = math.sqrt((spread + common) / (likely.sum() + firmness))
        rest_width = max(rest_width, _LEAST_WIDTH)
        share = min(max(float(share), 0.001), 0.999)
        before = found
        found = ScoreMixture(rest, top, rest_width, max(good_width, rest_width), share)
        if max(abs(a - b) for a, b in zip(before, found, strict=True)) < _SETTLED_MIXTURE:
            break
    return found
