"""Building a crawl: settings in, a :class:`~honeyguide.crawl.loop.CrawlLoop` out.

The only place where the parts of a crawl are connected. It also restores what the parts know from
earlier runs: link history, waiting links, robots.txt, quotas, seeds.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from honeyguide import __version__
from honeyguide.config.settings import Settings
from honeyguide.crawl.from_settings import build_scope_filter, build_strategy
from honeyguide.crawl.live_generation import GenerationSource, choose_generation
from honeyguide.crawl.loop import CrawlLoop
from honeyguide.crawl.process_page import (
    LIST_MEDIA_TYPES,
    SEED_LINK_SCORE,
    PageStages,
    is_same_path,
)
from honeyguide.crawl.rescore import restore_host_trust, settle_cut
from honeyguide.crawl.status import REFUSING_SETTINGS
from honeyguide.crawl.stopping import ExhaustionRule, StopConditions, StopRule, restore_coverage
from honeyguide.crawl.visit import VisitRunner
from honeyguide.errors import ConfigError, StoreError
from honeyguide.fetch.http import CurlFetcher, make_user_agent
from honeyguide.frontier.frontier import LinkFrontier
from honeyguide.frontier.order import make_order
from honeyguide.languages.gate import LanguageGate, build_language_gate, language_notes
from honeyguide.learning import topics
from honeyguide.learning.coverage import Coverage
from honeyguide.learning.topic_trainers import MultiTopicLearner
from honeyguide.learning.topics import reread_page, seed_urls
from honeyguide.learning.training_feed import LabelAnswers, TrainingBackend, TrainingFeed
from honeyguide.learning.worker_process import InProcessBackend, WorkerProcessBackend
from honeyguide.links.authority import LinkAuthority
from honeyguide.links.dead_links import DeadLinks
from honeyguide.links.history import LinkHistory
from honeyguide.links.link_stats import JudgedPages
from honeyguide.links.parent_pages import BestParent, MeanParent, ParentPlaces
from honeyguide.links.ranking import LinkKnowledge, SourceBandit, rank_links
from honeyguide.net.concurrency import FetchConcurrency, affordable_fetches
from honeyguide.net.politeness import DomainQuota, HostDelayPolicy, PolitenessGate
from honeyguide.net.robots import RobotsCache
from honeyguide.protocols import Fetcher, Frontier, Strategy
from honeyguide.store.store import Store
from honeyguide.store.visits import VisitRow
from honeyguide.store.warc import WarcFolder
from honeyguide.text.vectors import TopicProfile
from honeyguide.types import UNREQUESTED, Candidate, Example, Link, Request, Url, Verdict, Visit
from honeyguide.url import domain_of

if TYPE_CHECKING:
    from honeyguide.search.engine import SearchEngine


TrainingBackendFactory = Callable[[bool, bool], TrainingBackend]
"""Whether all visits are learned from, and whether links on pages are → who trains."""
_log = logging.getLogger(__name__)

_RESTORED_VISITS = 20_000
"""Newest visits that a resumed crawl counts again …"""
_REREAD_VISITS = 1_000
"""… and of which it reads the pages, for a strategy that asks about their words."""
_RELINKED_VISITS = 200
"""Newest visits whose pages are read again for their links, for one that goes by every place of a
link: .6 s or so, and …"""
_RELINK_LIMIT_S = 3.0
"""… never much more than this; the newest go first."""
_LEAST_FETCHES, _LATENCY_TOLERANCE, _LITTLE_GAIN = 32, 3.0, 10.0
"""A crawl's concurrency control: pages of one host differ more in their response times than the
same page does from visit to visit."""
_REFUSALS_KEY = "refusing_settings"
_Json = TypeVar("_Json", list[Any], dict[str, Any])
_SOURCE_VISITS = 1_000
"""Newest visits that still say what a source of links is worth."""


@dataclass(frozen=True, slots=True)
class ShardHooks:
    """The parts that a crawl loop gets from its shard instead of its own.

    The frontier sends links of other shards to them, training is done once for all shards, and the
    budget and the end are those of the whole crawl. ``cluster/shard.py`` makes all of them.
    """

    strategy: Strategy
    generation: int
    wrap_frontier: Callable[[LinkFrontier, Store], Frontier]
    training: GenerationSource
    stop_rule: StopRule
    shelf: WarcFolder
    owns_url: Callable[[Url], bool]
    """Whether a URL belongs to this shard."""


def restore_link_history(
    store: Store,
    settings: Settings,
    uses_authority: bool,
    examples: Sequence[Example],
    labels: dict[Url, float],
) -> LinkHistory:
    """The link history of earlier runs, from the newest visits in the journal."""
    newest = store.counter.read_counts().visits
    judged = load_judged_pages(store, examples, labels)
    knowledge = LinkHistory(
        settings.topic.threshold, _build_authority(settings) if uses_authority else None, judged
    )
    for row in store.visits.iter_visits(since=max(0, newest - _RESTORED_VISITS)):
        if _was_asked(row):
            knowledge.record_visit(_as_visit(row))
            if row.has_page:
                page = (
                    store.visits.rebuild_page(row)
                    if uses_authority and row.id > newest - _REREAD_VISITS
                    else None
                )
                knowledge.record_page(row.link, _inherited_worth(row, settings), (), page)
    return knowledge


def restore_waiting_links(
    parents: MeanParent | ParentPlaces,
    store: Store,
    settings: Settings,
    frontier: Frontier,
    admits: Callable[[Link], bool],
) -> None:
    """Restore the pages that waiting links stand on, and the yields of neighbour links."""
    newest = store.visits.iter_visits(
        since=max(0, store.counter.read_counts().visits - _RELINKED_VISITS)
    )
    rows = [row for row in newest if _was_asked(row)]
    for row in rows:
        parents.record_visit(_as_visit(row))
    # After all visits: a page that is read again gives its links the yields of their neighbours.
    end = time.monotonic() + _RELINK_LIMIT_S
    for row in reversed(rows):
        if time.monotonic() > end:
            break
        try:
            page = reread_page(store, row, settings.scope) if _links_were_followed(row) else None
        except Exception:  # noqa: BLE001
            # A bug of ours on one page must not end every resume.
            _log.exception("%s could not be read again", row.url)
            continue
        if page is not None:
            links = [link for link in page.links if admits(link)]
            waits = frontier.still_wanted([link.url for link in links])
            waiting = [link for link, wanted in zip(links, waits, strict=True) if wanted]
            worth = max(
                _inherited_worth(row, settings), SEED_LINK_SCORE if row.link.depth == 0 else 0.0
            )
            parents.record_page(row.link, worth, waiting, page)


def _links_were_followed(row: VisitRow) -> bool:
    """Whether its links were followed (crawl/process_page.py): those of an example are not, nor
    those of a page that is the same under many queries, and what a list names stands on no page."""
    listed = not row.has_page or row.media_type in LIST_MEDIA_TYPES or row.link.channel == "example"
    trap = row.copy_of is not None and row.copy_exact and is_same_path(row.copy_of, row.url)
    return not (listed or trap)


def load_judged_pages(
    store: Store, examples: Sequence[Example], labels: dict[Url, float]
) -> JudgedPages:
    """Pages that people judged with the topic, and the links on those that were fetched."""
    judged = JudgedPages.from_examples(examples, labels)
    for url in labels:
        for row in store.visits.attempts_at(url)[-1:]:
            if row.has_page and row.link.channel == "example" and (page := reread_page(store, row)):
                judged.add_page(page)
    return judged


def restore_source_bandit(store: Store, settings: Settings) -> SourceBandit:
    """A bandit that knows the newest visits of earlier runs."""
    sources = SourceBandit(settings.crawl.random_seed)
    for row in store.visits.iter_visits(
        since=max(0, store.counter.read_counts().visits - _SOURCE_VISITS)
    ):
        sources.record_visit(_as_visit(row))
    return sources


def _was_asked(row: VisitRow) -> bool:
    """Whether a request was sent."""
    return row.status is not None or row.failure not in UNREQUESTED


def _as_visit(row: VisitRow) -> Visit:
    return row.to_followed_visit(None if row.verdict is None else Verdict(row.verdict))


def _inherited_worth(row: VisitRow, settings: Settings) -> float:
    """What its links inherit."""
    return (row.topical_score if settings.language.predict else row.verdict) or 0.0


def _build_authority(settings: Settings) -> LinkAuthority:
    language = settings.topic.word_language
    stated = [one.topic for one in topics.settings_per_topic(settings)]
    profiles = [TopicProfile(topic.keywords, topic.description, language) for topic in stated]
    return LinkAuthority(profiles, language)


@asynccontextmanager
async def open_crawl(
    folder: Path,
    settings: Settings,
    *,
    fetcher: Fetcher | None = None,
    clock: Callable[[], float] = time.time,
    strategy: Strategy | None = None,
    examples: Sequence[Example] = (),
    people: LabelAnswers | None = None,
    engine: SearchEngine | None = None,
    part: ShardHooks | None = None,
    backend: TrainingBackendFactory | None = None,
) -> AsyncIterator[CrawlLoop]:
    """A crawl loop on that collection, ready to run; everything is closed again afterwards.

    The lab passes its own fetcher and clock, strategies that no registry knows, examples, and
    ``people`` who label pages as they are visited. ``engine`` replaces the search engine that the
    settings name. A shard passes its :class:`ShardHooks` as ``part``. ``backend``: who trains; a
    process of its own, or with another fetcher this one.

    Mistakes in the settings are found before anything is opened or fetched.
    """
    agent = make_user_agent(settings.fetch.contact, __version__)
    scope_filter, strategy = build_scope_filter(settings), strategy or build_strategy(settings)
    async with AsyncExitStack() as closing:
        if settings.search.engine and engine is None:
            # A lazy import: a crawl that only follows links needs none of it.
            from honeyguide.search.session import open_search_engine

            engine = open_search_engine(folder, settings, fetcher, clock, closing)
        languages = build_language_gate(settings)
        reads = strategy.traits.reads == "words" or settings.store.keep_text == "all"
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
        if store.shard_count > 1:
            raise StoreError(
                f"{folder} has {store.shard_count} shards: crawl it with honeyguide crawl (in "
                "Python: Collection.crawl), or put them together with --shards 1"
            )
        store.visits.set_topics(topics.topic_names(settings))
        settle_cut(store, settings)
        network = fetcher or CurlFetcher(
            settings.fetch, user_agent=agent, archives=settings.store.warc
        )
        if fetcher is None:
            closing.push_async_callback(network.aclose)
        if settings.fetch.lab:
            scope_filter = replace(scope_filter, hosts=await _lab_hosts(network))
        if part is not None:
            strategy, generation, fresh, warning = part.strategy, part.generation, False, ""
        else:
            strategy, generation, fresh, warning = choose_generation(
                store, settings, strategy, clock()
            )
        own = _build_frontier(store, settings, strategy, clock(), languages)
        frontier: Frontier = own if part is None else part.wrap_frontier(own, store)
        traits = strategy.traits
        # Example files are in the collection, and its learner reads them; shards have none.
        files = topics.load_all_example_files(folder, settings) if part is None else ()
        judged, labels = (*examples, *files), topics.best_example_labels(settings)
        knowledge: LinkKnowledge | None = None
        if traits.uses_link_stats:
            knowledge = restore_link_history(store, settings, traits.uses_authority, judged, labels)
        elif traits.parent_score == "best":
            knowledge = BestParent()
        elif traits.parent_score in ("all", "each"):
            uses_neighbours = traits.uses_neighbours and settings.learn.teacher != "none"
            knowledge_type = MeanParent if traits.parent_score == "all" else ParentPlaces
            knowledge = knowledge_type(load_judged_pages(store, judged, labels), uses_neighbours)
        sources = None if engine is None else restore_source_bandit(store, settings)
        if languages is not None:
            languages.restore(store)
        dead_links = DeadLinks(reads_words=words)
        dead_links.restore(store)
        politeness, coverage = _build_politeness(store, settings, clock()), restore_coverage(store)
        stages = PageStages(
            settings, scope_filter, store.duplicates.find_duplicate, words, languages
        )
        follows = not settings.search.is_search_only
        if follows and isinstance(knowledge, MeanParent | ParentPlaces):
            restore_waiting_links(knowledge, store, settings, frontier, stages.admits_link)
        if (fresh or generation) and len(frontier):
            # The stored scores are those of the time when a link was found.
            rerank = partial(rank_links, strategy, knowledge, anew=True)
            factors = {"languages": languages, "sources": sources, "dead_links": dead_links}
            frontier.rerank_all(partial(rerank, **factors))
        frontier.lower_scores(dead_links.limit_scores)
        training: GenerationSource
        if part is not None:
            training = part.training
        else:
            backend = backend or (WorkerProcessBackend if fetcher is None else InProcessBackend)
            training = build_training_feed(
                store, settings, strategy, backend, judged, people, warning
            )
        closing.push_async_callback(training.aclose)
        search = None
        if engine is not None and sources is not None:
            from honeyguide.search.session import build_search_session

            lab = fetcher is not None
            parts = store, sources, own, stages.admits_link, knowledge, clock
            search = build_search_session(engine, settings, *parts, labels, judged, lab=lab)
        owns_url = None
        if part is not None and knowledge is not None and languages is None:
            # With languages, a link is scored by its page, which only this shard has.
            owns_url = part.owns_url
        crawl = CrawlLoop(
            settings=settings,
            frontier=frontier,
            politeness=politeness,
            visit_runner=VisitRunner(
                *(politeness, stages, network, frontier, clock),
                *(knowledge, sources, dead_links, owns_url),
            ),
            store=store,
            strategy=strategy,
            generation=generation,
            training=training,
            link_knowledge=knowledge,
            language_gate=languages,
            concurrency=FetchConcurrency(
                min(settings.crawl.concurrency, affordable_fetches()),
                least=_LEAST_FETCHES,
                tolerance=_LATENCY_TOLERANCE,
                gain=_LITTLE_GAIN,
                steady=fetcher is not None,
            ),
            stop_rule=part.stop_rule
            if part is not None
            else build_stop_conditions(settings, store, coverage, frontier.__len__, clock),
            coverage=coverage,
            clock=clock,
            search=search,
            host_trust=restore_host_trust(store, settings),
        )
        _push_seeds(crawl, seed_urls(settings), labels, part)
        yield crawl


def build_training_feed(
    store: Store,
    settings: Settings,
    strategy: Strategy,
    backend: TrainingBackendFactory = WorkerProcessBackend,
    examples: Sequence[Example] = (),
    people: LabelAnswers | None = None,
    warning: str = "",
) -> TrainingFeed:
    """What a crawl of this collection learns from; ``examples``: those in files."""
    traits = strategy.traits
    make = partial(backend, traits.learns_from_visits, traits.reads_outlinks)
    learner = MultiTopicLearner(make, store, settings) if settings.topics else make()
    labels = topics.best_example_labels(settings)
    training = TrainingFeed(store, settings, strategy, learner, labels, examples, people)
    training.told += filter(None, (warning, *language_notes(store, settings)))
    return training


def build_stop_conditions(
    settings: Settings,
    store: Store,
    coverage: Coverage,
    waiting: Callable[[], int],
    clock: Callable[[], float],
) -> StopConditions:
    """When a crawl of this collection is over."""
    return StopConditions(
        pages=settings.crawl.pages,
        hours=settings.crawl.hours,
        free_mb=store.free_mb,
        min_free_mb=settings.store.min_free_mb,
        clock=clock,
        exhausted=ExhaustionRule(settings.stop, coverage, waiting).stop_reason,
    )


def _build_frontier(
    store: Store,
    settings: Settings,
    strategy: Strategy,
    now: float,
    languages: LanguageGate | None,
) -> LinkFrontier:
    order, delays = settings.crawl.order, settings.politeness
    if order == "strategy":
        order = strategy.traits.order
        if order == "breadth" and languages is not None and languages.predicts_links:
            # Breadth first does not look at scores, so no link would wait for its language. Its
            # scores fall with the depth: the best first is breadth first among equal chances.
            order = "best"
    return LinkFrontier(
        store.frontier_log,
        make_order(order, settings.crawl.random_seed),
        merge=strategy.traits.merge,
        now=now,
        delay=delays.loopback_delay_s if settings.fetch.lab else delays.delay_s,
        site_links=settings.scope.links_per_domain,
        site_hosts=settings.scope.hosts_per_domain,
        site_busy=delays.concurrent_hosts_per_domain,
    )


def _build_politeness(store: Store, settings: Settings, now: float) -> PolitenessGate:
    """Politeness with the robots.txt files and the visits per domain of earlier runs."""
    robots = RobotsCache()
    for entry in store.robots.iter_fresh(now):
        robots.restore_entry(*entry)
    quota = DomainQuota(settings.scope.pages_per_domain)
    for row in store.counter.top_hosts(limit=1_000_000):
        quota.count_visits(domain_of(row.host), row.visits, row.relevant)
    return PolitenessGate(
        robots,
        HostDelayPolicy(settings.politeness, settings.crawl.random_seed),
        quota,
        lab=bool(settings.fetch.lab),
        began=now,
    )


async def _lab_hosts(network: Fetcher) -> frozenset[str]:
    """Which hosts the lab serves: there are no others for this crawl."""
    answer = await network.fetch(Request(Url("http://lab.invalid/"), any_type=True))
    try:
        return frozenset(map(str, json.loads(answer.body)["hosts"]))
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"fetch.lab: the lab does not say what it serves: {error}") from error


def _push_seeds(
    crawl: CrawlLoop, seeds: tuple[Url, ...], examples: dict[Url, float], part: ShardHooks | None
) -> None:
    """Push seeds that this collection has not had yet, and bad examples, if they teach anybody; in
    a shard, those that are its own. Those that a setting refused are tried again once it changed.
    """
    links = [Link(seed, channel="seed") for seed in seeds]
    if crawl.training.learns:
        links += [Link(url, channel="example") for url in examples if url not in seeds]
    if part is not None:
        links = [link for link in links if part.owns_url(link.url)]
    known = set(_read_json(crawl.store, "seeds", list))
    before = _read_json(crawl.store, _REFUSALS_KEY, dict)
    refusals = {
        kind: json.loads(json.dumps(getattr(getattr(crawl.settings, table), key)))  # as stored
        for kind, name in REFUSING_SETTINGS.items()
        for table, _, key in (name.partition("."),)
    }
    changed = {kind for kind, value in refusals.items() if before.get(kind, value) != value}
    new = [link for link in links if link.url not in known]
    again = [
        link.url
        for link in links
        if link.url in known and _is_admitted_now(crawl, link.url, changed)
    ]
    if not new and not again and before == refusals:
        return
    crawl.frontier.push(Candidate(link, 1.0, 1.0) for link in new)
    crawl.frontier.reopen(again)
    with crawl.store.transaction():
        crawl.frontier.flush()
        crawl.store.set_meta("seeds", json.dumps(sorted({*known, *(link.url for link in new)})))
        crawl.store.set_meta(_REFUSALS_KEY, json.dumps(refusals))
    crawl.frontier.confirm_flush()


def _read_json(store: Store, key: str, kind: type[_Json]) -> _Json:
    """What was stored under this key; empty if it is nothing of that kind."""
    try:
        found = json.loads(store.get_meta(key) or "null")
    except ValueError:
        return kind()
    return found if isinstance(found, kind) else kind()


def _is_admitted_now(crawl: CrawlLoop, url: Url, changed: set[str]) -> bool:
    """Whether a setting that has changed refused this address, or its page, at the last visit."""
    last = next(reversed(crawl.store.visits.attempts_at(url)), None)
    if last is None:
        return False
    if last.failure is None:
        return last.ungated is not None and "language" in changed
    if not last.final:
        return False
    if last.failure in ("scope", "trap"):
        return crawl.visit_runner.stages.scope_refusal(Link(last.moved or url)) is None
    return last.failure in changed
