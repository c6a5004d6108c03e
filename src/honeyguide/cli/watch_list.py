"""``honeyguide watch NAME ACTION``: what people say of the watch list."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from honeyguide.cli.formatting import console, count, plain, say, when
from honeyguide.errors import ConfigError

if TYPE_CHECKING:
    from honeyguide.crawl.collection import Collection
    from honeyguide.store.database import Mode
    from honeyguide.store.store import Store
    from honeyguide.store.watched_rows import WatchedRow
    from honeyguide.types import Url
    from honeyguide.watch.list_edits import Action

_DAY = 86_400.0
ACTIONS = (
    "add", "remove", "pause", "resume", "weigh", "import", "list", "why", "masks", "mask", "unmask",
    "channels",
)  # fmt: skip


def act(collection: Collection, action: str, what: list[str], *, as_json: bool) -> None:
    from difflib import get_close_matches

    from honeyguide.store.store import Store

    if action not in ACTIONS:
        near = get_close_matches(action, ACTIONS, 1)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(ACTIONS)}"
        raise ConfigError(f"watch has no action {action!r}; {hint}")
    if action in ("list", "channels") and what:
        raise ConfigError(f"watch NAME {action} takes nothing more: {what[0]!r}")
    mode: Mode = "read" if action in ("list", "why", "masks", "channels") else "write"
    if not (collection.folder / "collection.db").exists():
        # Nothing was crawled yet, which is no reason not to watch a page.
        Store.open(collection.folder, "crawl").close()
    with Store.open(collection.folder, mode) as store:
        if action == "list":
            _list(store, as_json)
        elif action == "channels":
            _channels(store, as_json)
        elif action == "import":
            _import(store, what, as_json)
        elif action == "why":
            _why(collection, store, _addresses(store, what), as_json)
        elif action in ("masks", "mask", "unmask"):
            _masks(store, action, what, as_json)
        else:
            _change(store, action, what, as_json)


def _change(store: Store, action: str, what: list[str], as_json: bool) -> None:
    from honeyguide.watch.list_edits import speak

    weight: float | None = None
    if action == "weigh":
        try:
            weight = float(what[0])
        except (ValueError, IndexError):
            raise ConfigError("write the weight first: watch NAME weigh 3 URL") from None
        what = what[1:]
    done = speak(store, cast("Action", action), _addresses(store, what), time.time(), weight)
    if as_json:
        typer.echo(json.dumps({"action": action, "pages": done, "watched": _watched(store)}))
        return
    past = {"add": "added", "remove": "removed", "pause": "paused", "resume": "resumed"}
    say(f"{count(done, 'page')} {past.get(action, 'weighed')}; {_watched(store)} are watched.")


def _import(store: Store, files: list[str], as_json: bool) -> None:
    from honeyguide.watch.lists.imports import load

    if not files:
        raise ConfigError("name the file: watch NAME import FILE")
    added = 0
    left: list[dict[str, str]] = []
    for name in files:
        found = load(Path(name))
        if not found.pages:
            first = f": {found.left[0].where}: {found.left[0].why}" if found.left else ""
            raise ConfigError(f"{name} holds no address to watch{first}")
        active = [page.url for page in found.pages if not page.paused]
        added += store.watched.add(active, "import", time.time())
        paused = [page.url for page in found.pages if page.paused]
        store.watched.add(paused, "import", time.time())
        for url in paused:
            store.watched.pause(url)
        left += [one._asdict() for one in found.left]
        if not as_json:
            say(f"{plain(name)} ({found.form}): {count(len(found.pages), 'page')}")
    if as_json:
        typer.echo(json.dumps({"added": added, "left": left, "watched": _watched(store)}))
        return
    for one in left:
        say(f"  {plain(one['where'])}: {plain(one['what'])}: {plain(one['why'])}")
    say(f"{count(added, 'page')} added; {_watched(store)} are watched.")


def _list(store: Store, as_json: bool) -> None:
    from honeyguide.watch.when.rates import rate

    rows = store.watched.each(None)
    if as_json:
        for row in rows:
            typer.echo(json.dumps(_facts(row)))
        return
    from honeyguide.watch.when.explain import span

    out = console()
    head = (
        f"{'state':<8} {'visits':>6} {'failed':>6} {'changes':>7} {'one every':>12}  {'last':<19}"
    )
    out.print(f"{head}  page", style="dim")
    for row in rows:
        every = span(_DAY / rate(row.rate).per_day) if row.rate else "–"
        last = when(row.visited) if row.visited else "never"
        figures = f"{row.visits:>6} {row.failures:>6} {row.changes:>7} {every:>12}"
        out.print(f"{row.state:<8} {figures}  {last:<19}  {plain(row.url)}")


def _channels(store: Store, as_json: bool) -> None:
    """How it stands with those who are told."""
    found = store.outbox.tidings()
    if as_json:
        for one in found:
            typer.echo(json.dumps(one._asdict()))
        return
    if not found:
        say("Nobody was told of anything yet; [[notify]] in topic.toml says who is.")
    for one in found:
        line = f"{plain(one.channel)}: {one.sent} told, {one.waiting} waiting"
        if one.given_up:
            line += f", {one.given_up} given up"
        console().print(line)
        if one.failed is not None:
            console().print(f"  failed {when(one.failed)}: {plain(one.why)}")


def _why(collection: Collection, store: Store, urls: list[Url], as_json: bool) -> None:
    from honeyguide.watch.forecast import Foretold

    schedule = Foretold(store, collection.settings, time.time())
    for url in urls:
        row_ = store.watched.find(url)
        found = schedule.why(url)
        if row_ is None or (found is None and row_.state == "watched"):
            raise ConfigError(f"{url} is not watched")
        if as_json:
            said = {"next_at": None, "reason": row_.state} if found is None else {
                "next_at": found.next_at, "reason": found.reason, "per_day": found.rate.per_day,
                "low": found.rate.low, "high": found.rate.high, "weight": found.weight,
            }  # fmt: skip
            typer.echo(json.dumps({"url": url, **said}))
            continue
        console().print(f"{plain(url)}: {row_.state if found is None else found.reason}")
        if row_.failures:
            last = f"; the last one {when(row_.visited)}" if row_.visited else ""
            console().print(f"  {count(row_.failures, 'visit')} in a row brought no page{last}")
        if row_.note:
            console().print(f"  {plain(row_.note)}")


def _masks(store: Store, action: str, what: list[str], as_json: bool) -> None:
    from honeyguide.watch import mask_editing as masking

    (url,), rest = _addresses(store, what[:1]), what[1:]
    if action != "masks" and not rest:
        raise ConfigError(f"say which: honeyguide watch NAME {action} URL MASK; see masks")
    if action == "masks":
        found = masking.masks(store, url)
    else:
        found = (masking.mask if action == "mask" else masking.unmask)(store, url, rest)
    if as_json:
        names = [one.mask for one in found.masks]
        typer.echo(json.dumps({"url": url, "masks": names, "open": list(found.opened)}))
        return
    out = console()
    out.print(f"{count(len(found.masks), 'place')} masked on {plain(url)}")
    for one in found.masks:
        why = "by a person" if one.by == "person" else "it differs every time"
        out.print(f"  {plain(one.mask)}  ({plain(one.where) or 'the whole page'}: {why})")


def _addresses(store: Store, texts: list[str]) -> list[Url]:
    from honeyguide.crawl.user_urls import known

    if not texts:
        raise ConfigError("name a page: its address, such as https://example.org/finches")
    return [known(store, text) for text in texts]


def _watched(store: Store) -> int:
    return store.watched.counts().get("watched", 0)


def _facts(row: WatchedRow) -> dict[str, Any]:
    from honeyguide.watch.when.rates import rate

    facts = row._asdict() | {"digest": row.digest.hex()}
    facts["rate"] = rate(row.rate).per_day if row.rate else None
    return {name: value for name, value in facts.items() if name not in ("masks", "edited", "id")}
