"""``honeyguide watch``"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from honeyguide.cli.formatting import console, count, plain, quoted, say, when
from honeyguide.cli.options import Json, Name
from honeyguide.cli.watch_list import ACTIONS, act
from honeyguide.errors import ConfigError

if TYPE_CHECKING:
    from honeyguide.crawl.collection import Collection
    from honeyguide.watch.progress import Tally
    from honeyguide.watch.watcher import Watch


def actions() -> list[str]:
    return list(ACTIONS)


def watch(
    name: Name,
    action: Annotated[
        str,
        typer.Argument(
            metavar="[ACTION]",
            help="add, remove, pause, resume, weigh or why, with addresses; import, with files; "
            "list; channels; masks, mask or unmask, with an address. Without one, the watch runs.",
            autocompletion=actions,
            show_default=False,
        ),
    ] = "",
    what: Annotated[
        list[str] | None,
        typer.Argument(metavar="[URL|FILE]...", help="What it is about.", show_default=False),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Visit every page once, then stop: for cron.")
    ] = False,
    hours: Annotated[
        float, typer.Option("--hours", metavar="H", help="Stop after so many hours.", min=0)
    ] = 0.0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress display.")] = False,
    as_json: Json = False,
) -> None:
    """Come back to the relevant pages, keep every version, and tell what changed. Ctrl-C stops.

    Pages that a crawl finds relevant enter by themselves, and new links on watched pages are
    followed, all within `[watch] requests_per_hour`. Who is told is `[[notify]]` in topic.toml.

    Examples:

    `honeyguide watch birds`

    `honeyguide watch birds --once --json`

    `honeyguide watch birds add https://example.org/finches`

    `honeyguide watch birds import urlwatch.yaml`

    `honeyguide watch birds why https://example.org/finches`
    """
    from honeyguide.crawl.collection import Collection

    collection = Collection(name)
    if action and (once or hours):
        raise ConfigError(f"--once and --hours run the watch; {action} does not")
    if action:
        act(collection, action, what or [], as_json=as_json)
        return
    tally = asyncio.run(_run(collection, once, hours, quiet=quiet or as_json))
    if as_json:
        typer.echo(json.dumps(tally._asdict()))
        return
    say(
        f"{collection.name}: {count(tally.visits, 'visit')}, {tally.unchanged} without news, "
        f"{count(tally.changes, 'change')}, {tally.failures} failed, "
        f"{count(tally.discovered, 'new page')}, {count(tally.told, 'message')} sent."
    )
    if tally.trouble:
        say(f"The last trouble: {plain(tally.trouble)}")
    if tally.changes:
        say(f"See them with: honeyguide changes {quoted(name)}")
    elif not tally.watched and not tally.visits:
        say(f"Nothing is watched yet. {_hint(collection)}")


def _hint(collection: Collection) -> str:
    return (
        "Relevant pages of a crawl enter by themselves; or add some with: "
        f"honeyguide watch {quoted(collection.folder)} add URL"
    )


async def _run(collection: Collection, once: bool, hours: float, *, quiet: bool) -> Tally:
    from honeyguide.crawl import topics
    from honeyguide.crawl.from_settings import fence_of
    from honeyguide.crawl.rescore_pages import judge_of
    from honeyguide.crawl.signals import seldom_tidied, stoppable
    from honeyguide.types import Link
    from honeyguide.watch.build import opened

    settings, fence = collection.settings, fence_of(collection.settings)
    strategy, generation = judge_of(collection.folder, settings)
    async with opened(
        collection.folder,
        settings,
        strategy,
        generation,
        lambda store: topics.said(store, settings),
        lambda url: fence.refuses(Link(url)) is None,
    ) as watch:
        if not quiet and not any(watch.store.watched.each()) and not watch.store.counts().relevant:
            say(f"{collection.name}: nothing is watched yet; Ctrl-C stops. {_hint(collection)}")
        with seldom_tidied(), stoppable(watch.stop), _shown(watch, collection.name, quiet):
            return await watch.run(once=once, hours=hours)


@contextmanager
def _shown(watch: Watch, title: str, quiet: bool) -> Iterator[None]:
    """A line that stays up to date on a terminal; elsewhere one every ten seconds."""
    if quiet:
        yield
        return
    task = asyncio.get_running_loop().create_task(_show(watch, title))
    try:
        yield
    finally:
        task.cancel()


async def _show(watch: Watch, title: str) -> None:
    from rich.live import Live
    from rich.text import Text

    out = console(stderr=True)
    if not out.is_terminal:
        while True:
            await asyncio.sleep(10)
            out.print(f"{plain(title)}: {_line(watch.tally)}")
    with (
        suppress(asyncio.CancelledError),
        Live(console=out, transient=True, refresh_per_second=4) as live,
    ):
        while True:
            lines = [f"{plain(title)}  {_line(watch.tally)}"]
            if watch.tally.trouble:
                lines.append(f"  {plain(watch.tally.trouble)}")
            live.update(Text("\n".join(lines), no_wrap=True, overflow="ellipsis"))
            await asyncio.sleep(0.25)


def _line(tally: Tally) -> str:
    parts: list[Any] = [
        count(tally.watched, "page"),
        count(tally.visits, "visit"),
        count(tally.changes, "change"),
        f"{tally.failures} failed",
    ]
    if tally.discovered:
        parts.append(f"{tally.discovered} new")
    if tally.next_at:
        parts.append(f"next {when(tally.next_at)[11:]}")
    return " · ".join(map(str, parts))
