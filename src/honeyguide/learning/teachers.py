"""Teachers turn visits into examples: by a person's labels, or by the strategy's own verdicts.

The two modes of Iliou et al. 2017, section 3: *interactive*, where people answer, and
*automatic*, where verdicts of at least ``high`` or at most ``low`` are believed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from honeyguide.protocols import Teacher
from honeyguide.types import Example, Url, Visit


@dataclass(frozen=True)
class Interactive:
    """People's labels, as far as they are known when the page comes by.

    Labels that arrive later reach the trainer from the store, not through here.
    """

    labels: Mapping[Url, float]

    def teach(self, visit: Visit) -> Example | None:
        target = self.labels.get(visit.link.url)
        if target is None or visit.page is None:
            return None
        return Example(visit.link, visit.page, target, "user")


@dataclass(frozen=True)
class Automatic:
    high: float = 0.8
    low: float = 0.2

    def teach(self, visit: Visit) -> Example | None:
        if visit.page is None or visit.verdict is None or visit.copy is not None:
            return None
        if visit.verdict.score >= self.high:
            return Example(visit.link, visit.page, 1.0, "judge")
        if visit.verdict.score <= self.low:
            return Example(visit.link, visit.page, 0.0, "judge")
        return None


@dataclass(frozen=True)
class Both:
    """A person's word goes before the strategy's own."""

    interactive: Interactive
    automatic: Automatic

    def teach(self, visit: Visit) -> Example | None:
        return self.interactive.teach(visit) or self.automatic.teach(visit)


@dataclass(frozen=True)
class Nobody:
    def teach(self, visit: Visit) -> Example | None:  # noqa: ARG002 - there is nothing to say
        return None


def teacher(
    kind: Literal["none", "interactive", "automatic", "both"], labels: Mapping[Url, float]
) -> Teacher:
    match kind:
        case "none":
            return Nobody()
        case "interactive":
            return Interactive(labels)
        case "automatic":
            return Automatic()
        case "both":
            return Both(Interactive(labels), Automatic())
