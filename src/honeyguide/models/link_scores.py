"""Scores of links that need no model: inherited verdicts, cached scores, response times.

Soft and hard focus (Chakrabarti, van den Berg & Dom 1999): a link is worth what its page is worth.
Response times are exponential means, in which newer responses count more.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from honeyguide.types import Link, Reason

_RELEVANT, _TOGETHER = 0.5, 0.35
"""Threshold of relevance for one page; and for all pages of a link together, the value of a link
on a single page at that threshold (links/parent_pages.py)."""


def inherited_scores(links: Sequence[Link], hard: bool, several: bool = False) -> list[float]:
    """The verdict of the page of each link; with a hard focus 0 for links of irrelevant pages.

    ``several``: the value of all pages that contain the link counts, not that of the first one.
    """
    least = (_TOGETHER if several else _RELEVANT) if hard else 0.0
    return [min(1.0, link.parent) if link.parent >= least else 0.0 for link in links]


def explain_inheritance(link: Link, hard: bool, several: bool = False) -> tuple[Reason, ...]:
    """The reason for such a score."""
    (worth,) = inherited_scores([link], hard, several)
    where = describe_parents(link) if several else f"on a page with verdict {link.parent:.2f}"
    return (Reason(where, worth),)


def describe_parents(link: Link) -> str:
    """The reason for a link whose value comes from several pages or neighbours
    (:attr:`~honeyguide.types.StrategyTraits.parent_score`)."""
    return f"the pages that it is on score {link.parent:.2f}"


# --- Cached scores ---


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
    """The result of ``make`` for each thing, cached by its key until more than ``most`` would be
    stored; then the cache starts anew."""
    if len(things) > most:
        return list(make(list(things)))
    new = {key: thing for key, thing in zip(keys, things, strict=True) if key not in memo}
    if len(memo) + len(new) > most:
        memo.clear()
        new = dict(zip(keys, things, strict=True))
    if new:
        memo.update(zip(new, make(list(new.values())), strict=True))
    return [memo[key] for key in keys]


# --- Response times ---


_SMOOTH, _HOSTS, _LEAST = 0.3, 5000, 0.01
"""Weight of the newest response, hosts stored, and shortest time in seconds that counts."""


@dataclass(frozen=True, slots=True, eq=False)
class Haste:
    """Mean response times of hosts."""

    seconds: dict[str, float] = field(default_factory=dict)
    fastest: float = 1.0
    usual: float = 1.0
    """The median: expected of an unknown host."""

    def relative_speed(self, host: str) -> float:
        """1 for the fastest host, one half for one that takes twice as long."""
        return self.fastest / self.seconds.get(host, self.usual)


def mean_response_times(answers: Iterable[tuple[str, float]]) -> Haste:
    """From hosts and seconds, oldest first; 0 seconds: unknown."""
    times: dict[str, float] = {}
    for host, seconds in answers:
        if seconds > 0:
            known = max(_LEAST, min(seconds, 3600.0))
            # Taken out and put back, so that the hosts met last stand last.
            times[host] = (1 - _SMOOTH) * times.pop(host, known) + _SMOOTH * known
    latest = dict(list(times.items())[-_HOSTS:])
    if not latest:
        return Haste()
    ordered = sorted(latest.values())
    return Haste(latest, ordered[0], ordered[len(ordered) // 2])
