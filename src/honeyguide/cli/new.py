"""``honeyguide new``"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from honeyguide.cli.options import Json, Name


def new(
    name: Name,
    seed: Annotated[
        list[str] | None, typer.Option("--seed", "-s", help="Where to start; repeat it.")
    ] = None,
    seeds: Annotated[
        Path | None, typer.Option("--seeds", help="A file with one address per line.")
    ] = None,
    keyword: Annotated[
        list[str] | None,
        typer.Option("--keyword", "-k", help="A word or phrase of the topic; repeat it."),
    ] = None,
    description: Annotated[
        str, typer.Option("--description", "-d", help="The topic in a sentence.")
    ] = "",
    good: Annotated[
        list[str] | None, typer.Option("--good", "-g", help="A page that is what you want.")
    ] = None,
    bad: Annotated[list[str] | None, typer.Option("--bad", help="A page that is not.")] = None,
    contact: Annotated[
        str,
        typer.Option("--contact", "-c", help="Your e-mail or web page; sites see it."),
    ] = "",
    language: Annotated[str, typer.Option("--language", help="Language of the keywords.")] = "en",
    strategy: Annotated[str, typer.Option("--strategy", help="How to decide.")] = "",
    pages: Annotated[int, typer.Option("--pages", "-n", help="Stop after so many visits.")] = 1000,
    as_json: Json = False,
) -> None:
    """Make a collection. Asks for what is missing.

    Examples:

    `honeyguide new birds`

    `honeyguide new birds -s https://en.wikipedia.org/wiki/Bird -k "bird migration" -k plumage
    -c you@example.org`
    """
    from honeyguide.crawl.collection import create
    from honeyguide.errors import ConfigError

    starts = [*(seed or []), *(_lines(seeds) if seeds else [])]
    words = list(keyword or [])
    examples = list(good or [])
    if sys.stdin.isatty() and not as_json:
        if not words and not description:
            typer.echo(
                "What are you looking for? Words and phrases, separated by commas.", err=True
            )
            answer = typer.prompt("Keywords", default="", show_default=False, err=True)
            words = [word.strip() for word in answer.split(",") if word.strip()]
        if not starts and not examples:
            typer.echo("Where should the crawl start? One address per line, then Enter.", err=True)
            while answer := typer.prompt("Seed", default="", show_default=False, err=True):
                starts.append(_address(answer))
        if not contact:
            typer.echo("Sites should be able to reach you: an e-mail address or a page.", err=True)
            contact = typer.prompt("Contact", default="", show_default=False, err=True)
    if not contact:
        raise ConfigError(
            "a contact is missing: sites must be able to reach whoever crawls them. "
            "Add --contact you@example.org"
        )
    collection = create(
        name,
        seeds=[_address(start) for start in starts],
        contact=contact,
        keywords=words,
        description=description,
        good=[_address(example) for example in examples],
        bad=[_address(example) for example in bad or []],
        language=language,
        strategy=strategy,
        pages=pages,
    )
    if as_json:
        typer.echo(json.dumps({"collection": str(collection.folder)}))
    else:
        typer.echo(f"Made {collection.folder}/topic.toml. Next: honeyguide crawl {name}")


def _address(text: str) -> str:
    """People write example.org and mean https://example.org."""
    text = text.strip()
    return text if "://" in text else f"https://{text}"


def _lines(path: Path) -> list[str]:
    from honeyguide.errors import ConfigError

    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the list of seeds cannot be read: {error}") from error
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]
