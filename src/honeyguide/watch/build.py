"""Builds a watch from settings."""

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
from threading import Lock
from typing import TextIO

from honeyguide import __version__
from honeyguide.change import Change
from honeyguide.config.settings import NotifySettings, Settings
from honeyguide.errors import ConfigError
from honeyguide.fetch.http import CurlFetcher, make_user_agent
from honeyguide.net.concurrency import FetchConcurrency, affordable_fetches
from honeyguide.net.politeness import HostDelayPolicy, PolitenessGate, RobotsEntry
from honeyguide.net.robots import RobotsCache
from honeyguide.protocols import Fetcher, Strategy
from honeyguide.store.labels import EffectiveLabels
from honeyguide.store.store import Store
from honeyguide.types import UNKNOWN_SCORE, Page, Url
from honeyguide.watch.compare.page_change import RelevanceFunction
from honeyguide.watch.compare.revisit_comparison import (
    PreviousVersion,
    RevisitComparison,
    compare_response,
)
from honeyguide.watch.configurations import ThreadedRevisitFlow, choose_threads
from honeyguide.watch.notify.channels import (
    AppriseMessenger,
    FeedFile,
    FeedHeader,
    Messenger,
    StreamMessenger,
)
from honeyguide.watch.notify.delivery import NotifyLoop, NotifyRule, is_wanted
from honeyguide.watch.record import schedule_page
from honeyguide.watch.revisit_flow import RevisitFlow
from honeyguide.watch.schedule.change_rate import DAY, START_BELIEF, RatePriors
from honeyguide.watch.schedule.prices import WatchBudget
from honeyguide.watch.schedule.schedule import Schedule, VisitExplanation
from honeyguide.watch.state import RevisitState
from honeyguide.watch.watcher import DiscoveryQueue, Watcher

_FEED_CHANGES, _FEED_SCAN = 100, 5_000
"""Changes in a feed, and newest changes among which they are looked for."""
_OFF_TOPIC = 0.3
"""What a change that has nothing to do with the topic still counts, on a page that has."""


@asynccontextmanager
async def open_watch(
    folder: Path,
    settings: Settings,
    strategy: Strategy,
    generation: int,
    read_labels: Callable[[Store], EffectiveLabels],
    fits: Callable[[Url], bool],
    *,
    fetcher: Fetcher | None = None,
    clock: Callable[[], float] = time.time,
    out: TextIO | None = None,
) -> AsyncIterator[Watcher]:
    """A watch on that collection, ready to run; everything is closed again afterwards.

    ``strategy`` judges new pages; ``read_labels`` reads people's labels; ``fits`` says whether an
    address lies within the collection's fence.
    """
    agent, name = make_user_agent(settings.fetch.contact, __version__), folder.name
    threads = choose_threads(settings.watch)
    async with AsyncExitStack() as closing:
        store = closing.enter_context(Store.open(folder, "crawl", settings.store, clock))
        if not settings.topic.keep:
            with store.transaction():
                store.set_threshold(settings.topic.threshold)
        network = fetcher or CurlFetcher(
            settings.fetch, user_agent=agent, archives=settings.store.warc
        )
        if fetcher is None:
            closing.push_async_callback(network.aclose)
        channels = channels_of(settings.notify, folder, store, name, out or sys.stdout)
        robots, now = RobotsCache(), clock()
        for entry in store.robots.iter_fresh(now):
            robots.restore_entry(*entry)
        politeness = HostDelayPolicy(settings.politeness, settings.crawl.random_seed)
        priors, schedule = RatePriors(), Schedule(budget_of(settings), now)
        priors.learn_all((row.url, row.rate) for row in store.watched.iter_rows() if row.rate)
        relevance = _relevance_of_text(strategy)

        def keep_robots(entry: RobotsEntry) -> None:
            store.robots.save_robots(*entry)
            schedule.spent(clock())

        rules = [rule for rule, _ in channels]
        book = RevisitState(store, settings.watch, priors, rules, clock, relevance)
        make_flow: Callable[..., RevisitFlow[PreviousVersion, RevisitComparison]] = (
            partial(ThreadedRevisitFlow, threads=threads, capacity=settings.watch.queue)
            if threads
            else partial(RevisitFlow, fetchers=FetchConcurrency(affordable_fetches()))
        )
        flow = make_flow(
            network,
            PolitenessGate(robots, politeness, lab=bool(settings.fetch.lab), began=now),
            book.previous_version,
            partial(compare_response, relevance=relevance),
            per_site=settings.politeness.concurrent_hosts_per_domain,
            on_robots=keep_robots,
            clock=clock,
        )

        def known(url: Url) -> bool:
            return store.watched.find_row(url) is not None or bool(store.visits.attempts_at(url))

        yield Watcher(
            store, settings.watch, flow, schedule, book,
            DiscoveryQueue(strategy, generation, known, fits), fits,
            NotifyLoop(store, channels, clock, name), partial(read_labels, store), clock,
        )  # fmt: skip


def budget_of(settings: Settings) -> WatchBudget:
    chosen = settings.watch
    return WatchBudget(
        per_hour=chosen.requests_per_hour,
        shortest_s=chosen.min_interval_s,
        longest_s=chosen.max_interval_days * DAY,
        value=chosen.objective,
    )


def channels_of(
    chosen_ones: Iterable[NotifySettings], folder: Path, store: Store, name: str, out: TextIO
) -> list[tuple[NotifyRule, Messenger]]:
    """Rules with their messengers; raises ConfigError for settings that cannot work."""
    found: list[tuple[NotifyRule, Messenger]] = []
    for number, chosen in enumerate(chosen_ones):
        where = f"notify[{number}]"
        to = _resolve_env(chosen.to, f"{where}.to")
        kind = _channel_kind(to, where)
        label = chosen.name or kind
        if label in {rule.channel for rule, _ in found}:
            label = f"{label} {number + 1}"
        same = {f.name for f in fields(NotifyRule)} & {f.name for f in fields(NotifySettings)}
        rule = NotifyRule(label, **{key: getattr(chosen, key) for key in same})
        messenger: Messenger
        if kind == "stdout":
            messenger = StreamMessenger(out)
        elif kind == "webhook":
            from honeyguide.watch.notify.webhook import Webhook  # it loads HTTP and TLS

            secret = _resolve_env(chosen.secret, "notify.secret") if chosen.secret else ""
            messenger = Webhook(to, secret)
        elif kind == "apprise":
            messenger = AppriseMessenger(to.partition(":")[2])
        else:
            path = folder / f"changes.{kind}"
            header = FeedHeader(f"{name}: changes", path.resolve().as_uri())
            messenger = FeedFile(path, header, partial(_recent_changes, store, rule), kind == "rss")
        found.append((rule, messenger))
    return found


def _channel_kind(to: str, where: str) -> str:
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


def _recent_changes(store: Store, rule: NotifyRule) -> list[Change]:
    """The newest that the rule's feed holds."""
    found = (row.change for row in store.changes.iter_newest(limit=_FEED_SCAN))
    return list(islice((change for change in found if is_wanted(rule, change)), _FEED_CHANGES))


def _resolve_env(text: str, where: str) -> str:
    """What a setting holds, or the variable of the environment that it names."""
    if not text.startswith("env:"):
        return text
    variable = text.removeprefix("env:")
    if not (held := os.environ.get(variable, "")):
        raise ConfigError(f"{where}: the environment has no {variable}; set it and try again")
    return held


def _relevance_of_text(strategy: Strategy) -> RelevanceFunction:
    """How much a changed text has to do with the topic, as far as the crawl's strategy knows."""

    judging = Lock()  # threads of a configuration share the strategy

    def score_text(text: str) -> float:
        with judging:
            score = strategy.judge(Page(Url("http://localhost/"), text=text)).score
        return 1.0 if score == UNKNOWN_SCORE else _OFF_TOPIC + (1 - _OFF_TOPIC) * score

    return score_text


# -- Forecast of visits --
#
# It is the schedule that a watch would make of the list as it stands; a watch that runs knows
# besides which hosts rest, and what failed just now.


_FORECAST_PAGES = 200
"""Pages of which is known beforehand that they are the next."""


class VisitForecast:
    """At one moment. Making it reads the whole list, some 70 µs a page; then nothing changes."""

    def __init__(self, store: Store, settings: Settings, now: float) -> None:
        self.at = now
        self._schedule = Schedule(budget_of(settings), now)
        for row in store.watched.iter_rows():
            schedule_page(self._schedule, row, row.rate or START_BELIEF, now)
        self._first = self._schedule.next_visits(now, _FORECAST_PAGES)

    def __len__(self) -> int:
        return len(self._schedule)

    def explain_visit(self, url: Url) -> VisitExplanation | None:
        """None: it is not watched."""
        return self._schedule.explain_visit(url, self.at)

    def next_visits(self, count: int) -> list[tuple[Url, float]]:
        """The next pages, no more than 200, and when each is due."""
        return self._first[:count]
