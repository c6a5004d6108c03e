"""Observations that fade, and by how much they surprised: of a page, of a place, of a host."""

from __future__ import annotations

from collections.abc import Sequence

PULL = 2.0
"""What the wider circle counts for, in observations."""
FADE = 0.98
"""What an observation still counts for when the next one comes: the web, and the topic, move."""
_SURE = 0.02
"""Nothing is expected more surely than this, nor less."""
FAR = 4.0
"""Most log-odds that a surprise adds."""


class Observed:
    __slots__ = ("count", "doubt", "good", "lift", "most")

    def __init__(self, good: float = 0.0, count: float = 0.0, doubt: float = 0.0) -> None:
        self.good = good
        self.count = count
        self.lift = 0.0
        """Log-odds to add to what is expected …"""
        self.doubt = self.most = doubt
        """… and its variance, which is never more than at first."""

    def add(self, value: float) -> None:
        self.good = FADE * self.good + value
        self.count = FADE * self.count + 1

    def mean(self, wider: float) -> float:
        return (self.good + PULL * wider) / (self.count + PULL)


def correct(parts: Sequence[tuple[Observed, float]], expected: float, value: float) -> None:
    """Share a surprise out among those who had a part in it, by how little is known of each."""
    expected = min(max(expected, _SURE), 1 - _SURE)
    slope = expected * (1 - expected)
    doubt = 1 / slope + sum(share * share * part.doubt for part, share in parts)
    for part, share in parts:
        gain = share * part.doubt / doubt
        part.lift = min(max(part.lift + gain * (value - expected) / slope, -FAR), FAR)
        # Nothing is for ever: who has been good a thousand times may still disappoint.
        part.doubt = min(part.most, (1 - gain * share) * part.doubt / FADE)
