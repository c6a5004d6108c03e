"""What people and verdicts say of a page, topic by topic: a person's word goes first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from honeyguide.store.rows import VisitRow
from honeyguide.types import Label, Url


class Topics(NamedTuple):
    """Several topics of one crawl, and which of them is wanted."""

    names: tuple[str, ...]
    """In their order; the first is meant where nobody said which."""
    threshold: float
    only: str = ""
    """One of the names; '': any topic will do."""


class Said:
    """Of one topic, unless ``topics`` are given."""

    def __init__(self, labels: Iterable[tuple[int, Label]], topics: Topics | None) -> None:
        self._topics = topics
        self._labels: dict[Url, dict[str, Label]] = {}
        for _, label in labels:
            name = label.topic or (topics.names[0] if topics else "")
            if name in topics.names if topics else not name:
                # The newest last, so that it is the newest of all topics as well.
                of_page = self._labels.setdefault(label.url, {})
                of_page.pop(name, None)
                of_page[name] = label

    def newest(self, url: Url) -> Label | None:
        """The newest label, of the topic that is wanted if one is."""
        said = self._labels.get(url, {})
        if self._topics is not None and self._topics.only:
            return said.get(self._topics.only)
        return next(reversed(said.values()), None)

    def urls(self) -> list[Url]:
        """Pages of which a person said something."""
        return list(self._labels)

    def corrections(self, row: VisitRow) -> dict[str, int]:
        """Topics for which a person says the opposite of the verdict: 1 if it is relevant."""
        topics, scores = self._topics, self._scores(row)
        if topics is None or not row.has_page:
            return {}
        return {
            name: 1 if _good(label) else -1
            for name, label in self._labels.get(row.url, {}).items()
            if _good(label) != (scores.get(name, 0.0) >= topics.threshold)
        }

    def praised(self) -> Iterator[Url]:
        """Pages that a person called relevant, for any topic."""
        for url, said in self._labels.items():
            if any(label.value >= 0.5 for label in said.values()):
                yield url

    def relevant(self, row: VisitRow) -> bool:
        """For the topic that is wanted, or for any."""
        said = self._labels.get(row.url)
        topics = self._topics
        if topics is None:
            label = next(iter(said.values())) if said else None
            return bool(row.relevant) if label is None else bool(row.has_page) and _good(label)
        scores = self._scores(row)
        return any(
            bool(row.has_page) and _good(said[name])
            if said and name in said
            else scores.get(name, 0.0) >= topics.threshold
            for name in ((topics.only,) if topics.only else topics.names)
        )

    def columns(self) -> list[str]:
        """What an export tells beside the usual: each topic's score, and what a person said."""
        names = self._topics.names if self._topics else ()
        return [f"{what}.{name}" for name in names for what in ("topic", "label")]

    def cells(self, row: VisitRow) -> dict[str, float | None]:
        if self._topics is None:
            return {}
        said, scores = self._labels.get(row.url, {}), self._scores(row)
        found: dict[str, float | None] = {}
        for name in self._topics.names:
            found[f"topic.{name}"] = scores.get(name)
            found[f"label.{name}"] = said[name].value if name in said else None
        return found

    def _scores(self, row: VisitRow) -> dict[str, float]:
        """A page that was judged when there was but one topic was judged for the first."""
        if self._topics is None:
            return {}
        if row.scores or row.verdict is None:
            return row.scores
        return {self._topics.names[0]: row.verdict}


def _good(label: Label) -> bool:
    return label.value >= 0.5
