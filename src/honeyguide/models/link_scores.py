"""Soft and hard focus (Chakrabarti, van den Berg & Dom 1999): a link is worth what its page is."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from honeyguide.types import Link, Reason

_RELEVANT, _TOGETHER = 0.5, 0.35
"""From here on a page is relevant; and what a link is worth that stands on such a page alone, where
all its pages count (links/parent_pages.py)."""


def inherited_scores(links: Sequence[Link], hard: bool, several: bool = False) -> list[float]:
    """Each link's page's verdict; with a hard focus, 0 for links of irrelevant pages.

    ``several``: all the pages count that a link stands on, not the one that it was found on, and
    perhaps the links beside it."""
    least = (_TOGETHER if several else _RELEVANT) if hard else 0.0
    return [min(1.0, link.parent) if link.parent >= least else 0.0 for link in links]


def explain_inheritance(link: Link, hard: bool, several: bool = False) -> tuple[Reason, ...]:
    """Why."""
    (worth,) = inherited_scores([link], hard, several)
    where = describe_parents(link) if several else f"on a page with verdict {link.parent:.2f}"
    return (Reason(where, worth),)


def describe_parents(link: Link) -> str:
    """What is said of a link of which more than one page counts, or those beside it, too
    (:attr:`~honeyguide.types.StrategyTraits.parent_score`)."""
    return f"the pages that it is on score {link.parent:.2f}"


# --------------------------------------------------------------------------------------------------
# What is asked again and again, and only a new generation changes.
# --------------------------------------------------------------------------------------------------


K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
V = TypeVar("V")


def memoised_map(
    memo: dict[K, V],
    keys: Sequence[K],
    things: Sequence[T],
    make: Callable[[list[T]], Sequence[V]],
    most: int,
) -> list[V]:
    """What ``make`` says of each thing, by its key; only of new ones it is asked. More than so many
    are never remembered: then it begins anew."""
    if len(things) > most:
        return list(make(list(things)))
    new = {key: thing for key, thing in zip(keys, things, strict=True) if key not in memo}
    if len(memo) + len(new) > most:
        memo.clear()
        new = dict(zip(keys, things, strict=True))
    if new:
        memo.update(zip(new, make(list(new.values())), strict=True))
    return [memo[key] for key in keys]


# --------------------------------------------------------------------------------------------------
# How soon hosts answer: an exponential mean, newer answers counting more.
# --------------------------------------------------------------------------------------------------


_SMOOTH, _HOSTS, _LEAST = 0.3, 5000, 0.01
"""Weight of the newest answer, most hosts remembered, and the shortest time believed."""


@dataclass(frozen=True, slots=True, eq=False)
class Haste:
    seconds: dict[str, float] = field(default_factory=dict)
    fastest: float = 1.0
    usual: float = 1.0
    """The middle one: what is expected of a host that nobody met."""

    def relative_speed(self, host: str) -> float:
        """1 for the fastest host, one half for one that takes twice as long."""
        return self.fastest / self.seconds.get(host, self.usual)


def mean_response_times(answers: Iterable[tuple[str, float]]) -> Haste:
    """From hosts and seconds, oldest first; 0 seconds: nobody knows."""
    times: dict[str, float] = {}
    for host, seconds in answers:
        if seconds > 0:
            known = max(_LEAST, min(seconds, 3600.0))
            # Taken out and put back, so that the hosts met last stand last.
            times[host] = (1 - _SMOOTH) * times.pop(host, known) + _SMOOTH * known
    kept = dict(list(times.items())[-_HOSTS:])
    if not kept:
        return Haste()
    ordered = sorted(kept.values())
    return Haste(kept, ordered[0], ordered[len(ordered) // 2])
