"""The kinds of category models, and how each is trained from the same corpus."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from honeyguide.errors import ConfigError
from honeyguide.models import bag_of_words as bags
from honeyguide.models.bag_of_words import Bags
from honeyguide.models.deep.embedding import Embedding, embedding_of
from honeyguide.models.deep.model import CategoryModel
from honeyguide.models.deep.training_loop import Epoch
from honeyguide.text.segments import Segments
from honeyguide.training.corpus import Corpus
from honeyguide.training.evaluation import Figures, figures, folds_of

Kind = Literal["linear", "paper", "conv", "one_layer", "sensitivity"]
KINDS: tuple[Kind, ...] = get_args(Kind)
AUTO: tuple[Kind, ...] = ("linear", "paper")
"""What ``auto`` chooses between: both are trained by a base install, in a minute."""

Model = Bags | CategoryModel
Told = Callable[[str, float], None]
"""What goes on, and how much of it is done, 0..1."""


@dataclass(frozen=True)
class Ways:
    """How to train, beyond the kind."""

    epochs: int = 20
    seed: int = 1
    engine: Literal["auto", "numpy", "torch"] = "auto"
    embedding: str = ""
    """A file of word vectors, or a folder with a BERT-like model; '': learned from scratch."""

    def opened(self) -> Embedding | None:
        return embedding_of(Path(self.embedding)) if self.embedding else None


def kinds_of(name: str) -> tuple[Kind, ...]:
    """What a user may ask for."""
    if name == "auto":
        return AUTO
    for kind in KINDS:
        if kind == name:
            return (kind,)
    raise ConfigError(f"there is no kind {name!r}; choose among auto, {', '.join(KINDS)}")


def train(
    kind: Kind,
    corpus: Corpus,
    ways: Ways,
    embedding: Embedding | None = None,
    *,
    only: Sequence[int] | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> Model:
    """A model from the corpus, or from ``only`` some of its documents."""
    places = range(len(corpus.labels)) if only is None else only
    pages, labels = [corpus.pages[n] for n in places], [corpus.labels[n] for n in places]
    settings = asdict(corpus.reading)
    if kind == "linear":
        return bags.train(pages, labels, corpus.categories, settings)
    from honeyguide.models.deep.training import train as train_net

    def told(epoch: Epoch) -> None:
        progress(epoch.number / epoch.of)

    return train_net(
        kind,
        [_flat(page) for page in pages],
        labels,
        corpus.categories,
        embedding=embedding,
        engine=ways.engine,
        epochs=ways.epochs,
        seed=ways.seed,
        progress=told,
        settings=settings,
    )


def crossed(
    kind: Kind,
    corpus: Corpus,
    folds: int,
    ways: Ways,
    embedding: Embedding | None = None,
    told: Told = lambda _what, _done: None,
) -> Figures:
    """Cross-validation: each document is judged by a model that did not see it."""
    truth = np.array(corpus.labels)
    fold = folds_of(truth, folds, ways.seed)
    chances = np.zeros((len(truth), len(corpus.categories)))
    for number in range(folds):
        inside, outside = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        if not len(outside):
            continue
        name = f"{kind}, fold {number + 1} of {folds}"
        told(name, number / folds)
        model = train(
            kind,
            corpus,
            ways,
            embedding,
            only=inside.tolist(),
            progress=partial(_part, told, name, number, folds),
        )
        chances[outside] = model.judge_many([corpus.pages[n] for n in outside])
    told(f"{kind}, {folds} folds", 1.0)
    return figures(chances, truth, fold, corpus.categories)


def _part(told: Told, name: str, number: int, folds: int, done: float) -> None:
    told(name, (number + done) / folds)


def _flat(page: Segments) -> list[str]:
    return [token for segment in page.tokens for token in segment]


def size_of(model: Model) -> dict[str, Any]:
    """How large a model is, for its card."""
    if isinstance(model, Bags):
        return {"words": len(model.rarity), "numbers": int(model.weights.size)}
    numbers = sum(int(array.size) for array in model.net.arrays.values())
    return {"words": len(model.vocabulary.words), "numbers": numbers}
