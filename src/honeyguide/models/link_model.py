"""What a crawl teaches beyond the prior: of the evidence's worth, and of single signs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from honeyguide.models import logistic

Floats = NDArray[np.floating[Any]]

_SELDOM = 2
"""A sign must have been seen so often to be learned from."""
_STRICT_SIGNS = 0.5
"""How hard it is for a sign to count at all."""


class Correction(NamedTuple):
    moved: tuple[float, ...] = ()
    """How far from the prior each piece of evidence moved."""
    names: tuple[str, ...] = ()
    weights: Floats | None = None
    """Of the signs."""


class Shown(NamedTuple):
    """The signs that a link shows, and what divides their weights."""

    names: Sequence[str]
    size: float


def learn(
    evidence: Floats,
    shown: Sequence[Shown],
    targets: Floats,
    weights: Floats,
    prior: Floats,
    firm: Sequence[float],
    before: Sequence[float],
    known: Mapping[str, float],
) -> Correction:
    """From links that were followed; ``firm`` tells how hard it is to move away from the prior,
    ``before`` and ``known`` are where the search begins."""
    from scipy.sparse import csr_array, hstack

    count = evidence.shape[1]
    names, columns = _columns(shown)
    both = hstack((csr_array(evidence), columns), format="csr") if names else evidence
    penalties = np.full(both.shape[1], _STRICT_SIGNS)
    penalties[:count] = firm
    found = logistic.fit(
        both,
        targets,
        weights=weights,
        offsets=evidence @ prior,
        penalties=penalties,
        start=np.array([*(before or [0.0] * count), *(known.get(name, 0.0) for name in names)]),
    )
    moved = tuple(found[:count].tolist())
    return Correction(moved, tuple(names), found[count:] if names else None)


def _columns(shown: Sequence[Shown]) -> tuple[list[str], Any]:
    """The signs that were seen more than once, and which link shows which."""
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
