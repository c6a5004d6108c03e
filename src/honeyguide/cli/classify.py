"""``honeyguide classify``"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from honeyguide.cli.formatting import plain, say
from honeyguide.cli.options import Json

if TYPE_CHECKING:
    from honeyguide.errors import HoneyguideError
    from honeyguide.training.classify import Sorted, Sorter
    from honeyguide.types import Page, Url

_BYTES = 10_000_000
_SHOWN = 3


def classify(
    what: Annotated[
        list[str],
        typer.Argument(metavar="PAGE…", help="Files, addresses, or - for standard input."),
    ],
    model: Annotated[
        Path,
        typer.Option("--model", "-m", metavar="FOLDER", help="A model from `honeyguide train`."),
    ],
    contact: Annotated[
        str,
        typer.Option(
            "--contact", "-c", metavar="WHO", help="For addresses: who asks; sites see it."
        ),
    ] = "",
    lab: Annotated[
        str,
        typer.Option("--lab", metavar="URL", help="Ask a running `honeyguide lab serve`."),
    ] = "",
    encoder: Annotated[
        Path | None,
        typer.Option(
            "--encoder",
            metavar="FOLDER",
            help="What the model was trained with, if you trust it: it is a program.",
        ),
    ] = None,
    show_text: Annotated[
        bool, typer.Option("--show-text", help="Show what the model reads, word by word.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Say which category pages belong to, by a model of your own.

    Examples:

    `honeyguide classify page.html letter.txt --model news-model`

    `honeyguide classify https://example.org/news --model news-model -c you@example.org`
    """
    from honeyguide.errors import HoneyguideError
    from honeyguide.training.classify import Sorter

    sorter = Sorter.open(model, encoder)
    pages: list[tuple[str, Page]] = []
    failures: list[tuple[str, HoneyguideError]] = []
    for name, got in _gathered(what, contact, lab):
        if isinstance(got, HoneyguideError):
            failures.append((name, got))
        else:
            pages.append((name, got))
    found = sorter.sort(pages)
    if as_json:
        for one in found:
            typer.echo(json.dumps(one.plain(text=show_text)))
        for name, error in failures:
            typer.echo(json.dumps({"name": name, "error": str(error)}))
    else:
        for one, (_, page) in zip(found, pages, strict=True):
            _show(one, sorter, page, text=show_text)
    for name, error in failures:
        why = str(error)
        say(plain(why if name in why else f"{name}: {why}"))
    if failures:
        raise typer.Exit(max(error.exit_code for _, error in failures))


def _gathered(names: list[str], contact: str, lab: str) -> list[tuple[str, Page | HoneyguideError]]:
    """The page of each name, or why there is none, in the order given."""
    from honeyguide.errors import ConfigError
    from honeyguide.training.classify import page_from_bytes, page_in

    addresses = [name for name in names if _is_address(name)]
    fetched = asyncio.run(_fetched(addresses, contact, lab)) if addresses else {}
    found: list[tuple[str, Page | HoneyguideError]] = []
    for name in names:
        if name in fetched:
            found.append((name, fetched[name]))
            continue
        try:
            if name == "-":
                page = page_from_bytes(sys.stdin.buffer.read(_BYTES), "standard input")
            else:
                page = page_in(Path(name))
        except ConfigError as error:
            found.append((name, error))
        else:
            found.append((name, page))
    return found


def _is_address(name: str) -> bool:
    return "://" in name and not Path(name).exists()


async def _fetched(names: list[str], contact: str, lab: str) -> dict[str, Page | HoneyguideError]:
    from honeyguide import __version__
    from honeyguide.config import FetchSettings
    from honeyguide.crawl.polite_fetch import Visitor
    from honeyguide.crawl.settings_hints import lab_address
    from honeyguide.crawl.user_urls import possible
    from honeyguide.errors import ConfigError, FetchError
    from honeyguide.fetch.http import CurlFetcher, user_agent
    from honeyguide.url import authority

    if not contact:
        raise ConfigError(
            "a contact is missing: sites must be able to reach whoever asks them. "
            "Add --contact you@example.org"
        )
    agent = user_agent(contact, __version__)
    usual = FetchSettings(contact=contact, lab=lab_address(lab) if lab else "")
    private = FetchSettings(contact=contact, private_addresses=True)
    outside = CurlFetcher(usual, user_agent=agent, archives=False)
    inside = CurlFetcher(private, user_agent=agent, archives=False)
    visitor = Visitor(outside, rest_s=0.0) if lab else Visitor(outside)
    guests: dict[str, Visitor] = {}
    found: dict[str, Page | HoneyguideError] = {}
    try:
        for name in dict.fromkeys(names):
            try:
                url = possible(name)[0]
                guest = visitor
                if not lab and _own(url):
                    guest = guests.setdefault(authority(url), visitor.at(url, inside))
                found[name] = await guest.page(url)
            except (ConfigError, FetchError) as error:
                found[name] = error
    finally:
        await outside.aclose()
        await inside.aclose()
    return found


def _own(url: Url) -> bool:
    """Whether a user names a private address, and means it; no page may lead us to one."""
    from honeyguide.fetch.ip_policy import forbidden, loopback
    from honeyguide.url import host, is_ip

    name = host(url)
    return loopback(name) or (is_ip(name) and bool(forbidden(name)))


def _show(one: Sorted, sorter: Sorter, page: Page, *, text: bool) -> None:
    if not one.category:
        typer.echo(f"{plain(one.name)}: {one.why}")
    else:
        likely = list(one.chances.items())[:_SHOWN]
        shares = ", ".join(f"{plain(name)} {chance:.0%}" for name, chance in likely)
        typer.echo(f"{plain(one.name)}: {shares}")
    if one.words:
        say("  by: " + ", ".join(plain(word) for word, _ in one.words))
    if text:
        from honeyguide.training.classify import changes

        for tokens in one.tokens:
            typer.echo("  | " + plain(" ".join(tokens)))
        for step, before, after in changes(sorter.reading, page):
            typer.echo(f"  {step}: {plain(before)} → {plain(after)}")
