"""``honeyguide export`` and ``honeyguide report``: results for others."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import typer

from honeyguide.cli.formatting import (
    count_noun,
    make_console,
    print_json,
    safe_text,
    say,
    shell_quote,
)
from honeyguide.cli.options import (
    CollectionName,
    JsonOption,
    keep_option,
    open_collection,
    option,
)
from honeyguide.errors import CollectionCorrupt

_TOLD_ADDRESSES = 3
"""Addresses that a message names."""


def format_names() -> list[str]:
    return ["parquet", "csv", "jsonl", "warc"]


def export(
    name: CollectionName,
    to: Path = option(
        "--to -o FILE",
        "The file to write; its ending says the format: .parquet, .csv, .jsonl "
        "(also with .gz), .warc.gz or .warc. Or a folder, with --format.",
    ),
    kind: str = option(
        "--format -f FORMAT", "parquet, csv, jsonl or warc.", "", autocompletion=format_names
    ),
    everything: bool = option(
        "--all", "Every visit, failures and redirects too, not only relevant.", False
    ),
    no_text: bool = option("--no-text", "Leave out the pages' text, the largest column.", False),
    topic: str = option("--topic NAME", "Only pages relevant for this topic.", ""),
    language: str = option(
        "--language CODE",
        "Only pages in this language, also where it is not a wanted one; all: in any.",
        "",
    ),
    as_is: bool = option(
        "--as-is", "Do not learn from labels that wait and judge pages again first.", False
    ),
    keep: str = keep_option("for this file only"),
    as_json: JsonOption = False,
) -> None:
    """Write the relevant pages to a file that others can use.

    If labels wait to be learned, that is done first, and all pages are judged by what they taught.
    A page that a person labelled is relevant if the label says so, whatever the verdict was. With
    several topics, columns such as `topic.bats` and `label.bats` tell them apart. Pages in
    languages that are not wanted stay out unless --language asks for them.

    Examples:

    `honeyguide export birds --to birds.parquet`

    `honeyguide export birds --to everything.csv --all --no-text`

    `honeyguide export birds --to birds.warc.gz`

    `honeyguide export birds --to bats.csv --topic bats`

    `honeyguide export birds --to german.csv --language de`

    `honeyguide export birds --to surest.csv --keep strict`
    """
    from honeyguide.language_codes import language_name

    collection = open_collection(name)
    with make_console(stderr=True).status("writing …") as shown:
        done = collection.export(
            to,
            format=kind,
            everything=everything,
            text=not no_text,
            topic=topic,
            language=language,
            as_is=as_is,
            announce=lambda text: shown.console.print(safe_text(text)),
            keep=keep,
            progress=lambda n: shown.update(f"writing: {count_noun(n, 'row')} …"),
        )
    if done.missing:
        lost = "its WARC record is" if done.missing == 1 else "their WARC records are"
        say(f"honeyguide: {count_noun(done.missing, 'answer')} left out: {lost} missing")
    if done.damaged:
        some = ", ".join(safe_text(url) for url in done.damaged[:_TOLD_ADDRESSES])
        rest = ", …" if len(done.damaged) > _TOLD_ADDRESSES else ""
        say(
            f"honeyguide: {count_noun(len(done.damaged), 'answer')} left out, wholly or without "
            f"the request: damaged in the WARC files ({some}{rest}). Take the files of warc/ from "
            "a backup, or crawl these pages again in a new collection"
        )
    if done.unproven:
        say(
            f"honeyguide: {count_noun(done.unproven, 'page')} left out: on sites that link to each "
            "other and that hardly any trusted site links to (scope.unproven_share); label one of "
            "a site's pages as good to count them, or export every visit with --all"
        )
    if as_json:
        cut = None if everything else asdict(collection.relevance_cut(keep))
        facts: dict[str, object] = {
            "file": str(done.path), "format": done.format, "rows": done.rows,
            "missing": done.missing, "damaged": done.damaged, "unproven": done.unproven,
        }  # fmt: skip
        print_json(facts | {"kept": cut})
    else:
        things = "answer" if done.format == "warc" else "row"
        typer.echo(f"{count_noun(done.rows, things)} written to {done.path}.")
        if not done.rows and not everything and language not in ("", "all"):
            spoken = language_name(language)
            say(f"No relevant page in {spoken}; --language all exports every language.")
        elif not done.rows and not everything:
            say("No relevant page yet; --all exports every visit.")
        elif not everything:
            say(f"{collection.relevance_cut(keep).summary}.".capitalize())
    if done.damaged:
        raise typer.Exit(CollectionCorrupt.exit_code)


# --------------------------------------------------------------------------------------------------
# ``honeyguide report``
# --------------------------------------------------------------------------------------------------


def report(
    name: CollectionName,
    to: Path | None = option(
        "--to -o FILE", "A name that ends in .html or .md; report.html in its folder.", None
    ),
    sample: Path | None = option(
        "--sample FILE",
        "Write the results to be judged as CSV, to fill in and give to label.",
        None,
    ),
    every: int = option("--every N", "Offer one result in N for judging; 0: as fits.", 0, min=0),
    span: float = option("--span HOURS", "Length of a span of time; 0: as fits.", 0.0, min=0),
    as_json: JsonOption = False,
) -> None:
    """A page about a collection: volume and precision over time, results to judge, what is left.

    Raw, gross and net volume, temporal and cumulative precision; harvest and coverage; sites,
    languages, what was learned, queries. The page needs nothing from elsewhere. Also while a
    crawl runs.

    Examples:

    `honeyguide report birds`

    `honeyguide report birds --to birds.md`

    `honeyguide report birds --sample judge.csv`

    `honeyguide report birds --json`
    """
    collection = open_collection(name)
    with make_console(stderr=True).status("counting …"):
        found = collection.report(span_s=3_600 * span, every=every)
    if sample is not None:
        found.save_sample(sample)
        say(
            f"{count_noun(len(found.sample), 'result')} in {sample}; fill in the column label, "
            f"then: honeyguide label {shell_quote(collection.folder)} {shell_quote(sample)}"
        )
    if as_json:
        print_json(found.to_dict())
    if to is not None or not (as_json or sample):
        path = found.save(to or collection.folder / "report.html")
        say(f"The report is in {path}.")
