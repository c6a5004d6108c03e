"""``honeyguide label``"""

from __future__ import annotations

import csv
import json
import time
from pathlib import Path
from typing import Annotated

import typer

from honeyguide.cli.options import Json, Name

_YES = frozenset({"1", "1.0", "yes", "y", "true", "good", "relevant", "+", "pos", "positive"})
_NO = frozenset({"0", "0.0", "no", "n", "false", "bad", "irrelevant", "-", "neg", "negative"})


def label(
    name: Name,
    file: Annotated[
        Path | None, typer.Argument(help="CSV (url,label) or JSON lines; - for stdin.")
    ] = None,
    good: Annotated[list[str] | None, typer.Option("--good", "-g", help="A relevant page.")] = None,
    bad: Annotated[list[str] | None, typer.Option("--bad", "-b", help="One that is not.")] = None,
    by: Annotated[str, typer.Option("--by", help="Who judges.")] = "user",
    as_json: Json = False,
) -> None:
    """Tell Honeyguide what you think of pages; also while it crawls.

    A label is yes or no (also 1/0, good/bad, relevant/irrelevant) or a number from 0 to 1.

    Examples:

    `honeyguide label birds labels.csv`

    `honeyguide label birds --good https://example.org/finches --bad https://example.org/shop`
    """
    from honeyguide.crawl.collection import Collection
    from honeyguide.errors import ConfigError
    from honeyguide.store.store import Store
    from honeyguide.types import Label
    from honeyguide.url import canonical

    collection = Collection(name)
    pairs = [(url, "yes") for url in good or []] + [(url, "no") for url in bad or []]
    if file is not None:
        pairs += _read(file)
    if not pairs:
        raise ConfigError("nothing to label: name a file, or use --good URL and --bad URL")
    labels = []
    for place, (text, value) in enumerate(pairs, 1):
        url = canonical(text.strip())
        if url is None:
            raise ConfigError(f"label {place}: {text!r} is no http or https address")
        labels.append(Label(url, _value(value, place), by, time.time()))
    with Store.open(collection.folder, "write") as store:
        with store.transaction():
            store.label(labels)
        unknown = sum(not store.visit(entry.url) for entry in labels)
    if as_json:
        typer.echo(json.dumps({"labels": len(labels), "not_fetched": unknown}))
    else:
        typer.echo(f"{len(labels)} labels kept.")
        if unknown:
            typer.echo(f"{unknown} of them are for pages that were not fetched (yet).", err=True)


def _value(text: str, place: int) -> float:
    from honeyguide.errors import ConfigError

    word = text.strip().lower()
    if word in _YES:
        return 1.0
    if word in _NO:
        return 0.0
    try:
        number = float(word)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise ConfigError(f"label {place}: {text!r} is neither yes nor no nor between 0 and 1")
    return number


def _read(file: Path) -> list[tuple[str, str]]:
    """(address, label) pairs of a CSV file with or without a heading, or of JSON lines."""
    from honeyguide.errors import ConfigError

    try:
        text = (
            typer.get_text_stream("stdin").read()
            if str(file) == "-"
            else (file.read_text("utf-8-sig"))
        )
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read: {error}") from error
    lines = [line for line in text.splitlines() if line.strip()]
    if lines and lines[0].lstrip().startswith("{"):
        try:
            rows = [json.loads(line) for line in lines]
            return [(str(row["url"]), str(row["label"])) for row in rows]
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigError(f"{file}: each line must be {{'url': …, 'label': …}}") from error
    pairs = []
    for number, row in enumerate(csv.reader(lines), 1):
        if number == 1 and row and row[0].strip().lower() == "url":
            continue
        if len(row) < 2:
            raise ConfigError(f"{file}, line {number}: two columns are needed: url,label")
        pairs.append((row[0], row[1]))
    return pairs
