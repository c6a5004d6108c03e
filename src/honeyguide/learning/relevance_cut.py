"""Which pages are kept, and how right that will be: calibrated verdicts of a crawl's own pages.

Verdicts of most methods are no probabilities: a share of matched words, or a classifier that saw
one other page for each two good ones, where a crawl meets ten. So they are calibrated to the pages
that the crawl visited. A mixture of relevant and other pages is fitted to their verdicts, which
gives the share of relevant ones as well (Saerens, Latinne & Decaestecker 2002: prior shift without
labels). Its log-odds and those of the verdict itself count the same. Where people's labels are
known of pages that the method did not learn from, they correct the result (Platt 1999, with the
present mapping as prior).

The mapping rises with the verdict, so it changes no order, and verdicts are stored as the method
gave them: what moves is the cut, the least verdict of pages that are kept. It is chosen by
``topic.keep`` from expected precision and recall (Lewis 1995). Cut and mapping are stored in the
collection; crawl/rescore.py applies them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from honeyguide import registry
from honeyguide.config.loading import is_keep
from honeyguide.config.settings import Settings
from honeyguide.errors import ConfigError, HoneyguideError
from honeyguide.learning.topics import best_example_labels
from honeyguide.models.logistic import Floats, fit_logistic, sigmoid
from honeyguide.models.page_model import fit_mixture
from honeyguide.store.store import Store
from honeyguide.types import StrategyTraits

MIN_VERDICTS = 40
"""Judged pages without which nothing is known of the crawl's mixture."""
_LEAST_SPREAD = 0.01
"""Standard deviation of verdicts that tell pages apart."""
_LEAST_CHANCE = 1e-6
_MOST_ODDS = 4.0
"""Log-odds are damped to less than this: words of a page are not independent, so verdicts are too
sure. This and the next one were chosen on six subjects (docs/reference/verdicts.md)."""
_MIXTURE_SHARE = 0.5
_CAUTION = 1.0
"""Log-odds that are taken off: what stands out need not be the topic that was meant."""
_UNTAUGHT_SHARE, _TAUGHT_SHARE, _TAUGHT = 0.55, 0.7, 10
"""How much log-odds count that are meant as probabilities: of a method that nobody told what is
good and what is not, and with so many labels of each kind. Where words or three good pages are all
that is known, sure verdicts are right half the time. These and the next one were chosen on twelve
subjects (docs/reference/verdicts.md)."""
_OWN_CAUTION = 1.5
"""Log-odds that are taken off verdicts that are meant as probabilities."""
_LABEL_PENALTIES = np.array([1.0, 4.0])
"""Of the shift and of the slope that labels give: a few labels move little."""
_LEAST_SLOPE = 0.1

RECALL_WEIGHTS = {"strict": 0.25, "balanced": 1.0, "generous": 4.0}
"""β of the F measure whose expected value is the best: how many times as much as precision recall
counts (van Rijsbergen 1979)."""
_NEAR = 0.98
"""Of the highest precision that can be had, where that is less than is wished."""
_USUAL_CUT = 0.5
"""Where nothing is known."""
_META_KEY = "cut"
_MOST_NUMBER = 1e9
"""Of a calibration that makes sense."""
_FEW_LABELS = 10
"""With fewer, what is expected rests on the strategy's own verdicts."""


class VerdictCalibration(NamedTuple):
    """P(relevant) = σ(own·log-odds of the verdict + mixture·log-odds by the mixture + shift). Those
    by the mixture are slope·verdict + offset; both are damped."""

    own: float
    mixture: float = 0.0
    slope: float = 0.0
    offset: float = 0.0
    shift: float = -_CAUTION

    def log_odds(self, verdicts: Floats) -> Floats:
        held = np.clip(verdicts, _LEAST_CHANCE, 1 - _LEAST_CHANCE)
        own, mixed = np.log(held / (1 - held)), self.slope * verdicts + self.offset
        return np.asarray(
            self.own * _damp_odds(own) + self.mixture * _damp_odds(mixed) + self.shift
        )

    def chances(self, verdicts: Floats) -> Floats:
        return sigmoid(self.log_odds(verdicts))

    def corrected_by(self, verdicts: Floats, labels: NDArray[np.bool_]) -> VerdictCalibration:
        """The same after labels of pages with these verdicts."""
        odds = self.log_odds(verdicts)
        shift, more = fit_logistic(
            np.column_stack((np.ones(len(odds)), odds)),
            labels.astype(np.float64),
            weights=np.ones(len(odds)),
            offsets=odds,
            penalties=_LABEL_PENALTIES,
        )
        factor = max(1.0 + float(more), _LEAST_SLOPE)
        return self._replace(
            own=factor * self.own,
            mixture=factor * self.mixture,
            shift=factor * self.shift + float(shift),
        )


def _damp_odds(odds: Floats) -> Floats:
    return np.asarray(odds / (1 + np.abs(odds) / _MOST_ODDS))


def fit_calibration(
    verdicts: Floats,
    *,
    are_chances: bool,
    labelled: Sequence[tuple[float, bool]] = (),
    taught: int = _TAUGHT,
) -> VerdictCalibration | None:
    """From verdicts on visited pages that nobody labelled; None: they are too few, or all alike.

    ``are_chances``: they are meant as probabilities of this crawl's pages. ``labelled``: verdicts
    on pages that the method did not learn from, and whether people called them relevant.
    ``taught``: labels that it learned from, of the kind of which there are fewer."""
    if len(verdicts) < MIN_VERDICTS or verdicts.std() < _LEAST_SPREAD:
        return None
    told = min(taught / _TAUGHT, 1.0)
    own = (1 - told) * _UNTAUGHT_SHARE + told * _TAUGHT_SHARE
    found = VerdictCalibration(own, shift=-_OWN_CAUTION)
    if not are_chances:
        none = np.zeros(0)
        mixture = fit_mixture(verdicts, none, none, firmness=1e9)
        found = VerdictCalibration(1 - _MIXTURE_SHARE, _MIXTURE_SHARE, *mixture.odds_line)
    if labelled:
        seen, said = zip(*labelled, strict=True)
        found = found.corrected_by(np.array(seen, np.float64), np.array(said, np.bool_))
    return found


# --- The cut ---


def choose_cut(verdicts: Floats, chances: Floats, keep: str) -> float:
    """The verdict from which on pages are kept, halfway between the last kept page and the next.

    A word of the dial: the best expected F measure with its weight of recall. A number: as many
    pages as there can be at that expected precision; where it is out of reach, near the highest,
    and no more than ``strict`` keeps."""
    order = np.argsort(-verdicts, kind="stable")
    ranked, right = verdicts[order], np.cumsum(chances[order])
    # Equal verdicts are kept together, and those of 0 never.
    ends = np.flatnonzero((ranked > np.append(ranked[1:], -1.0)) & (ranked > 0))
    if not len(ends):
        return _USUAL_CUT
    precision = right[ends] / (ends + 1)
    reached = keep in RECALL_WEIGHTS or float(keep) <= precision.max()
    last = len(ends)
    if keep in RECALL_WEIGHTS or not reached:
        weight = RECALL_WEIGHTS[keep if reached else "strict"] ** 2
        last = int(np.argmax((1 + weight) * right[ends] / (ends + 1 + weight * right[-1])))
    if keep not in RECALL_WEIGHTS:
        least = min(float(keep), _NEAR * float(precision.max()))
        last = min(last, int(np.flatnonzero(precision >= least)[-1]))
    place = int(ends[last])
    below = float(ranked[place + 1]) if place + 1 < len(ranked) else 0.0
    return min(max(round((float(ranked[place]) + below) / 2, 6), 1e-6), 1.0)


# --- A collection's own cut ---


def format_cut(threshold: float) -> str:
    """Two digits, or as many as tell it from 1: the surest verdicts lie there."""
    shown = (f"{threshold:.{digits}g}" for digits in range(2, 7))
    return next((text for text in shown if float(text) < 1 or threshold >= 1), "just under 1")


@dataclass(frozen=True, slots=True)
class RelevanceCut:
    """Which verdicts a collection keeps, and what is to be expected of that."""

    keep: str
    """As ``topic.keep``; '': the threshold is fixed."""
    threshold: float
    precision: float | None = None
    """Expected share of relevant pages among those that are kept; None: not known yet …"""
    recall: float | None = None
    """… and of kept pages among the relevant ones that were visited."""
    labels: int = 0
    """Labels of people that both rest on, besides the strategy's own verdicts."""

    @property
    def summary(self) -> str:
        """In words."""
        which = (
            f"verdicts of at least {format_cut(self.threshold)} ({self.keep or 'topic.threshold'})"
        )
        if self.precision is None or self.recall is None:
            return f"kept: {which}; how right they are is not known yet"
        few = " (by its own verdicts, often 25 points off)" if self.labels < _FEW_LABELS else ""
        wished = self.keep.replace(".", "", 1).isdecimal()
        beyond = " (more is out of reach)" if wished and self.precision < float(self.keep) else ""
        return (
            f"kept: {which}; about {self.precision:.0%} of these pages are right{beyond}, and "
            f"about {self.recall:.0%} of the right ones among the visited are kept{few}"
        )


def decide_cut(store: Store, settings: Settings) -> tuple[RelevanceCut, VerdictCalibration | None]:
    """The cut by the settings and the pages that are visited by now, and its calibration."""
    verdicts, traits, keep = _read_verdicts(store), _find_traits(settings), _wished_keep(settings)
    repeats = traits.learns or settings.topics  # verdicts of one that learned from the labels
    labelled = [] if repeats else store.labels.labelled_verdicts()
    known = best_example_labels(settings)
    known |= {label.url: label.value for _, label in store.labels.effective_after()}
    good = sum(value >= 0.5 for value in known.values())
    calibration = fit_calibration(
        verdicts,
        are_chances=traits.judges_in_chances,
        labelled=labelled,
        taught=min(good, len(known) - good),
    )
    if not keep:
        cut = settings.topic.threshold
    elif calibration is None:
        cut = _USUAL_CUT
    else:
        cut = choose_cut(verdicts, calibration.chances(verdicts), keep)
    return _describe_cut(keep, cut, verdicts, calibration, len(labelled)), calibration


def save_cut(store: Store, cut: RelevanceCut, calibration: VerdictCalibration | None) -> bool:
    """Keep what reaches the cut from now on; whether the cut moved."""
    moved = cut.threshold != store.threshold
    store.set_threshold(cut.threshold)
    store.set_meta(_META_KEY, json.dumps([cut.keep, cut.labels, calibration]))
    return moved


def read_cut(store: Store, keep: str = "") -> RelevanceCut:
    """The collection's cut, with what is to be expected of it now; or the one that another wish
    would have. ConfigError: nothing is known that the wish could be judged by."""
    chosen, labels, calibration = _read_record(store)
    verdicts = _read_verdicts(store) if calibration is not None else np.zeros(0)
    if not keep:
        return _describe_cut(chosen, store.threshold, verdicts, calibration, labels)
    if calibration is None:
        raise ConfigError(
            f"which pages {keep!r} would keep is not known yet: too few pages are judged, or all "
            "alike. Crawl on, or set topic.threshold"
        )
    cut = choose_cut(verdicts, calibration.chances(verdicts), keep)
    return _describe_cut(keep, cut, verdicts, calibration, labels)


def is_settled(store: Store, settings: Settings) -> bool:
    """Whether the collection's cut is one by these settings, perhaps of an earlier moment."""
    keep = _wished_keep(settings)
    if not keep:
        return store.threshold == settings.topic.threshold
    settled = store.get_meta(_META_KEY)  # none: a collection of an older version
    return keep == "balanced" if settled is None else _read_record(store)[0] == keep


def _describe_cut(
    keep: str, cut: float, verdicts: Floats, calibration: VerdictCalibration | None, labels: int
) -> RelevanceCut:
    kept = verdicts >= cut
    if calibration is None or not kept.any():
        return RelevanceCut(keep, cut)
    chances = calibration.chances(verdicts)
    right, every = float(chances[kept].sum()), float(chances.sum())
    return RelevanceCut(keep, cut, right / int(kept.sum()), right / every if every else 0.0, labels)


def _read_record(store: Store) -> tuple[str, int, VerdictCalibration | None]:
    """The wish, the number of labels and the calibration that were stored; the file may be a
    stranger's."""
    try:
        keep, labels, numbers = json.loads(store.get_meta(_META_KEY) or "")
        keep, labels = str(keep) if is_keep(str(keep)) else "", int(labels)
        calibration = None if numbers is None else VerdictCalibration(*map(float, numbers))
    except (ValueError, TypeError, OverflowError, RecursionError):
        return "", 0, None
    sound = calibration is not None and all(abs(n) < _MOST_NUMBER for n in calibration)
    return keep, labels, calibration if sound else None


def _read_verdicts(store: Store) -> Floats:
    return np.array(store.visits.sample_verdicts(), np.float64)


def _wished_keep(settings: Settings) -> str:
    """``topic.keep``; '' where a threshold of the topic or of the strategy is set instead."""
    own = _find_traits(settings).cut_parameter
    critic = settings.strategy.get("critic")  # its own parameters, where two strategies are one
    parameters = critic if isinstance(critic, dict) else settings.strategy
    return "" if own and own in parameters else settings.topic.keep


def _find_traits(settings: Settings) -> StrategyTraits:
    """Those of the chosen strategy; the lab has strategies that no registry knows."""
    try:
        traits: StrategyTraits = registry.find_strategy(settings.crawl.strategy).traits
    except HoneyguideError:
        return StrategyTraits()
    return traits
