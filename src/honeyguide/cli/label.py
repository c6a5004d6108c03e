"""``honeyguide label``"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from honeyguide.cli.formatting import count, plain, say
from honeyguide.cli.options import Json, Name

if TYPE_CHECKING:
    from honeyguide.crawl.labels import Opposed

_NAMED = 5
"""Contradictions that are told one by one."""


def label(
    name: Name,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="CSV (url,label; also ; or tabs) or JSON lines; - for stdin.",
            show_default=False,
        ),
    ] = None,
    good: Annotated[
        list[str] | None, typer.Option("--good", "-g", metavar="URL", help="A relevant page.")
    ] = None,
    bad: Annotated[
        list[str] | None, typer.Option("--bad", "-b", metavar="URL", help="One that is not.")
    ] = None,
    by: Annotated[str, typer.Option("--by", metavar="WHO", help="Who judges.")] = "user",
    topic: Annotated[
        str, typer.Option("--topic", metavar="NAME", help="Of several topics, the one meant.")
    ] = "",
    as_json: Json = False,
) -> None:
    """Tell Honeyguide what you think of pages; also while it crawls.

    A label is yes or no (also 1/0, good/bad, relevant/irrelevant) or a number from 0 to 1. Your
    label overrules the verdict in exports; a strategy that learns, learns from it.

    Examples:

    `honeyguide label birds labels.csv`

    `honeyguide label birds --good https://example.org/finches --bad https://example.org/shop`

    `honeyguide label birds --topic bats --good https://example.org/pipistrelle`
    """
    from honeyguide.cli.label_file import read
    from honeyguide.crawl.collection import Collection
    from honeyguide.crawl.labels import label_openly
    from honeyguide.errors import ConfigError

    collection = Collection(name)
    if collection.topics and not topic:
        raise ConfigError(f"for which topic? Say --topic {' or '.join(collection.topics)}")
    pairs = [(url, 1.0) for url in good or []] + [(url, 0.0) for url in bad or []]
    if file is not None:
        pairs += read(file, topic)
    if not pairs:
        where = "name a file" if file is None else f"{file} holds no labels; fill in its column"
        raise ConfigError(f"nothing to label: {where}, or use --good URL and --bad URL")
    done, opposed = label_openly(collection.folder, collection.settings, pairs, by, topic)
    if as_json:
        facts = {"labels": done.kept, "not_fetched": done.unfetched, "contradicting": len(opposed)}
        typer.echo(json.dumps(facts))
        return
    typer.echo(f"{count(done.kept, 'label')} kept.")
    if not collection.learns:
        strategy = collection.settings.crawl.strategy
        say(f"The strategy {strategy!r} does not learn; labels appear in status and exports.")
    if done.overruled:
        verb = "overrules" if done.overruled == 1 else "overrule"
        say(f"{done.overruled} of them {verb} topic.good or topic.bad; the label counts.")
    contradicted(opposed)
    if done.unfetched:
        pages = "is for a page that was" if done.unfetched == 1 else "are for pages that were"
        say(f"{done.unfetched} of them {pages} not fetched (yet).")
    if done.unseen_bad and collection.learns:
        one = done.unseen_bad == 1
        ones, them = ("A bad page teaches", "it") if one else ("Bad pages teach", "them")
        say(
            f"{ones} nothing until the crawl happens to fetch {them}: only good ones are visited "
            "for their label. An address under topic.bad in topic.toml is fetched to learn from."
        )


def contradicted(opposed: Sequence[Opposed]) -> None:
    """Say whom these labels contradict: what most say counts, and of a tie the newest, and that
    should not go unnoticed."""
    for mine, theirs, counts in opposed[:_NAMED]:
        said = "relevant" if theirs.value >= 0.5 else "not relevant"
        now = "now your label counts" if counts else "more people say so, and that counts"
        say(f"{plain(theirs.by)} called {plain(mine.url)} {said}; {now}.")
    if len(opposed) > _NAMED:
        say(f"{len(opposed) - _NAMED} more contradict what others said; what most say counts.")
