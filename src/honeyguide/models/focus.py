"""Soft and hard focus (Chakrabarti, van den Berg & Dom 1999): a link is worth what its page is."""

from __future__ import annotations

from collections.abc import Sequence

from honeyguide.types import Link, Reason

_RELEVANT = 0.5


def inherited(links: Sequence[Link], hard: bool) -> list[float]:
    """Each link's parent's verdict; with a hard focus, 0 for links of irrelevant pages."""
    least = _RELEVANT if hard else 0.0
    return [min(1.0, link.parent) if link.parent >= least else 0.0 for link in links]


def inheritance(link: Link, hard: bool, several: bool = False) -> tuple[Reason, ...]:
    """Why; ``several``: all the pages that it stands on count, not the one it was found on."""
    (worth,) = inherited([link], hard)
    where = standing(link) if several else f"on a page with verdict {link.parent:.2f}"
    return (Reason(where, worth),)


def standing(link: Link) -> str:
    """What is said of a link whose pages count all (:attr:`~honeyguide.types.Habits.parents`)."""
    return f"on pages worth {link.parent:.2f} together"
