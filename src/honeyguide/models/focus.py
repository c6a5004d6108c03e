"""Soft and hard focus (Chakrabarti, van den Berg & Dom 1999): a link is worth what its page is."""

from __future__ import annotations

from collections.abc import Sequence

from honeyguide.types import Link, Reason

_RELEVANT, _TOGETHER = 0.5, 0.35
"""From here on a page is relevant; and what a link is worth that stands on such a page alone, where
all its pages count (crawl/parent_pages.py)."""


def inherited(links: Sequence[Link], hard: bool, several: bool = False) -> list[float]:
    """Each link's page's verdict; with a hard focus, 0 for links of irrelevant pages.

    ``several``: all the pages count that a link stands on, not the one that it was found on, and
    perhaps the links beside it."""
    least = (_TOGETHER if several else _RELEVANT) if hard else 0.0
    return [min(1.0, link.parent) if link.parent >= least else 0.0 for link in links]


def inheritance(link: Link, hard: bool, several: bool = False) -> tuple[Reason, ...]:
    """Why."""
    (worth,) = inherited([link], hard, several)
    where = standing(link) if several else f"on a page with verdict {link.parent:.2f}"
    return (Reason(where, worth),)


def standing(link: Link) -> str:
    """What is said of a link of which more than one page counts, or those beside it, too
    (:attr:`~honeyguide.types.Habits.parents`)."""
    return f"where it stands is worth {link.parent:.2f}"
