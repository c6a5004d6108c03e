"""Pages that are least like some good ones: stand-ins where nobody gave bad examples.

The usual first step of learning from positive examples alone (Liu et al. 2002 call such pages
reliable negatives); likeness is the share of a page's words that good pages use often.
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
    """The visits least like the good pages, as examples of what is not wanted."""
    counts = Counter(word for example in good for word in set(_content_words(example.page)))
    usual = {word for word, _ in counts.most_common(_USUAL_WORDS)}
    scored = []
    for place, visit in enumerate(visits):
        said = _content_words(visit.page)
        if said:
            scored.append((sum(word in usual for word in said) / len(said), place))
    scored.sort()
    return [replace(visits[place], target=0.0, by="judge") for _, place in scored[:most]]


def _content_words(page: Page) -> list[str]:
    language = page.detected_language or page.language[:2] or "en"
    stops = stop_words(language)
    said = split_words(f"{page.title} {page.text[:_TEXT_CHARS]}", language)
    return [word for word in said if word not in stops and not is_too_short(word)]


# --------------------------------------------------------------------------------------------------
# A school: examples come in, lessons go out. Knows nothing of processes, stores or rings.
# --------------------------------------------------------------------------------------------------


_ASSUMED_PER_GOOD = 3
"""Pages taken for bad, for each good example, where nobody gave bad ones."""
_MIN_BACKGROUND = 10
_MAX_TAUGHT = 50
"""Generations of which is remembered what they were taught."""


@dataclass(frozen=True, slots=True)
class LearningResult:
    """What came of learning."""

    strategy: Strategy | None
    """The new generation; None: nothing changed."""
    live: bool = True
    """False: the gate held it back."""
    note: str = ""
    """In words, for the list of generations."""
    trial: GateTrial | None = None
    again: bool = False
    """More pages would help, though no example came: try again when some went by."""


class GenerationBuilder:
    def __init__(self, visits: bool = False, key: bytes = b"") -> None:
        """``key``: a secret that says which labels are held back."""
        self._visits = visits
        self._pool = ExamplePool(visits)
        self._held = LabelHoldout(key)
        self._known: dict[Url, float] = {}
        """What the generations of earlier runs were taught about pages …"""
        self._taught: dict[int, dict[Url, float]] = {}
        """… and those of this run, each: people may go back to any, or insist on one."""
        self._double: tuple[int, Strategy | None] = (0, None)
        """The newest generation, and what it would be without the labels that are held back."""

    def offer(self, example: Example) -> None:
        if example.by in ("seed", "user"):
            self._held.add_label(example)
        self._pool.add(example)

    def remember(self, known: dict[Url, float]) -> None:
        self._known |= known

    def build_generation(self, strategy: Strategy) -> LearningResult:
        """The next generation of this strategy, tried at the gate."""
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
        if said := getattr(learned, "note", ""):
            note = f"{note} ({said})"
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
        """The gate. Every label is too dear to be left out for good: a double of the new
        generation, taught without those held back, stands trial for it, against a double of the
        old one. Mere visits are left out; nobody's verdict depends on them."""
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
        """Remember what this generation was taught; its mark."""
        mark = _strategy_mark(learned)
        self._taught.pop(mark, None)  # the newest last
        self._taught[mark] = {example.page.url: example.target for example in labelled}
        if len(self._taught) > _MAX_TAUGHT:
            del self._taught[next(iter(self._taught))]
        return mark

    def _assumed_negatives(self, labelled: Sequence[Example]) -> list[Example]:
        """Where people gave only good pages: visited pages unlike them, taken for bad."""
        if not labelled or any(example.target < 0.5 for example in labelled):
            return []
        visits = self._pool.unlabelled_visits()
        if len(visits) < _MIN_BACKGROUND:
            return []
        most = min(len(visits) // 3, _ASSUMED_PER_GOOD * len(labelled))
        return sample_negatives(labelled, visits, most)


def _strategy_mark(strategy: Strategy) -> int:
    """By which a generation is known again, also when it was saved and read meanwhile."""
    return zlib.crc32(pack_strategy("it", strategy))


def _describe_examples(
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
        said.append(f"{len(assumed)} visited pages unlike the good ones, assumed to be bad")
    if visits:
        said.append(f"{len(visits)} visits")
    return ", ".join(said)


# --------------------------------------------------------------------------------------------------
# The trainer hears of pages and labels, and says when it is time for a new generation.
# --------------------------------------------------------------------------------------------------


_log = logging.getLogger(__name__)

_GROWTH = 0.1
_FIRST_EXAMPLES = 5
"""Examples before the first lesson of a strategy that learns when they grow."""
_MAX_FAILURES = 3
"""Lessons that may fail in a row."""


class TrainingBackend(Protocol):
    """Where examples go and generations come from, in this process or in another."""

    def offer(self, example: Example) -> None: ...

    def remember(self, known: dict[Url, float]) -> None:
        """What the live generation was taught about pages in an earlier run."""

    async def build_generation(self, strategy: Strategy) -> LearningResult:
        """The next generation. Raises ModelError."""

    async def aclose(self) -> None: ...


class Trainer:
    """When to learn: every so many pages, when examples grew by a tenth, or when a person spoke.

    The count is of pages seen, not of examples taken (Iliou et al. 2017, algorithm 1: k = 14);
    growth by a tenth is the rule of Xu, Yoon & Tourassi.
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
        """Why the last lesson failed; '' if it did not."""

    def count_page(self) -> None:
        """One more page went by."""
        self._pages += 1

    def expect_examples(self, examples: int) -> None:
        """So many examples of the topic are on their way: the first lesson waits for them."""
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
        """What was offered so far was learned in an earlier run."""
        self._fresh = self._labels = 0

    def is_due(self) -> bool:
        if not self._fresh or self._expected > 0 or self._failures >= _MAX_FAILURES:
            return False
        if self._labels and self._eager:
            return True
        if self._grows:
            return self._total >= max(_FIRST_EXAMPLES, (1 + _GROWTH) * self._learned)
        return 0 < self._every <= self._pages

    async def learn(self, strategy: Strategy) -> LearningResult:
        """The next generation, if there is one. A lesson that fails is told, and costs no crawl."""
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
