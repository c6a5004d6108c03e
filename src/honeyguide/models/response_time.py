"""How soon hosts answer: an exponential mean, newer answers counting more."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

_SMOOTH, _HOSTS, _LEAST = 0.3, 5000, 0.01
"""Weight of the newest answer, most hosts remembered, and the shortest time believed."""


@dataclass(frozen=True, slots=True, eq=False)
class Haste:
    seconds: dict[str, float] = field(default_factory=dict)
    fastest: float = 1.0
    usual: float = 1.0
    """The middle one: what is expected of a host that nobody met."""

    def of(self, host: str) -> float:
        """1 for the fastest host, one half for one that takes twice as long."""
        return self.fastest / self.seconds.get(host, self.usual)


def haste(answers: Iterable[tuple[str, float]]) -> Haste:
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
