"""What is known of a link before it is followed, as a row of numbers, and what each is worth.

The worth is a prior: log-odds learned on another web. Rows are made for many links at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from honeyguide.types import Link, Yields

Floats = NDArray[np.floating[Any]]

_CERTAIN = 6.0
"""Log-odds beyond which nothing is surer."""
_NEVER = math.exp(-_CERTAIN)
_PRAISE = 10
"""More relevant pages than this say no more for a link: a site can make as many as it likes."""
_CHANCES = [Yields._fields.index(n) for n in ("best", "parents", "group", "siblings", "host")]
_RELEVANT, _BARREN, _SURPRISE = map(Yields._fields.index, ("relevant", "barren", "surprise"))
_READ = _SURPRISE + 1
"""What follows is told to others only."""
_MIDDLING = 0.1


class Evidence(NamedTuple):
    """What the apprentice knows of a link, apart from its particular words."""

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


class Words(NamedTuple):
    """What the words of a link say, and where it leads."""

    anchor: float
    around: float
    address: float
    inside: float
    signs: float


_SURPRISED = Evidence._fields.index("surprise")
PRIOR = Evidence(
    best=0.2,
    parents=0.8,
    anchor=1.7,
    around=0.7,
    address=0.3,
    group=0.15,
    siblings=0.65,
    inlinks=0.0,
    relevant=0.6,
    host=0.05,
    barren=-0.2,
    inside=0.35,
    surprise=1.0,
    bias=-0.75,
)
"""Log-odds, learned on the embedded web and on made ones (bench/prior.py)."""
FIRM = Evidence(
    best=5.0,
    parents=5.0,
    anchor=4.0,
    around=5.0,
    address=1.5,
    group=2.0,
    siblings=1.5,
    inlinks=4.0,
    relevant=1.0,
    host=1.5,
    barren=5.0,
    inside=4.0,
    surprise=2.0,
    bias=1.0,
)
"""How hard each is to move: one over the variance of its worth from web to web."""
SAID = (
    "the best page it stands on",
    "the pages it stands on",
    "the words of its anchor",
    "the words around it",
    "the words of its address",
    "what links in this place brought",
    "what other links on these pages brought",
    "how many pages link to it",
    "how many relevant pages link to it",
    "what its host brought",
    "steps since the last relevant page",
    "it stays on its host",
    "links like it brought more than expected",
    "to begin with",
)
"""The same for people …"""
LESS = "links like it brought less than expected"
"""… and what is said of a surprise that was a bad one."""


def said(row: Sequence[float]) -> tuple[str, ...]:
    """What each number of this row means."""
    if row[_SURPRISED] >= 0:
        return SAID
    return (*SAID[:_SURPRISED], LESS, *SAID[_SURPRISED + 1 :])


LEFT_OUT = {
    "parents": ("best", "parents", "barren"),
    "siblings": ("siblings",),
    "group": ("group",),
    "host": ("host",),
    "inlinks": ("inlinks", "relevant"),
    "surprise": ("surprise",),
    "anchor": ("anchor",),
    "around": ("around",),
    "address": ("address",),
}
"""Evidence that can be left out together, to see what it brings."""


def rows_of(links: Sequence[Link], words: Sequence[Words], without: str = "") -> Floats:
    """A row for each link, its columns those of :class:`Evidence`."""
    known = [(link.yields or _unknown(link))[:_READ] for link in links]
    yields = np.array(known, np.float64).reshape(len(links), _READ)
    chances = yields[:, _CHANCES]
    odds = np.log(np.maximum(chances, _NEVER) / np.maximum(1 - chances, _NEVER)) / 3
    said = np.array(words, np.float64).reshape(len(links), len(Words._fields))
    inlinks = np.array([link.inlinks for link in links], np.float64)
    rows: Floats = np.column_stack(
        (
            odds[:, :2],
            said[:, :3] / 2,
            odds[:, 2:4],
            np.log1p(inlinks),
            np.log1p(np.minimum(yields[:, _RELEVANT], _PRAISE)),
            odds[:, 4],
            np.minimum(yields[:, _BARREN], 4) / 2,
            said[:, 3],
            yields[:, _SURPRISE],
            np.ones(len(links)),
        )
    )
    for name in LEFT_OUT.get(without, ()):
        rows[:, Evidence._fields.index(name)] = 0.0
    return rows


def logit(share: float) -> float:
    if share <= 0.0:
        return -_CERTAIN
    if share >= 1.0:
        return _CERTAIN
    return min(max(math.log(share / (1 - share)), -_CERTAIN), _CERTAIN)


def chance(z: float) -> float:
    return 1 / (1 + math.exp(-z)) if z > -700 else 0.0


def _unknown(link: Link) -> Yields:
    """A link of which nobody told what came of its like."""
    relevant = int(link.parent >= 0.5)
    return Yields(
        _MIDDLING,
        0,
        _MIDDLING,
        0,
        _MIDDLING,
        link.parent,
        link.parent,
        relevant,
        1 - relevant,
        0,
        0.0,
    )
