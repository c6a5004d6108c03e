"""What signs and places are worth, in log-odds, corrected after each visit.

The weights concerned share out the surprise, those that are least certain the most: logistic
regression in one pass, as in the dynamic models of West, Harrison & Migon 1985, with variances
only. Ours: what one registrable domain can do to the weight of a sign is bounded, since signs are
everybody's, and names of hosts cost nothing. What a place is worth is its own business.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from math import exp

_PLACE = 0.7
"""Variance of a place, of which nothing is known before."""
_SWAY = 0.5
"""How far one registrable domain can move the weight of a sign."""
_FADE = 0.995
"""Certainty that is left after a visit: sites change, and are not of one piece."""
_FAR = 5.0
"""Weights are never greater."""
_HOSTS = 50_000
"""Places, and domains, that are remembered; the oldest are forgotten first."""


class Weight:
    __slots__ = ("doubt", "mean", "most")

    def __init__(self, mean: float, doubt: float) -> None:
        self.mean = mean
        self.doubt = self.most = doubt


class Weights:
    """Of signs, which have a prior (mean and variance), and of places, which begin at nothing."""

    def __init__(self, prior: Mapping[str, tuple[float, float]]) -> None:
        self.signs = {sign: Weight(*known) for sign, known in prior.items()}
        self.places: OrderedDict[str, Weight] = OrderedDict()
        self.moved: OrderedDict[str, dict[str, float]] = OrderedDict()
        """Registrable domain → how far it moved each sign."""

    def learn(
        self, signs: Sequence[str], places: Sequence[str], owners: Collection[str], came: bool
    ) -> None:
        """What these foretold came, or did not. The owners are the domains that may have lied."""
        moved = [self._moved_by(name) for name in owners]
        own = [self._place(place) for place in places]
        odds = sum(self.signs[sign].mean for sign in signs) + sum(part.mean for part in own)
        expected = 1 / (1 + exp(-odds))
        slope, way = expected * (1 - expected), 1 if came else -1
        room = {sign: min(_SWAY - way * each.get(sign, 0.0) for each in moved) for sign in signs}
        free = [sign for sign in signs if room[sign] > 0]
        parts = [self.signs[sign] for sign in free] + own
        doubt = 1 + slope * sum(part.doubt for part in parts)
        steps = [part.doubt * abs(came - expected) / doubt for part in parts]
        for turn, sign in enumerate(free):
            steps[turn] = min(steps[turn], room[sign])
            for each in moved:
                each[sign] = each.get(sign, 0.0) + way * steps[turn]
        for part, step in zip(parts, steps, strict=True):
            part.mean = min(max(part.mean + way * step, -_FAR), _FAR)
            left = part.doubt * (1 - slope * part.doubt / doubt)
            part.doubt = min(part.most, left / _FADE)

    def _moved_by(self, name: str) -> dict[str, float]:
        moved = self.moved.get(name)
        if moved is None:
            moved = self.moved[name] = {}
            if len(self.moved) > _HOSTS:
                self.moved.popitem(last=False)
        return moved

    def _place(self, place: str) -> Weight:
        weight = self.places.get(place)
        if weight is None:
            weight = self.places[place] = Weight(0.0, _PLACE)
            if len(self.places) > _HOSTS:
                self.places.popitem(last=False)
        return weight
