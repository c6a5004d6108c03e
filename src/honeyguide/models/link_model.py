"""The link model: what is known of a link before it is followed, as a row of numbers with
weights.

The prior weights are log-odds fitted on other webs. A crawl learns how far to move from them, and
the weights of single signs. Rows are made for many links at once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from honeyguide.models import logistic
from honeyguide.models.logistic import Floats
from honeyguide.types import Link, LinkStats

_CERTAIN = 6.0
"""Largest absolute log-odds."""
_NEVER = math.exp(-_CERTAIN)
_PRAISE = 10
"""Relevant parents that count at most: a site can make as many as it likes."""
_CHANCES = "best", "parents", "group", "siblings", "host", "beside"
_READ = *_CHANCES, "relevant", "barren", "surprise"
"""Fields of the statistics that are read."""
_read = itemgetter(*map(LinkStats._fields.index, _READ))
_MIDDLING = 0.1
_UNTOLD: float = LinkStats._field_defaults["beside"]
_NOBODY = math.log(_UNTOLD / (1 - _UNTOLD)) / 3
"""Value for links without known neighbours; it counts as 0."""


class LinkFeatures(NamedTuple):
    """What the link model knows of a link besides its words."""

    best: float
    parents: float
    anchor: float
    around: float
    address: float
    group: float
    siblings: float
    inlinks: float
    relevant: float
    host: float
    barren: float
    inside: float
    surprise: float
    bias: float = 1.0
    beside: float = 0.0
    """The last field, because generations saved before it was introduced lack it."""


class LinkWordScores(NamedTuple):
    """Scores of the words of a link and of their meaning, and whether it stays on its host."""

    anchor: float
    around: float
    address: float
    inside: float
    signs: float
    meaning: float = 0.0


_SURPRISED = LinkFeatures._fields.index("surprise")
_FEATURES = {
    "best": (0.2, 2.5, "the best page it is on"),
    "parents": (1.0, 2.5, "the pages it is on"),
    "anchor": (1.7, 2.0, "the words of its anchor"),
    "around": (0.7, 2.5, "the words around it"),
    "address": (0.3, 0.75, "the words of its address"),
    "group": (0.15, 1.0, "results of links in this position"),
    "siblings": (0.65, 0.75, "results of other links on these pages"),
    "inlinks": (0.0, 2.0, "how many pages link to it"),
    "relevant": (0.6, 0.5, "how many relevant pages link to it"),
    "host": (0.05, 0.75, "results of its host"),
    "barren": (-0.2, 2.5, "steps since the last relevant page"),
    "inside": (0.35, 2.0, "it stays on its host"),
    "surprise": (1.0, 1.0, "links like it did better than expected"),
    "bias": (-0.75, 0.5, "to begin with"),
    "beside": (1.3, 0.75, "results of the links next to it"),
}
FEATURE_PRIOR = LinkFeatures(**{name: row[0] for name, row in _FEATURES.items()})
"""Log-odds, fitted on the embedded web and on synthetic ones (bench/prior.py)."""
FEATURE_FIRMNESS = LinkFeatures(**{name: row[1] for name, row in _FEATURES.items()})
"""Penalty of each feature: half of one over the variance of its weight from web to web."""
FEATURE_NAMES = tuple(row[2] for row in _FEATURES.values())
"""The features as people read them."""
NEGATIVE_SURPRISE = "links like it did worse than expected"
"""Name of the feature ``surprise`` if its value is negative."""


def feature_names(row: Sequence[float]) -> tuple[str, ...]:
    """The name of each number of this row."""
    if row[_SURPRISED] >= 0:
        return FEATURE_NAMES
    return (*FEATURE_NAMES[:_SURPRISED], NEGATIVE_SURPRISE, *FEATURE_NAMES[_SURPRISED + 1 :])


_ALONE = ("siblings", "group", "host", "surprise", "beside", "anchor", "around", "address")
FEATURE_GROUPS = {
    "parents": ("best", "parents", "barren"), "inlinks": ("inlinks", "relevant"),
    **{name: (name,) for name in _ALONE},
}  # fmt: skip
"""Features that can be left out together, to measure their effect."""


def feature_rows(
    links: Sequence[Link], words: Sequence[LinkWordScores], without: str = ""
) -> Floats:
    """A row for each link with the columns of :class:`LinkFeatures`."""
    # This is done after every visit: filled in place, since stacking takes longer.
    count, chances = len(links), len(_CHANCES)
    known = _to_array([_read(link.yields or _default_yields(link)) for link in links], len(_READ))
    from_words = _to_array(words, len(LinkWordScores._fields))
    likely = known[:, :chances]
    odds = np.maximum(likely, _NEVER)
    odds /= np.maximum(1 - likely, _NEVER)
    np.log(odds, odds)
    odds /= 3
    rows: Floats = np.empty((count, len(LinkFeatures._fields)))
    rows[:, 0:2] = odds[:, 0:2]  # best, parents
    np.divide(from_words[:, :3], 2, rows[:, 2:5])  # anchor, around, address
    rows[:, 5:7] = odds[:, 2:4]  # group, siblings
    np.log1p([link.inlinks for link in links], rows[:, 7])  # inlinks
    np.log1p(np.minimum(known[:, chances], _PRAISE), rows[:, 8])  # relevant
    rows[:, 9] = odds[:, 4]  # host
    np.divide(np.minimum(known[:, chances + 1], 4), 2, rows[:, 10])  # barren
    rows[:, 11] = from_words[:, 3]  # inside
    rows[:, 12] = known[:, chances + 2]  # surprise
    rows[:, 13] = 1.0  # bias
    np.subtract(odds[:, 5], _NOBODY, rows[:, 14])  # beside
    for name in FEATURE_GROUPS.get(without, ()):
        rows[:, LinkFeatures._fields.index(name)] = 0.0
    return rows


def _to_array(rows: Sequence[tuple[float, ...]], columns: int) -> Floats:
    """Four times as fast as an array of tuples."""
    flat = np.fromiter(chain.from_iterable(rows), np.float64, len(rows) * columns)
    return flat.reshape(len(rows), columns)


def logit(share: float) -> float:
    """Log-odds of a share, within ±6."""
    if not 0.0 < share < 1.0:
        return _CERTAIN if share > 0 else -_CERTAIN
    return min(max(math.log(share / (1 - share)), -_CERTAIN), _CERTAIN)


def _default_yields(link: Link) -> LinkStats:
    """Statistics of a link that has none."""
    relevant = int(link.parent >= 0.5)
    places = (_MIDDLING, 0, _MIDDLING, 0, _MIDDLING)
    return LinkStats(*places, link.parent, link.parent, relevant, 1 - relevant, 0)


# --- Training ---


_SELDOM = 2
"""Occurrences that a sign needs to be learned from."""
_STRICT_SIGNS = 0.5
"""Penalty of each sign."""


class LinkModelUpdate(NamedTuple):
    """What was learned beyond the prior."""

    moved: tuple[float, ...] = ()
    """Difference of each feature from the prior."""
    names: tuple[str, ...] = ()
    weights: Floats | None = None
    """Weights of the signs."""


class ShownSigns(NamedTuple):
    """The signs of a link, and the divisor of their weights."""

    names: Sequence[str]
    size: float


def train_link_model(
    evidence: Floats,
    shown: Sequence[ShownSigns],
    targets: Floats,
    weights: Floats,
    offsets: Floats,
    firm: Sequence[float],
    before: Sequence[float],
    known: Mapping[str, float],
) -> LinkModelUpdate:
    """From followed links. ``offsets`` are their log-odds by the prior and by what is not learned
    here, ``firm`` is the penalty for moving away from the prior, ``before`` and ``known`` are the
    start of the search."""
    from scipy.sparse import csr_array, hstack

    count = evidence.shape[1]
    names, columns = _sign_columns(shown)
    both = hstack((csr_array(evidence), columns), format="csr") if names else evidence
    penalties = np.full(both.shape[1], _STRICT_SIGNS)
    penalties[:count] = firm
    found = logistic.fit_logistic(
        both,
        targets,
        weights=weights,
        offsets=offsets,
        penalties=penalties,
        start=np.array([*(before or [0.0] * count), *(known.get(name, 0.0) for name in names)]),
    )
    moved = tuple(found[:count].tolist())
    return LinkModelUpdate(moved, tuple(names), found[count:] if names else None)


def _sign_columns(shown: Sequence[ShownSigns]) -> tuple[list[str], Any]:
    """The signs that occur more than once, and which link shows which."""
    from scipy.sparse import csr_array

    seen = Counter(name for one in shown for name in one.names)
    names = [name for name, times in seen.items() if times >= _SELDOM]
    places = {name: place for place, name in enumerate(names)}
    values: list[float] = []
    found: list[int] = []
    starts = [0]
    for one in shown:
        known = [places[name] for name in one.names if name in places]
        found += known
        values += [1 / one.size] * len(known)
        starts.append(len(found))
    shape = (len(shown), len(names))
    return names, csr_array((np.array(values), np.array(found, np.int64), starts), shape=shape)
