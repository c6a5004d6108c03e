"""Soft and hard focus (Chakrabarti, van den Berg & Dom 1999): a link is worth what its page is."""

from __future__ import annotations

from collections.abc import Sequence

from honeyguide.types import Link, Reason

_RELEVANT = 0.5


def inherited(links: Sequence[Link], hard: bool) -> list[float]:
    """Each link's best parent's verdict; with a hard focus, 0 for links of irrelevant pages."""
    least = _RELEVANT if hard else 0.0
    return [min(1.0, link.parent) if link.parent >= least else 0.0 for link in links]


def inheritance(link: Link, hard: bool) -> tuple[Reason, ...]:
    (worth,) = inherited([link], hard)
    return (Reason(f"on a page with verdict {link.parent:.2f}", worth),)
