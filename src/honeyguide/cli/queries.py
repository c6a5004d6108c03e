"""``honeyguide queries``"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from honeyguide.cli.formatting import console, count, plain, quoted, say
from honeyguide.cli.options import Command, Group, Json, Name
from honeyguide.cli.queries_allow import allow

if TYPE_CHECKING:
    from honeyguide.crawl.manual_search import Ran
    from honeyguide.crawl.search_report import Asked

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    help=(
        "Ask a search engine: what was asked, what is worth asking, and your own queries.\n\n"
        "Example: `honeyguide queries suggest birds`\n\n"
        "Set the engine under `[search]` in topic.toml, or with "
        "`honeyguide new --search-engine searxng --search-url URL`."
    ),
)


@app.callback()
def queries() -> None:
    """Ask a search engine."""


@app.command("list", cls=Command)
def list_(name: Name, as_json: Json = False) -> None:
    """What was asked so far and what it brought; also while it is being crawled.

    *new* are results that the crawl did not know when it took them; *fetched*, those that were
    visited, whenever that was and whoever led there; *mean* is their mean verdict, from 0 to 1.

    Examples:

    `honeyguide queries list birds`

    `honeyguide queries list birds --json`
    """
    from honeyguide.crawl.collection import Collection
    from honeyguide.crawl.search_report import overview

    collection = Collection(name)
    found = overview(collection.folder, collection.settings)
    if as_json:
        typer.echo(json.dumps(found.facts()))
        return
    if found.rows:
        _table(found.rows)
    else:
        say("Nothing was asked yet.")
    for row in found.rows:
        if row.failures:
            say(f"{plain(row.query)}: failed {count(row.failures, 'time')}; {plain(row.trouble)}")
    for query in found.wanted:
        say(f"left for the next crawl, or the one that runs: {plain(query)}")
    say(plain(found.spent.words()))
    if found.problem:
        say(plain(found.problem))
    elif any(row.fresh is None and row.results for row in found.rows):
        say(f"Results wait to be fetched: honeyguide crawl {quoted(name)}")
    elif found.rows:
        say(f"Next: honeyguide queries suggest {quoted(name)}")


def _table(rows: list[Asked]) -> None:
    """Each query on a line of its own: nothing is cut, on a narrow terminal or in a file."""
    out = console()
    titles = ["pages", "results", "new", "fetched", "relevant", "mean"]
    titles += ["cost"] if any(row.price for row in rows) else []
    widths = [max(6, len(title)) for title in titles]
    cells = zip(titles, widths, strict=True)
    out.print(" ".join(title.rjust(width) for title, width in cells) + "  by", style="dim")
    for row in rows:
        fresh = "–" if row.fresh is None else str(row.fresh)
        mean = "–" if row.mean is None else f"{row.mean:.2f}"
        numbers = [str(row.pages), str(row.results), fresh, str(row.fetched), str(row.relevant)]
        shown = zip([*numbers, mean, f"{row.price:.3f}"], widths, strict=False)
        by = plain(row.by) + (f" · stopped: {plain(row.stopped)}" if row.stopped else "")
        out.print(plain(row.query), style="bold")
        out.print(" ".join(cell.rjust(width) for cell, width in shown) + f"  {by}")


@app.command("suggest", cls=Command)
def suggest(
    name: Name,
    number: Annotated[
        int, typer.Option("--number", "-n", metavar="N", min=1, max=60, help="How many.")
    ] = 10,
    as_json: Json = False,
) -> None:
    """Queries worth asking next, made from the good and the bad pages that are known so far.

    Each comes with the mean verdict that is expected of its results, as soon as results of others
    were fetched, and the pages that it was made from. Labels make them better: `honeyguide ask`.

    Examples:

    `honeyguide queries suggest birds`

    `honeyguide queries suggest birds --number 3 --json`
    """
    from honeyguide.crawl.collection import Collection
    from honeyguide.crawl.suggest import suggest as suggested

    collection = Collection(name)
    with _waiting("reading good and bad pages", quiet=as_json):
        found = suggested(collection.folder, collection.settings, number)
    if as_json:
        rows = [
            {"query": str(s.query), "expected": s.expected, "why": s.why, "pages": list(s.pages)}
            for s in found.suggestions
        ]
        typer.echo(json.dumps({"suggestions": rows, "good": found.good, "bad": found.bad}))
        return
    out = console()
    for one in found.suggestions:
        expected = "not known yet" if one.expected is None else f"{one.expected:4.0%}"
        out.print(f"{expected}  {plain(str(one.query))}", style="bold")
        if one.why:
            out.print(f"      {plain(one.why)}")
        for page in one.pages:
            out.print(f"      from {plain(page)}", style="dim")
        say(f"      honeyguide queries run {quoted(name)} {quoted(plain(str(one.query)))}")
    say(plain(found.words()))


@app.command("run", cls=Command)
def run(
    name: Name,
    query: Annotated[
        list[str],
        typer.Argument(metavar="QUERY…", help="As you would type it.", show_default=False),
    ],
    pages: Annotated[
        int, typer.Option("--pages", "-n", metavar="N", min=1, max=10, help="Pages of results.")
    ] = 1,
    by: Annotated[str, typer.Option("--by", metavar="WHO", help="Who asks.")] = "user",
    as_json: Json = False,
) -> None:
    """Ask now, and show the results with what the strategy expects of them, from 0 to 1.

    The next crawl fetches them, the best first. Where a crawl is running, the query is left to
    it, and asked next. Each page of results is one request to the engine. Exit code 9: the engine
    did not answer all of them.

    Examples:

    `honeyguide queries run birds "waxwing irruption" "redwing -hockey"`

    `honeyguide queries run birds "finch song" --pages 3`
    """
    from honeyguide.crawl.collection import Collection
    from honeyguide.crawl.manual_search import run as ask

    collection = Collection(name)
    with _waiting(f"asking {collection.settings.search.engine}", quiet=as_json):
        done = ask(collection.folder, collection.settings, query, pages, by=by)
    if as_json:
        typer.echo(json.dumps({"left": done.left, "asked": [one.facts() for one in done.asked]}))
    else:
        _show(done, quoted(name))
    failed = [one.error for one in done.asked if one.error is not None]
    if failed:
        raise typer.Exit(failed[0].exit_code)


def _show(done: Ran, name: str) -> None:
    out = console()
    for query in done.left:
        say(f"A crawl is running and will ask this next: {plain(query)}")
    for one in done.asked:
        out.print(plain(one.query), style="bold")
        for row in one.results:
            known = f"  visited, {row.verdict:.2f}" if row.verdict is not None else ""
            known = known or ("  visited" if row.known else "")
            out.print(f"  {row.score:.2f}  {plain(row.title) or '(no title)'}{known}")
            out.print(f"        {plain(row.url)}", style="dim")
        if one.error is not None:
            say(f"  {plain(one.said)}")
        elif not one.results:
            say("  nothing found; use fewer or other words")
        else:
            say(f"  {count(len(one.results), 'result')}, {one.unvisited} not visited yet")
    if done.left:
        say(f"See what it brings: honeyguide queries list {name}")
    elif any(one.results for one in done.asked):
        say(f"Fetch them with: honeyguide crawl {name}")


@app.command("test", cls=Command)
def trial(name: Name, as_json: Json = False) -> None:
    """See that the engine, its address and its key work: one question, of which nothing is kept.

    Examples:

    `honeyguide queries test birds`
    """
    from honeyguide.crawl.collection import Collection
    from honeyguide.crawl.manual_search import trial as tried

    collection = Collection(name)
    with _waiting(f"asking {collection.settings.search.engine}", quiet=as_json):
        found = tried(collection.folder, collection.settings)
    if as_json:
        typer.echo(json.dumps(found.facts()))
    elif found.ok:
        typer.echo(plain(found.said))
    else:
        say(plain(found.said))
    if not found.ok:
        raise typer.Exit(found.exit_code)


app.command("allow", cls=Command)(allow)


@contextmanager
def _waiting(what: str, *, quiet: bool) -> Iterator[None]:
    """Something moves on the terminal while nothing can be told yet."""
    out = console(stderr=True)
    if quiet or not out.is_terminal:
        yield
    else:
        with out.status(f"{plain(what)} …"):
            yield
