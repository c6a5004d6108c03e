"""The drift alarm: verdicts and people's labels part.

A label is held against the verdict of the generation that decides when the label is learned from,
and before it is. What was found then stays until newer labels take its place, though a generation
that has learned from them agrees, of course: people should know that they changed its mind.
"""

from __future__ import annotations

from collections import deque

from honeyguide.multi_topic import part_for
from honeyguide.protocols import Strategy
from honeyguide.types import Label, Page

_WINDOW = 20
_FEWEST = 8
_SHARE = 0.4


class Drift:
    """Watches the newest labels."""

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._waiting: deque[tuple[Page, Label]] = deque(maxlen=_WINDOW)
        self._agreed: deque[bool] = deque(maxlen=_WINDOW)

    def heard(self, page: Page, label: Label) -> None:
        if page.text or page.headings:
            self._waiting.append((page, label))

    def judge(self, strategy: Strategy) -> None:
        """What does the generation that is about to learn from these labels say of their pages?"""
        for page, label in self._waiting:
            score = part_for(strategy, label.topic).judge(page).score
            self._agreed.append((score >= self._threshold) == (label.value >= 0.5))
        self._waiting.clear()

    def forget(self) -> None:
        """What was labelled before anything was learned says nothing."""
        self._waiting.clear()

    @property
    def alarm(self) -> str:
        """What to tell people; '' while verdicts and labels agree well enough."""
        parted = len(self._agreed) - sum(self._agreed)
        if len(self._agreed) < _FEWEST or parted <= _SHARE * len(self._agreed):
            return ""
        return (
            f"your labels and the verdicts part: {parted} of the last {len(self._agreed)} differ. "
            "Give more labels, or go back to an earlier generation with: honeyguide generations"
        )
