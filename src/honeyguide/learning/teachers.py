"""Teachers turn visits into examples: by labels of people, or by verdicts of the strategy.

The two modes of Iliou et al., algorithms 1 and 2: *interactive*, where people answer, and
*automatic*, where verdicts of at least ``high`` or at most ``low`` are believed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from honeyguide.protocols import Teacher
from honeyguide.types import Example, Url, Visit

LabelOrigin = Literal["seed", "user"]


@dataclass(frozen=True)
class InteractiveTeacher:
    """Labels of people that are known when the page is fetched; the mapping may grow.

    Labels of pages fetched earlier reach the trainer through learning/training_feed.py.
    """

    labels: Mapping[Url, tuple[float, LabelOrigin]]

    def example_from(self, visit: Visit) -> Example | None:
        found = self.labels.get(visit.link.url)
        if found is None or visit.page is None:
            return None
        return Example(visit.link, visit.page, *found, _response_time(visit))


@dataclass(frozen=True)
class AutomaticTeacher:
    """Verdicts of at least ``high`` or at most ``low``."""

    high: float = 0.8
    low: float = 0.2

    def example_from(self, visit: Visit) -> Example | None:
        if visit.page is None or visit.verdict is None or visit.duplicate is not None:
            return None
        if visit.unproven:
            return None
        score, ungated = visit.verdict.score, visit.verdict.ungated
        if ungated is not None and ungated > self.low:
            return None  # what is wrong with it is its language, not what it is about
        if self.low < score < self.high:
            return None
        target = float(score >= self.high)
        return Example(visit.link, visit.page, target, "judge", _response_time(visit))


@dataclass(frozen=True)
class CombinedTeacher:
    """Labels of people, or else verdicts of the strategy."""

    interactive: InteractiveTeacher
    automatic: AutomaticTeacher

    def example_from(self, visit: Visit) -> Example | None:
        return self.interactive.example_from(visit) or self.automatic.example_from(visit)


@dataclass(frozen=True)
class AllVisitsTeacher:
    """Every page with its verdict: for strategies that learn from all visits, and as a background
    for good pages. Pages in another language and copies are marked as worthless; otherwise links of
    a session-id trap would look as good as the page that they repeat."""

    def example_from(self, visit: Visit) -> Example | None:
        if visit.page is None or visit.verdict is None:
            return None
        score, _, topics, ungated = visit.verdict
        barren = ungated is not None or visit.duplicate is not None or visit.unproven
        if visit.duplicate is not None:
            score, topics = 0.0, (0.0,) * len(topics)
        elapsed = _response_time(visit)
        return Example(visit.link, visit.page, score, "visit", elapsed, "", topics, barren)


def make_teacher(
    kind: Literal["interactive", "automatic", "both"],
    labels: Mapping[Url, tuple[float, LabelOrigin]],
) -> Teacher:
    match kind:
        case "interactive":
            return InteractiveTeacher(labels)
        case "automatic":
            return AutomaticTeacher()
        case "both":
            return CombinedTeacher(InteractiveTeacher(labels), AutomaticTeacher())


def _response_time(visit: Visit) -> float:
    return visit.response.elapsed if visit.response is not None else 0.0
