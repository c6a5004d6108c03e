"""``honeyguide watch NAME ACTION``: what people say of the watch list."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from honeyguide.cli.words import console, count, plain, quoted, say, when
from honeyguide.errors import ConfigError

if TYPE_CHECKING:
    from honeyguide.crawl.collection import Collection
    from honeyguide.store.database import Mode
    from honeyguide.store.store import Store
    from honeyguide.store.watched_rows import State, WatchedRow
    from honeyguide.types import Url

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
            _change(collection, store, action, what, as_json)


def _change(
    collection: Collection, store: Store, action: str, what: list[str], as_json: bool
) -> None:
    weight: float | None = None
    if action == "weigh":
        try:
            weight = float(what[0])
        except (ValueError, IndexError):
            raise ConfigError("write the weight first: watch NAME weigh 3 URL") from None
        if not 0.001 <= weight <= 1000:
            raise ConfigError("a weight lies between 0.001 and 1000; 1 is that of all others")
        what = what[1:]
    urls, done = _addresses(store, what), 0
    if action == "add":
        done = store.watched.add(urls, "user", time.time())
    else:
        states: dict[str, State] = {"remove": "removed", "pause": "paused", "resume": "watched"}
        for url in urls:
            if not store.watched.alter(url, state=states.get(action), weight=weight):
                raise ConfigError(
                    f"{url} is not watched; add it with: "
                    f"honeyguide watch {quoted(collection.folder)} add {quoted(url)}"
                )
            done += 1
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
    from honeyguide.watch.when.why import span

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
    from honeyguide.watch.build import budget_of
    from honeyguide.watch.record import plan
    from honeyguide.watch.when.rates import START
    from honeyguide.watch.when.schedule import Schedule

    now = time.time()
    schedule = Schedule(budget_of(collection.settings), now)
    for row in store.watched.each():
        plan(schedule, row, row.rate or START, now)
    for url in urls:
        row_ = store.watched.find(url)
        found = schedule.why(url, now)
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
    from honeyguide.watch.compare.keys import path_of
    from honeyguide.watch.compare.volatile import Memory

    (url,), rest = _addresses(store, what[:1]), what[1:]
    row = store.watched.find(url)
    if row is None:
        raise ConfigError(f"{url} is not watched")
    memory = Memory.from_json(row.masks)
    if action != "masks":
        if not rest:
            raise ConfigError(f"say which: honeyguide watch NAME {action} URL MASK; see masks")
        for mask in rest:
            if action == "unmask" and mask not in memory.masks():
                raise ConfigError(f"{mask!r} is not masked; see: watch NAME masks {url}")
            memory = memory.mask(mask) if action == "mask" else memory.open(mask)
        store.watched.alter(row.url, masks=memory.to_json())
    masks = sorted(memory.masks())
    if as_json:
        typer.echo(json.dumps({"url": url, "masks": masks, "open": sorted(memory.opened)}))
        return
    out = console()
    out.print(f"{count(len(masks), 'place')} masked on {plain(url)}")
    for mask in masks:
        why = "by a person" if mask in memory.added else "it differs every time"
        out.print(f"  {plain(mask)}  ({plain(path_of(mask)) or 'the whole page'}: {why})")


def _addresses(store: Store, texts: list[str]) -> list[Url]:
    from honeyguide.crawl.addresses import known

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
