"""What a verdict of ours teaches a composer of queries: one rule for crawls and suggestions."""

from __future__ import annotations

GOOD, BAD = 0.8, 0.2
"""Verdicts from which a page teaches without a person's word …"""
_HALF = 0.5
"""… which counts so much."""


def weight_of(verdict: float | None, ungated: float | None) -> float:
    """What a page counts: positive, it is good; negative, it is bad; 0: it teaches nothing.

    A page that was kept apart for its language (``ungated`` is what it would have been worth) is
    neither: its verdict of 0 says nothing of what it is about.
    """
    if verdict is None or ungated is not None:
        return 0.0
    return _HALF if verdict >= GOOD else -_HALF if verdict <= BAD else 0.0
