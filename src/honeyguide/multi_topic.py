"""Several topics at once: one strategy for each, and the best verdict counts.

A strategy made of strategies. It lies below them because the store of generations must know it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self, cast

from honeyguide.errors import ModelError
from honeyguide.protocols import Strategy
from honeyguide.types import MAX_TOPICS, Example, Link, Page, Reason, StrategyTraits, Verdict

_SURE_GOOD, _SURE_BAD = 0.8, 0.2
"""Verdicts that are certain enough to learn from, as for a single topic."""


@dataclass(frozen=True)
class MultiTopicStrategy:
    """One strategy for each topic. Verdicts and scores are those of the best part."""

    kind: str
    """Registered name of the strategy of all parts."""
    names: tuple[str, ...]
    """Names of the topics; the first is the default."""
    parts: tuple[Strategy, ...]

    def __post_init__(self) -> None:
        """Check a saved generation, which may come from a stranger."""
        if not (2 <= len(self.parts) == len(self.names) == len(set(self.names)) <= MAX_TOPICS):
            raise ModelError("a saved generation is damaged: its topics do not fit together")
        if len({type(part) for part in self.parts}) != 1:
            raise ModelError("a saved generation is damaged: its parts are of several kinds")

    @property
    def traits(self) -> StrategyTraits:
        return self.parts[0].traits

    @property
    def note(self) -> str:
        """Notes of the parts on their last training."""
        notes = ((n, getattr(p, "note", "")) for n, p in zip(self.names, self.parts, strict=True))
        return "; ".join(f"{name}: {note}" for name, note in notes if note)

    def strategy_for(self, topic: str) -> Strategy:
        """The strategy for that topic; '': the first."""
        if topic and topic not in self.names:
            raise ModelError(f"there is no topic {topic!r} here; known: {', '.join(self.names)}")
        return self.parts[self.names.index(topic) if topic else 0]

    def judge(self, page: Page) -> Verdict:
        verdicts = [part.judge(page) for part in self.parts]
        scores = tuple(verdict.score for verdict in verdicts)
        best = scores.index(max(scores))
        return Verdict(scores[best], self._label_reasons(best, verdicts[best].reasons), scores)

    def rank(self, links: Sequence[Link]) -> list[float]:
        ranks = [part.rank(links) for part in self.parts]
        return [max(scores) for scores in zip(*ranks, strict=True)]

    def explain(self, link: Link) -> tuple[Reason, ...]:
        scores = [part.rank((link,))[0] for part in self.parts]
        best = scores.index(max(scores))
        return self._label_reasons(best, self.parts[best].explain(link))

    def learn(self, examples: Sequence[Example]) -> Self:
        """Each part learns labels of its own topic, and from every visit by its own verdict. A
        crawl trains the parts one by one (learning/topic_trainers.py)."""
        parts = tuple(
            part.learn(list(self._topic_examples(name, part, examples)))
            for name, part in zip(self.names, self.parts, strict=True)
        )
        if all(new is old for new, old in zip(parts, self.parts, strict=True)):
            return self
        return replace(self, parts=parts)

    def _topic_examples(
        self, name: str, part: Strategy, examples: Sequence[Example]
    ) -> Iterator[Example]:
        for example in examples:
            if example.by in ("seed", "user"):
                if (example.topic or self.names[0]) == name:
                    yield example
            elif example.by == "visit":
                score = 0.0 if example.foreign else part.judge(example.page).score
                yield replace(example, target=score)
            elif example.target < 0.5:
                yield example  # the best verdict was bad: it is for all of them
            else:
                score = part.judge(example.page).score
                if not _SURE_BAD < score < _SURE_GOOD:
                    yield replace(example, target=float(score >= _SURE_GOOD))

    def _label_reasons(self, place: int, reasons: Sequence[Reason]) -> tuple[Reason, ...]:
        name = self.names[place]
        return tuple(reason._replace(what=f"{name}: {reason.what}") for reason in reasons)


def topic_names(strategy: Strategy) -> tuple[str, ...]:
    """The names of its topics; empty with a single topic."""
    mixed = cast("object", strategy)
    return mixed.names if isinstance(mixed, MultiTopicStrategy) else ()


def strategy_for_topic(strategy: Strategy, topic: str) -> Strategy:
    """The strategy for that topic; '': for the first."""
    mixed = cast("object", strategy)
    return mixed.strategy_for(topic) if isinstance(mixed, MultiTopicStrategy) else strategy
