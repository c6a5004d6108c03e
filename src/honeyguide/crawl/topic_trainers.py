"""A learner for each of several topics, so that none learns, or fails, for another.

Pools, caps and the gate are then those of a single topic, and the labels of one topic change
nothing for the others: a new generation has new parts for the topics that passed their gate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, cast

from honeyguide.config import Settings
from honeyguide.crawl import topics
from honeyguide.errors import ModelError
from honeyguide.learning.teach import Lesson
from honeyguide.learning.teachers import Automatic, By
from honeyguide.learning.trainer import Learner
from honeyguide.multi_topic import Several
from honeyguide.protocols import Strategy
from honeyguide.store.row_checks import decimal
from honeyguide.store.store import Store
from honeyguide.types import Example, Link, Url

_HOPS = 5
"""Redirects between the address that a person named and the page."""
_SURE = Automatic()
_GROWTH = 1.1


class Tutor:
    """The learner of one topic, and what it has not learned from yet."""

    def __init__(self, learner: Learner) -> None:
        self.learner = learner
        self._offered = self._learned = 0
        self.told = False
        """Whether people spoke since the last lesson."""

    def offer(self, example: Example, *, told: bool = False) -> None:
        self.learner.offer(example)
        self._offered += 1
        self.told = self.told or told

    def settle(self) -> None:
        """What was offered so far is learned."""
        self._learned, self.told = self._offered, False

    def grown(self) -> bool:
        return self._offered >= _GROWTH * self._learned


class Tutors:
    """Whoever offers an example knows its page and what the best verdict or somebody said, not for
    which topic; here it becomes an example of each topic that something is known for."""

    def __init__(self, make: Callable[[], Learner], store: Store, settings: Settings) -> None:
        self._tutors = {name: Tutor(make()) for name in topics.names(settings)}
        self._first = next(iter(self._tutors))
        self._store = store
        self._given = topics.judged(settings)
        self._people = settings.learn.teacher in ("interactive", "both")
        self._automatic = settings.learn.teacher in ("automatic", "both")
        taught = store.meta("taught") or ""
        newest = decimal(taught or store.meta("known") or "")
        self._resumed = bool(taught)
        self._old: dict[tuple[Url, str], float] = {
            (label.url, label.topic or self._first): label.value
            for label in store.labels_until(-1 if newest is None else newest)
        }
        """What was said of pages in an earlier run …"""
        self._heard = dict(self._old) if taught else {}
        """… and since: no occasion to learn."""

    def offer(self, example: Example) -> None:
        if example.by == "visit":
            self._seen(example)
        elif example.by != "judge":  # those are found among the visits, for each topic
            self._told(example)

    def remember(self, known: dict[Url, float]) -> None:
        """``known``: pages that something was taught about; what, differs from topic to topic."""
        for name, tutor in self._tutors.items():
            said = {u: told[name] for u, told in self._given.items() if u in known and name in told}
            said |= {url: value for (url, topic), value in self._old.items() if topic == name}
            tutor.learner.remember(said)
            if self._resumed:
                tutor.settle()

    async def lesson(self, strategy: Strategy) -> Lesson:
        """One topic after the other: they share a processor. A topic that cannot learn, or whose
        new part is held back, keeps the part it has; and so does one that nobody spoke of, where
        others' labels are the occasion, unless it saw much since."""
        several = cast("Any", strategy)
        assert isinstance(several, Several)
        found: dict[str, Lesson] = {}
        troubles: list[ModelError] = []
        occasion = any(tutor.told for tutor in self._tutors.values())
        for name, tutor in self._tutors.items():
            if occasion and not (tutor.told or tutor.grown()):
                continue
            tutor.settle()
            try:
                found[name] = await tutor.learner.lesson(several.part(name))
            except ModelError as error:
                found[name] = Lesson(None, note=str(error))
                troubles.append(error)
        if troubles and all(lesson.strategy is None for lesson in found.values()):
            raise troubles[0]
        return _together(several, found)

    async def aclose(self) -> None:
        for tutor in self._tutors.values():
            await tutor.learner.aclose()

    def _seen(self, example: Example) -> None:
        """A visit, as each topic's verdict was; where it was sure, it believes itself."""
        scores = self._scores(example)
        for name, tutor in self._tutors.items():
            score = scores.get(name)
            if score is None:
                continue
            sure = not example.foreign and not _SURE.low < score < _SURE.high
            if self._automatic and sure:
                believed = float(score >= _SURE.high)
                tutor.offer(replace(example, target=believed, by="judge", topic=name))
            tutor.offer(replace(example, target=score, topic=name))

    def _told(self, example: Example) -> None:
        """What people said of it, for each topic that they spoke of."""
        if example.topic:
            self._tutors[example.topic].offer(example, told=True)
            return
        for url in self._addresses(example.link, example.page.url):
            if said := self._said(url):
                for name, (value, by) in said.items():
                    new = self._heard.get((url, name)) != value
                    self._heard[url, name] = value
                    told = replace(example, target=value, by=by, topic=name)
                    self._tutors[name].offer(told, told=new)
                return
        self._tutors[self._first].offer(replace(example, topic=self._first), told=True)

    def _scores(self, example: Example) -> Mapping[str, float]:
        """By topic; those of earlier runs are in the journal."""
        if len(example.topics) == len(self._tutors):
            return dict(zip(self._tutors, example.topics, strict=True))
        rows = self._store.visit(example.page.url)
        if not rows:
            return {}
        return rows[-1].scores or {self._first: example.target}

    def _said(self, url: Url) -> dict[str, tuple[float, By]]:
        """Topic → target and by; a label goes before what topic.toml says."""
        said: dict[str, tuple[float, By]] = {
            name: (value, "seed") for name, value in self._given.get(url, {}).items()
        }
        labels = self._store.labels_about(url) if self._people else {}
        for topic, label in labels.items():
            if (name := topic or self._first) in self._tutors:
                said[name] = (label.value, "user")
        return said

    def _addresses(self, link: Link, url: Url) -> Iterator[Url]:
        """The page's own address, and those that redirected to it."""
        yield url
        for _ in range(min(link.hops, _HOPS)):
            if link.source is None:
                return
            yield link.source
            rows = self._store.visit(link.source)
            if not rows:
                return
            link = rows[-1].link


def _together(several: Several, found: Mapping[str, Lesson]) -> Lesson:
    """One lesson of all: live if any topic's is, and with only those."""
    learned = {name: lesson for name, lesson in found.items() if lesson.strategy is not None}
    passed = {name: lesson for name, lesson in learned.items() if lesson.live}
    taken = passed or learned
    again = any(lesson.again for lesson in found.values())
    note = "; ".join(f"{name}: {lesson.note}" for name, lesson in found.items() if lesson.note)
    if not taken:
        return Lesson(None, note=note, again=again)
    parts = tuple(
        cast("Strategy", taken[name].strategy) if name in taken else part
        for name, part in zip(several.names, several.parts, strict=True)
    )
    made = cast("Strategy", replace(several, parts=parts))
    return Lesson(made, bool(passed), note, again=again)
