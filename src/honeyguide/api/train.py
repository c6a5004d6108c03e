"""A model of one's own from labelled texts, which sorts pages into categories."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from honeyguide.api.long_calls import ProgressOption, async_twin, show_progress
from honeyguide.errors import ConfigError
from honeyguide.language_codes import check_language_code

if TYPE_CHECKING:
    from honeyguide.training.train import TrainedModel


def train(
    source: str | Path,
    out: str | Path,
    *,
    more: Sequence[str | Path] = (),
    test: str | Path = "",
    kind: str = "auto",
    language: str = "",
    normalise: bool = False,
    folds: int = 5,
    epochs: int = 20,
    embedding: str = "",
    text: str = "",
    label: str = "",
    encoding: str = "",
    most: int = 50_000,
    seed: int = 1,
    licence: str = "",
    command: str = "",
    progress: ProgressOption = None,
) -> TrainedModel:
    """Train a model that sorts pages into categories, and measure it by cross-validation.

    ``source`` is a folder with a folder for each category, or a .jsonl, .csv or .tsv file, and
    ``more`` are others; ``out`` a folder for the model, its report and its card. ``test`` is a
    source to test the model on: what it has in common with the others is left out. The strategy
    ``topic_cnn`` crawls with it.

    Example::

        model = honeyguide.train("labelled/", "news-model", language="tr")
        model.figures[model.kind].accuracy
    """
    from honeyguide.text.segments import TextTokenizer
    from honeyguide.training.documents import ColumnNames
    from honeyguide.training.train import ModelRequest, TrainingOptions, make_model

    if language:
        check_language_code(language, "--language")
    if not 1 <= epochs <= 1000:
        raise ConfigError(f"--epochs must be 1 to 1000, not {epochs}")
    request = ModelRequest(
        source=Path(source),
        out=Path(out),
        more=tuple(map(Path, more)),
        test=Path(test) if test else None,
        kind=kind,
        reading=TextTokenizer.for_embedding(embedding, language, normalise),
        columns=ColumnNames(text, label, encoding),
        folds=folds,
        options=TrainingOptions(epochs=epochs, seed=seed, embedding=embedding),
        most=most,
        licence=licence,
        command=command,
        made=datetime.now(UTC).date().isoformat(),
    )
    with show_progress(progress, "training", lambda step: step, interruptible=True) as show:
        return make_model(
            request,
            lambda what, share: show((what, share)),
            lambda count: show((f"read {count} documents", None)),
        )


train_async = async_twin(train)
