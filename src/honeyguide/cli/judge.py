"""``honeyguide judge``"""

from __future__ import annotations

import json

import typer

from honeyguide.cli.formatting import console, count, plain, quoted, say
from honeyguide.cli.options import Json, Name


def judge(name: Name, as_json: Json = False) -> None:
    """Judge all pages anew by what the strategy knows now.

    A page keeps the verdict it got when it was fetched, though the strategy has learned since. This
    replaces the verdicts by those of the generation that decides now, also in exports. Your labels
    stay as they are.

    Examples:

    `honeyguide judge birds`
    """
    from rich.progress import Progress

    from honeyguide.crawl.collection import Collection

    collection = Collection(name)
    with Progress(console=console(), transient=True, disable=as_json) as bar:
        task = bar.add_task("judging")
        done = collection.judge(lambda n, of: bar.update(task, completed=n, total=of))
    if as_json:
        typer.echo(json.dumps(done._asdict()))
        return
    if done.warning:
        say(f"honeyguide: {plain(done.warning)}")
    typer.echo(
        f"{count(done.pages, 'page')} judged by generation {done.generation}: "
        f"{done.after} relevant, before {done.before}."
    )
    say("What you labelled, or gave as an example, counts as you said, whatever its verdict.")
    say(f"Next: honeyguide export {quoted(name)} --to pages.csv")
