"""From an answer to an outcome: parse, scope, verdict, duplicate, redirect.

Values in, a :class:`CrawlOutcome` out. Nothing here waits, fetches or stores; the outcome says what
should happen next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple, cast

from honeyguide.config.settings import Settings
from honeyguide.errors import FetchError, ParseError
from honeyguide.languages.gate import LanguageGate, judge_page, worth_to_links
from honeyguide.links.ranking import is_sitemap
from honeyguide.net.politeness import decide_retry
from honeyguide.parse.decoded import WantedFilter, all_wanted
from honeyguide.parse.read import parse_page
from honeyguide.protocols import Strategy
from honeyguide.scope import ScopeFilter, ScopeRefusal
from honeyguide.types import (
    Candidate,
    DuplicateOf,
    Failure,
    FailureKind,
    Link,
    Page,
    Response,
    Url,
    Visit,
)
from honeyguide.url import canonical_url, domain_of, host_of, is_ip

MAX_CACHED_URL = 500
"""Characters of an address that is remembered for speed."""
_MAX_CACHED = 50_000


@dataclass(frozen=True, slots=True)
class ScopeCache:
    scope_filter: ScopeFilter
    _known: dict[Url, bool] = field(default_factory=dict)

    def __call__(self, url: Url) -> bool:
        inside = self._known.get(url)
        if inside is None:
            if len(self._known) >= _MAX_CACHED:
                self._known.clear()
            inside = self.scope_filter.find_refusal(Link(url)) is None
            if len(url) <= MAX_CACHED_URL:
                self._known[url] = inside
        return inside

    def filter_urls(self, urls: Iterable[Url]) -> list[Url]:
        """Those of them that are within scope."""
        known = self._known.get
        return [url for url in urls if known(url) or (known(url) is None and self(url))]


LIST_MEDIA_TYPES = frozenset({"application/x-sitemap", "application/x-feed"})
"""Pages that only list other pages; they are read for their links and never judged."""

_MAX_ROBOTS_TRIES = 3
"""How often a link may find its host's robots.txt out of order."""

SEED_LINK_SCORE = 0.7
"""What a link on a seed may count on, whatever the verdict on the seed itself."""

_KEPT_CHANNELS = frozenset({"sitemap", "feed", "example", "search"})
"""Channels that a link keeps when it is redirected."""

_LIST_DECAY = 0.7
"""What remains of the finder's verdict for links that a list names."""


class CrawlOutcome(NamedTuple):
    """What one visit came to, and what should happen next."""

    visit: Visit
    links: tuple[Link, ...] = ()
    """Links to filter by scope, rank and push, as far as they are not known."""
    parent: float = 1.0
    """What the page is worth to them."""
    candidates: tuple[Candidate, ...] = ()
    """To be pushed as they are: where a redirect or a canonical link points."""
    extra_delay_s: float = 0.0
    """Seconds the host needs beyond politeness."""
    retry_after_s: float | None = None
    """Seconds until another try; None: this was the last."""
    read: Page | None = None
    """The page that the links stand on, also if it must not be stored."""


@dataclass(frozen=True, slots=True)
class PageStages:
    settings: Settings
    scope_filter: ScopeFilter
    find_copy: Callable[[Url, str], DuplicateOf | None]
    wants_words: bool = True
    """Whether anybody wants the words of pages, or only their links."""
    language_gate: LanguageGate | None = None
    """The language gate; None: any language will do."""
    inside: ScopeCache = field(init=False)
    """Whether a URL is within scope."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "inside", ScopeCache(self.scope_filter))

    def refuse_visit(
        self, candidate: Candidate, now: float, kind: FailureKind, detail: str, generation: int
    ) -> CrawlOutcome:
        """Not fetched at all, and for good."""
        return _failed_visit(_partial_visit(candidate, now, generation), kind, detail)

    def fail_visit(
        self, candidate: Candidate, error: FetchError, now: float, streak: int, generation: int
    ) -> CrawlOutcome:
        """The request failed: retried or given up by the table in net/retry.py."""
        kind = cast("FailureKind", error.kind)
        plan = decide_retry(kind, tries=candidate.tries + 1, streak=streak, now=now)
        failure = Failure(kind, error.detail, final=plan.retry_in is None)
        visit = _partial_visit(candidate, now, generation)(failure=failure)
        return CrawlOutcome(visit, extra_delay_s=plan.host_delay, retry_after_s=plan.retry_in)

    def robots_unavailable(
        self, candidate: Candidate, why: str, wait: float, now: float, generation: int
    ) -> CrawlOutcome:
        """The host's robots.txt cannot be fetched: after three tries the link is given up."""
        final = candidate.tries + 1 >= _MAX_ROBOTS_TRIES
        failure = Failure("robots", why, final)
        visit = _partial_visit(candidate, now, generation)(failure=failure)
        return CrawlOutcome(visit, retry_after_s=None if final else wait)

    def process_answer(
        self,
        candidate: Candidate,
        response: Response,
        strategy: Strategy,
        now: float,
        streak: int,
        generation: int,
        wanted: WantedFilter = all_wanted,
    ) -> CrawlOutcome:
        """An answer came: a page, a redirect, or a refusal."""
        visit = _partial_visit(candidate, now, generation, response)
        if response.status in (301, 302, 303, 307, 308):
            return self._process_redirect(candidate, response, visit)
        if response.status != 200 and response.status != 203:
            return _process_bad_status(candidate, response, visit, now, streak)
        try:
            page = parse_page(
                response,
                candidate.link,
                strip_tracking=self.settings.scope.strip_tracking,
                outlinks=self.settings.scope.outlinks,
                html_limit=int(self.settings.fetch.html_mb * 1_000_000),
                words=self.wants_words,
                wanted=wanted,
            )
        except ParseError as error:
            return _failed_visit(visit, "parse", str(error))
        if page.media_type in LIST_MEDIA_TYPES:
            return self._process_list(candidate, page, visit)
        return self._process_page(candidate, page, visit, strategy)

    def _process_redirect(
        self, candidate: Candidate, response: Response, visit: partial[Visit]
    ) -> CrawlOutcome:
        """The target goes to the frontier, so that its host, robots and scope count as ever."""
        link = candidate.link
        location = _decode_utf8(response.header("location"))
        target = canonical_url(location, link.url)
        if target is None:
            return _failed_visit(visit, "protocol", f"it points to {location[:200]!a}")
        visit = partial(visit, moved=target)
        if target == link.url:
            # A page that sends to itself wants its cookie back; three tries are enough.
            if candidate.tries < 2 and response.header("set-cookie"):
                failure = Failure("too_many_redirects", "redirects to itself", final=False)
                return CrawlOutcome(visit(failure=failure), retry_after_s=0.0)
            return _failed_visit(visit, "too_many_redirects", "it points to itself")
        if link.hops >= self.settings.fetch.redirects:
            detail = f"more than {link.hops} hops, to {target}"
            return _failed_visit(visit, "too_many_redirects", detail)
        channel = link.channel if link.channel in _KEPT_CHANNELS else "redirect"
        onward = link._replace(
            url=target, source=link.url, channel=channel, hops=link.hops + 1, inlinks=1
        )
        if refusal := self.scope_filter.find_refusal(onward):
            kind, why = refusal
            return _failed_visit(visit, kind, f"it points to {target}: {why}")
        return CrawlOutcome(
            visit(), candidates=(Candidate(onward, candidate.score, candidate.score),)
        )

    def _process_list(
        self, candidate: Candidate, page: Page, visit: partial[Visit]
    ) -> CrawlOutcome:
        wanted, feed = self.settings.scope, page.media_type == "application/x-feed"
        barred = not wanted.feeds if feed else wanted.sitemaps == "never"
        if barred or self.settings.search.is_search_only:
            return CrawlOutcome(visit(page=replace(page, links=())))
        return CrawlOutcome(
            visit(page=page), links=page.links, parent=candidate.link.parent * _LIST_DECAY
        )

    def _process_page(
        self, candidate: Candidate, page: Page, visit: partial[Visit], strategy: Strategy
    ) -> CrawlOutcome:
        page, verdict = judge_page(strategy, page, self.language_gate)
        if not page.index:
            # It asks not to be indexed: its links count, its words do not.
            failure = Failure("noindex", "the page asks not to be indexed")
            done = visit(response=None, failure=failure)
            copy = None
        else:
            copy = self.find_copy(page.url, page.text)
            done = visit(page=page, verdict=verdict, duplicate=copy)
        candidates = self._canonical_candidate(candidate, page)
        if copy is not None and copy.exact and is_same_path(copy.of, page.url):
            # The same words under one path with many queries: a session-id trap.
            return CrawlOutcome(done, candidates=candidates)
        if candidate.link.channel == "example" or self.settings.search.is_search_only:
            # Fetched to learn from, or found by a search: nobody wants what it links to.
            return CrawlOutcome(done)
        parent = worth_to_links(verdict, self.language_gate)
        if candidate.link.depth == 0:
            # A seed is often a mere list, but somebody chose it: its links deserve a look.
            parent = max(parent, SEED_LINK_SCORE)
        return CrawlOutcome(done, page.links, parent, candidates, read=page)

    def _canonical_candidate(self, candidate: Candidate, page: Page) -> tuple[Candidate, ...]:
        """The address that the page itself prefers, if it is on the same site.

        A hint, not an order: too many sites name their front page everywhere. It waits with
        half the score, and if its words turn out the same, it is marked as a copy.
        """
        alone = self.settings.search.is_search_only
        if alone or page.canonical is None or not _is_same_site(page.canonical, page.url):
            return ()
        link = candidate.link._replace(
            url=page.canonical, source=page.url, channel="redirect", inlinks=1
        )
        if self.scope_filter.find_refusal(link) or link.hops >= self.settings.fetch.redirects:
            return ()
        link = link._replace(hops=link.hops + 1, parent=link.parent / 2)
        return (Candidate(link, candidate.score / 2, candidate.score / 2),)

    def sitemap_links(self, found: tuple[Url, ...], source: Link, verdict: float) -> list[Link]:
        """Links to the sitemaps that a site's robots.txt names; foreign ones are not believed."""
        links = (
            Link(
                url=url,
                source=source.url,
                rel="sitemap",
                channel="sitemap",
                depth=source.depth + 1,
                parent=verdict,
            )
            for url in found
        )
        return [
            link
            for link in links
            if _is_same_site(link.url, source.url) and self.scope_filter.find_refusal(link) is None
        ]

    def admits_link(self, link: Link) -> bool:
        """Whether a link found on a page may wait."""
        most = self.settings.crawl.depth
        if most and link.depth > most:
            return False
        if link.channel == "feed" and not self.settings.scope.feeds:
            return False
        if is_sitemap(link) and link.source and not _is_same_site(link.url, link.source):
            return False
        return self.inside(link.url)

    def scope_refusal(self, link: Link) -> ScopeRefusal | None:
        """Why a link may not be visited."""
        return None if self.inside(link.url) else self.scope_filter.find_refusal(link)


def _decode_utf8(header: str) -> str:
    """Headers are read as Latin-1, but servers write addresses in UTF-8."""
    try:
        return header.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return header


def _process_bad_status(
    candidate: Candidate, response: Response, visit: partial[Visit], now: float, streak: int
) -> CrawlOutcome:
    """Any other status: the table in net/retry.py knows whether to come again."""
    plan = decide_retry(
        response.status,
        tries=candidate.tries + 1,
        streak=streak,
        retry_after=response.header("retry-after"),
        now=now,
    )
    failure = Failure("status", f"HTTP {response.status}", final=plan.retry_in is None)
    return CrawlOutcome(
        visit(failure=failure), extra_delay_s=plan.host_delay, retry_after_s=plan.retry_in
    )


def _partial_visit(
    candidate: Candidate, now: float, generation: int, response: Response | None = None
) -> partial[Visit]:
    """A visit of which only the end is missing: what it brought, or why it brought nothing."""
    return partial(
        Visit,
        link=candidate.link,
        at=now,
        generation=generation,
        initial_score=candidate.initial_score,
        score=candidate.score,
        tries=candidate.tries + 1,
        response=response,
    )


def _failed_visit(visit: partial[Visit], kind: FailureKind, detail: str) -> CrawlOutcome:
    """A visit that brought nothing, for good."""
    return CrawlOutcome(visit(failure=Failure(kind, detail)))


def is_same_path(one: str, other: str) -> bool:
    return one.partition("?")[0] == other.partition("?")[0]


def _is_same_site(one: str, other: str) -> bool:
    a, b = host_of(one), host_of(other)  # an address in numbers is a domain of its own
    return a == b or not (is_ip(a) or is_ip(b) or domain_of(a) != domain_of(b))
