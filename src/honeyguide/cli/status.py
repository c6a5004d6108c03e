"""``honeyguide status``"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from honeyguide.cli.formatting import console, count, plain, when
from honeyguide.cli.options import Json, Name

if TYPE_CHECKING:
    from honeyguide.crawl.status import Searched, Status
    from honeyguide.learning.coverage import Between, Estimate


def status(
    name: Name,
    hosts: Annotated[
        int, typer.Option("--hosts", metavar="N", help="How many hosts to list.", min=0)
    ] = 10,
    as_json: Json = False,
) -> None:
    """Show how a collection stands; also while it is being crawled.

    Examples:

    `honeyguide status birds`

    `honeyguide status birds --json`
    """
    from rich.table import Table

    from honeyguide.crawl.collection import Collection
    from honeyguide.crawl.labels import contested

    collection = Collection(name)
    found = collection.status(hosts=hosts)
    disputed = contested(collection.folder) if found.labels else 0
    if as_json:
        facts = asdict(found) | {
            "harvest": found.harvest,
            "per_host": [row._asdict() for row in found.per_host],
            "contested": disputed,
        }
        typer.echo(json.dumps(facts))
        return
    out = console()
    running = found.crawler_pid
    state = f"being crawled by process {running}" if running else "not being crawled"
    out.print(f"{plain(collection.name)}: {state}", style="bold")
    for line in lines(found):
        out.print(line)
    if disputed:
        out.print(f"people differ about {count(disputed, 'page')}; the newest label counts")
    if found.per_host:
        table = Table(box=None, header_style="dim", pad_edge=False)
        for title in ("host", "visits", "relevant", "failures"):
            table.add_column(title, justify="left" if title == "host" else "right")
        for row in found.per_host:
            table.add_row(plain(row.host), str(row.visits), str(row.relevant), str(row.failures))
        out.print(table)


def lines(found: Status) -> Iterator[str]:
    """The status in words."""
    budget = f" of {found.budget}" if found.budget >= found.visits else ""
    yield (
        f"{found.visits}{budget} {'visit' if (found.budget or found.visits) == 1 else 'visits'}"
        f" · {count(found.pages, 'page')} · {found.relevant} relevant"
        f" · harvest rate {found.harvest:.0%}"
    )
    if found.topics:
        yield "relevant: " + " · ".join(f"{plain(name)} {n}" for name, n in found.topics.items())
    parts = [] if found.waiting is None else [f"{count(found.waiting, 'link')} waiting"]
    parts += [
        count(found.redirects, "redirect"),
        count(found.copies, "copy", "copies"),
        count(found.labels, "label"),
        count(found.hosts, "host"),
        f"{found.bytes / 1e6:.1f} MB",
    ]
    yield " · ".join(parts)
    if found.foreign:
        yield elsewhere(found.foreign)
    if found.watched:
        yield f"{count(found.watched, 'page')} watched · {count(found.changes, 'change')} found"
    if found.searched:
        yield searched(found.searched)
    if found.estimate:
        yield coverage(found.estimate)
    parted = f" · {found.shards} shards" if found.shards > 1 else ""
    yield f"strategy {plain(found.strategy)}, generation {found.generation or 0}{parted}"
    if found.first and found.last:
        rate = "" if found.rate is None else f" · {found.rate:.1f} visits/s in the last run"
        yield f"from {when(found.first)} to {when(found.last)}{rate}"
    if found.failures:
        codes = {str(code): number for code, number in (found.statuses or {}).items()}
        kinds = {kind: n for kind, n in sorted(found.failures.items()) if kind != "status"}
        yield "failures: " + ", ".join(f"{plain(what)} ×{n}" for what, n in (codes | kinds).items())
    yield from map(plain, found.lost)


def elsewhere(foreign: dict[str, int], most: int = 8) -> str:
    """Pages in other languages: how many, and which."""
    shown = [f"{plain(code)} {pages}" for code, pages in list(foreign.items())[:most]]
    more = ["…"] if len(foreign) > most else []
    return f"in other languages {sum(foreign.values())}: {', '.join(shown + more)}"


def searched(found: Searched) -> str:
    """What a search engine was asked."""
    from honeyguide.crawl.progress import money

    failed = f", {found.failed} not answered" if found.failed else ""
    cost = f" for {money(found.cost)}" if found.cost else ""
    trouble = f" · the last one failed: {plain(found.trouble)}" if found.trouble else ""
    return (
        f"{count(found.queries, 'query', 'queries')} asked in {count(found.asked, 'request')}"
        f"{failed} ({found.month} this month{cost}): {count(found.results, 'result')}, "
        f"{found.fresh} new{trouble}"
    )


def between(found: Between) -> str:
    """What links and searches say together of how much there is."""
    told = (
        f"links found {count(found.links, 'relevant page')}, searches {found.search}, "
        f"both {found.both}"
    )
    if not found.told:
        return f"{told}: too little to tell how many there are"
    return (
        f"{told}: there are about {found.total:.0f} ± {found.error:.0f}, or more, since what is "
        "easy to find is easy to find in both ways"
    )


def coverage(found: Estimate) -> str:
    """How much of the topic is found, and why we think so."""
    told = _coverage(found)
    return f"{told} · {between(found.channels)}" if found.channels else told


def _coverage(found: Estimate) -> str:
    if not found.covered:
        return f"how much of the topic is found: {found.why}"
    sure = max(found.falling, 1 - found.falling)
    way = "falls" if found.falling > 0.5 else "rises"
    trend = f", and {way} ({sure:.0%} sure)" if sure >= 0.9 else ""
    return (
        f"about {found.covered:.0%} of {found.total:.0f} relevant pages in reach found "
        f"by its own verdicts (of {found.low:.0f} to {found.high:.0f}): {found.why} · "
        f"recent harvest rate {found.recent:.0%}{trend}"
    )
