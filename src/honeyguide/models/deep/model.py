"""A model of categories: what the texts are about, from their words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from honeyguide.errors import ModelError
from honeyguide.models.deep import with_torch
from honeyguide.models.deep.embedding import Encoder
from honeyguide.models.deep.net import Net
from honeyguide.models.deep.vocabulary import LENGTH, Vocabulary
from honeyguide.models.vocabulary_coverage import Known, too_few

Floats = NDArray[np.floating[Any]]
Segments = Sequence[Sequence[str]]
"""A page as lists of words, at most 150 in each; what is longer is cut."""

Mark = tuple[str, float]
"""A word, and how much it speaks for a category."""

MOST = 1_000
"""Categories."""
_ENCODED = 32
_MANY = 4_000
"""Segments that are worth the seconds in which PyTorch and its GPU wake up."""
_SURE = 1e-7
"""No segment is believed to be surer: one alone must not decide over a whole page."""


@dataclass(frozen=True, eq=False)
class CategoryModel:
    categories: tuple[str, ...]
    vocabulary: Vocabulary
    net: Net
    settings: dict[str, Any] = field(default_factory=dict)
    """How texts were turned into words, for whoever does that; plain JSON."""
    card: dict[str, Any] = field(default_factory=dict)
    """What people should know of it: data, figures, date; plain JSON."""
    encoder: Encoder | None = None
    """Where vectors of words in their context take the place of the embedding."""

    def __post_init__(self) -> None:
        if not 2 <= len(self.categories) <= MOST or len(set(self.categories)) != self._count:
            raise ModelError(f"a model tells between 2 and {MOST} different categories apart")
        if self.net.categories != self._count:
            raise ModelError("a model is damaged: network and categories do not fit together")
        table = self.net.arrays.get("embedding")
        if table is None and self.encoder is None:
            raise ModelError("a model lacks the encoder that it was trained with")
        if table is not None and len(table) != self.vocabulary.size:
            raise ModelError("a model is damaged: network and vocabulary do not fit together")
        if table is None and self.encoder is not None and self.encoder.width != self.net.width:
            raise ModelError("a model's encoder is not the one that it was trained with")

    @property
    def _count(self) -> int:
        return len(self.categories)

    def probabilities(self, segments: Segments) -> Floats:
        """A row for each segment, a column for each category."""
        if not segments:
            return np.zeros((0, self._count), np.float32)
        if self.encoder is None:
            rows = self.vocabulary.rows(segments)
            if len(rows) >= _MANY and with_torch.gpu():
                return with_torch.probabilities(self.net, rows)
            return self.net.probabilities(rows)
        parts = []
        for start in range(0, len(segments), _ENCODED):
            read = self.encoder.read(segments[start : start + _ENCODED])
            parts.append(self.net.probabilities_of(read.vectors, read.lengths))
        return np.concatenate(parts)

    def judge(self, segments: Segments, weights: Sequence[float] = ()) -> Floats:
        """The probability of each category for one page: see :meth:`judge_many`."""
        answer: Floats = self.judge_many([(segments, weights)])[0]
        return answer

    def judge_many(self, pages: Sequence[tuple[Segments, Sequence[float]]]) -> Floats:
        """A row for each page of (segments, weights): the mean of its segments' log-probabilities,
        each counting by its number of words times its weight (1 where none is given), made to add
        up to 1. A page without words is as likely of any category.

        The paper says "sentence level" here and one row a page there; segments and this mean are
        ours.
        """
        flat: list[Sequence[str]] = []
        counts: list[float] = []
        owners: list[int] = []
        for page, (segments, weights) in enumerate(pages):
            given = weights if len(weights) else [1.0] * len(segments)
            if len(given) != len(segments):
                raise ModelError("a page has as many weights as segments, or none")
            for segment, weight in zip(segments, given, strict=True):
                if len(segment) and weight > 0:
                    flat.append(segment)
                    counts.append(min(len(segment), LENGTH) * weight)
                    owners.append(page)
        with np.errstate(over="ignore", invalid="ignore"):
            chances = self.probabilities(flat)
        if not np.isfinite(chances).all():
            raise ModelError("a model is damaged: what it says of a text is no number")
        logs = np.log(np.maximum(chances, _SURE))
        sums = np.zeros((len(pages), self._count))
        totals = np.zeros(len(pages))
        np.add.at(sums, owners, logs * np.array(counts)[:, None])
        np.add.at(totals, owners, counts)
        means = sums / np.where(totals > 0, totals, 1.0)[:, None]
        powers = np.exp(means - means.max(axis=1, keepdims=True))
        answer: Floats = powers / powers.sum(axis=1, keepdims=True)
        return answer

    def strange(self, segments: Segments) -> Known | None:
        """How few words are known, where nothing but buckets would speak; None: enough. An encoder
        has pieces for any word: nobody can tell which of them mean something to it."""
        if self.encoder is not None and any(map(len, segments)):
            return None
        return too_few(self.vocabulary.telling, segments)

    def evidence(
        self, segments: Segments, category: str, most: int = 10
    ) -> list[tuple[str, float]]:
        """The words that speak most for a category, and how much, in log-odds to the first order;
        nothing where an encoder reads, since its pieces are no words."""
        if self.encoder is not None or not segments:
            return []
        marks = self.net.evidence(self.vocabulary.rows(segments), self.categories.index(category))
        found: dict[str, float] = {}
        for segment, row in zip(segments, marks.tolist(), strict=True):
            for word, mark in zip(segment, row, strict=False):
                if mark > 0:
                    found[word] = found.get(word, 0.0) + mark
        shares = [(word, mark / len(segments)) for word, mark in found.items()]
        return sorted(shares, key=lambda one: (-one[1], one[0]))[:most]
