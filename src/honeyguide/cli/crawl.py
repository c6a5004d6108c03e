"""``honeyguide crawl``"""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from honeyguide.cli.formatting import print_json, safe_text, say, shell_quote
from honeyguide.cli.options import CollectionName, JsonOption, option
from honeyguide.cli.status import coverage_summary, foreign_summary

if TYPE_CHECKING:
    from honeyguide.api.collection import Collection
    from honeyguide.crawl.status import Report


def crawl(
    name: CollectionName,
    pages: Annotated[int | None, option("--pages -n N", "Stop at so many visits in all.")] = None,
    hours: Annotated[
        float | None, option("--hours H", "Stop after so many hours of this run.")
    ] = None,
    coverage_: Annotated[
        float | None,
        option(
            "--until-coverage SHARE", "Stop when about this share of the topic is found, say 0.9."
        ),
    ] = None,
    precision: Annotated[
        float | None,
        option(
            "--min-precision SHARE",
            "Stop when fewer of the last 200 visits were relevant, say 0.02.",
        ),
    ] = None,
    shards: Annotated[
        int | None,
        option("--shards N", "Crawl in so many processes; later runs do the same. 1: in one."),
    ] = None,
    cluster: Annotated[
        str | None,
        option("--cluster ADDRESS", "Crawl on the machines of a Ray cluster, say 192.0.2.10:6379."),
    ] = None,
    vault: Annotated[
        str | None,
        option(
            "--vault PLACE",
            "Storage that these machines share: a folder, or s3://bucket/prefix; remembered.",
        ),
    ] = None,
    without_lost: Annotated[
        bool,
        option("--without-lost-shards", "Restart shards whose folders are gone, from the seeds."),
    ] = False,
    studio: Annotated[bool, option("--studio", "Open the studio, and crawl in it.")] = False,
    quiet: Annotated[bool, option("--quiet -q", "No progress display.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Crawl, or continue where the last crawl ended. Ctrl-C stops cleanly.

    Examples:

    `honeyguide crawl birds`

    `honeyguide crawl birds --pages 5000 --hours 8`

    `honeyguide crawl birds --pages 0 --until-coverage 0.9 --min-precision 0.02`

    `honeyguide crawl birds --shards 4`

    `honeyguide crawl birds --cluster 192.0.2.10:6379 --vault /mnt/shared/crawls`
    """
    from msgspec import structs

    from honeyguide.api.collection import Collection
    from honeyguide.cli.terminal import CrawlDisplay
    from honeyguide.errors import FetchError

    if studio:
        from honeyguide.cli.serve import open_studio

        given = {"--pages": pages, "--hours": hours, "--until-coverage": coverage_,
                 "--min-precision": precision, "--shards": shards, "--cluster": cluster,
                 "--vault": vault}  # fmt: skip
        options = [f"{key}={value}" for key, value in given.items() if value is not None]
        options += ["--without-lost-shards"] if without_lost else []
        open_studio(Collection(name).folder, 0, open_=True, as_json=as_json, crawl=options)
        return
    collection = Collection(name)
    budget = collection.settings.crawl.pages if pages is None else pages
    with CrawlDisplay(collection.name, budget, quiet=quiet or as_json) as display:
        report = collection.crawl(
            pages=pages,
            hours=hours,
            shards=shards,
            cluster=cluster,
            vault=vault or "",
            without_lost=without_lost,
            until_coverage=coverage_,
            min_precision=precision,
            progress=display,
            announce=say if cluster is not None else display.print_note,
        )
    progress = report.progress
    for warning in report.warnings:
        say(f"honeyguide: {safe_text(warning)}")
    if as_json:
        facts = structs.asdict(progress) | {
            "harvest": round(progress.harvest, 4),
            "reason": report.reason,
            "seconds": round(report.seconds, 3),
            "next_at": report.next_at,
            "estimate": asdict(report.estimate),
        }
        if report.exchanged is not None:
            facts["exchanged"] = report.exchanged._asdict()
        print_json(facts)
    else:
        typer.echo(str(report))
        if progress.foreign:
            typer.echo(f"Set aside by the language filter: {foreign_summary(progress.foreign)}.")
        if report.estimate.covered:
            typer.echo(f"The topic: {coverage_summary(report.estimate)}.")
        if not report.failed:
            say(next_step_hint(shell_quote(collection.folder), budget, report))
    if report.failed:
        raise FetchError("no page could be fetched", report.failed + _offline_hint(collection))


def next_step_hint(name: str, budget: int, report: Report) -> str:
    """What to type now."""
    next_at, progress = report.next_at, report.progress
    look = f"honeyguide status {name} · honeyguide export {name} --to pages.csv"
    if budget and progress.visits >= budget:
        return f"Next: {look} · honeyguide crawl {name} --pages {2 * budget}"
    if not progress.waiting:
        return f"Next: {look}"
    if "(stop." in report.reason:
        return f"Next: {look}. To continue, pass another limit, or change [stop] in topic.toml"
    if next_at is not None and 60 < next_at - time.time() < 1e9:
        when = time.strftime("%H:%M on %d %b", time.localtime(next_at))
        return (
            f"Hosts may be requested again from {when}; continue then with: honeyguide crawl {name}"
        )
    return f"Continue with: honeyguide crawl {name}"


def _offline_hint(collection: Collection) -> str:
    """A question, where no host at all could be reached."""
    kinds = collection.status(hosts=0).failures
    return "; are you online?" if kinds and set(kinds) <= {"dns", "connect"} else ""
