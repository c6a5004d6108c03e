"""``honeyguide explain``"""

from __future__ import annotations

import json
import time
from typing import Annotated

import typer

from honeyguide.cli.options import Json, Name


def explain(
    name: Name,
    url: Annotated[str, typer.Argument(metavar="URL", help="The address in question.")],
    as_json: Json = False,
) -> None:
    """Say why an address was fetched, or why not, with score and reasons.

    Example: `honeyguide explain birds https://example.org/finches`
    """
    from rich.console import Console
    from rich.markup import escape

    from honeyguide.crawl.collection import Collection
    from honeyguide.crawl.explain import explain as find_out

    collection = Collection(name)
    found = find_out(collection.folder, collection.settings, url, time.time())
    if as_json:
        typer.echo(json.dumps(_facts(found), ensure_ascii=False))
        return
    out = Console(highlight=False, soft_wrap=True)
    out.print(f"[bold]{escape(found.url)}[/bold]")
    out.print(escape(found.answer))
    if found.label is not None:
        out.print(f"A person labelled it {found.label:g}.")
    for row in found.visits:
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(row.at))
        what = f"HTTP {row.status}" if row.status else f"{row.failure}: {row.detail}"
        out.print(
            f"  {when}  {escape(what)}  generation {row.generation}, score {row.queued:.2f} when "
            f"found, {row.score:.2f} when fetched"
        )
        if row.copy_of:
            out.print(
                f"  {'the same text as' if row.copy_exact else 'nearly'} {escape(row.copy_of)}"
            )
        if row.warc:
            out.print(f"  kept in warc/{escape(row.warc)} at byte {row.offset}")
        for reason in row.why:
            out.print(f"    {reason.weight:5.2f}  {escape(reason.what)}", style="green")
    if found.reasons:
        out.print("The link's score, before the page was seen:")
        for reason in found.reasons:
            out.print(f"    {reason.weight:5.2f}  {escape(reason.what)}", style="cyan")
    if found.way:
        out.print("The way from a seed:")
        for step in found.way:
            verdict = f"{step.verdict:.2f}" if step.verdict is not None else " -- "
            out.print(f"    {verdict}  {escape(step.url)}  → “{escape(step.anchor)}”")


def _facts(found: object) -> object:
    """The explanation as plain values."""
    from dataclasses import fields, is_dataclass

    if is_dataclass(found) and not isinstance(found, type):
        return {f.name: _facts(getattr(found, f.name)) for f in fields(found)}
    if hasattr(found, "_asdict"):
        return {key: _facts(value) for key, value in found._asdict().items()}
    if isinstance(found, tuple | list):
        return [_facts(item) for item in found]
    return found
