"""``honeyguide queries allow``"""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from honeyguide.cli.formatting import plain, say
from honeyguide.cli.options import Json, Name


def allow(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Json = False,
) -> None:
    """Let the engine in topic.toml be sent its key, or be asked in your own network.

    Needed where you wrote `[search]` by hand, moved the collection, or were given it: a file from
    somebody else must not choose where your key goes. Read what it shows before you agree.

    Examples:

    `honeyguide queries allow birds`

    `honeyguide queries allow birds --yes`
    """
    from honeyguide.crawl.collection import Collection
    from honeyguide.crawl.engine_state import UNSET, agree
    from honeyguide.errors import ConfigError
    from honeyguide.seeds.consent import agreement_of

    collection = Collection(name)
    settings = collection.settings
    if not settings.search.engine:
        raise ConfigError(UNSET)
    wanted = agreement_of(settings.search, collection.folder)
    if not as_json:
        say(f"  collection  {plain(wanted.folder)}")
        say(f"  engine      {plain(wanted.engine)}")
        say(f"  is asked    {plain(wanted.where)}{', in your own network' * wanted.private}")
        say(f"  is sent     {plain(wanted.key) or 'no key'}")
        if settings.fetch.proxy:
            say(f"  through     {plain(settings.fetch.proxy)}")
    if not yes and (as_json or not sys.stdin.isatty()):
        raise ConfigError("nobody is there to be asked; if you agree to it, add --yes")
    if not yes and not typer.confirm("Do you want that?", err=True):
        say("Nothing was changed.")
        return
    where = agree(settings, collection.folder)
    if as_json:
        typer.echo(json.dumps({"allowed": where is not None, **wanted._asdict()}))
    elif where is None:
        say("In the lab nobody need agree.")
    else:
        say(f"Noted in {plain(str(where))}.")
