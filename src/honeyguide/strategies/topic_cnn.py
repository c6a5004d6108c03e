"""A model that knows many categories judges pages; the topic names those that it is after.

Alqaraleh & Sırın, a crawler for Turkish topics made of units: its classifier reads 150 words at a
time (embedding 300, max pool, dense 2C, dense C), and a page is relevant if it is of the topic's
category. It is called a CNN and has no convolution. Models come from ``honeyguide train``, where
a linear one may well win; every kind can judge here. Where we depart is told in
docs/strategies/topic_cnn.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from honeyguide.errors import ConfigError, ModelError
from honeyguide.models import categories as folder
from honeyguide.models.categories import Categories
from honeyguide.models.examples import chosen
from honeyguide.models.focus import standing
from honeyguide.models.incremental_net import Pupil, taught
from honeyguide.parameter_checks import within
from honeyguide.text.relevance import Relevance, relevance
from honeyguide.text.segments import Reading
from honeyguide.types import UNKNOWN, Example, Habits, Link, Page, Reason, Verdict

Floats = NDArray[np.floating[Any]]

_DIGITS = 5
"""Scores are rounded, so that a link's score never depends on its neighbours' in the batch."""
_TOLD = 3
"""Categories, and words, that a verdict names."""
_CHANCE = 0.2
_BAD, _GOOD = "not relevant", "relevant"
"""Categories of a network that learns from labels."""


@dataclass(frozen=True)
class TopicCnn:
    """Judge pages by the categories of a trained model, links by their words and their page."""

    habits: ClassVar[Habits] = Habits(
        learns=True, grows=True, parents="all", beside=True, learned=("checksum",)
    )

    keywords: tuple[str, ...] = ()
    description: str = ""
    language: str = "en"
    model: str = ""
    """Folder of a model from ``honeyguide train``; without one, a network learns from labels."""
    categories: tuple[str, ...] = ()
    """The model's categories that the topic is about."""
    encoder: str = ""
    """Folder of the encoder that the model was trained with, if any: absolute, or in the model's.
    An encoder is a program; to name it is to trust it."""
    rule: Literal["threshold", "argmax"] = "threshold"
    """A page is relevant if the topic's categories together are as likely as ``threshold`` says,
    or if one of them is the likeliest of all. Either way the score is 0.5 there."""
    threshold: float = 0.5
    """τ"""
    parent_weight: float = 0.4
    """What the verdict on the page counts that a link stands on (ours: the paper sorts links by
    backlinks, originality and keywords) …"""
    link_weight: float = 0.6
    """… and what the model's opinion of the link's words counts."""
    fewest: int = 10
    """Without a model: good pages, and bad ones, before a network is trained (ours)."""
    most: int = 1_000
    """Without a model: pages that it is trained with."""
    epochs: int = 20
    neighbours: bool = True
    """Without a model: what came of the links beside a link counts with its pages, unless
    ``learn.teacher`` is none (ours; crawl/parent_pages.py)."""
    seed: int = 1
    checksum: str = ""
    """Found out, not set: which model it is. A generation refers to it and has no copy."""
    pupil: Pupil | None = None
    """Learned, not set: the network trained from labels."""

    def __post_init__(self) -> None:
        if self.model and not self.checksum:
            object.__setattr__(self, "checksum", folder.checksum(Path(self.model)))
            opened = _opened(self.model, self.checksum, self.encoder)
            _check(opened.categories, self.categories)
        elif self.categories and not self.model:
            raise ConfigError("topic.categories are those of a model: add topic.model")
        if self.model:
            # It has learned: nobody need hear examples, in a process of their own.
            object.__setattr__(self, "habits", Habits())
        elif not self.neighbours:  # the class's habits are those of its defaults
            object.__setattr__(self, "habits", self.habits._replace(beside=False))
        if self.pupil is not None and self.pupil.categories != (_BAD, _GOOD):
            raise ModelError("a saved generation is damaged: its network knows other categories")
        if self.pupil is not None:
            Reading.of(self.pupil.settings)
        within(self, "threshold", 0, 1, above=True, below=True)
        within(self, "parent_weight link_weight", 0, 1)
        within(self, "fewest most epochs", 1)

    def judge(self, page: Page) -> Verdict:
        model, topic = self._model(), self._topic()
        segments = _reading(model).segments(page) if model is not None else None
        if model is None or segments is None:
            return topic.judge(page) if topic else Verdict(UNKNOWN)
        if known := model.strange(segments.tokens):
            # What a model says of nothing, or of words it never saw, is no evidence.
            verdict = topic.judge(page) if topic else Verdict(0.0)
            told = (Reason(str(known), 0.0),) if known.of else ()
            return verdict._replace(reasons=(*verdict.reasons, *told))
        chances = model.judge(*segments)
        score = self._scores(model, chances[None, :])[0]
        # To find the words costs as much as the verdict: only where the topic has a chance.
        tokens = segments.tokens if score >= _CHANCE else ()
        return Verdict(score, self._reasons(model, chances, tokens))

    def rank(self, links: Sequence[Link]) -> list[float]:
        words = self._local(links)
        parents = np.array([link.parent for link in links], dtype=np.float64)
        joined = self.parent_weight * parents + self.link_weight * words
        scores = np.where(np.isnan(words), parents, joined)
        scores[[place for place, link in enumerate(links) if link.source is None]] = 1.0
        return _rounded(scores)

    def explain(self, link: Link) -> tuple[Reason, ...]:
        if link.source is None:
            return (Reason("a seed", 1.0),)
        on = f"on a page with verdict {link.parent:.2f}" if self.model else standing(link)
        words = float(self._local((link,))[0])
        if words != words:  # nobody can tell
            return (Reason(on, link.parent),)
        reasons = (
            Reason("the words of the link", round(self.link_weight * words, 4)),
            Reason(on, round(self.parent_weight * link.parent, 4)),
        )
        return tuple(sorted(reasons, key=lambda reason: -reason.weight))

    def learn(self, examples: Sequence[Example]) -> Self:
        """Without a model, a new network from all examples but mere visits; else nothing."""
        if self.model:
            return self
        reading = Reading(self.language)
        documents, labels = [], []
        for example in chosen(examples, self.most):
            if segments := reading.segments(example.page).tokens:
                documents.append([token for segment in segments for token in segment])
                labels.append(int(example.target >= 0.5))
        if min(labels.count(0), labels.count(1)) < self.fewest:
            return self
        settings, kinds = asdict(reading), (_BAD, _GOOD)
        pupil = taught(documents, labels, kinds, settings, epochs=self.epochs, seed=self.seed)
        return replace(self, pupil=pupil)

    def _model(self) -> Categories | None:
        """Who judges: the model that was given, the network that was taught, or nobody yet."""
        if self.model:
            return self._given
        return self.pupil.model if self.pupil is not None else None

    @cached_property
    def _given(self) -> Categories:
        """The model, if the topic is among its categories: a generation may say anything."""
        model = _opened(self.model, self.checksum, self.encoder)
        try:
            _check(model.categories, self.categories)
        except ConfigError as error:
            raise ModelError(f"a saved generation does not fit its model: {error}") from error
        return model

    def _wanted(self) -> tuple[str, ...]:
        return self.categories if self.model else (_GOOD,)

    def _scores(self, model: Categories, chances: Floats) -> list[float]:
        """The relevance of each row: P(topic), bent so that the border of the rule is at 0.5."""
        wanted = [model.categories.index(name) for name in self._wanted()]
        if self.rule == "argmax":
            best = chances[:, wanted].max(axis=1)
            rest = np.delete(chances, wanted, axis=1).max(axis=1, initial=0.0)
            scores = best / np.maximum(best + rest, 1e-9)
        else:
            share, border = chances[:, wanted].sum(axis=1), self.threshold
            above = 0.5 + 0.5 * (share - border) / (1 - border)
            scores = np.where(share < border, 0.5 * share / border, above)
        return _rounded(scores)

    def _reasons(
        self, model: Categories, chances: Floats, tokens: Sequence[Sequence[str]]
    ) -> tuple[Reason, ...]:
        """The likeliest categories, and the words that spoke most for the topic's likeliest."""
        names = model.categories
        likely = np.argsort(-chances, kind="stable")[:_TOLD].tolist()
        told = [Reason(f"category {names[n]}", round(float(chances[n]), 4)) for n in likely]
        best = max(self._wanted(), key=lambda name: float(chances[names.index(name)]))
        words = model.evidence(tokens, best, _TOLD) if tokens else ()
        told += [Reason(f"“{word}”", round(weight, 4)) for word, weight in words]
        return tuple(told)

    def _local(self, links: Sequence[Link]) -> Floats:
        """What the words of each link say, read in one batch; not a number: nobody can tell."""
        found = np.full(len(links), np.nan)
        model, topic = self._model(), self._topic()
        if model is not None:
            texts = _reading(model).around(links)
            filled = [place for place, text in enumerate(texts) if not model.strange([text])]
            chances = model.judge_many([([texts[place]], ()) for place in filled])
            found[filled] = self._scores(model, chances)
        elif topic is not None:
            found[:] = topic.of_each([f"{x.anchor} {x.before} {x.after}" for x in links])
        return found

    def _topic(self) -> Relevance | None:
        if self.keywords or self.description:
            return relevance(self.keywords, self.description, self.language)
        return None


def _rounded(scores: Floats) -> list[float]:
    rounded: list[float] = np.clip(scores, 0.0, 1.0).round(_DIGITS).tolist()
    return rounded


def _reading(model: Categories) -> Reading:
    return _read_as(tuple(sorted(model.settings.items())))


@lru_cache(maxsize=8)
def _read_as(settings: tuple[tuple[str, Any], ...]) -> Reading:
    """The same settings give the same reading, which remembers words."""
    return Reading.of(dict(settings))


@lru_cache(maxsize=4)
def _opened(path: str, checksum: str, encoder: str) -> Categories:
    """The model in a folder, as long as it is the one that was meant."""
    if folder.checksum(Path(path)) != checksum:
        raise ModelError(f"the model in {path} is another one than this generation was made with")
    model = folder.load(Path(path), Path(path, encoder) if encoder else None)
    Reading.of(model.settings)
    return model


def _check(known: Sequence[str], wanted: Sequence[str]) -> None:
    """Whether the topic is among the categories; a ConfigError says what is."""
    names = ", ".join(known[:20])
    if not wanted:
        raise ConfigError(f"topic.categories: which of these is the topic? {names}")
    for name in wanted:
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {names}"
            raise ConfigError(f"topic.categories: the model has no {name!r}; {hint}")
    if len(set(wanted)) >= len(known):
        raise ConfigError("topic.categories: that is all there are; every page would be relevant")
