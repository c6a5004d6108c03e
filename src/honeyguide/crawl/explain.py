"""Why was an address fetched, or why not? Answered from the journal, the frontier and the rules."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from honeyguide import registry
from honeyguide.config import Settings
from honeyguide.crawl import topics
from honeyguide.crawl.active_generation import readable
from honeyguide.crawl.from_settings import fence_of
from honeyguide.crawl.highlights import figure, worded
from honeyguide.crawl.languages import languages_of
from honeyguide.crawl.parent_pages import Parents
from honeyguide.crawl.search_report import alike
from honeyguide.crawl.stages import TRUST
from honeyguide.errors import ConfigError, ModelError
from honeyguide.fetch.robots import Robots
from honeyguide.frontier.lookup import Found, find
from honeyguide.protocols import Strategy
from honeyguide.seeds.query import parse
from honeyguide.store.shards import log_for
from honeyguide.store.store import Store
from honeyguide.store.visits import VisitRow
from honeyguide.text.word_patterns import address as read
from honeyguide.types import Link, Reason, Url
from honeyguide.url import canonical, origin

_STEPS = 30
"""Most steps of the way back to a seed."""
_FINDERS = 5
"""Most queries that are named."""


@dataclass(frozen=True, slots=True)
class Step:
    """One page on the way from a seed."""

    url: Url
    anchor: str
    verdict: float | None


@dataclass(frozen=True, slots=True)
class Finder:
    """A query that found it."""

    query: str
    by: str
    engine: str
    place: int
    """Which result it was, counted from 1 …"""
    page: int
    """… on which page."""
    fetched: int
    """Results of that query that were fetched so far …"""
    relevant: int
    """… of which were relevant …"""
    mean: float
    """… and their mean verdict."""


@dataclass(frozen=True, slots=True)
class Explanation:
    url: Url
    answer: str
    """One sentence: fetched, waiting, refused, or never seen."""
    visits: tuple[VisitRow, ...] = ()
    waiting: Found | None = None
    reasons: tuple[Reason, ...] = ()
    """Why the link got its score, by the generation that decided."""
    way: tuple[Step, ...] = ()
    """From a seed to this page."""
    label: float | None = None
    finders: tuple[Finder, ...] = ()
    """The queries that found it, the first one first."""


def explain(folder: Path, settings: Settings, text: str, now: float) -> Explanation:
    url = canonical(text.strip())
    if url is None:
        raise ConfigError(f"{text!r} is no http or https address")
    with Store.open(folder, "read") as store:
        visits = tuple(store.visit(url))
        waiting = None
        if not (visits and _over(visits[-1])):
            with log_for(store, url) as log:
                waiting = find(log, url)
        link = visits[-1].link if visits else waiting.link if waiting else None
        untold = not visits
        generation = visits[-1].generation if visits else None
        label = store.label_of(url)
        return Explanation(
            url,
            _answer(store, settings, url, visits, waiting, now),
            visits,
            waiting,
            (
                *_reasons(store, link, generation, settings, untold),
                *_foretold(store, settings, link),
            ),
            _way(store, link),
            label.value if label else None,
            _finders(store, url, link),
        )


def _answer(
    store: Store,
    settings: Settings,
    url: Url,
    visits: tuple[VisitRow, ...],
    waiting: Found | None,
    now: float,
) -> str:
    if visits:
        last = visits[-1]
        if last.failure and not last.final:
            return f"It failed ({last.failure}: {last.detail}) and will be tried again."
        if last.failure:
            return f"It was not kept: {last.failure}: {last.detail}."
        if last.moved:
            return f"It was fetched and redirects to {last.moved}."
        if last.verdict is None:
            return f"It was fetched for its links (HTTP {last.status}); such pages are not judged."
        threshold = settings.topic.threshold
        good = last.verdict >= threshold
        words = {True: "relevant", False: "not relevant"}
        seed = "It is a seed; it" if last.channel == "seed" else "It"
        said = f"{seed} was fetched and judged {words[good]}: {figure(last.verdict, threshold)}"
        if bool(last.relevant) != good:
            said += f"; a person says otherwise, so it counts as {words[not good]}"
        return f"{said}."
    if refusal := fence_of(settings).refuses(Link(url)):
        kind, why = refusal
        return f"It is not fetched: {why} ({'a trap rule' if kind == 'trap' else 'scope'})."
    if waiting is not None:
        score = f"{waiting.queued:.2f}"
        return f"It waits in the frontier; its score was {score} when it was found."
    robots = Robots()
    for entry in store.robots(now):
        robots.restore(*entry)
    rules = robots.rules(origin(url), now)
    if rules is not None and not rules.allows(url):
        return "It was never seen as a link, and robots.txt would forbid it."
    return "No page that was fetched links to it, so it was never seen."


def _reasons(
    store: Store, link: Link | None, generation: int | None, settings: Settings, untold: bool
) -> tuple[Reason, ...]:
    """``untold``: the link waits, and only the page that it was found on is known of it."""
    live = store.live()
    if link is None or live is None or link.channel in ("seed", "example"):
        return ()
    strategy: Strategy | None
    try:
        strategy = store.load_generation(live if generation is None else generation, registry.find)
    except ModelError:
        # Of old generations only the note is kept: the present one says what it would say.
        strategy, _, _ = readable(store, topics.names(settings))
        if strategy is None:
            return ()
    if untold and strategy.habits.parents == "all":
        (link,) = Parents().told((link,))
    around = f"{link.anchor} {link.before} {link.after} {read(link.url)}"
    reasons = list(worded(strategy.explain(link), around, settings.topic.spoken))
    if untold and strategy.habits.parents == "all" and link.source is not None:
        told = "by the page that it was found on alone: the crawl counts its other pages, too"
        reasons.append(Reason(told, 0.0))
    source = store.visit(link.source) if link.source else []
    least = TRUST if strategy.habits.parents in ("all", "each") else link.parent
    if source and source[-1].channel == "seed" and (source[-1].verdict or 0.0) < least:
        told = f"its page is a seed, which counts as at least {least:.2f}"
        reasons.append(Reason(told, 0.0))
    return tuple(reasons)


def _finders(store: Store, url: Url, link: Link | None) -> tuple[Finder, ...]:
    """Of an address, or of the one that redirects to it."""
    source = link.source if link is not None and link.channel == "search" else None
    places = store.searches.places(url) or store.searches.places(source or "")
    if not places:
        return ()
    found: dict[str, Finder] = {}
    same = alike(store.searches.all())
    for asked, place in places:
        key = parse(asked.query).key
        if key not in found and len(found) < _FINDERS:
            worth = store.searches.worth([one.id for one in same.get(key, (asked,))])
            found[key] = Finder(asked.query, asked.by, asked.engine, place, asked.page, *worth)
    return tuple(found.values())


def _foretold(store: Store, settings: Settings, link: Link | None) -> tuple[Reason, ...]:
    """Which language it was thought to lead to, by all that is known now."""
    languages = languages_of(settings)
    if languages is None or link is None or link.channel in ("seed", "example"):
        return ()
    languages.recall(store)
    return languages.why(link)


def _over(row: VisitRow) -> bool:
    return row.failure is None or bool(row.final)


def _way(store: Store, link: Link | None) -> tuple[Step, ...]:
    steps: list[Step] = []
    while link is not None and link.source is not None and len(steps) < _STEPS:
        rows = store.visit(link.source)
        if not rows:
            break
        steps.append(Step(link.source, link.anchor, rows[-1].verdict))
        link = rows[-1].link
    return tuple(reversed(steps))
