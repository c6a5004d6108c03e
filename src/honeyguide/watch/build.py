"""Settings in, a watch out. This file alone connects the parts."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import fields
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TextIO, cast

from honeyguide import __version__
from honeyguide.change import Change, ChangeKind
from honeyguide.config import NotifySettings, Settings
from honeyguide.errors import ConfigError
from honeyguide.fetch.http import CurlFetcher, user_agent
from honeyguide.fetch.robots import Robots
from honeyguide.frontier.hosts import Politeness
from honeyguide.protocols import Fetcher, Strategy
from honeyguide.store.effective_labels import Said
from honeyguide.store.store import Store
from honeyguide.types import UNKNOWN, Page, Url
from honeyguide.watch.compare.step import Known, Relevance, Seen, look
from honeyguide.watch.discover import Discoveries
from honeyguide.watch.state import Book
from honeyguide.watch.telling.channels import Apprise, FeedFile, Lines, Messenger
from honeyguide.watch.telling.delivery_loop import Teller
from honeyguide.watch.telling.feed import Feed
from honeyguide.watch.telling.notify import Rule, wanted
from honeyguide.watch.visit.concurrency import Fetchers, affordable
from honeyguide.watch.visit.flow import Flow
from honeyguide.watch.visit.politeness import Courtesy
from honeyguide.watch.visit.revisit import RobotsEntry
from honeyguide.watch.watcher import Watch
from honeyguide.watch.when.budget import DAY, Budget
from honeyguide.watch.when.priors import Priors
from honeyguide.watch.when.schedule import Schedule

_FEED, _LOOKED_AT = 100, 5_000
"""Changes in a feed, and newest changes among which they are looked for."""
_LEAST = 0.3
"""What a change that has nothing to do with the topic still counts, on a page that has."""


@asynccontextmanager
async def opened(
    folder: Path,
    settings: Settings,
    strategy: Strategy,
    generation: int,
    said: Callable[[Store], Said],
    fits: Callable[[Url], bool],
    *,
    fetcher: Fetcher | None = None,
    clock: Callable[[], float] = time.time,
    out: TextIO | None = None,
) -> AsyncIterator[Watch]:
    """A watch on that collection, ready to run; everything is closed again afterwards.

    ``strategy`` judges what is new; ``said`` tells what people said of pages; ``fits`` whether an
    address lies within the collection's fence.
    """
    agent, name = user_agent(settings.fetch.contact, __version__), folder.name
    async with AsyncExitStack() as closing:
        store = closing.enter_context(Store.open(folder, "crawl", settings.store, clock))
        store.hold_to(settings.topic.threshold)
        network = fetcher or CurlFetcher(
            settings.fetch, user_agent=agent, archives=settings.store.warc
        )
        if fetcher is None:
            closing.push_async_callback(network.aclose)
        channels = channels_of(settings.notify, folder, store, name, out or sys.stdout)
        robots, now = Robots(), clock()
        for entry in store.robots(now):
            robots.restore(*entry)
        politeness = Politeness(settings.politeness, settings.crawl.seed)
        priors, schedule = Priors(), Schedule(budget_of(settings), now)
        priors.learn_all((row.url, row.rate) for row in store.watched.each() if row.rate)
        relevance = _relevance(strategy)

        def heard(entry: RobotsEntry) -> None:
            store.save_robots(*entry)
            schedule.spent(clock())

        rules = [rule for rule, _ in channels]
        threshold = settings.topic.threshold
        book = Book(store, settings.watch, priors, rules, threshold, clock, relevance)
        flow: Flow[Known, Seen] = Flow(
            network,
            Courtesy(robots, politeness, bool(settings.fetch.lab), now),
            book.known,
            partial(look, relevance=relevance),
            per_site=settings.politeness.domain_hosts,
            heard=heard,
            fetchers=Fetchers(affordable()),
            clock=clock,
        )

        def known(url: Url) -> bool:
            return store.watched.find(url) is not None or bool(store.visit(url))

        yield Watch(
            store, settings.watch, flow, schedule, book,
            Discoveries(strategy, generation, known, fits), fits,
            Teller(store, channels, clock, name), partial(said, store), clock,
        )  # fmt: skip


def budget_of(settings: Settings) -> Budget:
    chosen = settings.watch
    return Budget(
        per_hour=chosen.requests_per_hour,
        host_rest_s=0.0,  # the flow knows better how long a host rests
        shortest_s=chosen.shortest_s,
        longest_s=chosen.longest_days * DAY,
        value=chosen.value,
    )


def channels_of(
    chosen_ones: Iterable[NotifySettings], folder: Path, store: Store, name: str, out: TextIO
) -> list[tuple[Rule, Messenger]]:
    """Rules and how they are told; a ConfigError for what could not work."""
    found: list[tuple[Rule, Messenger]] = []
    for number, chosen in enumerate(chosen_ones):
        where = f"notify[{number}]"
        to = _held(chosen.to, f"{where}.to")
        kind = _kind(to, where)
        label = chosen.name or kind
        if label in {rule.channel for rule, _ in found}:
            label = f"{label} {number + 1}"
        same = {f.name for f in fields(Rule)} & {f.name for f in fields(NotifySettings)}
        rule = Rule(
            label,
            **{key: getattr(chosen, key) for key in same - {"channel", "kinds", "name"}},
            kinds=cast("tuple[ChangeKind, ...]", chosen.kinds),
        )
        found.append((rule, _messenger(kind, to, chosen, rule, folder, store, name, out)))
    return found


def _kind(to: str, where: str) -> str:
    if to in ("stdout", "atom", "rss"):
        return to
    scheme = to.partition(":")[0]
    if scheme in ("http", "https"):
        return "webhook"
    if scheme == "apprise":
        return "apprise"
    raise ConfigError(
        f"{where}.to must be stdout, atom, rss, the address of a webhook, apprise:ADDRESS or "
        "env:NAME"
    )


def _messenger(
    kind: str,
    to: str,
    chosen: NotifySettings,
    rule: Rule,
    folder: Path,
    store: Store,
    name: str,
    out: TextIO,
) -> Messenger:
    if kind == "stdout":
        return Lines(out)
    if kind == "webhook":
        from honeyguide.watch.telling.webhook import Webhook  # it loads HTTP and TLS

        return Webhook(to, _held(chosen.secret, "notify.secret") if chosen.secret else "")
    if kind == "apprise":
        return Apprise(to.partition(":")[2])

    def recent() -> list[Change]:
        found = (row.change for row in store.changes.newest(limit=_LOOKED_AT))
        return list(islice((change for change in found if wanted(rule, change)), _FEED))

    path = folder / f"changes.{kind}"
    return FeedFile(path, Feed(f"{name}: changes", path.resolve().as_uri()), recent, kind)  # type: ignore[arg-type]


def _held(text: str, where: str) -> str:
    """What a setting holds, or the variable of the environment that it names."""
    if not text.startswith("env:"):
        return text
    variable = text.removeprefix("env:")
    if not (held := os.environ.get(variable, "")):
        raise ConfigError(f"{where}: the environment has no {variable}; set it and try again")
    return held


def _relevance(strategy: Strategy) -> Relevance:
    """How much a changed text has to do with the topic, as far as the crawl's strategy knows."""

    def of(text: str) -> float:
        score = strategy.judge(Page(Url("http://localhost/"), text=text)).score
        return 1.0 if score == UNKNOWN else _LEAST + (1 - _LEAST) * score

    return of
