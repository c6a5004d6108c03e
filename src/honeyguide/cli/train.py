"""``honeyguide train``"""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from honeyguide.cli.formatting import console, count, plain, quoted, say
from honeyguide.cli.options import Json

if TYPE_CHECKING:
    from honeyguide.training.train import Made


def train(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE",
            help="A folder with a folder for each category, or a .jsonl, .csv or .tsv file.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="Where to put it.")],
    kind: Annotated[
        str,
        typer.Option(
            "--kind",
            metavar="KIND",
            help="linear, paper, conv, one_layer, sensitivity; auto: the better of the first two.",
        ),
    ] = "auto",
    language: Annotated[
        str,
        typer.Option("--language", metavar="CODE", help="Of the texts, such as tr; else heard."),
    ] = "",
    normalise: Annotated[
        bool,
        typer.Option("--normalise/--no-normalise", help="Repair Turkish as people type it."),
    ] = False,
    folds: Annotated[
        int, typer.Option("--folds", metavar="N", help="Of the cross-validation; 0: none.")
    ] = 5,
    epochs: Annotated[
        int, typer.Option("--epochs", metavar="N", help="Most rounds of a network's training.")
    ] = 20,
    embedding: Annotated[
        str,
        typer.Option(
            "--embedding", metavar="PATH", help="A file of word vectors, or a BERT-like model."
        ),
    ] = "",
    text: Annotated[
        str, typer.Option("--text", metavar="NAME", help="Column or key of the texts.")
    ] = "",
    label: Annotated[
        str, typer.Option("--label", metavar="NAME", help="Column or key of the categories.")
    ] = "",
    encoding: Annotated[
        str,
        typer.Option(
            "--encoding",
            metavar="NAME",
            help="Of the source, such as windows-1254; else found out.",
        ),
    ] = "",
    most: Annotated[
        int, typer.Option("--most", metavar="N", help="Most documents; of more, some are drawn.")
    ] = 50_000,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Where chance starts from.")] = 1,
    licence: Annotated[
        str, typer.Option("--licence", metavar="TEXT", help="Of the model, for its card.")
    ] = "",
    as_json: Json = False,
) -> None:
    """Train a model that sorts pages into categories, and say what it is worth.

    Writes a folder with the model, a report with pictures (`report.html`) and a card (`card.md`).
    The strategy `topic_cnn` crawls with it; `honeyguide classify` asks it about pages.

    Examples:

    `honeyguide train labelled/ --out news-model --language tr`

    `honeyguide train articles.csv --text body --label section --out sections`
    """
    from datetime import UTC, datetime

    from honeyguide.errors import ConfigError
    from honeyguide.language_codes import check
    from honeyguide.text.segments import Reading
    from honeyguide.training.model_types import Ways
    from honeyguide.training.rows import Columns
    from honeyguide.training.train import Wish

    if language:
        check(language, "--language")
    if not 1 <= epochs <= 1000:
        raise ConfigError(f"--epochs must be 1 to 1000, not {epochs}")
    wish = Wish(
        source=source,
        out=out,
        kind=kind,
        # Vectors are of words as they stand in texts, and encoders read whole sentences.
        reading=Reading(
            language,
            normalise,
            stem=not embedding,
            stops=bool(embedding) and Path(embedding).is_dir(),
        ),
        columns=Columns(text, label, encoding),
        folds=folds,
        ways=Ways(epochs=epochs, seed=seed, embedding=embedding),
        most=most,
        licence=licence,
        command=shlex.join(["honeyguide", *sys.argv[1:]]),
        made=datetime.now(UTC).date().isoformat(),
    )
    before = _written(out)
    try:
        made = _made(wish, quiet=as_json)
    except KeyboardInterrupt:
        saved = "the model was saved, its report may be missing"
        say(f"honeyguide: stopped; {'nothing was saved' if _written(out) == before else saved}")
        raise typer.Exit(130) from None
    if as_json:
        typer.echo(json.dumps(made.card | {"model": str(out)}))
        return
    _show(made, out)


def _written(out: Path) -> int:
    """When the model in a folder was written; 0 if there is none."""
    try:
        return (out / "model.json").stat().st_mtime_ns
    except OSError:
        return 0


def _made(wish: Any, *, quiet: bool) -> Made:
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from honeyguide.training.train import make

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console(stderr=True), transient=True, disable=quiet) as bar:
        reading, task = bar.add_task("reading", total=None), bar.add_task("training", total=1.0)
        made = make(
            wish,
            lambda what, done: bar.update(task, description=plain(what), completed=done),
            lambda done: bar.update(reading, description=f"read {done} documents"),
        )
    for note in made.corpus.told:
        say(plain(note))
    return made


def _show(made: Made, out: Path) -> None:
    for kind, found in made.figures.items():
        mark = " (chosen)" if kind == made.kind and len(made.figures) > 1 else ""
        typer.echo(
            f"{kind}{mark}: accuracy {found.accuracy:.4f} ± {found.deviation:.4f}, macro-F1 "
            f"{found.macro_f1:.4f}, calibration error {found.calibration_error:.4f}"
        )
    if made.kind in made.figures:
        for each in made.figures[made.kind].each:
            typer.echo(
                f"  {plain(each.category):<24} precision {each.precision:.3f}  "
                f"recall {each.recall:.3f}  F1 {each.f1:.3f}  of {each.documents}"
            )
    documents = count(len(made.corpus.labels), "document")
    typer.echo(f"{out}: a model of {len(made.corpus.categories)} categories from {documents}.")
    say(f"Pictures: {out / 'report.html'}")
    say(f"Next: honeyguide classify PAGE --model {quoted(out)}")
