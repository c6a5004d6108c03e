"""Settings in, a ring out. This file alone connects the parts."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from honeyguide import __version__
from honeyguide.config import Settings
from honeyguide.crawl import topics
from honeyguide.crawl.active_generation import live
from honeyguide.crawl.from_settings import fence_of, seeds_of, strategy_of
from honeyguide.crawl.languages import Languages, languages_of, notes
from honeyguide.crawl.limits import Breath, Enough, Quota, Streaks
from honeyguide.crawl.parent_pages import BestParent, Parents, Places
from honeyguide.crawl.politeness import Manners
from honeyguide.crawl.ranking import Telling, rank
from honeyguide.crawl.restore import given_of, ledger_of, recall_links, sources_of
from honeyguide.crawl.ring import Ring
from honeyguide.crawl.shard_hooks import Part, Teaching
from honeyguide.crawl.stages import Stages
from honeyguide.crawl.stopping import Exhausted, recall
from honeyguide.crawl.topic_trainers import Tutors
from honeyguide.crawl.training_feed import Answers, Lessons
from honeyguide.crawl.visit import Turn
from honeyguide.errors import ConfigError, StoreError
from honeyguide.fetch.http import CurlFetcher, user_agent
from honeyguide.fetch.robots import Robots
from honeyguide.frontier.frontier import LinkFrontier
from honeyguide.frontier.hosts import Politeness
from honeyguide.frontier.order import make
from honeyguide.learning.coverage import Coverage
from honeyguide.learning.worker_process import Apart, Here
from honeyguide.protocols import Fetcher, Frontier, Strategy
from honeyguide.store.store import Store
from honeyguide.types import (
    Candidate,
    Example,
    Link,
    Request,
    Url,
)
from honeyguide.url import domain

if TYPE_CHECKING:
    from honeyguide.seeds.engine import Engine


@asynccontextmanager
async def opened(
    folder: Path,
    settings: Settings,
    *,
    fetcher: Fetcher | None = None,
    clock: Callable[[], float] = time.time,
    strategy: Strategy | None = None,
    examples: Sequence[Example] = (),
    people: Answers | None = None,
    engine: Engine | None = None,
    part: Part | None = None,
) -> AsyncIterator[Ring]:
    """A ring on that collection, ready to run; everything is closed again afterwards.

    The lab brings its own fetcher and clock, strategies that no registry knows, examples, and
    people who answer for pages as they come by. A search engine that is given is asked instead of
    the one that the settings name. A shard brings its :class:`Part`.

    Mistakes in the settings are found before anything is opened or fetched.
    """
    agent = user_agent(settings.fetch.contact, __version__)
    fence, strategy = fence_of(settings), strategy or strategy_of(settings)
    async with AsyncExitStack() as closing:
        if settings.search.engine and engine is None:
            # Loaded here, because a crawl that follows links alone needs none of it.
            from honeyguide.crawl.search_setup import engine_for

            engine = engine_for(folder, settings, fetcher, clock, closing)
        languages = languages_of(settings)
        reads = strategy.habits.reads == "words" or settings.store.texts == "all"
        words = reads or languages is not None
        store = closing.enter_context(
            Store.open(
                folder,
                "crawl",
                settings.store,
                clock,
                words=words,
                shelf=part.shelf if part is not None else None,
            )
        )
        if store.shards > 1:
            raise StoreError(
                f"{folder} has {store.shards} shards: crawl it with honeyguide crawl (in Python: "
                "honeyguide.cluster.crawl.crawl_here), or put them together with --shards 1"
            )
        store.hold_to(settings.topic.threshold)
        store.follow(topics.names(settings))
        network = fetcher or CurlFetcher(
            settings.fetch, user_agent=agent, archives=settings.store.warc
        )
        if fetcher is None:
            closing.push_async_callback(network.aclose)
        if settings.fetch.lab:
            fence = replace(fence, hosts=await _hosts_of_lab(network))
        if part is not None:
            strategy, generation, fresh, warning = part.strategy, part.generation, False, ""
        else:
            strategy, generation, fresh, warning = live(store, settings, strategy, clock())
        own = _frontier(store, settings, strategy, clock(), languages)
        frontier: Frontier = own if part is None else part.border(own, store)
        habits = strategy.habits
        # Files lie with the collection, and its learner reads them; a shard's folder has none.
        files = topics.files(folder, settings) if part is None else ()
        given, said = (*examples, *files), topics.best(settings)
        ledger: Telling | None = None
        if habits.yields:
            ledger = ledger_of(store, settings, habits.standing, given, said)
        elif habits.parents == "best":
            ledger = BestParent()
        elif habits.parents in ("all", "each"):
            beside = habits.beside and settings.learn.teacher != "none"
            made = Parents if habits.parents == "all" else Places
            ledger = made(given_of(store, given, said), beside)
        sources = None if engine is None else sources_of(store, settings)
        if languages is not None:
            languages.recall(store)
        manners, coverage = _manners(store, settings, clock()), recall(store)
        stages = Stages(settings, fence, store.find_copy, words, languages)
        if isinstance(ledger, Parents | Places) and not settings.search.alone:
            recall_links(ledger, store, settings, frontier, stages.admits)
        if (fresh or generation) and len(frontier):
            # Scores on disk are those of the day a link was found: derived ones are not kept.
            again = partial(rank, strategy, ledger, anew=True)
            frontier.rerank(partial(again, languages=languages, sources=sources))
        lessons: Teaching
        if part is not None:
            lessons = part.lessons
        else:
            # In simulated time a lesson takes none, so that a comparison can be repeated.
            school = Apart if fetcher is None else Here
            lessons = lessons_of(store, settings, strategy, school, given, people, warning)
        closing.push_async_callback(lessons.aclose)
        searches = None
        if engine is not None and sources is not None:
            from honeyguide.crawl.search_setup import searches_of

            lab, parts = fetcher is not None, (store, sources, own)
            searches = searches_of(
                engine, settings, *parts, stages.admits, ledger, clock, said, given, lab=lab
            )
        elsewhere = None
        if part is not None and ledger is not None and languages is None:
            # The language of a link is foretold from its page, which is here.
            elsewhere = partial(_foreign, part)
        ring = Ring(
            settings=settings,
            frontier=frontier,
            manners=manners,
            turn=Turn(manners, stages, network, frontier, clock, ledger, sources, elsewhere),
            store=store,
            strategy=strategy,
            generation=generation,
            lessons=lessons,
            ledger=ledger,
            languages=languages,
            breath=Breath(settings.crawl.concurrency, steady=fetcher is not None),
            enough=part.enough
            if part is not None
            else enough_of(settings, store, coverage, frontier.__len__, clock),
            coverage=coverage,
            clock=clock,
            searches=searches,
        )
        _sow(ring, seeds_of(settings), said, part)
        yield ring


def lessons_of(
    store: Store,
    settings: Settings,
    strategy: Strategy,
    school: type[Apart] | type[Here] = Apart,
    given: Sequence[Example] = (),
    people: Answers | None = None,
    warning: str = "",
) -> Lessons:
    """What a crawl of this collection learns from; ``given``: examples that lie on disk."""
    habits = strategy.habits
    make = partial(school, habits.visits, habits.outlinks)
    learner = Tutors(make, store, settings) if settings.topics else make()
    said = topics.best(settings)
    lessons = Lessons(store, settings, strategy, learner, said, given, people)
    lessons.told += filter(None, (warning, *notes(store, settings)))
    return lessons


def enough_of(
    settings: Settings,
    store: Store,
    coverage: Coverage,
    waiting: Callable[[], int],
    clock: Callable[[], float],
) -> Enough:
    """When a crawl of this collection is over."""
    return Enough(
        pages=settings.crawl.pages,
        hours=settings.crawl.hours,
        free_mb=store.free_mb,
        min_free_mb=settings.store.min_free_mb,
        clock=clock,
        exhausted=Exhausted(settings.stop, coverage, waiting).reason,
    )


def _frontier(
    store: Store,
    settings: Settings,
    strategy: Strategy,
    now: float,
    languages: Languages | None,
) -> LinkFrontier:
    order, polite = settings.crawl.order, settings.politeness
    if order == "strategy":
        order = strategy.habits.order
        if order == "breadth" and languages is not None and languages.predicts:
            # Breadth first does not look at scores, so no link would wait for its language. Its
            # scores fall with the depth: the best first is breadth first among equal chances.
            order = "best"
    return LinkFrontier(
        store.log,
        make(order, settings.crawl.seed),
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


def _foreign(part: Part, url: Url) -> bool:
    return not part.owns(url)


async def _hosts_of_lab(network: Fetcher) -> frozenset[str]:
    """Which hosts the lab serves: there are no others for this crawl."""
    answer = await network.fetch(Request(Url("http://lab.invalid/"), any_type=True))
    try:
        return frozenset(map(str, json.loads(answer.body)["hosts"]))
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"fetch.lab: the lab does not say what it serves: {error}") from error


def _sow(ring: Ring, seeds: tuple[Url, ...], examples: dict[Url, float], part: Part | None) -> None:
    """Push seeds that this collection has not had yet, and bad examples, if they teach anybody; in
    a shard, those that are its own."""
    try:
        known = set(json.loads(ring.store.meta("seeds") or "[]"))
    except (ValueError, TypeError):
        known = set()
    links = [Link(seed, channel="seed") for seed in seeds]
    if ring.lessons.learns:
        links += [Link(url, channel="example") for url in examples if url not in seeds]
    links = [link for link in links if link.url not in known]
    if part is not None:
        links = [link for link in links if part.owns(link.url)]
    if not links:
        return
    ring.frontier.push(Candidate(link, 1.0, 1.0) for link in links)
    with ring.store.transaction():
        ring.frontier.flush()
        ring.store.set_meta("seeds", json.dumps(sorted({*known, *(link.url for link in links)})))
    ring.frontier.flushed()
