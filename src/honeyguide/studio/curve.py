"""The harvest-rate curve: few points, however many visits, and where generations took over."""

from __future__ import annotations

import msgspec

from honeyguide.store.counts import Counts
from honeyguide.store.store import Store

POINTS = 400
_MARKS = 30
_RECENT = 20
"""The recent rate is that between points so many apart."""
_FEW = 50
"""Visits below which a recent rate says nothing."""


class Curve(msgspec.Struct, frozen=True):
    visits: list[int]
    harvest: list[float]
    """Relevant visits ÷ visits, from the beginning …"""
    recent: list[float | None]
    """… and of the last visits before each point."""


class GenerationMark(msgspec.Struct, frozen=True):
    """Where on the curve a generation took over."""

    generation: int
    visits: int
    harvest: float
    """Of the visits that it decided."""


def curve_of(store: Store) -> Curve:
    points = store.curve(POINTS)
    recent: list[float | None] = []
    for at, (visits, relevant) in enumerate(points):
        back = at
        while back > 0 and (at - back < _RECENT or visits - points[back][0] < _FEW):
            back -= 1
        then, before = points[back] if back > 0 else (0, 0)
        span = visits - then
        recent.append(round((relevant - before) / span, 4) if span >= _FEW else None)
    whole = [round(relevant / visits, 4) if visits else 0.0 for visits, relevant in points]
    return Curve([visits for visits, _ in points], whole, recent)


def generations_of(counts: Counts) -> list[GenerationMark]:
    """As if each had decided once: a generation that somebody went back to stands where it first
    was. Where there are many, some of them."""
    found: list[GenerationMark] = []
    visits = 0
    for number, counted in sorted(counts.generations.items()):
        harvest = counted.relevant / counted.visits if counted.visits else 0.0
        found.append(GenerationMark(number, visits, round(harvest, 4)))
        visits += counted.visits
    step = -(-len(found) // _MARKS) or 1
    return found[::step]
