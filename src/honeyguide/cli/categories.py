"""``honeyguide train`` and ``honeyguide classify``: category models."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from honeyguide.cli.formatting import (
    count_noun,
    print_json,
    progress_bar,
    safe_text,
    say,
    shell_quote,
)
from honeyguide.cli.options import JsonOption, argument, option
from honeyguide.errors import ConfigError, FetchError, HoneyguideError, ParseError

if TYPE_CHECKING:
    from honeyguide.training.classify import CategoryResult, PageClassifier
    from honeyguide.training.report import ModelFigures
    from honeyguide.training.train import TrainedModel
    from honeyguide.types import Page, Url


def train(
    source: list[Path] = argument(
        "SOURCE…", "A folder with a folder for each category, or a .jsonl, .csv or .tsv file."
    ),
    out: Path = option("--out -o FOLDER", "Folder for the model."),
    test: str = option(
        "--test FILE", "Another source to test the model on; it learns nothing from it.", ""
    ),
    kind: str = option(
        "--kind KIND",
        "linear, paper, conv, one_layer, sensitivity; auto: the better of the first two.",
        "auto",
    ),
    language: str = option(
        "--language CODE", "Language of the texts, such as tr; otherwise detected.", ""
    ),
    normalise: bool = option(
        "--normalise/--no-normalise", "Repair Turkish as people type it.", False
    ),
    folds: int = option("--folds N", "Folds of the cross-validation; 0: none.", 5),
    epochs: int = option("--epochs N", "Most rounds of a network's training.", 20),
    embedding: str = option(
        "--embedding PATH", "A file of word vectors, or a BERT-like model.", ""
    ),
    text: str = option("--text NAME", "Column or key of the texts.", ""),
    label: str = option("--label NAME", "Column or key of the categories.", ""),
    encoding: str = option(
        "--encoding NAME", "Encoding of the source, such as windows-1254; otherwise detected.", ""
    ),
    most: int = option("--most N", "Most documents; of more, a random sample is used.", 50_000),
    seed: int = option("--seed N", "Random seed.", 1),
    licence: str = option("--licence TEXT", "Licence of the model, for its card.", ""),
    as_json: JsonOption = False,
) -> None:
    """Train a model that sorts pages into categories, and evaluate it.

    Writes a folder with the model, a report with pictures (`report.html`) and a card (`card.md`).
    The strategy `topic_cnn` crawls with it; `honeyguide classify` applies it to pages.

    Examples:

    `honeyguide train labelled/ --out news-model --language tr`

    `honeyguide train articles.csv --text body --label section --out sections`

    `honeyguide train one.csv two.csv --test three.csv --out news-model`
    """
    from honeyguide.api.train import train as train_model

    before = _model_time(out)
    try:
        made = train_model(
            source[0],
            out,
            more=source[1:],
            test=test,
            kind=kind,
            language=language,
            normalise=normalise,
            folds=folds,
            epochs=epochs,
            embedding=embedding,
            text=text,
            label=label,
            encoding=encoding,
            most=most,
            seed=seed,
            licence=licence,
            command=shlex.join(["honeyguide", *sys.argv[1:]]),
            progress=False if as_json else None,
        )
    except KeyboardInterrupt:
        saved = "the model was saved, its report may be missing"
        say(f"honeyguide: stopped; {'nothing was saved' if _model_time(out) == before else saved}")
        raise typer.Exit(130) from None
    for note in made.corpus.notes:
        say(safe_text(note))
    if as_json:
        print_json(made.card | {"model": str(out)})
        return
    _show_model(made, out)


def _model_time(out: Path) -> int:
    """When the model in a folder was written; 0 if there is none."""
    try:
        return (out / "model.json").stat().st_mtime_ns
    except OSError:
        return 0


def _show_model(made: TrainedModel, out: Path) -> None:
    for kind, found in made.figures.items():
        mark = " (chosen)" if kind == made.kind and len(made.figures) > 1 else ""
        typer.echo(
            f"{kind}{mark}: accuracy {found.accuracy:.4f} ± {found.deviation:.4f}, macro-F1 "
            f"{found.macro_f1:.4f}, calibration error {found.calibration_error:.4f}"
        )
    if made.kind in made.figures:
        _show_categories(made.figures[made.kind])
    if made.test is not None:
        test = made.card["test"]
        _show_figures(f"tested on {safe_text(test['source'])}", made.test, test["notes"])
    documents = count_noun(len(made.corpus.labels), "document")
    typer.echo(f"{out}: a model of {len(made.corpus.categories)} categories from {documents}.")
    say(f"Pictures: {out / 'report.html'}")
    say(f"Next: honeyguide classify PAGE --model {shell_quote(out)}")


def _show_figures(what: str, found: ModelFigures, notes: Iterable[str]) -> None:
    """Figures on documents that were no part of the training."""
    typer.echo(
        f"{what}: accuracy {found.accuracy:.4f}, macro precision {found.macro_precision:.4f}, "
        f"macro recall {found.macro_recall:.4f}, macro-F1 {found.macro_f1:.4f}"
    )
    _show_categories(found)
    for note in notes:
        say(safe_text(note))


def _show_categories(found: ModelFigures) -> None:
    for each in found.each:
        typer.echo(
            f"  {safe_text(each.category):<24} precision {each.precision:.3f}  "
            f"recall {each.recall:.3f}  F1 {each.f1:.3f}  of {each.documents}"
        )


# --------------------------------------------------------------------------------------------------
# ``honeyguide classify``
# --------------------------------------------------------------------------------------------------


_MAX_BYTES = 10_000_000
_MAX_SHOWN = 3


def classify(
    what: list[str] = argument("PAGE…", "Files, addresses, or - for standard input."),
    model: Path = option("--model -m FOLDER", "A model from `honeyguide train`."),
    contact: str = option(
        "--contact -c WHO", "For addresses: your e-mail or web page; sites see it.", ""
    ),
    lab: str = option("--lab URL", "Use a running `honeyguide lab serve`.", ""),
    encoder: Path | None = option(
        "--encoder FOLDER",
        "The encoder that the model was trained with. It is a program: name it "
        "only if you trust it.",
        None,
    ),
    score: bool = option(
        "--score",
        "The files hold labelled documents, as for `honeyguide train`: say how many are right.",
        False,
    ),
    text: str = option("--text NAME", "With --score: column or key of the texts.", ""),
    label: str = option("--label NAME", "With --score: column or key of the categories.", ""),
    show_text: bool = option("--show-text", "Show what the model reads, word by word.", False),
    as_json: JsonOption = False,
) -> None:
    """Classify pages with a model of your own.

    Examples:

    `honeyguide classify page.html letter.txt --model news-model`

    `honeyguide classify https://example.org/news --model news-model -c you@example.org`

    `honeyguide classify labelled.csv --model news-model --score`
    """
    from honeyguide.training.classify import PageClassifier

    sorter = PageClassifier.open(model, encoder)
    if score:
        _score_files(sorter, what, text, label, as_json)
        return
    if text or label:
        raise ConfigError("--text and --label name columns of labelled documents: add --score")
    pages: list[tuple[str, Page]] = []
    failures: list[tuple[str, HoneyguideError]] = []
    for name, got in _collect_pages(what, contact, lab):
        if isinstance(got, HoneyguideError):
            failures.append((name, got))
        else:
            pages.append((name, got))
    found = sorter.classify_pages(pages)
    if as_json:
        for one in found:
            print_json(one.to_dict(text=show_text))
        for name, error in failures:
            print_json({"name": name, "error": str(error)})
    else:
        for one, (_, page) in zip(found, pages, strict=True):
            _show_category(one, sorter, page, text=show_text)
    for name, error in failures:
        why = str(error)
        say(safe_text(why if name in why else f"{name}: {why}"))
    if failures:
        raise typer.Exit(max(error.exit_code for _, error in failures))


def _score_files(
    sorter: PageClassifier, names: list[str], text: str, label: str, as_json: bool
) -> None:
    from dataclasses import asdict

    from honeyguide.training.corpus import gather_unseen
    from honeyguide.training.documents import ColumnNames
    from honeyguide.training.train import score_model

    for name in names:
        columns, categories = ColumnNames(text, label), sorter.model.categories
        with progress_bar(f"reading {safe_text(name)}", quiet=as_json) as show:
            asked = gather_unseen(
                Path(name),
                sorter.reading,
                categories,
                columns,
                progress=lambda n, show=show: show(n, n),  # type: ignore[misc]
            )
        found = score_model(sorter.model, asked)
        if as_json:
            macro = {"precision": found.macro_precision, "recall": found.macro_recall}
            print_json({"name": name, "macro": macro, "notes": asked.notes} | asdict(found))
        else:
            _show_figures(safe_text(name), found, asked.notes)


def _collect_pages(
    names: list[str], contact: str, lab: str
) -> list[tuple[str, Page | HoneyguideError]]:
    """The page of each name, or why there is none, in the order given."""
    from honeyguide.training.classify import page_from_bytes, read_page

    addresses = [name for name in names if _is_address(name)]
    fetched = asyncio.run(_fetch_pages(addresses, contact, lab)) if addresses else {}
    found: list[tuple[str, Page | HoneyguideError]] = []
    for name in names:
        if name in fetched:
            found.append((name, fetched[name]))
            continue
        try:
            if name == "-":
                page = page_from_bytes(sys.stdin.buffer.read(_MAX_BYTES), "standard input")
            else:
                page = read_page(Path(name))
        except ConfigError as error:
            found.append((name, error))
        else:
            found.append((name, page))
    return found


def _is_address(name: str) -> bool:
    return "://" in name and not Path(name).exists()


async def _fetch_pages(
    names: list[str], contact: str, lab: str
) -> dict[str, Page | HoneyguideError]:
    from honeyguide import __version__
    from honeyguide.api.create import lab_address
    from honeyguide.api.user_urls import possible_urls
    from honeyguide.config.settings import FetchSettings
    from honeyguide.fetch.http import CurlFetcher, make_user_agent
    from honeyguide.net.polite_fetch import PoliteFetcher
    from honeyguide.parse.read import parse_page
    from honeyguide.types import Link
    from honeyguide.url import authority_of

    if not contact:
        raise ConfigError(
            "a contact is missing: sites must be able to reach whoever sends them requests. Add "
            "--contact you@example.org"
        )
    agent = make_user_agent(contact, __version__)
    usual = FetchSettings(contact=contact, lab=lab_address(lab) if lab else "")
    private = FetchSettings(contact=contact, private_addresses=True)
    outside = CurlFetcher(usual, user_agent=agent, archives=False)
    inside = CurlFetcher(private, user_agent=agent, archives=False)
    visitor = PoliteFetcher(outside, lab=bool(lab))
    guests: dict[str, PoliteFetcher] = {}
    found: dict[str, Page | HoneyguideError] = {}
    try:
        for name in dict.fromkeys(names):
            try:
                url = possible_urls(name)[0]
                guest = visitor
                if not lab and _is_private(url):
                    guest = guests.setdefault(authority_of(url), visitor.for_origin(url, inside))
                answer = await guest.fetch_url(url)
                found[name] = parse_page(answer, Link(answer.url))
            except (ConfigError, FetchError) as error:
                found[name] = error
            except ParseError:
                found[name] = FetchError(name, "this is not a page: it holds no text")
    finally:
        await outside.aclose()
        await inside.aclose()
    return found


def _is_private(url: Url) -> bool:
    """Whether a user names a private address, and means it; no page may lead us to one."""
    from honeyguide.fetch.ip_policy import forbidden_reason, is_loopback_host
    from honeyguide.url import host_of, is_ip

    name = host_of(url)
    return is_loopback_host(name) or (is_ip(name) and bool(forbidden_reason(name)))


def _show_category(one: CategoryResult, sorter: PageClassifier, page: Page, *, text: bool) -> None:
    if not one.category:
        typer.echo(f"{safe_text(one.name)}: {one.why}")
    else:
        likely = list(one.chances.items())[:_MAX_SHOWN]
        shares = ", ".join(f"{safe_text(name)} {chance:.0%}" for name, chance in likely)
        typer.echo(f"{safe_text(one.name)}: {shares}")
    if one.words:
        say("  by: " + ", ".join(safe_text(word) for word, _ in one.words))
    if text:
        from honeyguide.training.classify import normaliser_changes

        for tokens in one.tokens:
            typer.echo("  | " + safe_text(" ".join(tokens)))
        for step, before, after in normaliser_changes(sorter.reading, page):
            typer.echo(f"  {step}: {safe_text(before)} → {safe_text(after)}")
