"""A learner for each of several topics, so that none learns or fails for another.

Pools, limits and the gate are those of a single topic. A new generation has new parts for the
topics that passed their gate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

from honeyguide.config.settings import Settings
from honeyguide.errors import ModelError
from honeyguide.learning import topics
from honeyguide.learning.generation_builder import LearningResult
from honeyguide.learning.teachers import AutomaticTeacher, LabelOrigin
from honeyguide.learning.training_feed import TrainingBackend
from honeyguide.multi_topic import MultiTopicStrategy
from honeyguide.protocols import Strategy
from honeyguide.store.row_checks import parse_decimal
from honeyguide.store.store import Store
from honeyguide.types import Example, Link, Url

_MAX_REDIRECTS = 5
"""Redirects between the labelled address and the page."""
_AUTOMATIC = AutomaticTeacher()
_GROWTH = 1.1


class TopicLearner:
    """The learner of one topic, and what it has not learned from yet."""

    def __init__(self, learner: TrainingBackend) -> None:
        self.learner = learner
        self._offered = self._learned = 0
        self.told = False
        """Whether labels arrived since the last training."""

    def offer(self, example: Example, *, from_person: bool = False) -> None:
        self.learner.offer(example)
        self._offered += 1
        self.told = self.told or from_person

    def mark_learned(self) -> None:
        """All examples so far are learned."""
        self._learned, self.told = self._offered, False

    def has_grown(self) -> bool:
        return self._offered >= _GROWTH * self._learned


class MultiTopicLearner:
    """Offered examples have a page and the best verdict or label; here they become examples of the
    topics that they concern."""

    def __init__(
        self, make: Callable[[], TrainingBackend], store: Store, settings: Settings
    ) -> None:
        self._learners = {name: TopicLearner(make()) for name in topics.topic_names(settings)}
        self._first = next(iter(self._learners))
        self._store = store
        self._examples = topics.example_labels_by_topic(settings)
        self._people = settings.learn.teacher in ("interactive", "both")
        self._automatic = settings.learn.teacher in ("automatic", "both")
        taught = store.get_meta("taught") or ""
        newest = parse_decimal(taught or store.get_meta("known") or "")
        self._resumed = bool(taught)
        self._old: dict[tuple[Url, str], float] = {
            (label.url, label.topic or self._first): label.value
            for label in store.labels.effective_until(-1 if newest is None else newest)
        }
        """Labels of earlier runs."""
        self._last_labels = dict(self._old) if taught else {}
        """Newest labels so far; a repeated one is no reason to learn."""

    def offer(self, example: Example) -> None:
        if example.by == "visit":
            self._offer_visit(example)
        elif example.by != "judge":  # those are found among the visits, for each topic
            self._offer_label(example)

    def remember(self, known: dict[Url, float]) -> None:
        """``known``: pages that were learned from; their targets differ from topic to topic."""
        for name, tutor in self._learners.items():
            taught = {
                u: by_topic[name]
                for u, by_topic in self._examples.items()
                if u in known and name in by_topic
            }
            taught |= {url: value for (url, topic), value in self._old.items() if topic == name}
            tutor.learner.remember(taught)
            if self._resumed:
                tutor.mark_learned()

    async def build_generation(self, strategy: Strategy) -> LearningResult:
        """One topic after the other: they share a processor. A topic keeps its part if it cannot
        learn, if its new part is held back, or if only other topics have new labels and it saw
        little since."""
        several = cast("Any", strategy)
        assert isinstance(several, MultiTopicStrategy)
        found: dict[str, LearningResult] = {}
        troubles: list[ModelError] = []
        occasion = any(tutor.told for tutor in self._learners.values())
        for name, tutor in self._learners.items():
            if occasion and not (tutor.told or tutor.has_grown()):
                continue
            tutor.mark_learned()
            try:
                found[name] = await tutor.learner.build_generation(several.strategy_for(name))
            except ModelError as error:
                found[name] = LearningResult(None, note=str(error))
                troubles.append(error)
        if troubles and all(lesson.strategy is None for lesson in found.values()):
            raise troubles[0]
        return _merge_lessons(several, found)

    async def aclose(self) -> None:
        for tutor in self._learners.values():
            await tutor.learner.aclose()

    def _offer_visit(self, example: Example) -> None:
        """Offer a visit to each topic with its verdict; a certain verdict is an example as well."""
        scores = self._topic_scores(example)
        for name, tutor in self._learners.items():
            score = scores.get(name)
            if score is None:
                continue
            sure = not example.foreign and not _AUTOMATIC.low < score < _AUTOMATIC.high
            if self._automatic and sure:
                believed = float(score >= _AUTOMATIC.high)
                tutor.offer(replace(example, target=believed, by="judge", topic=name))
            tutor.offer(replace(example, target=score, topic=name))

    def _offer_label(self, example: Example) -> None:
        """Offer a label to each topic that it concerns."""
        if example.topic:
            self._learners[example.topic].offer(example, from_person=True)
            return
        for url in self._redirect_chain(example.link, example.page.url):
            if by_topic := self._topic_labels(url):
                for name, (value, by) in by_topic.items():
                    new = self._last_labels.get((url, name)) != value
                    self._last_labels[url, name] = value
                    labelled = replace(example, target=value, by=by, topic=name)
                    self._learners[name].offer(labelled, from_person=new)
                return
        self._learners[self._first].offer(replace(example, topic=self._first), from_person=True)

    def _topic_scores(self, example: Example) -> Mapping[str, float]:
        """Score by topic; those of earlier runs come from the store."""
        if len(example.topics) == len(self._learners):
            return dict(zip(self._learners, example.topics, strict=True))
        rows = self._store.visits.attempts_at(example.page.url)
        if not rows:
            return {}
        return rows[-1].topic_scores or {self._first: example.target}

    def _topic_labels(self, url: Url) -> dict[str, tuple[float, LabelOrigin]]:
        """Topic → target and origin; a label has priority over topic.toml."""
        labels: dict[str, tuple[float, LabelOrigin]] = {
            name: (value, "seed") for name, value in self._examples.get(url, {}).items()
        }
        people = self._store.labels.labels_by_topic(url) if self._people else {}
        for topic, label in people.items():
            if (name := topic or self._first) in self._learners:
                labels[name] = (label.value, "user")
        return labels

    def _redirect_chain(self, link: Link, url: Url) -> Iterator[Url]:
        """The address of the page, and those that redirected to it."""
        yield url
        for _ in range(min(link.hops, _MAX_REDIRECTS)):
            if link.source is None:
                return
            yield link.source
            rows = self._store.visits.attempts_at(link.source)
            if not rows:
                return
            link = rows[-1].link


def _merge_lessons(
    several: MultiTopicStrategy, found: Mapping[str, LearningResult]
) -> LearningResult:
    """One result of all: live if that of any topic is, with only those."""
    learned = {name: lesson for name, lesson in found.items() if lesson.strategy is not None}
    passed = {name: lesson for name, lesson in learned.items() if lesson.live}
    taken = passed or learned
    again = any(lesson.again for lesson in found.values())
    note = "; ".join(f"{name}: {lesson.note}" for name, lesson in found.items() if lesson.note)
    if not taken:
        return LearningResult(None, note=note, again=again)
    parts = tuple(
        cast("Strategy", taken[name].strategy) if name in taken else part
        for name, part in zip(several.names, several.parts, strict=True)
    )
    made = cast("Strategy", replace(several, parts=parts))
    return LearningResult(made, bool(passed), note, again=again)
