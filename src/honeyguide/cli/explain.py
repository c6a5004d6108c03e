"""``honeyguide explain``"""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from honeyguide.cli.formatting import console, plain, when
from honeyguide.cli.options import Json, Name


def explain(
    name: Name,
    url: Annotated[str, typer.Argument(metavar="URL", help="The address in question.")],
    as_json: Json = False,
) -> None:
    """Say why an address was fetched, or why not, with score and reasons.

    Example: `honeyguide explain birds https://example.org/finches`
    """
    from honeyguide.crawl.collection import Collection

    collection = Collection(name)
    found = collection.explain(url)
    labels = collection.labels(found.url) if collection.topics else {}
    if as_json:
        said = {topic: label.value for topic, label in labels.items()}
        typer.echo(json.dumps(_facts(found) | ({"labels": said} if collection.topics else {})))
        return
    out = console()
    out.print(plain(found.url), style="bold")
    out.print(plain(found.answer))
    for topic, label in labels.items():
        out.print(f"A person labelled it {label.value:g} for {plain(topic)}.")
    if found.label is not None and not labels:
        out.print(f"A person labelled it {found.label:g}.")
    for finder in found.finders:
        page = "" if finder.page == 1 else f" on page {finder.page}"
        so_far = (
            f"{finder.relevant} of {finder.fetched} fetched results relevant, mean verdict "
            f"{finder.mean:.2f}"
            if finder.fetched
            else "nothing fetched"
        )
        out.print(
            f"Found by the query {plain(finder.query)} ({plain(finder.by)}): result "
            f"{finder.place}{page} of {plain(finder.engine)}; yield of that query: {so_far}"
        )
    for row in found.visits:
        what = f"HTTP {row.status}" if row.status else f"{row.failure}: {row.detail}"
        out.print(
            f"  {when(row.at)}  {plain(what)}  generation {row.generation}, "
            f"score {row.queued:.2f} when found, {row.score:.2f} when fetched"
        )
        if row.title:
            out.print(f"  “{plain(row.title)}”")
        if row.copy_of:
            likeness = "the same text as" if row.copy_exact else "nearly the text of"
            out.print(f"  {likeness} {plain(row.copy_of)}")
        if row.warc:
            out.print(f"  kept in warc/{plain(row.warc)} at byte {row.offset}")
        if row.scores:
            scores = (f"{plain(topic)} {score:.2f}" for topic, score in row.scores.items())
            out.print(f"  by topic: {', '.join(scores)}")
        for reason in row.why:
            out.print(f"    {reason.weight:5.2f}  {plain(reason.what)}", style="green")
    if found.reasons:
        out.print("The link's score, before the page was seen:")
        for reason in found.reasons:
            out.print(f"    {reason.weight:5.2f}  {plain(reason.what)}", style="cyan")
    if found.way:
        out.print("The way from a seed:")
        for step in found.way:
            verdict = f"{step.verdict:.2f}" if step.verdict is not None else " -- "
            out.print(f"    {verdict}  {plain(step.url)}  → “{plain(step.anchor)}”")


def _facts(found: object) -> Any:
    """The explanation as plain values."""
    from dataclasses import fields, is_dataclass

    if is_dataclass(found) and not isinstance(found, type):
        return {f.name: _facts(getattr(found, f.name)) for f in fields(found)}
    if hasattr(found, "_asdict"):
        return {key: _facts(value) for key, value in found._asdict().items()}
    if isinstance(found, tuple | list):
        return [_facts(item) for item in found]
    return found
