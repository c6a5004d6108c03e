"""``honeyguide generations`` and ``honeyguide judge``."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from honeyguide.cli.formatting import count_noun, progress_bar, safe_text, say, shell_quote
from honeyguide.cli.options import CollectionName, JsonOption


def generations(
    name: CollectionName,
    compare: Annotated[
        tuple[int, int] | None,
        typer.Option("--compare", metavar="A B", help="Judge the same pages by two of them."),
    ] = None,
    use: Annotated[
        int | None,
        typer.Option("--use", metavar="N", help="Let this one decide from now on: go back to it."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """What the strategy learned: list its generations, compare two, or go back to one.

    A new generation decides unless it is clearly worse than the one before on labels that were held
    back; the list says why. `--use` overrules that, also while a crawl is running.

    Examples:

    `honeyguide generations birds`

    `honeyguide generations birds --compare 3 7`

    `honeyguide generations birds --use 3`
    """
    from honeyguide.api.collection import Collection
    from honeyguide.api.generations import was_held_back
    from honeyguide.errors import ConfigError

    collection = Collection(name)
    if use is not None and compare is not None:
        raise ConfigError("--use and --compare are two things: one at a time")
    if use is not None:
        collection.use(use)
        if as_json:
            typer.echo(json.dumps({"live": use}))
        else:
            say(
                f"Generation {use} decides from now on. A crawl goes on learning from there, from "
                "all labels, and soon makes a new one; to stay with this one, set "
                'learn.teacher = "none" in topic.toml and start the crawl again.'
            )
        return
    if compare is not None:
        found = collection.compare(*compare)
        if as_json:
            typer.echo(json.dumps(asdict(found)))
            return
        typer.echo(f"On {count_noun(found.pages, 'page')}, {found.changed} change sides.")
        if found.errors:
            one, other = found.errors
            typer.echo(
                f"Mean squared error on {count_noun(found.labels, 'label')}: generation {found.one} "
                f"{one:.3f}, generation {found.other} {other:.3f} (less is better)."
            )
            say(
                "Both may have learned from these labels, the later one from more of them, and do "
                "better on them than on other pages. Errors on labels that were held back: "
                f"honeyguide generations {shell_quote(name)}"
            )
        for moved in found.moved:
            told = "" if moved.label is None else f"  you: {moved.label:g}"
            typer.echo(f"  {moved.one:.2f} → {moved.other:.2f}{told}  {safe_text(moved.url)}")
        return
    rows = collection.generations()
    if as_json:
        typer.echo(json.dumps([asdict(row) for row in rows]))
        return
    typer.echo("  no.  strategy    relevant, of pages it judged    what it learned from")
    for row in rows:
        kept = row.generation
        mark = "*" if row.live else " "
        harvest = f"{row.relevant / row.visits:.0%} of {row.visits}" if row.visits else "no pages"
        gone = "" if kept.size else " (only this note is kept)"
        typer.echo(
            f"{mark}{kept.number:4d}  {safe_text(kept.name)}  {harvest:>14}  {safe_text(kept.note)}{gone}"
        )
    say("* decides now.")
    if any("untried" in row.generation.note for row in rows):
        say(
            "untried: there were too few labels to hold some back and try it on them (25 are "
            "needed, of both kinds), so it decided without a trial."
        )
    if any(was_held_back(row.generation) for row in rows):
        say(
            "held back: it did worse than the one before, or most labels were changed, so that "
            "nobody can say; let it decide with --use all the same."
        )


# --------------------------------------------------------------------------------------------------
# ``honeyguide judge``
# --------------------------------------------------------------------------------------------------


def judge(name: CollectionName, as_json: JsonOption = False) -> None:
    """Judge all pages anew by what the strategy knows now.

    A page keeps the verdict it got when it was fetched, though the strategy has learned since. This
    replaces the verdicts by those of the generation that decides now, also in exports. Your labels
    stay as they are.

    Examples:

    `honeyguide judge birds`
    """
    from honeyguide.api.collection import Collection

    collection = Collection(name)
    with progress_bar("judging", quiet=as_json) as show:
        done = collection.judge(show)
    if as_json:
        typer.echo(json.dumps(done._asdict()))
        return
    if done.warning:
        say(f"honeyguide: {safe_text(done.warning)}")
    typer.echo(
        f"{count_noun(done.pages, 'page')} judged by generation {done.generation}: "
        f"{done.after} relevant, before {done.before}."
    )
    say("What you labelled, or gave as an example, counts as you said, whatever its verdict.")
    say(f"Next: honeyguide export {shell_quote(name)} --to pages.csv")
