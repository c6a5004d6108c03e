"""How well a crawl went, against the truth: harvest rate, recall, area under the curve."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Harvest:
    """What a crawl brought in, visit by visit."""

    found: tuple[int, ...]
    """Relevant pages found after each visit."""
    relevant: int
    """Relevant pages there are."""

    @property
    def rate(self) -> float:
        """Relevant visits ÷ visits."""
        return self.found[-1] / len(self.found) if self.found else 0.0

    @property
    def recall(self) -> float:
        return self.found[-1] / self.relevant if self.found and self.relevant else 0.0

    @property
    def area(self) -> float:
        """Area under the curve of relevant pages found ÷ that of a perfect crawl; 0..1."""
        ideal = sum(min(n, self.relevant) for n in range(1, len(self.found) + 1))
        return sum(self.found) / ideal if ideal else 0.0

    def rates(self) -> list[float]:
        """The cumulative harvest rate after each visit."""
        return [found / n for n, found in enumerate(self.found, 1)]

    def visits_to(self, count: int) -> int | None:
        """How many visits it took to find so many relevant pages; None: it did not."""
        for n, found in enumerate(self.found, 1):
            if found >= count:
                return n
        return None


def harvest(truth: Iterable[bool], relevant: int) -> Harvest:
    """From the truth about each visited page, in order of the visits."""
    found, running = [], 0
    for good in truth:
        running += good
        found.append(running)
    return Harvest(tuple(found), relevant)


def sampled(values: Sequence[float], most: int) -> list[tuple[int, float]]:
    """At most so many (place, value) points of a curve, evenly spread, the last one included."""
    if not values:
        return []
    step = max(1, -(-len(values) // most))
    places = sorted({*range(step - 1, len(values), step), len(values) - 1})
    return [(place + 1, values[place]) for place in places]
