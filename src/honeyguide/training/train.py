"""From a source of labelled texts to a folder with a model, its report and its card."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from honeyguide import __version__
from honeyguide.errors import ConfigError, ModelError
from honeyguide.models import categories
from honeyguide.models.deep import files
from honeyguide.text.segments import Reading
from honeyguide.training.corpus import MOST, Corpus, gather
from honeyguide.training.evaluation import Figures
from honeyguide.training.model_types import (
    Kind,
    Model,
    Told,
    Ways,
    crossed,
    kinds_of,
    size_of,
    train,
)
from honeyguide.training.report import card_text, report
from honeyguide.training.rows import Columns
from honeyguide.training.safe_names import shown

_FOLDS = 50


@dataclass(frozen=True)
class Wish:
    """What a user asks for."""

    source: Path
    out: Path
    kind: str = "auto"
    reading: Reading = Reading(language="")  # noqa: RUF009 - frozen
    columns: Columns = Columns()  # noqa: RUF009 - a named tuple
    folds: int = 5
    ways: Ways = Ways()  # noqa: RUF009 - frozen
    most: int = MOST
    licence: str = ""
    command: str = ""
    made: str = ""
    """Today's date, as whoever asks knows it."""


@dataclass(frozen=True)
class Made:
    """What came of it."""

    kind: Kind
    corpus: Corpus
    figures: dict[str, Figures]
    """By kind, the chosen one first; empty without folds."""
    card: dict[str, Any]


def make(
    wish: Wish,
    told: Told = lambda _what, _done: None,
    read: Callable[[int], None] = lambda _: None,
) -> Made:
    """Train a model and write it; ConfigError or ModelError say what is in the way. Whatever ends
    it early leaves no trace of it."""
    kinds = kinds_of(wish.kind)
    if not (wish.folds == 0 or 2 <= wish.folds <= _FOLDS):
        raise ConfigError(f"--folds must be 0 (none) or 2 to {_FOLDS}, not {wish.folds}")
    if wish.folds == 0 and len(kinds) > 1:
        raise ConfigError("--kind auto chooses by cross-validation: give --folds, or a kind")
    if wish.most < 2:
        raise ConfigError(f"--most must be 2 at least, not {wish.most}")
    if wish.ways.embedding and kinds == ("linear",):
        raise ConfigError("--embedding is for networks; kind linear has none")
    if wish.ways.embedding:
        kinds = tuple(kind for kind in kinds if kind != "linear")
    if wish.reading.normalise and wish.reading.language not in ("", "tr"):
        raise ConfigError(
            f"--normalise repairs Turkish, and --language is {wish.reading.language}; leave it out"
        )
    with place(wish.out):
        return _made(wish, kinds, told, read)


def _made(wish: Wish, kinds: tuple[Kind, ...], told: Told, read: Callable[[int], None]) -> Made:
    embedding = wish.ways.opened()
    corpus = gather(
        wish.source, wish.reading, wish.columns, most=wish.most, seed=wish.ways.seed, progress=read
    )
    found: dict[str, Figures] = {}
    if wish.folds:
        for kind in kinds:
            found[kind] = crossed(kind, corpus, wish.folds, wish.ways, embedding, told)
    chosen = max(kinds, key=lambda kind: found[kind].macro_f1 if kind in found else 0.0)
    told(f"{chosen}, from everything", 0.0)
    model = train(
        chosen,
        corpus,
        wish.ways,
        embedding,
        progress=lambda done: told(f"{chosen}, from everything", done),
    )
    found = {kind: found[kind] for kind in sorted(found, key=lambda kind: kind != chosen)}
    card = _card(wish, chosen, corpus, model, found)
    _write(wish.out, model, card, found)
    return Made(chosen, corpus, found, card)


@contextmanager
def place(folder: Path) -> Iterator[None]:
    """A folder that can be written to, known before the long work begins; it goes again if
    no model comes to lie in it. Nothing is overwritten but a model."""
    new: list[Path] = []
    try:
        vacant(folder)
        new += [one for one in (folder, *folder.parents) if not one.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder) as file:
            file.write(b"model")
    except OSError as error:
        _clear(new)
        raise ConfigError(f"--out {folder} cannot be written to: {error}") from error
    try:
        yield
    finally:
        if not (folder / "model.json").exists():
            for half in folder.glob("arrays-*.npz"):
                if files.ARRAYS_NAME.fullmatch(half.name):
                    half.unlink(missing_ok=True)
            _clear(new)


def vacant(folder: Path) -> None:
    """Whether there is nothing to be overwritten but a model."""
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"--out {folder} is a file; name a folder for the model")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "model.json").exists():
        raise ConfigError(f"--out {folder} has other things in it; name a new folder")


def _clear(folders: list[Path]) -> None:
    for one in folders:
        with suppress(OSError):  # it was not made, or somebody put something into it
            one.rmdir()


def _card(
    wish: Wish, kind: Kind, corpus: Corpus, model: Model, found: dict[str, Figures]
) -> dict[str, Any]:
    return {
        "name": shown(wish.out.resolve().name),
        "kind": kind,
        "source": shown(wish.source.name),
        "categories": dict(zip(corpus.categories, corpus.sizes(), strict=True)),
        "reading": asdict(corpus.reading),
        "size": size_of(model),
        "folds": wish.folds,
        "seed": wish.ways.seed,
        "figures": {name: one.plain() for name, one in found.items()},
        "notes": list(corpus.told),
        "licence": shown(wish.licence),
        "command": shown(wish.command),
        "made": wish.made,
        "version": __version__,
    }


def _write(folder: Path, model: Model, card: dict[str, Any], found: dict[str, Figures]) -> None:
    categories.save(replace(model, card={**model.card, **card}), folder)
    first = next(iter(found.values()), None)
    try:
        files.put(folder / "report.html", report(card, found).encode("utf-8", "replace"))
        files.put(folder / "card.md", card_text(card, first).encode("utf-8", "replace"))
    except OSError as error:
        raise ModelError(f"the report cannot be written to {folder}: {error}") from error
