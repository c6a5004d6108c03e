"""What a crawl learns from: its visits, and labels of people as they arrive in the store.

The crawl loop reports every visit and asks now and then. Labels come from other processes at any
time, also for pages visited long ago.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from honeyguide import registry
from honeyguide.config.settings import Settings
from honeyguide.errors import ModelError
from honeyguide.learning.gate import DriftAlarm
from honeyguide.learning.teachers import AllVisitsTeacher, LabelOrigin, make_teacher
from honeyguide.learning.topics import reread_page
from honeyguide.learning.trainer import LearningResult, Trainer, TrainingBackend
from honeyguide.protocols import Strategy
from honeyguide.store.row_checks import parse_decimal
from honeyguide.store.store import Store
from honeyguide.store.visits import VisitRow
from honeyguide.types import Example, Label, Page, Url, Verdict, Visit

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
            self._restore()
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

    def is_due(self) -> bool:
        return self.learns and self._trainer.is_due()

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
        if self._learned:
            self._drift.compare_verdicts(strategy)
        else:
            self._drift.forget_waiting()
        lesson = await self._trainer.learn(strategy)
        self._learned |= lesson.strategy is not None and lesson.live
        return lesson

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
        return page

    def page_to_learn(self, row: VisitRow) -> Page | None:
        """The page of a visit, with links if they are learned from."""
        return (
            reread_page(self._store, row)
            if self._links
            else self._store.visits.latest_page(row.url)
        )

    def _restore(self) -> None:
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
        self._trainer.expect_examples(len(self._awaited))
        taught = self._store.get_meta("taught") or ""
        self.taught = parse_decimal(taught) or 0
        self._learned = bool(taught)
        self._trainer.remember(self._already_taught())
        self._unvisited = self.poll_labels()
        if taught and self._last_label <= self.taught:
            self._trainer.mark_learned()

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
