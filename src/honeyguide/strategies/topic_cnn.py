"""A model that knows many categories judges pages; the topic names those that it is after.

Alqaraleh & Sırın, a crawler for Turkish topics made of units: its classifier reads 150 words at a
time (embedding 300, max pool, dense 2C, dense C), and a page is relevant if it is of the topic's
category. It is called a CNN and has no convolution. Models come from ``honeyguide train``, where
a linear one may well win; every kind can judge here. Where we depart from the paper:
docs/strategies/topic_cnn.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from honeyguide.config.validation import check_within
from honeyguide.errors import ConfigError, ModelError, suggest_name
from honeyguide.models import categories as folder
from honeyguide.models import untrusted
from honeyguide.models.categories import AnyCategoryModel
from honeyguide.models.deep.category_model import model_checksum
from honeyguide.models.deep.training import Pupil, train_pupil
from honeyguide.models.link_scores import describe_parents
from honeyguide.models.page_model import choose_examples
from honeyguide.models.prior_correction import PriorCorrection, fit_correction
from honeyguide.text.relevance import Relevance, keyword_relevance
from honeyguide.text.segments import TextTokenizer
from honeyguide.text.vectors import Lexicon, fit_lexicon, page_text
from honeyguide.types import UNKNOWN_SCORE, Example, Link, Page, Reason, StrategyTraits, Verdict

Floats = NDArray[np.floating[Any]]

_DIGITS = 5
"""Scores are rounded, so that a link's score never depends on its neighbours' in the batch."""
_MAX_NAMED = 3
"""Categories, and words, that a verdict names."""
_EXPLAINED_SCORE = 0.2
_BAD, _GOOD = "not relevant", "relevant"
"""Categories of a network that learns from labels."""


@dataclass(frozen=True)
class TopicCnn:
    """Judge pages by the categories of a trained model, links by their words and their page.

    Parameters
    ----------
    keywords, description, language
        The topic's words, and the language they are in.
    model
        Folder of a model from ``honeyguide train``, from which verdicts start. Without one, a
        network learns from labels.
    categories
        The model's categories that the topic is about.
    encoder
        Folder of the encoder that the model was trained with, if any: absolute, or in the model's.
        An encoder is a program; to name it is to trust it.
    rule, threshold
        A page is relevant if the topic's categories together are as likely as ``threshold`` (τ),
        or, with ``argmax``, if one of them is the most likely of all. Either way the score is 0.5
        there.
    parent_weight, link_weight
        Weight of the verdict on the page that a link stands on, and of the model's probability for
        the link's words (ours: the paper sorts links by backlinks, originality and key words).
    adapts
        True (ours): labels and own verdicts correct what the model says of pages. False, as in the
        paper: it judges as it was trained.
    fewest
        Without a model: good pages, and bad ones, before a network is trained (ours).
    most, epochs, seed
        Without a model: pages that it is trained with, passes over them, seed of its first
        weights.
    neighbours
        Where it adapts or has no model: outcomes of the links beside a link count with its pages,
        unless ``learn.teacher`` is none (ours; links/parent_pages.py).

    Examples
    --------
    >>> from honeyguide.types import Page, Url
    >>> page = Page(Url("http://a.example/"), text="honey " * 30)
    >>> TopicCnn(keywords=("honey",)).judge(page).score > 0.5  # by keywords, until there are labels
    True

    References
    ----------
    Alqaraleh & Sırın, the classifier of their crawler for Turkish topics; where we depart from it:
    docs/strategies/topic_cnn.md.
    """

    traits: ClassVar[StrategyTraits] = StrategyTraits(
        learns=True,
        cut_parameter="threshold",
        learns_on_growth=True,
        parent_score="all",
        uses_neighbours=True,
        learned_fields=("checksum",),
    )

    keywords: tuple[str, ...] = ()
    description: str = ""
    language: str = "en"
    model: str = ""
    categories: tuple[str, ...] = ()
    encoder: str = ""
    rule: Literal["threshold", "argmax"] = "threshold"
    threshold: float = 0.5
    parent_weight: float = 0.4
    link_weight: float = 0.6
    adapts: bool = True
    fewest: int = 10
    most: int = 1_000
    epochs: int = 20
    neighbours: bool = True
    seed: int = 1
    checksum: str = ""
    """Found out, not set: which model it is. A generation refers to it and has no copy."""
    pupil: Pupil | None = None
    """Learned, not set: the network trained from labels."""
    label_words: Lexicon | None = None
    correction: PriorCorrection | None = None
    """Learned, not set: what labels add to the model."""

    def __post_init__(self) -> None:
        if self.model and not self.checksum:
            object.__setattr__(self, "checksum", model_checksum(Path(self.model)))
            opened = _open_model(self.model, self.checksum, self.encoder)
            _check_categories(opened.categories, self.categories)
        elif self.categories and not self.model:
            raise ConfigError("topic.categories are those of a model: add topic.model")
        if self.model and not self.adapts:
            # It has learned: nobody need hear examples, in a process of their own.
            object.__setattr__(self, "traits", StrategyTraits())
        elif not self.neighbours:  # the class's traits are those of its defaults
            object.__setattr__(self, "traits", self.traits._replace(uses_neighbours=False))
        if self.correction is not None:
            untrusted.check_lengths(
                "a saved generation", len(self.label_words or ()), len(self.correction.weights)
            )
        if self.pupil is not None and self.pupil.categories != (_BAD, _GOOD):
            raise ModelError("a saved generation is damaged: its network knows other categories")
        if self.pupil is not None:
            TextTokenizer.from_settings(self.pupil.settings)
        check_within(self, "threshold", 0, 1, above=True, below=True)
        check_within(self, "parent_weight link_weight", 0, 1)
        check_within(self, "fewest most epochs", 1)

    def judge(self, page: Page) -> Verdict:
        given = self._given_verdict(page)
        if self.correction is None or self.label_words is None:
            return given
        values, places = self.label_words.to_rows((page_text(page),)).row()
        return self.correction.correct_verdict(given, values, places, self.label_words.top_reasons)

    def _given_verdict(self, page: Page) -> Verdict:
        """By the model alone."""
        model, topic = self._current_model(), self._topic_relevance()
        segments = _model_reading(model).page_segments(page) if model is not None else None
        if model is None or segments is None:
            return topic.judge(page) if topic else Verdict(UNKNOWN_SCORE)
        if known := model.low_coverage(segments.tokens):
            # What a model says of nothing, or of words it never saw, is no evidence.
            verdict = topic.judge(page) if topic else Verdict(0.0)
            told = (Reason(str(known), 0.0),) if known.total else ()
            return verdict._replace(reasons=(*verdict.reasons, *told))
        chances = model.judge(*segments)
        score = self._topic_scores(model, chances[None, :])[0]
        # To find the words costs as much as the verdict: only where the topic has a chance.
        tokens = segments.tokens if score >= _EXPLAINED_SCORE else ()
        return Verdict(score, self._category_reasons(model, chances, tokens))

    def rank(self, links: Sequence[Link]) -> list[float]:
        words = self._word_scores(links)
        parents = np.array([link.parent for link in links], dtype=np.float64)
        joined = self.parent_weight * parents + self.link_weight * words
        scores = np.where(np.isnan(words), parents, joined)
        scores[[place for place, link in enumerate(links) if link.source is None]] = 1.0
        return _round_scores(scores)

    def explain(self, link: Link) -> tuple[Reason, ...]:
        if link.source is None:
            return (Reason("a seed", 1.0),)
        single = self.traits.parent_score == "first"
        on = f"on a page with verdict {link.parent:.2f}" if single else describe_parents(link)
        words = float(self._word_scores((link,))[0])
        if words != words:  # nobody can tell
            return (Reason(on, link.parent),)
        reasons = (
            Reason("the words of the link", round(self.link_weight * words, 4)),
            Reason(on, round(self.parent_weight * link.parent, 4)),
        )
        return tuple(sorted(reasons, key=lambda reason: -reason.weight))

    def learn(self, examples: Sequence[Example]) -> Self:
        """From all examples but mere visits: a correction of the model, or, without a model, a new
        network."""
        if self.model and not self.adapts:
            return self
        if self.model:
            return self._learn_correction(examples)
        reading = TextTokenizer(self.language, normalise=self.language == "tr")
        documents, labels = [], []
        for example in choose_examples(examples, self.most):
            if segments := reading.page_segments(example.page).tokens:
                documents.append([token for segment in segments for token in segment])
                labels.append(int(example.target >= 0.5))
        if min(labels.count(0), labels.count(1)) < self.fewest:
            return self
        settings, kinds = asdict(reading), (_BAD, _GOOD)
        pupil = train_pupil(documents, labels, kinds, settings, epochs=self.epochs, seed=self.seed)
        return replace(self, pupil=pupil)

    def _learn_correction(self, examples: Sequence[Example]) -> Self:
        lessons = choose_examples(examples, self.most)
        words, rows = fit_lexicon([page_text(e.page) for e in lessons], self.language)
        given = [self._given_verdict(e.page).score for e in lessons]
        found = fit_correction(lessons, rows, len(words), given)
        return self if found is None else replace(self, correction=found, label_words=words)

    def _current_model(self) -> AnyCategoryModel | None:
        """Who judges: the model that was given, the network that was taught, or nobody yet."""
        if self.model:
            return self._trained_model
        return self.pupil.model if self.pupil is not None else None

    @cached_property
    def _trained_model(self) -> AnyCategoryModel:
        """The model, if the topic is among its categories: a generation may say anything."""
        model = _open_model(self.model, self.checksum, self.encoder)
        try:
            _check_categories(model.categories, self.categories)
        except ConfigError as error:
            raise ModelError(f"a saved generation does not fit its model: {error}") from error
        return model

    def _wanted_categories(self) -> tuple[str, ...]:
        return self.categories if self.model else (_GOOD,)

    def _topic_scores(self, model: AnyCategoryModel, chances: Floats) -> list[float]:
        """The relevance of each row: P(topic), bent so that the border of the rule is at 0.5."""
        wanted = [model.categories.index(name) for name in self._wanted_categories()]
        if self.rule == "argmax":
            best = chances[:, wanted].max(axis=1)
            rest = np.delete(chances, wanted, axis=1).max(axis=1, initial=0.0)
            scores = best / np.maximum(best + rest, 1e-9)
        else:
            share, border = chances[:, wanted].sum(axis=1), self.threshold
            above = 0.5 + 0.5 * (share - border) / (1 - border)
            scores = np.where(share < border, 0.5 * share / border, above)
        return _round_scores(scores)

    def _category_reasons(
        self, model: AnyCategoryModel, chances: Floats, tokens: Sequence[Sequence[str]]
    ) -> tuple[Reason, ...]:
        """The likeliest categories, and the words that spoke most for the topic's likeliest."""
        names = model.categories
        likely = np.argsort(-chances, kind="stable")[:_MAX_NAMED].tolist()
        told = [Reason(f"category {names[n]}", round(float(chances[n]), 4)) for n in likely]
        best = max(self._wanted_categories(), key=lambda name: float(chances[names.index(name)]))
        words = model.top_words(tokens, best, _MAX_NAMED) if tokens else ()
        told += [Reason(f"“{word}”", round(weight, 4)) for word, weight in words]
        return tuple(told)

    def _word_scores(self, links: Sequence[Link]) -> Floats:
        """What the words of each link say, read in one batch; not a number: nobody can tell."""
        found = np.full(len(links), np.nan)
        model, topic = self._current_model(), self._topic_relevance()
        if model is not None:
            texts = _model_reading(model).link_tokens(links)
            filled = [place for place, text in enumerate(texts) if not model.low_coverage([text])]
            chances = model.judge_many([([texts[place]], ()) for place in filled])
            found[filled] = self._topic_scores(model, chances)
        elif topic is not None:
            found[:] = topic.score_texts([f"{x.anchor} {x.before} {x.after}" for x in links])
        return found

    def _topic_relevance(self) -> Relevance | None:
        if self.keywords or self.description:
            return keyword_relevance(self.keywords, self.description, self.language)
        return None


def _round_scores(scores: Floats) -> list[float]:
    rounded: list[float] = np.clip(scores, 0.0, 1.0).round(_DIGITS).tolist()
    return rounded


def _model_reading(model: AnyCategoryModel) -> TextTokenizer:
    return _read_as(tuple(sorted(model.settings.items())))


@lru_cache(maxsize=8)
def _read_as(settings: tuple[tuple[str, Any], ...]) -> TextTokenizer:
    """The same settings give the same reading, which remembers words."""
    return TextTokenizer.from_settings(dict(settings))


@lru_cache(maxsize=4)
def _open_model(path: str, checksum: str, encoder: str) -> AnyCategoryModel:
    """The model in a folder, as long as it is the one that was meant."""
    if model_checksum(Path(path)) != checksum:
        raise ModelError(f"the model in {path} is another one than this generation was made with")
    model = folder.load_category_model(Path(path), Path(path, encoder) if encoder else None)
    TextTokenizer.from_settings(model.settings)
    return model


def _check_categories(known: Sequence[str], wanted: Sequence[str]) -> None:
    """Whether the topic is among the categories; a ConfigError says what is."""
    names = ", ".join(known[:20])
    if not wanted:
        raise ConfigError(f"topic.categories: which of these is the topic? {names}")
    for name in wanted:
        if name not in known:
            hint = suggest_name(name, known)
            raise ConfigError(f"topic.categories: the model has no {name!r}; {hint}")
    if len(set(wanted)) >= len(known):
        raise ConfigError("topic.categories: that is all there are; every page would be relevant")
