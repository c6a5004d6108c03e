"""The paper's network, taught in a crawl by what people said of pages: small enough to be kept.

A crawl keeps dozens of generations. So the embedding, which is nearly all of a network, is kept in
half precision (that is how it was trained, too: nothing is lost) and the rest as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from honeyguide.errors import ModelError
from honeyguide.models.deep.model import CategoryModel
from honeyguide.models.deep.net import Net
from honeyguide.models.deep.training import train
from honeyguide.models.deep.vocabulary import Vocabulary

_KIND: Final = "paper"
_TIMES = 5
_LAYERS = ("embedding", "hidden", "hidden_bias", "out", "out_bias")


@dataclass(frozen=True, eq=False)
class Pupil:
    """All that a trained network consists of, as values that can be saved."""

    categories: tuple[str, ...]
    words: str
    """With a line break between, in the order of their numbers."""
    buckets: int
    embedding: NDArray[Any]
    hidden: NDArray[Any]
    hidden_bias: NDArray[Any]
    out: NDArray[Any]
    out_bias: NDArray[Any]
    settings: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """It may come from a stranger; the network checks the rest when it is made."""
        for name in _LAYERS:
            array = getattr(self, name)
            if not isinstance(array, np.ndarray) or array.dtype.kind != "f":
                raise ModelError(f"a saved network is damaged: {name} has no numbers")
        _ = self.model

    @cached_property
    def model(self) -> CategoryModel:
        words = tuple(self.words.split("\n")) if self.words else ()
        arrays = {name: getattr(self, name).astype(np.float32) for name in _LAYERS}
        net = Net(_KIND, arrays)
        return CategoryModel(self.categories, Vocabulary(words, self.buckets), net, self.settings)


def taught(
    documents: Sequence[Sequence[str]],
    labels: Sequence[int],
    categories: Sequence[str],
    settings: dict[str, Any],
    *,
    epochs: int,
    seed: int,
) -> Pupil:
    """A network that tells these documents apart; the same ones make the same network."""
    documents, labels = _balanced(documents, labels)
    model = train(
        _KIND, documents, labels, categories, engine="numpy", epochs=epochs, seed=seed,
        settings=settings,
    )  # fmt: skip
    arrays = dict(model.net.arrays)
    arrays["embedding"] = arrays["embedding"].astype(np.float16)
    words, buckets = model.vocabulary.words, model.vocabulary.buckets
    return Pupil(tuple(categories), "\n".join(words), buckets, **arrays, settings=settings)


def _balanced(
    documents: Sequence[Sequence[str]], labels: Sequence[int]
) -> tuple[list[Sequence[str]], list[int]]:
    """Documents of small categories come several times: people label what they find, and a few
    good pages among many bad ones would be learned as none."""
    sizes = Counter(labels)
    largest = max(sizes.values())
    times = {label: min(_TIMES, round(largest / size)) for label, size in sizes.items()}
    pairs = [(d, n) for d, n in zip(documents, labels, strict=True) for _ in range(times[n])]
    return [document for document, _ in pairs], [label for _, label in pairs]
