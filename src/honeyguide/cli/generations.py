"""``honeyguide generations``, ``honeyguide learn`` and ``honeyguide judge``."""

from __future__ import annotations

from dataclasses import asdict

import typer

from honeyguide.cli.formatting import (
    count_noun,
    make_console,
    print_json,
    progress_bar,
    safe_text,
    say,
    say_safely,
    shell_quote,
)
from honeyguide.cli.options import (
    CollectionName,
    JsonOption,
    keep_option,
    open_collection,
    option,
)
from honeyguide.errors import ConfigError

_UNTRIED = (
    "untried: there were too few labels to test it on held-out ones (25 are needed, of both "
    "kinds), so it became active without a test."
)


def generations(
    name: CollectionName,
    compare: tuple[int, int] | None = option(
        "--compare A B", "Score the same pages with two of them.", None
    ),
    use: int | None = option("--use N", "Make this generation the active one.", None),
    as_json: JsonOption = False,
) -> None:
    """What the strategy learned: list its model generations, compare two, or go back to one.

    A new generation becomes active unless it is clearly worse than the one before on held-out
    labels; the list says why. `--use` overrules that, also while a crawl is running.

    Examples:

    `honeyguide generations birds`

    `honeyguide generations birds --compare 3 7`

    `honeyguide generations birds --use 3`
    """
    from honeyguide.api.generations import was_held_back

    collection = open_collection(name)
    if use is not None and compare is not None:
        raise ConfigError("--use and --compare cannot be combined")
    if use is not None:
        collection.use(use)
        if as_json:
            print_json({"live": use})
        else:
            say(
                f"Generation {use} is active from now on. The next crawl continues training from "
                "it, with all labels, and soon makes a new one; to keep this one, set "
                'learn.teacher = "none" in topic.toml and start the crawl again.'
            )
        return
    if compare is not None:
        found = collection.compare(*compare)
        if as_json:
            print_json(asdict(found))
            return
        typer.echo(
            f"On {count_noun(found.pages, 'page')}, {found.changed} change between "
            "relevant and not relevant."
        )
        if found.errors:
            one, other = found.errors
            typer.echo(
                f"Mean squared error on {count_noun(found.labels, 'label')}: "
                f"generation {found.one} {one:.3f}, generation {found.other} {other:.3f} "
                "(less is better)."
            )
            say(
                "Both may have been trained on these labels, the later one on more of them, and "
                "do better on them than on other pages. Errors on held-out labels: honeyguide "
                f"generations {shell_quote(name)}"
            )
        for moved in found.moved:
            label = "" if moved.label is None else f"  you: {moved.label:g}"
            typer.echo(f"  {moved.one:.2f} → {moved.other:.2f}{label}  {safe_text(moved.url)}")
        return
    rows = collection.generations()
    if as_json:
        print_json([asdict(row) for row in rows])
        return
    typer.echo("  no.  strategy    relevant, of pages it scored    what it was trained on")
    for row in rows:
        known = row.generation
        mark = "*" if row.live else " "
        harvest = f"{row.relevant / row.visits:.0%} of {row.visits}" if row.visits else "no pages"
        gone = "" if known.size else " (only this note is kept)"
        head = f"{mark}{known.number:4d}  {safe_text(known.name)}  {harvest:>14}"
        typer.echo(f"{head}  {safe_text(known.note)}{gone}")
    say("* is active.")
    if any("untried" in row.generation.note for row in rows):
        say(_UNTRIED)
    if any(was_held_back(row.generation) for row in rows):
        say(
            "held back: it did worse than the one before, or most labels were changed since, so "
            "that the test says nothing; activate it anyway with --use."
        )


# --------------------------------------------------------------------------------------------------
# ``honeyguide learn``
# --------------------------------------------------------------------------------------------------


def learn(name: CollectionName, as_json: JsonOption = False) -> None:
    """Learn from your labels now, without crawling.

    A crawl learns by itself: before its first page, while it runs, and at its end. This command is
    for labels that were given since, or that a crawl could not learn from any more. The new
    generation becomes active unless it is clearly worse on held-out labels.

    Examples:

    `honeyguide learn birds`

    `honeyguide learn birds --json`
    """
    collection = open_collection(name)
    with make_console(stderr=True).status("reading pages and labels …") as shown:
        done = collection.learn(progress=lambda step: shown.update(f"{step} …"))
    left = collection.status(hosts=0)
    if as_json:
        print_json(done._asdict() | {"unlearned": asdict(left.unlearned)})
        return
    typer.echo(f"{safe_text(str(done))}.")
    if done.live and "untried" in done.note:
        say(_UNTRIED)
    if done.live and done.labels and (gain := collection.answer_gain()):
        typer.echo(str(gain))
    for note in left.unlearned_notes:
        say(safe_text(note))
    quoted = shell_quote(name)
    if done.live:
        say(f"Next: honeyguide judge {quoted} · honeyguide crawl {quoted}")
    elif done.generation is not None:
        say(f"To activate it: honeyguide generations {quoted} --use {done.generation}")


# --------------------------------------------------------------------------------------------------
# ``honeyguide judge``
# --------------------------------------------------------------------------------------------------


def judge(
    name: CollectionName,
    keep: str = keep_option("from now on"),
    as_is: bool = option("--as-is", "Do not learn from labels that wait first.", False),
    as_json: JsonOption = False,
) -> None:
    """Learn from labels that wait, and score all pages again with the active generation.

    A page keeps the verdict it got when it was fetched, even after further training. This replaces
    the verdicts by those of the active generation, also in exports. Your labels stay as they are.

    Examples:

    `honeyguide judge birds`

    `honeyguide judge birds --as-is`

    `honeyguide judge birds --keep strict`
    """

    collection = open_collection(name)
    if keep:
        collection.keep(keep)
    learned = None if as_is else collection.learn_waiting(say_safely)
    with progress_bar("judging", quiet=as_json) as show:
        done = collection.judge(show, as_is=True)
    if as_json:
        print_json(done._asdict() | {"learned": learned and learned._asdict()})
        return
    if done.warning:
        say(f"honeyguide: {safe_text(done.warning)}")
    typer.echo(
        f"{count_noun(done.pages, 'page')} judged by generation {done.generation}: "
        f"{done.after} relevant, before {done.before}."
    )
    say(f"{collection.relevance_cut().summary}.".capitalize())
    say("Pages that you labelled or gave as examples keep your label, whatever their verdict.")
    say(f"Next: honeyguide export {shell_quote(name)} --to pages.csv")
