"""``honeyguide queries``: list, suggest, run, test and allow queries to a search engine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

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
    CliCommand,
    CliGroup,
    CollectionName,
    JsonOption,
    argument,
    open_collection,
    option,
)
from honeyguide.errors import ConfigError

if TYPE_CHECKING:
    from honeyguide.api.search import ManualSearch, QueryReport


def allow_queries(
    name: CollectionName,
    yes: bool = option("--yes -y", "Do not ask.", False),
    as_json: JsonOption = False,
) -> None:
    """Allow sending the API key to the engine in topic.toml, or querying it in your own network.

    Needed if you wrote `[search]` by hand, moved the collection, or got it from another person:
    their file must not choose where your key is sent. Read what it shows before you agree.

    Examples:

    `honeyguide queries allow birds`

    `honeyguide queries allow birds --yes`
    """
    from honeyguide.api.search import ENGINE_UNSET, allow_engine
    from honeyguide.search.credentials import required_consent

    collection = open_collection(name)
    settings = collection.settings
    if not settings.search.engine:
        raise ConfigError(ENGINE_UNSET)
    wanted = required_consent(settings.search, collection.folder)
    if not as_json:
        say(f"  collection  {safe_text(wanted.folder)}")
        say(f"  engine      {safe_text(wanted.engine)}")
        network = ", in your own network" if wanted.is_private else ""
        say(f"  is asked    {safe_text(wanted.server_name)}{network}")
        say(f"  is sent     {safe_text(wanted.key) or 'no key'}")
        if settings.fetch.proxy:
            say(f"  through     {safe_text(settings.fetch.proxy)}")
    if not yes and (as_json or not sys.stdin.isatty()):
        raise ConfigError("there is no terminal to ask in; if you agree, add --yes")
    if not yes and not typer.confirm("Do you want that?", err=True):
        say("Nothing was changed.")
        return
    where = allow_engine(settings, collection.folder)
    if as_json:
        print_json({"allowed": where is not None, **wanted._asdict()})
    elif where is None:
        say("The lab needs no consent.")
    else:
        say(f"Saved in {safe_text(str(where))}.")


# --------------------------------------------------------------------------------------------------
# ``honeyguide queries``
# --------------------------------------------------------------------------------------------------


app = typer.Typer(
    cls=CliGroup,
    no_args_is_help=True,
    help=(
        "Search engine queries: those asked so far, suggestions, and your own.\n\nExample: "
        "`honeyguide queries suggest birds`\n\nSet the engine under `[search]` in topic.toml, or "
        "with `honeyguide new --search-engine searxng --search-url URL`."
    ),
)


@app.command("list", cls=CliCommand)
def list_queries(name: CollectionName, as_json: JsonOption = False) -> None:
    """List the queries asked so far and their results; also while a crawl is running.

    *new* are results that the crawl did not know when it took them; *fetched*, those that were
    visited, whenever that was and whoever led there; *mean* is their mean verdict, from 0 to 1.

    Examples:

    `honeyguide queries list birds`

    `honeyguide queries list birds --json`
    """

    found = open_collection(name).queries()
    if as_json:
        print_json(found.to_dict())
        return
    if found.rows:
        _print_queries(found.rows)
    else:
        say("Nothing was asked yet.")
    for row in found.rows:
        if row.failures:
            times = count_noun(row.failures, "time")
            say(f"{safe_text(row.query)}: failed {times}; {safe_text(row.trouble)}")
    for query in found.wanted:
        say(f"queued for the next crawl, or the one that is running: {safe_text(query)}")
    say(safe_text(found.spent.to_text()))
    if found.problem:
        say(safe_text(found.problem))
    elif any(row.fresh is None and row.results for row in found.rows):
        say(f"Results wait to be fetched: honeyguide crawl {shell_quote(name)}")
    elif found.rows:
        say(f"Next: honeyguide queries suggest {shell_quote(name)}")


def _print_queries(rows: list[QueryReport]) -> None:
    """Each query on a line of its own: nothing is cut, on a narrow terminal or in a file."""
    out = make_console()
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
        by = safe_text(row.by) + (f" · stopped: {safe_text(row.stopped)}" if row.stopped else "")
        out.print(safe_text(row.query), style="bold")
        out.print(" ".join(cell.rjust(width) for cell, width in shown) + f"  {by}")


@app.command("suggest", cls=CliCommand)
def suggest_queries(
    name: CollectionName,
    number: int = option("--number -n N", "How many.", 10, min=1, max=60),
    as_json: JsonOption = False,
) -> None:
    """Suggest queries, made from the good and the bad pages that are known so far.

    Each comes with the mean verdict that is expected of its results, as soon as results of others
    were fetched, and the pages that it was made from. Labels make them better: `honeyguide ask`.

    Examples:

    `honeyguide queries suggest birds`

    `honeyguide queries suggest birds --number 3 --json`
    """

    collection = open_collection(name)
    with _show_spinner("reading good and bad pages", quiet=as_json):
        found = collection.suggest_queries(number)
    if as_json:
        rows = [
            {"query": str(s.query), "expected": s.expected, "why": s.why, "pages": list(s.pages)}
            for s in found.suggestions
        ]
        print_json({"suggestions": rows, "good": found.good, "bad": found.bad})
        return
    out = make_console()
    for one in found.suggestions:
        expected = "not known yet" if one.expected is None else f"{one.expected:4.0%}"
        out.print(f"{expected}  {safe_text(str(one.query))}", style="bold")
        if one.why:
            out.print(f"      {safe_text(one.why)}")
        for page in one.pages:
            out.print(f"      from {safe_text(page)}", style="dim")
        query = shell_quote(safe_text(str(one.query)))
        say(f"      honeyguide queries run {shell_quote(name)} {query}")
    say(safe_text(found.to_text()))


@app.command("run", cls=CliCommand)
def run_queries(
    name: CollectionName,
    query: list[str] = argument("QUERY…", "As you would type it."),
    pages: int = option("--pages -n N", "Pages of results.", 1, min=1, max=10),
    by: str = option("--by WHO", "Name of the person who asks.", "user"),
    as_json: JsonOption = False,
) -> None:
    """Query the engine now, and show the results with their expected score, from 0 to 1.

    The next crawl fetches them, the best first. While a crawl is running, the query is queued
    for it, and asked next. Each page of results is one request to the engine. Exit code 9: the
    engine did not answer all of them.

    Examples:

    `honeyguide queries run birds "waxwing irruption" "redwing -hockey"`

    `honeyguide queries run birds "finch song" --pages 3`
    """

    collection = open_collection(name)
    with _show_spinner(f"asking {collection.settings.search.engine}", quiet=as_json):
        done = collection.search(*query, pages=pages, by=by)
    if as_json:
        print_json({"left": done.left, "asked": [one.to_dict() for one in done.asked]})
    else:
        _show_results(done, shell_quote(name))
    failed = [one.error for one in done.asked if one.error is not None]
    if failed:
        raise typer.Exit(failed[0].exit_code)


def _show_results(done: ManualSearch, name: str) -> None:
    out = make_console()
    for query in done.left:
        say(f"A crawl is running and will ask this next: {safe_text(query)}")
    for one in done.asked:
        out.print(safe_text(one.query), style="bold")
        for row in one.results:
            known = f"  visited, {row.verdict:.2f}" if row.verdict is not None else ""
            known = known or ("  visited" if row.known else "")
            out.print(f"  {row.score:.2f}  {safe_text(row.title) or '(no title)'}{known}")
            out.print(f"        {safe_text(row.url)}", style="dim")
        if one.error is not None:
            say(f"  {safe_text(one.said)}")
        elif not one.results:
            say("  nothing found; use fewer or other words")
        else:
            say(f"  {count_noun(len(one.results), 'result')}, {one.unvisited} not visited yet")
    if done.left:
        say(f"See its results: honeyguide queries list {name}")
    elif any(one.results for one in done.asked):
        say(f"Fetch them with: honeyguide crawl {name}")


@app.command("test", cls=CliCommand)
def try_engine(name: CollectionName, as_json: JsonOption = False) -> None:
    """Check that the engine, its address and its key work: one request; its results are not saved.

    Examples:

    `honeyguide queries test birds`
    """
    from honeyguide.api.search import try_engine as tried

    collection = open_collection(name)
    with _show_spinner(f"asking {collection.settings.search.engine}", quiet=as_json):
        found = tried(collection.folder, collection.settings)
    if as_json:
        print_json(found.to_dict())
    elif found.ok:
        typer.echo(safe_text(found.said))
    else:
        say(safe_text(found.said))
    if not found.ok:
        raise typer.Exit(found.exit_code)


app.command("allow", cls=CliCommand)(allow_queries)


@contextmanager
def _show_spinner(what: str, *, quiet: bool) -> Iterator[None]:
    """Something moves on the terminal while nothing can be told yet."""
    out = make_console(stderr=True)
    if quiet or not out.is_terminal:
        yield
    else:
        with out.status(f"{safe_text(what)} …"):
            yield
