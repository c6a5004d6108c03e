"""``honeyguide watch``: run the watch, edit its list, look at what it found."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from honeyguide.cli.formatting import (
    count_noun,
    format_time,
    make_console,
    safe_text,
    say,
    shell_quote,
)
from honeyguide.cli.options import CollectionName, JsonOption
from honeyguide.errors import ConfigError, suggest_name

if TYPE_CHECKING:
    from honeyguide.api.collection import Collection
    from honeyguide.store.database import OpenMode
    from honeyguide.store.store import Store
    from honeyguide.store.watch_list import WatchedRow
    from honeyguide.types import Url
    from honeyguide.watch.manual_edits import ListAction
    from honeyguide.watch.watcher import Watcher, WatchProgress


_DAY_S = 86_400.0
WATCH_ACTIONS = (
    "add", "remove", "pause", "resume", "weight", "import", "list", "why", "masks", "mask", "unmask",
    "channels",
)  # fmt: skip


def run_action(collection: Collection, action: str, what: list[str], *, as_json: bool) -> None:
    from honeyguide.store.store import Store

    action = "weight" if action == "weigh" else action  # its name until version 0.1
    if action not in WATCH_ACTIONS:
        hint = suggest_name(action, WATCH_ACTIONS, "{}")
        raise ConfigError(f"watch has no action {action!r}; {hint}")
    if action in ("list", "channels") and what:
        raise ConfigError(f"watch NAME {action} takes nothing more: {what[0]!r}")
    mode: OpenMode = "read" if action in ("list", "why", "masks", "channels") else "write"
    if not (collection.folder / "collection.db").exists():
        # Nothing was crawled yet, which is no reason not to watch a page.
        Store.open(collection.folder, "crawl").close()
    with Store.open(collection.folder, mode) as store:
        if action == "list":
            _print_list(store, as_json)
        elif action == "channels":
            _print_channels(store, as_json)
        elif action == "import":
            _import_lists(store, what, as_json)
        elif action == "why":
            _explain_schedule(collection, store, _known_urls(store, what), as_json)
        elif action in ("masks", "mask", "unmask"):
            _edit_masks(store, action, what, as_json)
        else:
            _edit_list(store, action, what, as_json)


def _edit_list(store: Store, action: str, what: list[str], as_json: bool) -> None:
    from honeyguide.watch.manual_edits import edit_watch_list

    weight: float | None = None
    if action == "weight":
        try:
            weight = float(what[0])
        except (ValueError, IndexError):
            raise ConfigError("write the weight first: watch NAME weight 3 URL") from None
        what = what[1:]
    done = edit_watch_list(
        store, cast("ListAction", action), _known_urls(store, what), time.time(), weight
    )
    if as_json:
        typer.echo(json.dumps({"action": action, "pages": done, "watched": _count_watched(store)}))
        return
    past = {"add": "added", "remove": "removed", "pause": "paused", "resume": "resumed"}
    done_what = past.get(action, "given a new weight")
    say(f"{count_noun(done, 'page')} {done_what}; {_count_watched(store)} are watched.")


def _import_lists(store: Store, files: list[str], as_json: bool) -> None:
    from honeyguide.watch.imports.watch_list import load_watch_list

    if not files:
        raise ConfigError("name the file: watch NAME import FILE")
    added = 0
    left: list[dict[str, str]] = []
    for name in files:
        found = load_watch_list(Path(name))
        if not found.pages:
            first = f": {found.skipped[0].where}: {found.skipped[0].why}" if found.skipped else ""
            raise ConfigError(f"{name} holds no address to watch{first}")
        active = [page.url for page in found.pages if not page.paused]
        added += store.watched.add_pages(active, "import", time.time())
        paused = [page.url for page in found.pages if page.paused]
        store.watched.add_pages(paused, "import", time.time())
        for url in paused:
            store.watched.edit_page(url, state="paused")
        left += [one._asdict() for one in found.skipped]
        if not as_json:
            say(f"{safe_text(name)} ({found.format_name}): {count_noun(len(found.pages), 'page')}")
    if as_json:
        typer.echo(json.dumps({"added": added, "left": left, "watched": _count_watched(store)}))
        return
    for one in left:
        say(f"  {safe_text(one['where'])}: {safe_text(one['what'])}: {safe_text(one['why'])}")
    say(f"{count_noun(added, 'page')} added; {_count_watched(store)} are watched.")


def _print_list(store: Store, as_json: bool) -> None:
    from honeyguide.watch.schedule.change_rate import estimate_rate

    rows = store.watched.iter_rows(None)
    if as_json:
        for row in rows:
            typer.echo(json.dumps(_watched_facts(row)))
        return
    from honeyguide.watch.schedule.schedule import describe_span

    out = make_console()
    head = (
        f"{'state':<8} {'visits':>6} {'failed':>6} {'changes':>7} {'one every':>12}  {'last':<19}"
    )
    out.print(f"{head}  page", style="dim")
    for row in rows:
        every = describe_span(_DAY_S / estimate_rate(row.rate).per_day) if row.rate else "–"
        last = format_time(row.visited) if row.visited else "never"
        figures = f"{row.visits:>6} {row.failures:>6} {row.changes:>7} {every:>12}"
        out.print(f"{row.state:<8} {figures}  {last:<19}  {safe_text(row.url)}")


def _print_channels(store: Store, as_json: bool) -> None:
    """How it stands with those who are told."""
    found = store.outbox.channel_status()
    if as_json:
        for one in found:
            typer.echo(json.dumps(one._asdict()))
        return
    if not found:
        say("No notification was sent yet; channels are set up under [[notify]] in topic.toml.")
    for one in found:
        line = f"{safe_text(one.channel)}: {one.sent} sent, {one.waiting} waiting"
        if one.given_up:
            line += f", {one.given_up} given up"
        make_console().print(line)
        if one.failed is not None:
            make_console().print(f"  failed {format_time(one.failed)}: {safe_text(one.why)}")


def _explain_schedule(collection: Collection, store: Store, urls: list[Url], as_json: bool) -> None:
    from honeyguide.watch.build import VisitForecast

    schedule = VisitForecast(store, collection.settings, time.time())
    for url in urls:
        row_ = store.watched.find_row(url)
        found = schedule.explain_visit(url)
        if row_ is None or (found is None and row_.state == "watched"):
            raise ConfigError(f"{url} is not watched")
        if as_json:
            said = {"next_at": None, "reason": row_.state} if found is None else {
                "next_at": found.next_at, "reason": found.reason, "per_day": found.rate.per_day,
                "low": found.rate.low, "high": found.rate.high, "weight": found.weight,
            }  # fmt: skip
            typer.echo(json.dumps({"url": url, **said}))
            continue
        make_console().print(f"{safe_text(url)}: {row_.state if found is None else found.reason}")
        if row_.failures:
            last = f"; the last one {format_time(row_.visited)}" if row_.visited else ""
            make_console().print(
                f"  {count_noun(row_.failures, 'visit')} in a row returned no page{last}"
            )
        if row_.note:
            make_console().print(f"  {safe_text(row_.note)}")


def _edit_masks(store: Store, action: str, what: list[str], as_json: bool) -> None:
    from honeyguide.watch import manual_edits

    (url,), rest = _known_urls(store, what[:1]), what[1:]
    if action != "masks" and not rest:
        raise ConfigError(f"say which: honeyguide watch NAME {action} URL MASK; see masks")
    if action == "masks":
        found = manual_edits.list_masks(store, url)
    else:
        found = (manual_edits.mask_places if action == "mask" else manual_edits.unmask_places)(
            store, url, rest
        )
    if as_json:
        names = [one.mask for one in found.masks]
        typer.echo(json.dumps({"url": url, "masks": names, "open": list(found.opened)}))
        return
    out = make_console()
    out.print(f"{count_noun(len(found.masks), 'place')} masked on {safe_text(url)}")
    for one in found.masks:
        why = "by a person" if one.by == "person" else "it differs every time"
        out.print(f"  {safe_text(one.mask)}  ({safe_text(one.where) or 'the whole page'}: {why})")


def _known_urls(store: Store, texts: list[str]) -> list[Url]:
    from honeyguide.api.user_urls import resolve_url

    if not texts:
        raise ConfigError("name a page: its address, such as https://example.org/finches")
    return [resolve_url(store, text) for text in texts]


def _count_watched(store: Store) -> int:
    return store.watched.count_by_state().get("watched", 0)


def _watched_facts(row: WatchedRow) -> dict[str, Any]:
    from honeyguide.watch.schedule.change_rate import estimate_rate

    facts = row._asdict() | {"digest": row.digest.hex()}
    facts["rate"] = estimate_rate(row.rate).per_day if row.rate else None
    return {name: value for name, value in facts.items() if name not in ("masks", "edited", "id")}


# --------------------------------------------------------------------------------------------------
# ``honeyguide watch``
# --------------------------------------------------------------------------------------------------


def action_names() -> list[str]:
    return list(WATCH_ACTIONS)


def watch(
    name: CollectionName,
    action: Annotated[
        str,
        typer.Argument(
            metavar="[ACTION]",
            help="add, remove, pause, resume, weight or why, with addresses; import, with files; "
            "list; channels; masks, mask or unmask, with an address. Without one, the watch runs.",
            autocompletion=action_names,
            show_default=False,
        ),
    ] = "",
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[URL|FILE]...", help="Addresses or files for the action.", show_default=False
        ),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Visit every page once, then stop: for cron.")
    ] = False,
    hours: Annotated[
        float, typer.Option("--hours", metavar="H", help="Stop after so many hours.", min=0)
    ] = 0.0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress display.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Revisit the relevant pages, store every version, and report what changed. Ctrl-C stops.

    Pages that a crawl finds relevant are added by themselves, and new links on watched pages are
    followed, all within `[watch] requests_per_hour`. Notifications: `[[notify]]` in topic.toml.

    Examples:

    `honeyguide watch birds`

    `honeyguide watch birds --once --json`

    `honeyguide watch birds add https://example.org/finches`

    `honeyguide watch birds import urlwatch.yaml`

    `honeyguide watch birds why https://example.org/finches`
    """
    from honeyguide.api.collection import Collection

    collection = Collection(name)
    if action and (once or hours):
        raise ConfigError(f"--once and --hours run the watch; {action} does not")
    if action:
        run_action(collection, action, what or [], as_json=as_json)
        return
    tally = asyncio.run(_run_watch(collection, once, hours, quiet=quiet or as_json))
    if as_json:
        typer.echo(json.dumps(tally._asdict()))
        return
    say(
        f"{collection.name}: {count_noun(tally.visits, 'visit')}, {tally.unchanged} unchanged, "
        f"{count_noun(tally.changes, 'change')}, {tally.failures} failed, "
        f"{count_noun(tally.discovered, 'new page')}, {count_noun(tally.told, 'message')} sent."
    )
    if tally.trouble:
        say(f"The last error: {safe_text(tally.trouble)}")
    if tally.changes:
        say(f"See them with: honeyguide changes {shell_quote(name)}")
    elif not tally.watched and not tally.visits:
        say(f"Nothing is watched yet. {_empty_hint(collection)}")


def _empty_hint(collection: Collection) -> str:
    return (
        "Relevant pages of a crawl are added by themselves; or add some with: honeyguide watch "
        f"{shell_quote(collection.folder)} add URL"
    )


async def _run_watch(
    collection: Collection, once: bool, hours: float, *, quiet: bool
) -> WatchProgress:
    from honeyguide.crawl.from_settings import build_scope_filter
    from honeyguide.crawl.rescore import current_judge
    from honeyguide.crawl.run import relaxed_gc, stop_on_signals
    from honeyguide.learning import topics
    from honeyguide.types import Link
    from honeyguide.watch.build import open_watch

    settings, fence = collection.settings, build_scope_filter(collection.settings)
    strategy, generation = current_judge(collection.folder, settings)
    async with open_watch(
        collection.folder,
        settings,
        strategy,
        generation,
        lambda store: topics.load_effective_labels(store, settings),
        lambda url: fence.find_refusal(Link(url)) is None,
    ) as watch:
        if (
            not quiet
            and not any(watch.store.watched.iter_rows())
            and not watch.store.counter.read_counts().relevant
        ):
            say(
                f"{collection.name}: nothing is watched yet; Ctrl-C stops. {_empty_hint(collection)}"
            )
        with (
            relaxed_gc(),
            stop_on_signals(watch.stop),
            _showing_progress(watch, collection.name, quiet),
        ):
            return await watch.run(once=once, hours=hours)


@contextmanager
def _showing_progress(watch: Watcher, title: str, quiet: bool) -> Iterator[None]:
    """A line that stays up to date on a terminal; elsewhere one every ten seconds."""
    if quiet:
        yield
        return
    task = asyncio.get_running_loop().create_task(_show_progress(watch, title))
    try:
        yield
    finally:
        task.cancel()


async def _show_progress(watch: Watcher, title: str) -> None:
    from rich.live import Live
    from rich.text import Text

    out = make_console(stderr=True)
    if not out.is_terminal:
        while True:
            await asyncio.sleep(10)
            out.print(f"{safe_text(title)}: {_progress_line(watch.progress)}")
    with (
        suppress(asyncio.CancelledError),
        Live(console=out, transient=True, refresh_per_second=4) as live,
    ):
        while True:
            lines = [f"{safe_text(title)}  {_progress_line(watch.progress)}"]
            if watch.progress.trouble:
                lines.append(f"  {safe_text(watch.progress.trouble)}")
            live.update(Text("\n".join(lines), no_wrap=True, overflow="ellipsis"))
            await asyncio.sleep(0.25)


def _progress_line(tally: WatchProgress) -> str:
    parts: list[Any] = [
        count_noun(tally.watched, "page"),
        count_noun(tally.visits, "visit"),
        count_noun(tally.changes, "change"),
        f"{tally.failures} failed",
    ]
    if tally.discovered:
        parts.append(f"{tally.discovered} new")
    if tally.next_at:
        parts.append(f"next {format_time(tally.next_at)[11:]}")
    return " · ".join(map(str, parts))
