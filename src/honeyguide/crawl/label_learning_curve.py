"""What would further labels buy? What the generations' own trials say, and no more than that.

Each new generation is tried on labels that were held back (:mod:`honeyguide.learning.gate`). Their
errors, over the labels that were given until then, are a learning curve; where there is none yet,
the share of pages that the strategy is unsure of says how much is left to ask, and nothing of what
the answers would change.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from honeyguide.config import Settings
from honeyguide.crawl.generations import trial_of
from honeyguide.learning.gate import FEWEST, TOLERANCE
from honeyguide.store.store import Store

_LAST = 6
"""Trials that the trend is read from."""
_ROWS = 1_000
_UNSURE = 0.15
"""Verdicts so near to the threshold are unsure."""


class Tried(NamedTuple):
    """A generation that stood trial."""

    generation: int
    labels: int
    """Labels in force that were given before it."""
    error: float
    """Mean squared error of its verdicts on held-back labels."""
    before: float
    """That of the generation before it, on the same labels."""
    pages: int


class Further(NamedTuple):
    tried: tuple[Tried, ...]
    """Oldest first."""
    per_ten: float | None
    """What ten labels changed in the error lately, less being better; None: not known."""
    unsure: float | None
    """Share of the newest pages whose verdict is near the threshold; None: there are none."""
    pages: int
    """How many these are."""
    needed: int
    """Labels still missing until generations can be tried; 0: none."""
    said: str
    """All of this in words."""


def further(store: Store, settings: Settings) -> Further:
    given = sorted(label.at for _, label in store.labels())
    tried = []
    for generation in store.generations():
        trial = trial_of(generation)
        if trial is not None:
            labels = bisect_right(given, generation.at)
            number = generation.number
            tried.append(Tried(number, labels, trial.after, trial.before, trial.pages))
    pages, unsure = _unsure(store, settings.topic.threshold)
    per_ten = _trend(tried[-_LAST:])
    needed = max(0, FEWEST - len(given)) if not tried else 0
    said = _said(tried[-_LAST:], per_ten, unsure, pages, needed)
    return Further(tuple(tried), per_ten, unsure, pages, needed, said)


def _trend(tried: list[Tried]) -> float | None:
    """The slope of error over labels, least squares, for ten labels."""
    if len(tried) < 2 or tried[-1].labels <= tried[0].labels:
        return None
    count = len(tried)
    mean = sum(one.labels for one in tried) / count
    level = sum(one.error for one in tried) / count
    spread = sum((one.labels - mean) ** 2 for one in tried)
    return 10 * sum((one.labels - mean) * (one.error - level) for one in tried) / spread


def _unsure(store: Store, threshold: float) -> tuple[int, float | None]:
    newest = store.counts().visits
    rows = store.visits(page=True, since=max(0, newest - _ROWS))
    verdicts = [row.verdict for row in rows if row.verdict is not None and row.ungated is None]
    if not verdicts:
        return 0, None
    near = sum(abs(verdict - threshold) < _UNSURE for verdict in verdicts)
    return len(verdicts), near / len(verdicts)


def _said(
    tried: list[Tried], per_ten: float | None, unsure: float | None, pages: int, needed: int
) -> str:
    left = (
        ""
        if unsure is None
        else f"The strategy is unsure of {unsure:.0%} of the newest {pages} pages."
    )
    if per_ten is None:
        missing = (
            f"{needed} more labels are needed before generations can be tried on labels that were "
            "held back."
            if needed
            else "Too few generations were tried on held-back labels to tell a trend."
        )
        return f"What further labels would buy is not known yet. {missing} {left}".strip()
    first, last = tried[0], tried[-1]
    change = (
        f"From {first.labels} to {last.labels} labels the error on held-back ones went from "
        f"{first.error:.3f} to {last.error:.3f}."
    )
    if per_ten > -TOLERANCE / 10:
        verdict = "Further labels seem to buy little."
    else:
        verdict = f"Ten further ones may buy about {-per_ten:.3f}, if it goes on like this."
    few = f" These are trials on {last.pages} labels: less than {TOLERANCE:g} is chance."
    return f"{change} {verdict}{few} {left}".strip()
