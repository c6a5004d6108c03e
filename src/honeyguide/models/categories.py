"""A linear category model, and saving and loading category models of both kinds.

For each category a support vector machine against the rest, on tf-idf vectors of length 1, with the
sigmoid of Platt (1999). Probabilities are proportional to the odds of the categories and sum to 1;
dividing the sigmoids themselves by their sum (Zadrozny & Elkan 2002) was less well calibrated. The
model reads tokens as the networks in :mod:`honeyguide.models.deep` do and gives the same answers.
Order and borders of segments make no difference.

A linear model is saved in the same form as a network
(:mod:`honeyguide.models.deep.category_model`): model.json and a file of arrays, replaced
atomically, checked when loaded, no pickle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from honeyguide.errors import ModelError
from honeyguide.models import untrusted
from honeyguide.models.deep import category_model
from honeyguide.models.deep.category_model import MAX_CATEGORIES, CategoryModel
from honeyguide.models.deep.net import Floats, Ints, softmax
from honeyguide.models.deep.vocabulary import VocabularyCoverage, low_coverage, telling_words
from honeyguide.models.svm import Linear, train_svm

Sparse = tuple[Floats, Ints, Ints]

LINEAR_KIND = "linear"
_NAME = "a linear category model"
_LARGEST = 200_000
"""Most words of a model, the most frequent ones."""
_LETTERS = 20_000_000
"""Most characters of all words together."""
WeightedSegments = tuple[Sequence[Sequence[str]], Sequence[float]]
"""Segments, and how much a word of each counts; no weights: 1."""


@dataclass(frozen=True, eq=False)
class BagOfWordsModel:
    """Log-odds of each word for each category."""

    categories: tuple[str, ...]
    words: str
    """Joined by spaces, in the order of their places."""
    rarity: Floats
    """ln(N/df) of each word."""
    weights: Floats
    """[words, categories]"""
    offsets: Floats
    settings: dict[str, Any] = field(default_factory=dict)
    """How the training texts were read."""
    card: dict[str, Any] = field(default_factory=dict)
    """Facts for people: data, figures, date."""

    def __post_init__(self) -> None:
        """Check the arrays: a model may come from a stranger."""
        size = self.words.count(" ") + 1 if self.words else 0
        if len(self.categories) > MAX_CATEGORIES or size > _LARGEST or len(self.words) > _LETTERS:
            raise ModelError(f"{_NAME} has too many categories or words")
        untrusted.check_numbers(_NAME, self.rarity, self.offsets)
        if getattr(self.weights, "ndim", 0) != 2:
            raise ModelError(f"{_NAME} is damaged: its weights are not a table")
        untrusted.check_numbers(_NAME, self.weights.reshape(-1))
        untrusted.check_lengths(_NAME, size, len(self.rarity), len(self.weights))
        count = len(self.categories)
        untrusted.check_lengths(_NAME, count, len(self.offsets), self.weights.shape[1])
        if len(set(self.categories)) < 2 or len(set(self.categories)) < count:
            raise ModelError(f"{_NAME} is damaged: it has no two categories")

    def judge(self, segments: Sequence[Sequence[str]], weights: Sequence[float] = ()) -> Floats:
        """The probability of each category."""
        answer: Floats = self.judge_many([(segments, weights)])[0]
        return answer

    def judge_many(self, pages: Sequence[WeightedSegments]) -> Floats:
        """[pages, categories]"""
        values, places, starts = self.to_rows(pages)
        sums = np.tile(self.offsets.astype(np.float64), (len(pages), 1))
        filled = np.flatnonzero(np.diff(starts))
        if len(filled):
            shares = values[:, None] * self.weights[places]
            sums[filled] += np.add.reduceat(shares, starts[filled], axis=0)
        return softmax(sums)

    def low_coverage(self, segments: Sequence[Sequence[str]]) -> VocabularyCoverage | None:
        """The vocabulary coverage if too few words are known; None: enough."""
        return low_coverage(self._telling_words, segments)

    def top_words(
        self, segments: Sequence[Sequence[str]], category: str, most: int = 10
    ) -> list[tuple[str, float]]:
        """The words with the most log-odds for a category."""
        values, places, _ = self.to_rows([(segments, ())])
        shares = values * self.weights[places, self.categories.index(category)]
        best = np.argsort(-shares, kind="stable")[:most]
        return [(self._word_list[places[n]], float(shares[n])) for n in best if shares[n] > 0]

    def to_rows(self, pages: Sequence[WeightedSegments]) -> Sparse:
        """Vectors of length 1: values, places, and the start of each page."""
        known, size = self._word_places, max(1, len(self.rarity))
        found: list[int] = []
        each: list[float] = []
        for number, (segments, weights) in enumerate(pages):
            base = number * size
            for tokens, weight in zip(segments, weights or (1.0,) * len(segments), strict=True):
                places_of = [base + known[token] for token in tokens if token in known]
                found += places_of
                each += [weight] * len(places_of)
        keys, which = np.unique(np.array(found, dtype=np.int64), return_inverse=True)
        numbers, places = np.divmod(keys, size)
        counts = np.bincount(which, np.array(each), len(keys))
        # 1 + ln tf, of what titles may make a broken number.
        values = (1 + np.log(np.maximum(counts, 1.0))) * self.rarity[places]
        lengths = np.sqrt(np.bincount(numbers, values * values, len(pages)))
        values = values / np.where(lengths > 0, lengths, 1.0)[numbers]
        starts = np.searchsorted(numbers, np.arange(len(pages) + 1)).astype(np.int32)
        return values, places.astype(np.int32), starts

    @cached_property
    def _word_list(self) -> list[str]:
        return self.words.split(" ") if self.words else []

    @cached_property
    def _telling_words(self) -> frozenset[str]:
        return telling_words(self._word_list)

    @cached_property
    def _word_places(self) -> dict[str, int]:
        return {word: place for place, word in enumerate(self._word_list)}


def train_bag_of_words(
    pages: Sequence[WeightedSegments],
    labels: Sequence[int],
    categories: Sequence[str],
    settings: dict[str, Any] | None = None,
) -> BagOfWordsModel:
    """A model that separates the categories of these pages."""
    within: dict[str, int] = {}
    for segments, _ in pages:
        for token in {token for tokens in segments for token in tokens}:
            within[token] = within.get(token, 0) + 1
    # What one page alone has tells nothing of others, where there are enough of them.
    least = 2 if len(pages) >= 50 else 1
    words = sorted((w for w, n in within.items() if n >= least), key=lambda w: (-within[w], w))
    words = [word for word in words[:_LARGEST] if " " not in word and "\n" not in word]
    rarity = np.log(len(pages) / np.array([within[word] for word in words], dtype=np.float64))
    number, size = len(categories), len(words)
    blank = BagOfWordsModel(
        tuple(categories), " ".join(words), rarity, np.zeros((size, number)), np.zeros(number)
    )
    rows = blank.to_rows(pages)
    truth = np.asarray(labels)
    machines = [train_svm(rows, size, truth == c, None, "linear") for c in range(number)]
    if not all(isinstance(machine, Linear) for machine in machines):
        raise ModelError("a category has no examples, or the examples have no words in common")
    weights = np.stack([m.weights for m in machines if isinstance(m, Linear)], axis=1)
    offsets = np.array([m.offset for m in machines if isinstance(m, Linear)], np.float32)
    return BagOfWordsModel(
        blank.categories, blank.words, rarity.astype(np.float32), weights.astype(np.float32),
        offsets, dict(settings or {}),
    )  # fmt: skip


# --- Saving and loading ---


AnyCategoryModel = BagOfWordsModel | CategoryModel
"""Both have judge, judge_many, low_coverage, top_words, categories, settings and card."""


def save_category_model(model: AnyCategoryModel, folder: Path) -> None:
    """Write the model into a folder, replacing the one in it."""
    if isinstance(model, CategoryModel):
        return category_model.save_net_model(model, folder)
    words = np.frombuffer(model.words.replace(" ", "\n").encode("utf-8", "replace"), np.uint8)
    tables = {"rarity": model.rarity, "weights": model.weights, "offsets": model.offsets}
    arrays = {name: table.astype(np.float32) for name, table in tables.items()}
    head = {
        "kind": LINEAR_KIND, "categories": list(model.categories), "settings": model.settings,
        "card": model.card,
    }  # fmt: skip
    return category_model.write_model_folder(folder, head, {"words": words, **arrays})


def load_category_model(folder: Path, encoder: Path | None = None) -> AnyCategoryModel:
    """The model in a folder. ModelError if there is none, if it is damaged, or if it needs an
    encoder, which is a program, and no folder with one is given."""
    with category_model.damage_reported(folder):
        head = category_model.read_head(folder)
        if head.get("kind") != LINEAR_KIND:
            return category_model.load_net_model(folder, encoder)
        arrays, categories, settings, card = category_model.read_arrays(folder, head)
        words = arrays["words"].tobytes().decode().replace("\n", " ")
        rarity, weights, offsets = (arrays[key] for key in ("rarity", "weights", "offsets"))
        return BagOfWordsModel(categories, words, rarity, weights, offsets, settings, card)
