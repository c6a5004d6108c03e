"""Train category models: from labelled texts to a folder with a model, its report and its card."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Literal, get_args

import numpy as np

from honeyguide import __version__
from honeyguide.errors import ConfigError, ModelError
from honeyguide.models import categories
from honeyguide.models.categories import BagOfWordsModel
from honeyguide.models.deep import category_model
from honeyguide.models.deep.category_model import CategoryModel
from honeyguide.models.deep.embedding import Embedding, open_embedding
from honeyguide.text.segments import TextTokenizer
from honeyguide.training.corpus import (
    MAX_DOCUMENTS,
    Corpus,
    UnseenDocuments,
    gather_corpus,
    gather_unseen,
)
from honeyguide.training.documents import ColumnNames, visible_text
from honeyguide.training.report import (
    ModelFigures,
    assign_folds,
    card_text,
    html_report,
    measure_figures,
)

ModelKind = Literal["linear", "paper", "conv", "one_layer", "sensitivity"]
MODEL_KINDS: tuple[ModelKind, ...] = get_args(ModelKind)
AUTO_KINDS: tuple[ModelKind, ...] = ("linear", "paper")
"""Kinds that ``auto`` compares: a base install trains both in a minute."""

TrainableModel = BagOfWordsModel | CategoryModel
TrainingProgress = Callable[[str, float], None]
"""Called with a description and the share that is done, 0..1."""


@dataclass(frozen=True)
class TrainingOptions:
    """Options besides the kind."""

    epochs: int = 20
    seed: int = 1
    engine: Literal["auto", "numpy", "torch"] = "auto"
    embedding: str = ""
    """A file of word vectors, or a folder with a BERT-like model; '': trained from scratch."""


def parse_kinds(name: str) -> tuple[ModelKind, ...]:
    """The kinds for a name of a user."""
    if name == "auto":
        return AUTO_KINDS
    if name in MODEL_KINDS:
        return (name,)
    raise ConfigError(f"there is no kind {name!r}; choose among auto, {', '.join(MODEL_KINDS)}")


def train_model(
    kind: ModelKind,
    corpus: Corpus,
    options: TrainingOptions,
    embedding: Embedding | None = None,
    *,
    only: Sequence[int] | None = None,
    progress: Callable[[float], None] = lambda _: None,
) -> TrainableModel:
    """A model from the corpus, or from the documents in ``only``."""
    places = range(len(corpus.labels)) if only is None else only
    pages, labels = [corpus.pages[n] for n in places], [corpus.labels[n] for n in places]
    settings = asdict(corpus.reading)
    if kind == "linear":
        return categories.train_bag_of_words(pages, labels, corpus.categories, settings)
    from honeyguide.models.deep.training import train_net

    return train_net(
        kind,
        [list(chain.from_iterable(page.tokens)) for page in pages],
        labels,
        corpus.categories,
        embedding=embedding,
        engine=options.engine,
        epochs=options.epochs,
        seed=options.seed,
        progress=lambda epoch: progress(epoch.number / epoch.of),
        settings=settings,
    )


def cross_validate(
    kind: ModelKind,
    corpus: Corpus,
    folds: int,
    options: TrainingOptions,
    embedding: Embedding | None = None,
    report: TrainingProgress = lambda _what, _done: None,
) -> ModelFigures:
    """Cross-validation: each document is judged by a model that was trained without it."""
    truth = np.array(corpus.labels)
    fold = assign_folds(truth, folds, options.seed)
    chances = np.zeros((len(truth), len(corpus.categories)))
    for number in range(folds):
        inside, outside = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        if not len(outside):
            continue
        name = f"{kind}, fold {number + 1} of {folds}"
        report(name, number / folds)

        def progress(done: float, name: str = name, number: int = number) -> None:
            report(name, (number + done) / folds)

        only = inside.tolist()
        model = train_model(kind, corpus, options, embedding, only=only, progress=progress)
        chances[outside] = model.judge_many([corpus.pages[n] for n in outside])
    report(f"{kind}, {folds} folds", 1.0)
    return measure_figures(chances, truth, fold, corpus.categories)


def model_size(model: TrainableModel) -> dict[str, Any]:
    """The size of a model, for its card."""
    if isinstance(model, BagOfWordsModel):
        return {"words": len(model.rarity), "numbers": int(model.weights.size)}
    numbers = sum(int(array.size) for array in model.net.arrays.values())
    return {"words": len(model.vocabulary.words), "numbers": numbers}


# --- From a source to a folder ---


_MAX_FOLDS = 50


@dataclass(frozen=True)
class ModelRequest:
    """What a user asks for."""

    source: Path
    out: Path
    kind: str = "auto"
    reading: TextTokenizer = TextTokenizer(language="")  # noqa: RUF009 - frozen
    columns: ColumnNames = ColumnNames()  # noqa: RUF009 - a named tuple
    folds: int = 5
    options: TrainingOptions = TrainingOptions()
    most: int = MAX_DOCUMENTS
    licence: str = ""
    command: str = ""
    made: str = ""
    """Today's date, set by the caller."""
    more: tuple[Path, ...] = ()
    """Further sources."""
    test: Path | None = None
    """Documents to test the model on, and not to train it with."""


@dataclass(frozen=True)
class TrainedModel:
    """The result."""

    kind: ModelKind
    corpus: Corpus
    figures: dict[str, ModelFigures]
    """By kind, the chosen one first; empty without folds."""
    card: dict[str, Any]
    test: ModelFigures | None = None
    """On the documents of another source, if one was named."""


def make_model(
    request: ModelRequest,
    report: TrainingProgress = lambda _what, _done: None,
    read: Callable[[int], None] = lambda _: None,
) -> TrainedModel:
    """Train a model and write it; ConfigError or ModelError say what is wrong. An interrupted run
    leaves no files."""
    kinds = parse_kinds(request.kind)
    if not (request.folds == 0 or 2 <= request.folds <= _MAX_FOLDS):
        raise ConfigError(f"--folds must be 0 (none) or 2 to {_MAX_FOLDS}, not {request.folds}")
    if request.folds == 0 and len(kinds) > 1:
        raise ConfigError("--kind auto chooses by cross-validation: give --folds, or a kind")
    if request.most < 2:
        raise ConfigError(f"--most must be 2 at least, not {request.most}")
    if request.options.embedding and kinds == ("linear",):
        raise ConfigError("--embedding is for networks; kind linear has none")
    if request.options.embedding:
        kinds = tuple(kind for kind in kinds if kind != "linear")
    if request.reading.normalise and request.reading.language not in ("", "tr"):
        raise ConfigError(
            f"--normalise repairs Turkish, and --language is {request.reading.language}; "
            "leave it out"
        )
    with writable_folder(request.out):
        return _train_and_write(request, kinds, report, read)


def _train_and_write(
    request: ModelRequest,
    kinds: tuple[ModelKind, ...],
    report: TrainingProgress,
    read: Callable[[int], None],
) -> TrainedModel:
    source = request.options.embedding
    embedding = open_embedding(Path(source)) if source else None
    most, seed = request.most, request.options.seed
    corpus = gather_corpus(
        request.source,
        request.reading,
        request.columns,
        more=request.more,
        most=most,
        seed=seed,
        progress=read,
    )
    asked = None
    if request.test is not None:
        asked = gather_unseen(
            request.test,
            corpus.reading,
            corpus.categories,
            request.columns,
            known=corpus.digests,
            most=most,
            seed=seed,
            progress=read,
        )
    found: dict[str, ModelFigures] = {}
    if request.folds:
        for kind in kinds:
            found[kind] = cross_validate(
                kind, corpus, request.folds, request.options, embedding, report
            )
    chosen = max(kinds, key=lambda kind: found[kind].macro_f1 if kind in found else 0.0)
    last = partial(report, f"{chosen}, from everything")
    last(0.0)
    model = train_model(chosen, corpus, request.options, embedding, progress=last)
    found = {kind: found[kind] for kind in sorted(found, key=lambda kind: kind != chosen)}
    tested = score_model(model, asked) if asked else None
    card = _model_card(request, chosen, corpus, model, found)
    if asked and tested and request.test:
        card["test"] = {
            "source": visible_text(request.test.name),
            "documents": len(asked.labels),
            "macro_precision": tested.macro_precision,
            "macro_recall": tested.macro_recall,
            "notes": list(asked.notes),
            **asdict(tested),
        }
    _write_model(request.out, model, card, found)
    return TrainedModel(chosen, corpus, found, card, tested)


def score_model(model: TrainableModel, asked: UnseenDocuments) -> ModelFigures:
    """Figures of a model on documents that it was not trained on."""
    chances = model.judge_many(asked.pages)
    return measure_figures(chances, np.array(asked.labels), None, tuple(model.categories))


@contextmanager
def writable_folder(folder: Path) -> Iterator[None]:
    """Create a folder and check before the long work that it can be written to. It is removed again
    if no model is written. Only a model is ever overwritten."""
    new: list[Path] = []
    try:
        check_vacant(folder)
        new += [one for one in (folder, *folder.parents) if not one.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder) as file:
            file.write(b"model")
    except OSError as error:
        _remove_empty(new)
        raise ConfigError(f"--out {folder} cannot be written to: {error}") from error
    try:
        yield
    finally:
        if not (folder / "model.json").exists():
            for half in folder.glob("arrays-*.npz"):
                if category_model.ARRAYS_NAME.fullmatch(half.name):
                    half.unlink(missing_ok=True)
            _remove_empty(new)


def check_vacant(folder: Path) -> None:
    """Check that there is nothing to overwrite but a model."""
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"--out {folder} is a file; name a folder for the model")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "model.json").exists():
        raise ConfigError(f"--out {folder} has other things in it; name a new folder")


def _remove_empty(folders: list[Path]) -> None:
    for one in folders:
        with suppress(OSError):  # it was not made, or somebody put something into it
            one.rmdir()


def _model_card(
    request: ModelRequest,
    kind: ModelKind,
    corpus: Corpus,
    model: TrainableModel,
    found: dict[str, ModelFigures],
) -> dict[str, Any]:
    return {
        "name": visible_text(request.out.resolve().name),
        "kind": kind,
        "source": visible_text(", ".join(one.name for one in (request.source, *request.more))),
        "categories": dict(zip(corpus.categories, corpus.category_sizes(), strict=True)),
        "reading": asdict(corpus.reading),
        "size": model_size(model),
        "folds": request.folds,
        "seed": request.options.seed,
        "figures": {name: asdict(one) for name, one in found.items()},
        "notes": list(corpus.notes),
        "licence": visible_text(request.licence),
        "command": visible_text(request.command),
        "made": request.made,
        "version": __version__,
    }


def _write_model(
    folder: Path, model: TrainableModel, card: dict[str, Any], found: dict[str, ModelFigures]
) -> None:
    categories.save_category_model(replace(model, card={**model.card, **card}), folder)
    first = next(iter(found.values()), None)
    try:
        texts = {"report.html": html_report(card, found), "card.md": card_text(card, first)}
        for name, text in texts.items():
            category_model.write_durably(folder / name, text.encode("utf-8", "replace"))
    except OSError as error:
        raise ModelError(f"the report cannot be written to {folder}: {error}") from error
