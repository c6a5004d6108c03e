"""Settings in, a ring out. This file alone connects the parts."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from honeyguide import __version__, registry
from honeyguide.config import Settings, build
from honeyguide.crawl.limits import Breath, Enough, Quota, Streaks
from honeyguide.crawl.manners import Manners
from honeyguide.crawl.ring import Ring
from honeyguide.crawl.stages import Stages, rank
from honeyguide.crawl.turn import Turn
from honeyguide.errors import ConfigError
from honeyguide.fetch.http import CurlFetcher, user_agent
from honeyguide.fetch.robots import Robots
from honeyguide.frontier.frontier import LinkFrontier
from honeyguide.frontier.hosts import Politeness
from honeyguide.frontier.order import make
from honeyguide.learning.teachers import teacher
from honeyguide.learning.trainer import Trainer
from honeyguide.protocols import Fetcher, Strategy
from honeyguide.scope import Fence, Traps, make_scope
from honeyguide.store.store import Store
from honeyguide.text.tokens import check_language
from honeyguide.types import Candidate, Link, Request, Url
from honeyguide.url import canonical, domain

_SHARED = ("keywords", "description", "language")
"""What a strategy takes from the topic by naming a field so."""


def seeds_of(settings: Settings) -> tuple[Url, ...]:
    """The topic's seeds and good examples, in canonical form; a ConfigError names bad ones."""
    found: list[Url] = []
    for key, texts in (("topic.seeds", settings.topic.seeds), ("topic.good", settings.topic.good)):
        for text in texts:
            url = canonical(text.strip())
            if url is None:
                hint = f"; did you mean https://{text.strip()}?" if "://" not in text else ""
                raise ConfigError(f"{key}: {text!r} is no http or https address{hint}")
            found.append(url)
    if not found:
        raise ConfigError(
            "the topic has no seeds: add addresses to start from under topic.seeds in topic.toml, "
            "or use: honeyguide new NAME --seed https://…"
        )
    return tuple(dict.fromkeys(found))


def fence_of(settings: Settings) -> Fence:
    rules = settings.scope
    return Fence(make_scope(rules.rule, seeds_of(settings), rules.include, rules.exclude), Traps())


def strategy_of(settings: Settings) -> Strategy:
    """The chosen strategy, with what it needs of the topic and its own parameters."""
    cls = registry.find(settings.crawl.strategy)
    check_language(settings.topic.language)
    topic = asdict(settings.topic)
    names = {f.name for f in fields(cls)}
    given: dict[str, Any] = {key: topic[key] for key in _SHARED if key in names}
    made = build(cls, {**given, **settings.strategy}, "topic.toml", "strategy.")
    needs = made.habits.needs
    if needs and not any(topic[need] for need in needs):
        raise ConfigError(
            f"the strategy {settings.crawl.strategy!r} needs {' or '.join(needs)}: "
            f"add topic.{needs[0]} to topic.toml"
        )
    return cast("Strategy", made)


@asynccontextmanager
async def opened(
    folder: Path,
    settings: Settings,
    *,
    fetcher: Fetcher | None = None,
    clock: Callable[[], float] = time.time,
    strategy: Strategy | None = None,
) -> AsyncIterator[Ring]:
    """A ring on that collection, ready to run; everything is closed again afterwards.

    The lab brings its own fetcher and clock, and strategies that no registry knows.

    Mistakes in the settings are found before anything is opened or fetched.
    """
    agent = user_agent(settings.fetch.contact, __version__)
    fence, strategy = fence_of(settings), strategy or strategy_of(settings)
    async with AsyncExitStack() as closing:
        store = closing.enter_context(Store.open(folder, "crawl", settings.store, clock))
        store.hold_to(settings.topic.threshold)
        network = fetcher or CurlFetcher(settings.fetch, user_agent=agent)
        if fetcher is None:
            closing.push_async_callback(network.aclose)
        if settings.fetch.lab:
            fence = replace(fence, hosts=await _hosts_of_lab(network))
        strategy, generation, fresh = _generation(store, settings, strategy, clock())
        frontier = _frontier(store, settings, strategy, clock())
        if (fresh or generation) and len(frontier):
            # Scores on disk are those of the day a link was found: derived ones are not kept.
            frontier.rerank(partial(rank, strategy))
        manners = _manners(store, settings, clock())
        stages = Stages(settings, fence, store.find_copy)
        ring = Ring(
            settings=settings,
            frontier=frontier,
            manners=manners,
            turn=Turn(manners, stages, network, frontier, clock),
            store=store,
            strategy=strategy,
            generation=generation,
            teacher=teacher(settings.learn.teacher, _judged(settings)),
            trainer=Trainer(settings.learn.every),
            breath=Breath(settings.crawl.concurrency, steady=fetcher is not None),
            enough=Enough(
                pages=settings.crawl.pages,
                hours=settings.crawl.hours,
                free_mb=store.free_mb,
                min_free_mb=settings.store.min_free_mb,
                clock=clock,
            ),
            clock=clock,
        )
        _sow(ring, seeds_of(settings))
        yield ring


def _frontier(store: Store, settings: Settings, strategy: Strategy, now: float) -> LinkFrontier:
    order, polite = settings.crawl.order, settings.politeness
    return LinkFrontier(
        store.log,
        make(strategy.habits.order if order == "strategy" else order, settings.crawl.seed),
        merge=strategy.habits.merge,
        now=now,
        delay=polite.loopback_delay_s if settings.fetch.lab else polite.delay_s,
        site_links=settings.scope.links_per_domain,
        site_hosts=settings.scope.hosts_per_domain,
        site_busy=polite.domain_hosts,
    )


def _manners(store: Store, settings: Settings, now: float) -> Manners:
    """What is known of hosts from earlier runs: their robots.txt, and what they gave."""
    robots = Robots()
    for entry in store.robots(now):
        robots.restore(*entry)
    quota = Quota(settings.scope.pages_per_domain)
    for row in store.hosts(limit=1_000_000):
        quota.count(domain(row.host), row.visits, row.relevant)
    return Manners(
        robots,
        Politeness(settings.politeness, settings.crawl.seed),
        quota,
        Streaks(),
        lab=bool(settings.fetch.lab),
        began=now,
    )


async def _hosts_of_lab(network: Fetcher) -> frozenset[str]:
    """Which hosts the lab serves: there are no others for this crawl."""
    answer = await network.fetch(Request(Url("http://lab.invalid/"), any_type=True))
    try:
        return frozenset(map(str, json.loads(answer.body)["hosts"]))
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"fetch.lab: the lab does not say what it serves: {error}") from error


def _generation(
    store: Store, settings: Settings, made: Strategy, now: float
) -> tuple[Strategy, int, bool]:
    """The newest generation, unless the topic changed since: then what was made is the next."""
    wish = json.dumps([settings.crawl.strategy, _plain(made)], sort_keys=True)
    kept = store.generations()
    if kept and store.meta("strategy") == wish:
        return store.load_generation(kept[-1].number, registry.find), kept[-1].number, False
    number = kept[-1].number + 1 if kept else 0
    with store.transaction():
        store.save_generation(number, settings.crawl.strategy, made, "from topic.toml", now)
        store.set_meta("strategy", wish)
    return made, number, True


def _plain(strategy: Strategy) -> dict[str, Any]:
    return {
        f.name: value
        for f in fields(cast("Any", strategy))
        if isinstance(value := getattr(strategy, f.name), str | int | float | bool | tuple)
    }


def _judged(settings: Settings) -> dict[Url, float]:
    """The user's examples are labels that came before the crawl."""
    labels: dict[Url, float] = {}
    for value, texts in ((1.0, settings.topic.good), (0.0, settings.topic.bad)):
        for text in texts:
            if url := canonical(text):
                labels[url] = value
    return labels


def _sow(ring: Ring, seeds: tuple[Url, ...]) -> None:
    """Push seeds that this collection has not had yet."""
    try:
        known = set(json.loads(ring.store.meta("seeds") or "[]"))
    except (ValueError, TypeError):
        known = set()
    fresh = [seed for seed in seeds if seed not in known]
    if not fresh:
        return
    ring.frontier.push(Candidate(Link(seed, channel="seed"), 1.0, 1.0) for seed in fresh)
    with ring.store.transaction():
        ring.frontier.flush()
        ring.store.set_meta("seeds", json.dumps(sorted({*known, *fresh})))
    ring.frontier.flushed()
