"""Why was an address fetched, or why not? Answered from the journal, the frontier and the rules."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from honeyguide import registry
from honeyguide.api.search import group_by_query
from honeyguide.config.settings import Settings
from honeyguide.crawl.from_settings import build_scope_filter
from honeyguide.crawl.live_generation import load_readable_generation
from honeyguide.crawl.process_page import SEED_LINK_SCORE
from honeyguide.crawl.rescore import restore_host_trust
from honeyguide.crawl.status import describe_failure
from honeyguide.errors import CollectionCorrupt, ConfigError, ModelError
from honeyguide.frontier.replay import LoggedLink, find_logged_link
from honeyguide.languages.gate import build_language_gate
from honeyguide.learning import topics
from honeyguide.links.dead_links import DeadLinks
from honeyguide.links.parent_pages import MeanParent
from honeyguide.net.robots import RobotsCache
from honeyguide.protocols import Strategy
from honeyguide.search.query import parse_query
from honeyguide.store.codec import pack_reasons
from honeyguide.store.export import RowWording
from honeyguide.store.store import Store
from honeyguide.store.visits import VisitRow
from honeyguide.text.highlights import format_verdict, unstem_reasons
from honeyguide.text.normalise import readable_address as read
from honeyguide.types import Link, Reason, Url
from honeyguide.url import canonical_url, site_origin

_MAX_STEPS = 30
"""Most steps of the way back to a seed."""
_MAX_FINDERS = 5
"""Most queries that are named."""


@dataclass(frozen=True, slots=True)
class SeedPathStep:
    """One page on the way from a seed."""

    url: Url
    anchor: str
    verdict: float | None


@dataclass(frozen=True, slots=True)
class FindingQuery:
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
    waiting: LoggedLink | None = None
    reasons: tuple[Reason, ...] = ()
    """Why the link got its score, by the generation that decided."""
    way: tuple[SeedPathStep, ...] = ()
    """From a seed to this page."""
    label: float | None = None
    finders: tuple[FindingQuery, ...] = ()
    """The queries that found it, the first one first."""

    def __repr__(self) -> str:
        way = [f"  {step.url}  {step.anchor}" for step in self.way]
        reasons = [f"  {reason.what} {reason.weight:+.2f}" for reason in self.reasons]
        return "\n".join([f"{self.url}: {self.answer}", *reasons, *way])


def explain_url(folder: Path, settings: Settings, text: str, now: float) -> Explanation:
    url = canonical_url(text.strip())
    if url is None:
        raise ConfigError(f"{text!r} is not an http or https address")
    with Store.open(folder, "read") as store:
        language = settings.topic.word_language
        visits = tuple(put_words(store, row, language) for row in store.visits.attempts_at(url))
        waiting = None
        if not (visits and _is_over(visits[-1])):
            with store.frontier_log_for(url) as log:
                waiting = find_logged_link(log, url)
        link = visits[-1].link if visits else waiting.link if waiting else None
        untold = not visits
        generation = visits[-1].generation if visits else None
        label = store.labels.effective_label(url)
        return Explanation(
            url,
            _answer_in_words(store, settings, url, visits, waiting, now),
            visits,
            waiting,
            (
                *_score_reasons(store, link, generation, settings, untold),
                *_dead_link_reasons(store, link),
                *_language_reasons(store, settings, link),
            ),
            _path_from_seed(store, link),
            label.value if label else None,
            _finding_queries(store, url, link),
        )


def put_words(store: Store, row: VisitRow, language: str) -> VisitRow:
    """The visit, with words of its page in place of the stems that reasons quote."""
    text = store.visits.readable_text(row) if row.reasons else ""
    return row._replace(reasons=pack_reasons(unstem_reasons(row.verdict_reasons, text, language)))


def word_rows(store: Store, settings: Settings) -> RowWording:
    """What an export writes of a visit: words in its reasons, or these as they are, if damaged."""

    def reword(row: VisitRow) -> VisitRow:
        with suppress(CollectionCorrupt):
            return put_words(store, row, settings.topic.word_language)
        return row

    return reword


def _answer_in_words(
    store: Store,
    settings: Settings,
    url: Url,
    visits: tuple[VisitRow, ...],
    waiting: LoggedLink | None,
    now: float,
) -> str:
    if visits:
        last = visits[-1]
        if last.failure and not last.final:
            return f"It failed ({last.failure}: {last.detail}) and will be tried again."
        if last.failure:
            return f"It was not stored: {describe_failure(last.failure, last.detail)}."
        if last.moved:
            return f"It was fetched and redirects to {last.moved}."
        if last.verdict is None:
            return f"It was fetched for its links (HTTP {last.status}); such pages are not scored."
        threshold = store.threshold
        good, copy = last.verdict >= threshold, ""
        words = {True: "relevant", False: "not relevant"}
        seed = "It is a seed; it" if last.channel == "seed" else "It"
        verdict = format_verdict(last.verdict, threshold)
        answer = f"{seed} was fetched and judged {words[good]}: {verdict}"
        if last.copy_of and good:
            good, copy = (
                False,
                f"; it is a copy of {last.copy_of}, so it does not count as relevant",
            )
        if last.unproven and good:
            why = _distrust_reason(store, settings, last.link)
            copy = "; its site is on probation, so it does not count as relevant"
            good, copy = False, f"{copy}: {why}" if why else copy
        if bool(last.relevant) == good:
            answer += copy
        else:
            answer += f"; a person labelled it otherwise, so it counts as {words[not good]}"
        return f"{answer}."
    if refusal := build_scope_filter(settings).find_refusal(Link(url)):
        kind, why = refusal
        return f"It is not fetched: {why} ({'a trap rule' if kind == 'trap' else 'scope'})."
    if waiting is not None:
        score = f"{waiting.queued:.2f}"
        answer = f"It waits in the frontier; its score was {score} when it was found."
        why = _distrust_reason(store, settings, waiting.link)
        return f"{answer} Its site is on probation: {why}." if why else answer
    robots = RobotsCache()
    for entry in store.robots.iter_fresh(now):
        robots.restore_entry(*entry)
    rules = robots.get_rules(site_origin(url), now)
    if rules is not None and not rules.allows(url):
        return "It was never seen as a link, and robots.txt would forbid it."
    return "No page that was fetched links to it, so it was never seen."


def _score_reasons(
    store: Store, link: Link | None, generation: int | None, settings: Settings, untold: bool
) -> tuple[Reason, ...]:
    """``untold``: the link waits, and only the page that it was found on is known of it."""
    live = store.generations.live_number()
    if link is None or live is None or link.channel in ("seed", "example"):
        return ()
    strategy: Strategy | None
    try:
        strategy = store.generations.load(
            live if generation is None else generation, registry.find_strategy
        )
    except ModelError:
        # Of old generations only the note is kept: the present one says what it would say.
        strategy, _, _ = load_readable_generation(store, topics.topic_names(settings))
        if strategy is None:
            return ()
    if untold and strategy.traits.parent_score == "all":
        (link,) = MeanParent().annotate_links((link,))
    around = f"{link.anchor} {link.before} {link.after} {read(link.url)}"
    reasons = list(unstem_reasons(strategy.explain(link), around, settings.topic.word_language))
    if untold and strategy.traits.parent_score == "all" and link.source is not None:
        hint = (
            "scored by the page that it was found on only; the crawl also counts the other "
            "pages with this link"
        )
        reasons.append(Reason(hint, 0.0))
    source = store.visits.attempts_at(link.source) if link.source else []
    least = SEED_LINK_SCORE if strategy.traits.parent_score in ("all", "each") else link.parent
    if source and source[-1].channel == "seed" and (source[-1].verdict or 0.0) < least:
        hint = f"its page is a seed, which counts as at least {least:.2f}"
        reasons.append(Reason(hint, 0.0))
    return tuple(reasons)


def _finding_queries(store: Store, url: Url, link: Link | None) -> tuple[FindingQuery, ...]:
    """Of an address, or of the one that redirects to it."""
    source = link.source if link is not None and link.channel == "search" else None
    places = store.searches.positions_of(url) or store.searches.positions_of(source or "")
    if not places:
        return ()
    found: dict[str, FindingQuery] = {}
    same = group_by_query(store.searches.list_searches())
    for asked, place in places:
        key = parse_query(asked.query).key
        if key not in found and len(found) < _MAX_FINDERS:
            worth = store.searches.result_stats([one.id for one in same.get(key, (asked,))])
            found[key] = FindingQuery(
                asked.query, asked.by, asked.engine, place, asked.page, *worth
            )
    return tuple(found.values())


def _dead_link_reasons(store: Store, link: Link | None) -> tuple[Reason, ...]:
    """What became of links like it, by all that is known now."""
    if link is None or link.channel in ("seed", "example"):
        return ()
    dead_links = DeadLinks()
    dead_links.restore(store)
    return dead_links.explain_chance(link)


def _language_reasons(store: Store, settings: Settings, link: Link | None) -> tuple[Reason, ...]:
    """Which language it was thought to lead to, by all that is known now."""
    languages = build_language_gate(settings)
    if languages is None or link is None or link.channel in ("seed", "example"):
        return ()
    languages.restore(store)
    return languages.explain_chance(link)


def _distrust_reason(store: Store, settings: Settings, link: Link) -> str:
    """Why the site of a link gets a small share of the visits; '' if it does not."""
    trust = restore_host_trust(store, settings)
    if trust is None:
        return ""
    trust.add_labels(store.labels.effective_after())
    return trust.why_waiting(link)


def _is_over(row: VisitRow) -> bool:
    return row.failure is None or bool(row.final)


def _path_from_seed(store: Store, link: Link | None) -> tuple[SeedPathStep, ...]:
    steps: list[SeedPathStep] = []
    while link is not None and link.source is not None and len(steps) < _MAX_STEPS:
        rows = store.visits.attempts_at(link.source)
        if not rows:
            break
        steps.append(SeedPathStep(link.source, link.anchor, rows[-1].verdict))
        link = rows[-1].link
    return tuple(reversed(steps))
