"""What a crawl learns from: its visits, and labels of people as they arrive in the store.

The crawl loop reports every visit and asks now and then. Labels come from other processes at any
time, also for pages visited long ago.
"""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from honeyguide import registry
from honeyguide.config.settings import Settings
from honeyguide.errors import ModelError
from honeyguide.learning.generation_builder import LearningResult
from honeyguide.learning.teachers import AllVisitsTeacher, LabelOrigin, make_teacher
from honeyguide.learning.topics import reread_page
from honeyguide.learning.unlearned import waiting_labels
from honeyguide.multi_topic import strategy_for_topic
from honeyguide.protocols import Strategy
from honeyguide.store.generations import TrainingMark
from honeyguide.store.row_checks import parse_decimal
from honeyguide.store.store import Store
from honeyguide.store.visits import VisitRow
from honeyguide.types import Example, Label, Page, Url, Verdict, Visit

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

    Pages seen are counted, not examples (Iliou et al., algorithm 1: k = 14); growth by a tenth
    is the rule of Xu, Yoon & Tourassi.
    """

    def __init__(
        self, learner: TrainingBackend, every: int, *, grows: bool = False, eager: bool = True
    ) -> None:
        self._learner = learner
        self._every = every
        self._grows = grows
        self._eager = eager
        self._pages = self._fresh = self._total = self._learned = 0
        self._labels: dict[Url, bool] = {}
        """Pages with labels or examples that no training had; whether a person labelled them …"""
        self._in_training: dict[Url, bool] = {}
        """… and those that the newest training has."""
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
        if example.by in ("seed", "user"):
            self._labels[example.page.url] = example.by == "user"

    def remember(self, known: dict[Url, float]) -> None:
        self._learner.remember(known)

    def set_waiting(self, labels: Mapping[Url, bool], *, learned: bool) -> None:
        """Of all examples so far, earlier runs did not learn these; ``learned``: but the rest."""
        self._labels = dict(labels)
        self._fresh = len(labels) if learned else max(self._fresh, len(labels))

    def requeue_labels(self) -> None:
        """What came of the newest training was dropped: its labels wait again."""
        self._labels = self._in_training | self._labels
        self._fresh += len(self._in_training)
        self._in_training = {}

    @property
    def waiting(self) -> int:
        """Labels and examples that no training had so far."""
        return len(self._labels)

    @property
    def has_news(self) -> bool:
        """Whether anything was offered since it learned last."""
        return self._fresh > 0

    def is_due(self, *, at_once: bool = False) -> bool:
        """Whether to learn now; ``at_once``: whatever else, if labels wait. Labels of people do
        not wait for examples of the topic then."""
        if at_once:
            ready = any(self._labels.values()) or (self._labels and self._expected <= 0)
            return bool(ready) and self._failures < _MAX_FAILURES
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
        self._pages = self._fresh = 0
        self._learned = self._total
        self._in_training, self._labels = self._labels, {}
        try:
            lesson = await self._learner.build_generation(strategy)
        except asyncio.CancelledError:
            self.requeue_labels()
            raise
        except ModelError as error:
            self.requeue_labels()
            self._fresh = 0  # it is tried again with the next example
            self._failures += 1
            self.trouble = str(error)
            _log.warning("%s", error)
            return LearningResult(None, note=str(error))
        self._failures, self.trouble = 0, ""
        self._fresh += lesson.again
        return lesson

    async def aclose(self) -> None:
        await self._learner.aclose()


# --- Drift ---


_WINDOW = 20
_MIN_COMPARED = 8
_DIFFERING_SHARE = 0.4


class DriftAlarm:
    """Compares a label with the verdict of the present generation before it learns from the label.

    A warning stays until newer labels replace these, so that people know that they changed its
    mind.
    """

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


# --- The feed ---


LabelAnswers = Mapping[Url, tuple[float, LabelOrigin]]
"""Labels of pages with their origin."""

_AWAIT_PAGES = 50
"""Pages to wait for the own examples of the topic."""
_RESTORED_VISITS = 2_000
"""Newest visits that a resumed crawl restores."""


class TrainingFeed:
    """Feeds the trainer of a strategy that learns; does nothing for others."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        strategy: Strategy,
        learner: TrainingBackend,
        examples: dict[Url, float],
        files: Sequence[Example] = (),
        people: LabelAnswers | None = None,
    ) -> None:
        """``examples``: examples of the topic by address; ``files``: example files.

        ``people`` can be asked about any page; without it labels come from the store.
        """
        habits = strategy.traits
        self.learns = habits.learns
        self._kind = type(strategy)
        self._label_source = people
        self._people = settings.learn.teacher in ("interactive", "both")
        self._store = store
        self._links = habits.reads_outlinks
        self._known: dict[Url, tuple[float, LabelOrigin]]
        self._known = {url: (value, "seed") for url, value in examples.items()}
        self._awaited = set(examples)
        self._patience = _AWAIT_PAGES + len(examples)
        self._unvisited: list[Url] = []
        self._fresh: dict[Url, float] = dict(examples)
        """Labels since :meth:`take_new_labels`."""
        self.taught = 0
        """Number of the newest label in the last training."""
        self._visits = store.visits.last_id()
        """Number of the newest visit."""
        texts = sorted(f"{one.target} {one.page.url} {one.page.text}" for one in files)
        self._files = zlib.crc32("\n".join(texts).encode("utf-8", "replace"))
        self._last_label = 0
        """Number of the newest label that was read."""
        # Without a teacher it still learns from the topic's own examples.
        kind = settings.learn.teacher
        self._alone = kind == "none"
        self._teacher = make_teacher("interactive" if kind == "none" else kind, self._known)
        self._trainer = Trainer(
            learner, settings.learn.every, grows=habits.learns_on_growth, eager=settings.learn.eager
        )
        self._drift = DriftAlarm(settings.topic.threshold)
        self._learned = False
        """Whether the live generation was trained."""
        self._refused = -1
        """A generation chosen by hand that could not be loaded."""
        self.told: list[str] = []
        """Warnings for the report."""
        if self.learns:
            for example in files:
                self._trainer.offer(example)
            self._restore(settings, [example.page.url for example in files])
            topic = settings.topic
            stated = topic.keywords or topic.description or topic.ontology
            if not (stated or examples or files or self._last_label):
                self.told.append(
                    "there is nothing to judge by before the first labels: add keywords, a "
                    "description or good and bad pages to topic.toml, or label pages"
                )

    @property
    def warnings(self) -> tuple[str, ...]:
        found = (*self.told, self._drift.warning, self._trainer.trouble)
        return tuple(text for text in found if text)

    def record_visit(self, visit: Visit) -> None:
        """Learn from a visit that was just made."""
        self._visits += 1
        if self.learns:
            self._await_examples(visit)
            self._offer_visit(visit)
            if visit.page is not None:
                self._trainer.count_page()

    def poll_labels(self) -> list[Url]:
        """Read new labels; returns good pages that were never visited."""
        if not self.learns or not self._people:
            return []
        unvisited, self._unvisited = self._unvisited, []
        for number, label in self._store.labels.effective_after(self._last_label):
            self._last_label = max(self._last_label, number)
            self._known[label.url] = (label.value, "user")
            self._fresh[label.url] = label.value
            page = self._offer_labelled(label)
            if page is None and label.value >= 0.5:
                unvisited.append(label.url)
            elif page is not None and number > self.taught:
                self._drift.add_label(page, label)
        return unvisited

    def labels_of(self, urls: Iterable[Url]) -> dict[Url, float]:
        """Labels of these pages, examples of the topic included."""
        return {url: self._known[url][0] for url in urls if url in self._known}

    def all_labels(self) -> dict[Url, float]:
        """Labels of all pages."""
        return {url: value for url, (value, _) in self._known.items()}

    def take_new_labels(self) -> dict[Url, float]:
        """Labels since the last call."""
        fresh, self._fresh = self._fresh, {}
        return self.labels_of(fresh)

    def chosen_generation(self, present: int) -> tuple[Strategy, int] | None:
        """Another generation that was chosen by hand since, if it can be loaded."""
        live = self._store.generations.live_number()
        if live is None or live in (present, self._refused):
            return None
        try:
            found: Strategy = self._store.generations.load(live, registry.find_strategy)
            if type(found) is not self._kind:
                raise ModelError("it is one of another strategy")
            return found, live
        except ModelError as error:
            self._refused = live
            self.told.append(f"generation {live} could not be loaded: {error}")
            return None

    def stop_waiting(self) -> None:
        """The crawl ends: do not wait for further examples of the topic."""
        self._awaited.clear()
        self._trainer.expect_examples(0)

    def is_due(self, *, at_once: bool = False) -> bool:
        return self.learns and self._trainer.is_due(at_once=at_once)

    @property
    def waiting(self) -> int:
        """Labels and examples that no training had so far."""
        return self._trainer.waiting if self.learns else 0

    def requeue_labels(self) -> None:
        self._trainer.requeue_labels()

    @property
    def trouble(self) -> str:
        """Why it could not learn last; '': it could."""
        return self._trainer.trouble

    @property
    def has_news(self) -> bool:
        """Whether there is something that no generation has learned from, due or not."""
        return self.learns and self._trainer.has_news

    async def learn(self, strategy: Strategy) -> LearningResult:
        self.taught = self._last_label
        mark = TrainingMark(self._last_label, self._visits, self._files)
        if self._learned:
            self._drift.compare_verdicts(strategy)
        else:
            self._drift.forget_waiting()
        lesson = await self._trainer.learn(strategy)
        decides = lesson.strategy is not None and lesson.live
        self._learned |= decides
        if self._trainer.trouble:
            return lesson
        return replace(lesson, mark=mark if decides else mark._replace(why=lesson.note))

    async def aclose(self) -> None:
        await self._trainer.aclose()

    def _offer_visit(self, visit: Visit) -> None:
        url = visit.link.url
        if self._label_source is not None and visit.page is not None and url in self._label_source:
            self._known[url] = self._label_source[url]
        lessons = [self._teacher.example_from(visit)]
        if not self._alone:
            lessons.append(_EVERY_VISIT.example_from(visit))
        for example in lessons:
            if example is not None:
                self._trainer.offer(example)

    def _await_examples(self, visit: Visit) -> None:
        """The first training waits for the examples of the topic while they may still come."""
        url = visit.link.url
        if visit.moved is not None and url in self._known:
            # What was said of an address holds for where it leads.
            self._known.setdefault(visit.moved, self._known[url])
            if url in self._awaited:
                self._awaited.add(visit.moved)
        if url in self._awaited and (visit.failure is None or visit.failure.final):
            self._awaited.discard(url)
        if self._awaited and visit.page is not None:
            self._patience -= 1
            if not self._patience:
                self._awaited.clear()
        self._trainer.expect_examples(len(self._awaited))

    def _offer_labelled(self, label: Label) -> Page | None:
        """The labelled page, if it was visited."""
        rows = [row for row in self._store.visits.attempts_at(label.url) if row.has_page]
        page = self.page_to_learn(rows[-1]) if rows else None
        if page is not None:
            row = rows[-1]
            self._trainer.offer(Example(row.link, page, label.value, "user", row.elapsed or 0.0))
        else:
            self._offer_bad_result(label.url, label.value, "user")
        return page

    def _offer_bad_result(self, url: Url, value: float, by: LabelOrigin) -> None:
        """A search result that is called bad and was not fetched teaches by its headline and
        snippet (Xu, Yoon & Tourassi: users mark good and bad results); good ones are fetched."""
        if value < 0.5 and (result := self._store.searches.find_result(url)) is not None:
            self._trainer.offer(Example(result.to_link(), result.to_page(), value, by))

    def page_to_learn(self, row: VisitRow) -> Page | None:
        """The page of a visit, with links if they are learned from."""
        return (
            reread_page(self._store, row)
            if self._links
            else self._store.visits.latest_page(row.url)
        )

    def _restore(self, settings: Settings, files: Sequence[Url]) -> None:
        """Restore the newest visits and all labels of earlier runs."""
        for visit in self._earlier_visits():
            self._offer_visit(visit)
        for url, (value, by) in list(self._known.items()):
            rows = [row for row in self._store.visits.attempts_at(url) if row.has_page or row.final]
            if rows:
                self._awaited.discard(url)
            page = self.page_to_learn(rows[-1]) if rows and rows[-1].has_page else None
            if page is not None:
                self._trainer.offer(Example(rows[-1].link, page, value, by))
            else:
                self._offer_bad_result(url, value, by)
        self._trainer.expect_examples(len(self._awaited))
        taught = self._store.get_meta("taught") or ""
        self.taught = parse_decimal(taught) or 0
        self._learned = bool(taught)
        self._trainer.remember(self._already_taught())
        self._unvisited = self.poll_labels()
        mark = TrainingMark.from_store(self._store)
        waiting = waiting_labels(self._store, settings, mark)
        if mark.files not in (None, self._files):
            waiting |= dict.fromkeys(files, False)
        self._trainer.set_waiting(waiting, learned=bool(taught))

    def _already_taught(self) -> dict[Url, float]:
        """Labels that the live generation was trained with."""
        newest = self._store.get_meta("taught") or self._store.get_meta("known") or ""
        if (number := parse_decimal(newest)) is None:
            return {}  # it was made from the topic, and has learned nothing
        labels = self._store.labels.effective_until(number) if self._people else []
        return self.all_labels() | {label.url: label.value for label in labels}

    def _earlier_visits(self) -> Iterator[Visit]:
        newest = self._store.counter.read_counts().visits
        for row in self._store.visits.iter_visits(
            page=True, since=max(0, newest - _RESTORED_VISITS)
        ):
            if row.verdict is not None:
                page = self.page_to_learn(row)
                if page is not None:
                    followed = row.to_followed_visit(Verdict(row.verdict, ungated=row.ungated))
                    yield followed._replace(page=page)


_EVERY_VISIT = AllVisitsTeacher()
