"""A school: examples come in, lessons go out. Knows nothing of processes, stores or rings."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from honeyguide.learning.gate import HELD_BACK, HeldBack, Trial, tried
from honeyguide.learning.negative_sampling import unlike
from honeyguide.learning.pool import Pool
from honeyguide.protocols import Strategy
from honeyguide.store.generations import pack
from honeyguide.types import Example, Url

_PER_GOOD = 3
"""Pages taken for bad, for each good example, where nobody gave bad ones."""
_BACKGROUND = 10
_TAUGHT = 50
"""Generations of which is remembered what they were taught."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """What came of learning."""

    strategy: Strategy | None
    """The new generation; None: nothing changed."""
    live: bool = True
    """False: the gate held it back."""
    note: str = ""
    """In words, for the list of generations."""
    trial: Trial | None = None
    again: bool = False
    """More pages would help, though no example came: try again when some went by."""


class School:
    def __init__(self, visits: bool = False, key: bytes = b"") -> None:
        """``key``: a secret that says which labels are held back."""
        self._visits = visits
        self._pool = Pool(visits)
        self._held = HeldBack(key)
        self._known: dict[Url, float] = {}
        """What the generations of earlier runs were taught about pages …"""
        self._taught: dict[int, dict[Url, float]] = {}
        """… and those of this run, each: people may go back to any, or insist on one."""
        self._double: tuple[int, Strategy | None] = (0, None)
        """The newest generation, and what it would be without the labels that are held back."""

    def offer(self, example: Example) -> None:
        if example.by in ("seed", "user"):
            self._held.hear(example)
        self._pool.add(example)

    def remember(self, known: dict[Url, float]) -> None:
        self._known |= known

    def lesson(self, strategy: Strategy) -> Lesson:
        """The next generation of this strategy, tried at the gate."""
        labelled = self._pool.labelled()
        believes: int = getattr(strategy, "believes", 0)
        judged = (
            self._pool.surest(labelled, lambda page: strategy.judge(page).score, believes)
            if believes
            else self._pool.judged(labelled)
        )
        own = {example.page.url for example in judged}
        assumed = [e for e in self._assumed(labelled) if e.page.url not in own]
        again = len({e.target >= 0.5 for e in (*labelled, *judged, *assumed)}) < 2
        background = self._pool.visits() if self._visits else []
        examples = (*labelled, *judged, *assumed, *background)
        if not examples:
            return Lesson(None, note="nothing to learn from yet")
        learned = strategy.learn(examples)
        note = _told(labelled, judged, assumed, background)
        if said := getattr(learned, "note", ""):
            note = f"{note} ({said})"
        if learned is strategy:
            return Lesson(None, note=f"learned nothing new from {note}", again=again)
        trial, double = self._try(strategy, labelled, (*judged, *assumed))
        mark = self._note(learned, labelled)
        if trial.passed:
            self._double = mark, double
            self._pool.learned(len(judged))
            self._pool.believe(judged if believes else ())
            return Lesson(learned, True, f"{note}; {trial}", trial, again)
        return Lesson(learned, False, f"{HELD_BACK}: {note}; {trial}", trial, again)

    def _try(
        self, strategy: Strategy, labelled: Sequence[Example], others: Sequence[Example]
    ) -> tuple[Trial, Strategy | None]:
        """The gate. Every label is too dear to be left out for good: a double of the new
        generation, taught without those held back, stands trial for it, against a double of the
        old one. Mere visits are left out; nobody's verdict depends on them."""
        learning, held = self._held.split(labelled)
        if not held:
            return Trial(0), None
        mark = _mark(strategy)
        known = self._taught.get(mark, self._known)
        newest, old = self._double
        if old is None or newest != mark:  # the first, or somebody chose another generation
            earlier = [example for example in learning if example.page.url in known]
            # Which of its own verdicts it believed is not known any more; most were these.
            old = strategy.learn((*earlier, *others)) if earlier else strategy
        # From the old double, which knows already what it has learned from.
        new = old.learn((*learning, *others))
        return tried(old, new, held, known), new

    def _note(self, learned: Strategy, labelled: Sequence[Example]) -> int:
        """Remember what this generation was taught; its mark."""
        mark = _mark(learned)
        self._taught.pop(mark, None)  # the newest last
        self._taught[mark] = {example.page.url: example.target for example in labelled}
        if len(self._taught) > _TAUGHT:
            del self._taught[next(iter(self._taught))]
        return mark

    def _assumed(self, labelled: Sequence[Example]) -> list[Example]:
        """Where people gave only good pages: visited pages unlike them, taken for bad."""
        if not labelled or any(example.target < 0.5 for example in labelled):
            return []
        visits = self._pool.visits()
        if len(visits) < _BACKGROUND:
            return []
        return unlike(labelled, visits, min(len(visits) // 3, _PER_GOOD * len(labelled)))


def _mark(strategy: Strategy) -> int:
    """By which a generation is known again, also when it was saved and read meanwhile."""
    return zlib.crc32(pack("it", strategy))


def _told(
    labelled: Sequence[Example],
    judged: Sequence[Example],
    assumed: Sequence[Example],
    visits: Sequence[Example],
) -> str:
    good = sum(example.target >= 0.5 for example in labelled)
    said = [f"{good} good and {len(labelled) - good} bad examples"]
    if judged:
        said.append(f"{len(judged)} of its own verdicts")
    if assumed:
        said.append(f"{len(assumed)} visited pages unlike the good ones, taken for bad")
    if visits:
        said.append(f"{len(visits)} visits")
    return ", ".join(said)
