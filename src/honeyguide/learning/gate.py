"""The validation gate: a new generation does not go live if it is clearly worse than the present
one.

Shadow models of both judge labelled pages that they have not learned from. A fifth of all labels is
held out, good and bad ones alike, always the same; without the key nobody can foresee which. A
batch of bad labels would confirm itself, so if there are enough, only pages count that were
labelled before the present generation was trained and whose label did not change. If most of them
were changed and too few are left, nothing is tested, and the new generation waits for a person.

The drift alarm compares a label with the verdict of the present generation before it learns from
the label. A warning stays until newer labels replace these, so that people know that they changed
its mind.
"""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from honeyguide.multi_topic import strategy_for_topic
from honeyguide.protocols import Strategy
from honeyguide.types import Example, Label, Page, Url

HOLDOUT_EVERY = 5
"""One label in so many is held out."""
_FIRST_HELD = 3
"""One of the first so many is held out, so that both kinds are soon tested."""
MIN_LABELS = 25
"""Labels without which nothing is held out: a smaller set is needed whole."""
_MIN_TRIAL_PAGES = 4
"""Fewer pages, or pages of one kind, prove nothing."""
ERROR_TOLERANCE = 0.02
"""Mean squared error that a new generation may lose; more only up to the standard error of the
differences."""

HELD_BACK_NOTE = "held back"
"""Beginning of the note of a generation that did not pass."""
_TRIAL_NOTE = re.compile(
    r"error (\d\.\d{3}), before (\d\.\d{3}), on (\d{1,9}) held-(?:out|back) labels$"
)


@dataclass(frozen=True, slots=True)
class GateTrial:
    """Mean squared errors of two generations on the same labelled pages."""

    pages: int
    before: float = 0.0
    after: float = 0.0
    chance: float = 0.0
    """Standard error of the difference."""
    changed: int = 0
    """Held-out labels that were changed, if these are too many for a test on the rest."""

    @property
    def passed(self) -> bool:
        if self.changed:
            return False
        return not self.pages or self.after - self.before <= max(ERROR_TOLERANCE, self.chance)

    def __str__(self) -> str:
        if self.changed:
            return f"most labels were changed ({self.changed} of those to try it on)"
        if not self.pages:
            return "untried"
        return f"error {self.after:.3f}, before {self.before:.3f}, on {self.pages} held-out labels"

    @classmethod
    def from_note(cls, note: str) -> GateTrial | None:
        """The trial in the note of a generation; None: there was none."""
        found = _TRIAL_NOTE.search(note)
        return found and cls(int(found[3]), before=float(found[2]), after=float(found[1]))


class LabelHoldout:
    """Which labels are held out: one in five of each kind, as they arrive.

    The key chooses which of the five. Without one, as in the lab, it is always the third.
    """

    def __init__(self, key: bytes = b"") -> None:
        self._key = key
        self._held: dict[Url, bool] = {}
        self._counts = {True: 0, False: 0}

    def add_label(self, example: Example) -> None:
        if (url := example.page.url) not in self._held:
            kind = example.target >= 0.5
            five, place = divmod(self._counts[kind], HOLDOUT_EVERY)
            self._counts[kind] += 1
            self._held[url] = place == self._held_place(kind, five)

    def _held_place(self, kind: bool, five: int) -> int:
        """Place of the label that is held out among these five."""
        if not self._key:
            return _FIRST_HELD - 1
        drawn = hashlib.blake2b(f"{kind} {five}".encode(), key=self._key, digest_size=8).digest()
        return int.from_bytes(drawn, "big") % (HOLDOUT_EVERY if five else _FIRST_HELD)

    def split_examples(self, labelled: Sequence[Example]) -> tuple[list[Example], list[Example]]:
        """Examples to learn from, and held-out ones; few labels are all learned from."""
        if len(labelled) < MIN_LABELS:
            return list(labelled), []
        held = [example for example in labelled if self._held.get(example.page.url)]
        return [example for example in labelled if not self._held.get(example.page.url)], held


def run_trial(
    old: Strategy, new: Strategy, held: Sequence[Example], known: Mapping[Url, float]
) -> GateTrial:
    """``known``: pages that the old generation could have learned from, with their targets."""
    earlier = [example for example in held if example.page.url in known]
    pages = [example for example in earlier if not _label_changed(example, known)]
    if not _has_both_kinds(pages):
        changed = len(earlier) - len(pages)
        if 2 * changed >= max(_MIN_TRIAL_PAGES, len(earlier)):
            return GateTrial(0, changed=changed)
        pages = [example for example in held if not _label_changed(example, known)]
    if not _has_both_kinds(pages):
        return GateTrial(0)
    before, after = squared_errors(old, pages), squared_errors(new, pages)
    differences = [b - a for a, b in zip(before, after, strict=True)]
    chance = stdev(differences) / len(pages) ** 0.5
    return GateTrial(len(pages), fmean(before), fmean(after), chance)


def squared_errors(strategy: Strategy, examples: Sequence[Example]) -> list[float]:
    """Squared differences of verdict and label (Brier 1950)."""
    return [(strategy.judge(e.page).score - e.target) ** 2 for e in examples]


def _label_changed(example: Example, known: Mapping[Url, float]) -> bool:
    """Whether the page was learned as the opposite of its present label."""
    before = known.get(example.page.url, example.target)
    return (before >= 0.5) != (example.target >= 0.5)


def _has_both_kinds(examples: Sequence[Example]) -> bool:
    return len(examples) >= _MIN_TRIAL_PAGES and len({e.target >= 0.5 for e in examples}) == 2


# --- Drift ---


_WINDOW = 20
_MIN_COMPARED = 8
_DIFFERING_SHARE = 0.4


class DriftAlarm:
    """Compares the newest labels with verdicts."""

    def __init__(self, threshold: float) -> None:
        self._threshold = threshold
        self._waiting: deque[tuple[Page, Label]] = deque(maxlen=_WINDOW)
        self._agreed: deque[bool] = deque(maxlen=_WINDOW)

    def add_label(self, page: Page, label: Label) -> None:
        if page.text or page.headings:
            self._waiting.append((page, label))

    def compare_verdicts(self, strategy: Strategy) -> None:
        """Compare the waiting labels with the generation that is about to learn from them."""
        for page, label in self._waiting:
            score = strategy_for_topic(strategy, label.topic).judge(page).score
            self._agreed.append((score >= self._threshold) == (label.value >= 0.5))
        self._waiting.clear()

    def forget_waiting(self) -> None:
        """Labels before the first training say nothing."""
        self._waiting.clear()

    @property
    def warning(self) -> str:
        """A warning for people; '' while verdicts and labels agree well enough."""
        parted = len(self._agreed) - sum(self._agreed)
        if len(self._agreed) < _MIN_COMPARED or parted <= _DIFFERING_SHARE * len(self._agreed):
            return ""
        return (
            f"your labels and the verdicts disagree: {parted} of the last {len(self._agreed)} "
            "differ. Give more labels, or go back to an earlier generation with: honeyguide "
            "generations"
        )
