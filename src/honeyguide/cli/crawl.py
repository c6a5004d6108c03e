"""``honeyguide crawl``"""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from typing import Annotated

import typer

from honeyguide.cli.options import Json, Name


def crawl(
    name: Name,
    pages: Annotated[
        int | None, typer.Option("--pages", "-n", help="Stop at so many visits in all.")
    ] = None,
    hours: Annotated[
        float | None, typer.Option("--hours", help="Stop after so many hours of this run.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress display.")] = False,
    as_json: Json = False,
) -> None:
    """Crawl, or go on where the last crawl ended. Ctrl-C stops cleanly.

    Examples:

    `honeyguide crawl birds`

    `honeyguide crawl birds --pages 5000 --hours 8`
    """
    from honeyguide.cli.display import Display
    from honeyguide.crawl.collection import Collection

    collection = Collection(name)
    budget = collection.settings.crawl.pages if pages is None else pages
    with Display(str(name), budget, quiet=quiet or as_json) as display:
        report = collection.crawl(pages=pages, hours=hours, observer=display)
    progress = report.progress
    for warning in report.warnings:
        typer.echo(f"honeyguide: {warning}", err=True)
    if as_json:
        facts = asdict(progress) | {
            "harvest": round(progress.harvest, 4),
            "reason": report.reason,
            "seconds": round(report.seconds, 3),
            "next_at": report.next_at,
        }
        typer.echo(json.dumps(facts))
    else:
        typer.echo(
            f"{progress.visits} visits, {progress.relevant} relevant pages "
            f"(harvest rate {progress.harvest:.0%}), {progress.failures} failures, "
            f"{progress.waiting} links wait. Stopped: {report.reason}."
        )
        if not report.failed:
            typer.echo(_next(name, report.next_at))
    if report.failed:
        from honeyguide.errors import FetchError

        raise FetchError("no page could be fetched", report.failed)


def _next(name: object, next_at: float | None) -> str:
    if next_at is not None and next_at - time.time() > 60:
        when = time.strftime("%H:%M on %d %b", time.localtime(next_at))
        return f"Hosts that rest are ready from {when}: honeyguide crawl {name} goes on then."
    return (
        f"Next: honeyguide status {name} · honeyguide export {name} --to pages.csv · "
        f"honeyguide crawl {name} --pages MORE"
    )
