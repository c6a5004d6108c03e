"""A waiting link, and what is known of where it stands."""

from __future__ import annotations

from honeyguide.types import Link, Url, Yields

HOPE: float = Yields._field_defaults["beside"]
"""What is thought to come of a link while nothing is known of its neighbours; worth one neighbour
that stands at once beside it."""


class Met:
    __slots__ = (
        "barren",
        "best",
        "count",
        "former",
        "good",
        "known",
        "places",
        "relevant",
        "sources",
        "total",
    )

    def __init__(self, barren: int = 0) -> None:
        self.sources: tuple[Url, ...] = ()
        """Pages that it stands on; not all, but of all …"""
        self.count = 0
        self.total = 0.0
        """… their verdicts together, …"""
        self.best = 0.0
        self.relevant = 0
        self.barren = barren
        """… and the fewest steps since a relevant one."""
        self.good = 0.0
        """What came of the links beside it, the nearest counting most, …"""
        self.known = 0.0
        """… and how much these count together."""
        self.places: tuple[Link, ...] = ()
        """It as it stands there, for a strategy that goes by its words."""
        self.former: tuple[Url, ...] = ()
        """What it was called where it stands, if that address led elsewhere."""

    def beside(self) -> float:
        """What is to be thought of it by its neighbours: a chance."""
        return (self.good + HOPE) / (self.known + 1)
