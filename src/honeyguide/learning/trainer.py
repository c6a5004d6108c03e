"""Training of generations: assumed negatives, the builder of generations, and when to train.

Where people gave only good pages, the visits least like them are negatives, as in the first step of
learning from positive examples alone (Liu et al. 2002: reliable negatives). Likeness is the share
of the words of a page that good pages use often.
"""

from __future__ import annotations

import logging
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from honeyguide.errors import ModelError
from honeyguide.learning.example_pool import ExamplePool
from honeyguide.learning.gate import HELD_BACK_NOTE, GateTrial, LabelHoldout, run_trial
from honeyguide.protocols import Strategy
from honeyguide.store.generations import pack_strategy
from honeyguide.text.language import split_words, stop_words
from honeyguide.text.normalise import is_too_short
from honeyguide.types import Example, Page, Url

_TEXT_CHARS = 5_000
_USUAL_WORDS = 300


def sample_negatives(
    good: Sequence[Example], visits: Sequence[Example], most: int
) -> list[Example]:
    """The visits least like the good pages, as negative examples."""
    counts = Counter(word for example in good for word in set(_content_words(example.page)))
    usual = {word for word, _ in counts.most_common(_USUAL_WORDS)}
    scored = []
    for place, visit in enumerate(visits):
        words = _content_words(visit.page)
        if words:
            scored.append((sum(word in usual for word in words) / len(words), place))
    scored.sort()
    return [replace(visits[place], target=0.0, by="judge") for _, place in scored[:most]]


def _content_words(page: Page) -> list[str]:
    language = page.detected_language or page.language[:2] or "en"
    stops = stop_words(language)
    words = split_words(f"{page.title} {page.text[:_TEXT_CHARS]}", language)
    return [word for word in words if word not in stops and not is_too_short(word)]


# --- Generations ---


_ASSUMED_PER_GOOD = 3
"""Assumed negatives for each good example, without bad examples of people."""
_MIN_BACKGROUND = 10
_MAX_TAUGHT = 50
"""Generations whose training labels are stored."""


@dataclass(frozen=True, slots=True)
class LearningResult:
    """The result of a training."""

    strategy: Strategy | None
    """The new generation; None: nothing changed."""
    live: bool = True
    """False: the gate held it back."""
    note: str = ""
    """In words, for the list of generations."""
    trial: GateTrial | None = None
    again: bool = False
    """More pages would help without new examples: try again later."""


class GenerationBuilder:
    """Collects examples and trains generations. Independent of processes, stores and the crawl."""

    def __init__(self, visits: bool = False, key: bytes = b"") -> None:
        """``key``: a secret that decides which labels are held out."""
        self._visits = visits
        self._pool = ExamplePool(visits)
        self._held = LabelHoldout(key)
        self._known: dict[Url, float] = {}
        """Labels that generations of earlier runs were trained with."""
        self._taught: dict[int, dict[Url, float]] = {}
        """Those of each generation of this run: people may return to any of them."""
        self._double: tuple[int, Strategy | None] = (0, None)
        """The newest generation, and its shadow model, trained without held-out labels."""

    def offer(self, example: Example) -> None:
        if example.by in ("seed", "user"):
            self._held.add_label(example)
        self._pool.add(example)

    def remember(self, known: dict[Url, float]) -> None:
        self._known |= known

    def build_generation(self, strategy: Strategy) -> LearningResult:
        """The next generation of this strategy, tested at the gate."""
        labelled = self._pool.labelled_examples()
        believes: int = getattr(strategy, "believes", 0)
        judged = (
            self._pool.confident_judged(labelled, lambda page: strategy.judge(page).score, believes)
            if believes
            else self._pool.recent_judged(labelled)
        )
        own = {example.page.url for example in judged}
        assumed = [e for e in self._assumed_negatives(labelled) if e.page.url not in own]
        again = len({e.target >= 0.5 for e in (*labelled, *judged, *assumed)}) < 2
        background = self._pool.unlabelled_visits() if self._visits else []
        examples = (*labelled, *judged, *assumed, *background)
        if not examples:
            return LearningResult(None, note="no training examples yet")
        learned = strategy.learn(examples)
        note = _describe_examples(labelled, judged, assumed, background)
        if learned_note := getattr(learned, "note", ""):
            note = f"{note} ({learned_note})"
        if learned is strategy:
            return LearningResult(None, note=f"no change after training on {note}", again=again)
        trial, double = self._run_gate(strategy, labelled, (*judged, *assumed))
        mark = self._remember_taught(learned, labelled)
        if trial.passed:
            self._double = mark, double
            self._pool.set_learned(len(judged))
            self._pool.set_believed(judged if believes else ())
            return LearningResult(learned, True, f"{note}; {trial}", trial, again)
        return LearningResult(learned, False, f"{HELD_BACK_NOTE}: {note}; {trial}", trial, again)

    def _run_gate(
        self, strategy: Strategy, labelled: Sequence[Example], others: Sequence[Example]
    ) -> tuple[GateTrial, Strategy | None]:
        """Test at the gate. Every label is too valuable to be left out for good: a shadow model,
        trained without held-out labels, is tested instead of the new generation, against that of
        the old one. Mere visits are left out; no verdict depends on them."""
        learning, held = self._held.split_examples(labelled)
        if not held:
            return GateTrial(0), None
        mark = _strategy_mark(strategy)
        known = self._taught.get(mark, self._known)
        newest, old = self._double
        if old is None or newest != mark:  # the first, or somebody chose another generation
            earlier = [example for example in learning if example.page.url in known]
            # Which of its own verdicts it believed is not known any more; most were these.
            old = strategy.learn((*earlier, *others)) if earlier else strategy
        # From the old double, which knows already what it has learned from.
        new = old.learn((*learning, *others))
        return run_trial(old, new, held, known), new

    def _remember_taught(self, learned: Strategy, labelled: Sequence[Example]) -> int:
        """Store the labels of this generation; returns its mark."""
        mark = _strategy_mark(learned)
        self._taught.pop(mark, None)  # the newest last
        self._taught[mark] = {example.page.url: example.target for example in labelled}
        if len(self._taught) > _MAX_TAUGHT:
            del self._taught[next(iter(self._taught))]
        return mark

    def _assumed_negatives(self, labelled: Sequence[Example]) -> list[Example]:
        """Visited pages unlike the good ones, taken as bad, if people gave only good pages."""
        if not labelled or any(example.target < 0.5 for example in labelled):
            return []
        visits = self._pool.unlabelled_visits()
        if len(visits) < _MIN_BACKGROUND:
            return []
        most = min(len(visits) // 3, _ASSUMED_PER_GOOD * len(labelled))
        return sample_negatives(labelled, visits, most)


def _strategy_mark(strategy: Strategy) -> int:
    """Identifies a generation, also after it was saved and loaded."""
    return zlib.crc32(pack_strategy("it", strategy))


def _describe_examples(
    labelled: Sequence[Example],
    judged: Sequence[Example],
    assumed: Sequence[Example],
    visits: Sequence[Example],
) -> str:
    good = sum(example.target >= 0.5 for example in labelled)
    parts = [f"{good} good and {len(labelled) - good} bad examples"]
    if judged:
        parts.append(f"{len(judged)} of its own verdicts")
    if assumed:
        parts.append(f"{len(assumed)} visited pages unlike the good ones, assumed to be bad")
    if visits:
        parts.append(f"{len(visits)} visits")
    return ", ".join(parts)


# --- When to train ---


_log = logging.getLogger(__name__)

_GROWTH = 0.1
_FIRST_EXAMPLES = 5
"""Examples before the first training of a strategy that learns on growth."""
_MAX_FAILURES = 3
"""Failed trainings in a row after which no more are tried."""


class TrainingBackend(Protocol):
    """Takes examples and returns generations, in this process or another."""

    def offer(self, example: Example) -> None: ...

    def remember(self, known: dict[Url, float]) -> None:
        """Labels that the live generation was trained with in an earlier run."""

    async def build_generation(self, strategy: Strategy) -> LearningResult:
        """The next generation. Raises ModelError."""

    async def aclose(self) -> None: ...


class Trainer:
    """Decides when to learn: every so many pages, on growth by a tenth, or after a label.

    Pages seen are counted, not examples (Iliou et al. 2017, algorithm 1: k = 14); growth by a tenth
    is the rule of Xu, Yoon & Tourassi.
    """

    def __init__(
        self, learner: TrainingBackend, every: int, *, grows: bool = False, eager: bool = True
    ) -> None:
        self._learner = learner
        self._every = every
        self._grows = grows
        self._eager = eager
        self._pages = self._fresh = self._labels = self._total = self._learned = 0
        self._expected = 0
        self._failures = 0
        self.trouble = ""
        """Why the last training failed; '' if it did not."""

    def count_page(self) -> None:
        """Count a page."""
        self._pages += 1

    def expect_examples(self, examples: int) -> None:
        """So many examples of the topic are still being fetched: the first training waits for
        them."""
        self._expected = examples

    def offer(self, example: Example) -> None:
        self._learner.offer(example)
        self._total += 1
        if example.by != "visit" or self._grows:
            self._fresh += 1
        self._labels += example.by in ("seed", "user")

    def remember(self, known: dict[Url, float]) -> None:
        self._learner.remember(known)

    def mark_learned(self) -> None:
        """All examples so far were learned in an earlier run."""
        self._fresh = self._labels = 0

    @property
    def has_news(self) -> bool:
        """Whether anything was offered since it learned last."""
        return self._fresh > 0

    def is_due(self) -> bool:
        if not self._fresh or self._expected > 0 or self._failures >= _MAX_FAILURES:
            return False
        if self._labels and self._eager:
            return True
        if self._grows:
            return self._total >= max(_FIRST_EXAMPLES, (1 + _GROWTH) * self._learned)
        return 0 < self._every <= self._pages

    async def learn(self, strategy: Strategy) -> LearningResult:
        """The next generation, if there is one. A failed training is logged and does not end the
        crawl."""
        self._pages = self._fresh = self._labels = 0
        self._learned = self._total
        try:
            lesson = await self._learner.build_generation(strategy)
        except ModelError as error:
            self._failures += 1
            self.trouble = str(error)
            _log.warning("%s", error)
            return LearningResult(None, note=str(error))
        self._failures = 0
        self._fresh += lesson.again
        return lesson

    async def aclose(self) -> None:
        await self._learner.aclose()
