"""The stations of the ring between an answer and the frontier: values in, an outcome out.

Nothing here waits, fetches or stores. Each function says what should happen next.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple, cast

from honeyguide.config import Settings
from honeyguide.crawl.languages import Languages, judged, worth
from honeyguide.crawl.ranking import is_sitemap
from honeyguide.crawl.scope_cache import Inside
from honeyguide.errors import FetchError, ParseError
from honeyguide.fetch.retry import decide
from honeyguide.parse.decoded import Wanted, all_wanted
from honeyguide.parse.read import read
from honeyguide.protocols import Strategy
from honeyguide.scope import Fence, Refusal
from honeyguide.types import (
    Candidate,
    Copy,
    Failure,
    FailureKind,
    Link,
    Page,
    Response,
    Url,
    Visit,
)
from honeyguide.url import canonical, domain, host, is_ip

LISTS = frozenset({"application/x-sitemap", "application/x-feed"})
"""Pages that only list other pages; they are read for their links and never judged."""

_PATIENCE = 3
"""How often a link may find its host's robots.txt out of order."""

TRUST = 0.7
"""What a link on a seed may count on, whatever the verdict on the seed itself."""

_LASTING = frozenset({"sitemap", "feed", "example", "search"})
"""Channels that a link keeps when it is redirected."""

_FADE = 0.7
"""What remains of the finder's verdict for links that a list names."""


class Outcome(NamedTuple):
    """What one visit came to, and what should happen next."""

    visit: Visit
    links: tuple[Link, ...] = ()
    """To be fenced, ranked and pushed, as far as they are not known."""
    parent: float = 1.0
    """What the page is worth to them."""
    candidates: tuple[Candidate, ...] = ()
    """To be pushed as they are: where a redirect or a canonical link points."""
    rest: float = 0.0
    """Seconds the host needs beyond politeness."""
    again: float | None = None
    """Seconds until another try; None: this was the last."""
    read: Page | None = None
    """The page that the links stand on, also where it must not be kept."""


@dataclass(frozen=True, slots=True)
class Stages:
    settings: Settings
    fence: Fence
    find_copy: Callable[[Url, str], Copy | None]
    words: bool = True
    """Whether anybody wants the words of pages, or only their links."""
    languages: Languages | None = None
    """The language gate; None: any language will do."""
    inside: Inside = field(init=False)
    """Whether an address lies within the fence."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "inside", Inside(self.fence))

    def refuse(
        self, candidate: Candidate, now: float, kind: FailureKind, detail: str, generation: int
    ) -> Outcome:
        """Not fetched at all, and for good."""
        return Outcome(_visit(candidate, now, generation)(failure=Failure(kind, detail)))

    def fail(
        self, candidate: Candidate, error: FetchError, now: float, streak: int, generation: int
    ) -> Outcome:
        """The web failed us: tried again or given up, as fetch/retry.py says."""
        kind = cast("FailureKind", error.kind)
        plan = decide(kind, tries=candidate.tries + 1, streak=streak, now=now)
        failure = Failure(kind, error.detail, final=plan.again is None)
        visit = _visit(candidate, now, generation)(failure=failure)
        return Outcome(visit, rest=plan.rest, again=plan.again)

    def unavailable(
        self, candidate: Candidate, why: str, wait: float, now: float, generation: int
    ) -> Outcome:
        """The host's robots.txt cannot be had: three times, then we leave it alone."""
        final = candidate.tries + 1 >= _PATIENCE
        failure = Failure("robots", why, final)
        visit = _visit(candidate, now, generation)(failure=failure)
        return Outcome(visit, again=None if final else wait)

    def answer(
        self,
        candidate: Candidate,
        response: Response,
        strategy: Strategy,
        now: float,
        streak: int,
        generation: int,
        wanted: Wanted = all_wanted,
    ) -> Outcome:
        """An answer came: a page, a redirect, or a refusal."""
        visit = _visit(candidate, now, generation, response)
        if response.status in (301, 302, 303, 307, 308):
            return self._redirect(candidate, response, visit)
        if response.status != 200 and response.status != 203:
            return _refused(candidate, response, visit, now, streak)
        try:
            page = read(
                response,
                candidate.link,
                strip_tracking=self.settings.scope.strip_tracking,
                outlinks=self.settings.scope.outlinks,
                html_limit=int(self.settings.fetch.html_mb * 1_000_000),
                words=self.words,
                wanted=wanted,
            )
        except ParseError as error:
            return Outcome(visit(failure=Failure("parse", str(error))))
        if page.media_type in LISTS:
            return self._list(candidate, page, visit)
        return self._page(candidate, page, visit, strategy)

    def _redirect(self, candidate: Candidate, response: Response, visit: partial[Visit]) -> Outcome:
        """The target goes to the frontier, so that its host, robots and scope count as ever."""
        link = candidate.link
        location = _utf8(response.header("location"))
        target = canonical(location, link.url)
        if target is None:
            detail = f"it points to {location[:200]!a}"
            return Outcome(visit(failure=Failure("protocol", detail)))
        visit = partial(visit, moved=target)
        if target == link.url:
            # A page that sends to itself wants its cookie back; three tries are enough.
            if candidate.tries < 2 and response.header("set-cookie"):
                failure = Failure("too_many_redirects", "sends to itself", final=False)
                return Outcome(visit(failure=failure), again=0.0)
            failure = Failure("too_many_redirects", "it points to itself")
            return Outcome(visit(failure=failure))
        if link.hops >= self.settings.fetch.redirects:
            failure = Failure("too_many_redirects", f"more than {link.hops} hops, to {target}")
            return Outcome(visit(failure=failure))
        channel = link.channel if link.channel in _LASTING else "redirect"
        onward = link._replace(
            url=target, source=link.url, channel=channel, hops=link.hops + 1, inlinks=1
        )
        if refusal := self.fence.refuses(onward):
            kind, why = refusal
            failure = Failure(kind, f"it points to {target}: {why}")
            return Outcome(visit(failure=failure))
        return Outcome(visit(), candidates=(Candidate(onward, candidate.score, candidate.score),))

    def _list(self, candidate: Candidate, page: Page, visit: partial[Visit]) -> Outcome:
        wanted, feed = self.settings.scope, page.media_type == "application/x-feed"
        barred = not wanted.feeds if feed else wanted.sitemaps == "never"
        if barred or self.settings.search.alone:
            return Outcome(visit(page=replace(page, links=())))
        return Outcome(visit(page=page), links=page.links, parent=candidate.link.parent * _FADE)

    def _page(
        self, candidate: Candidate, page: Page, visit: partial[Visit], strategy: Strategy
    ) -> Outcome:
        page, verdict = judged(strategy, page, self.languages)
        if not page.index:
            # It asks not to be kept: its links count, its words do not.
            failure = Failure("noindex", "the page asks not to be indexed")
            done = visit(response=None, failure=failure)
            copy = None
        else:
            copy = self.find_copy(page.url, page.text)
            done = visit(page=page, verdict=verdict, copy=copy)
        candidates = self._canonical(candidate, page)
        if copy is not None and copy.exact and same_path(copy.of, page.url):
            # The same words under one path with many queries: a session-id trap.
            return Outcome(done, candidates=candidates)
        if candidate.link.channel == "example" or self.settings.search.alone:
            # Fetched to learn from, or found by a search: nobody wants what it links to.
            return Outcome(done)
        parent = worth(verdict, self.languages)
        if candidate.link.depth == 0:
            # A seed is often a mere list, but somebody chose it: its links deserve a look.
            parent = max(parent, TRUST)
        return Outcome(done, page.links, parent, candidates, read=page)

    def _canonical(self, candidate: Candidate, page: Page) -> tuple[Candidate, ...]:
        """The address that the page itself prefers, if it is on the same site.

        A hint, not an order: too many sites name their front page everywhere. It waits with
        half the score, and if its words turn out the same, it is marked as a copy.
        """
        alone = self.settings.search.alone
        if alone or page.canonical is None or not _same_site(page.canonical, page.url):
            return ()
        link = candidate.link._replace(
            url=page.canonical, source=page.url, channel="redirect", inlinks=1
        )
        if self.fence.refuses(link) or link.hops >= self.settings.fetch.redirects:
            return ()
        link = link._replace(hops=link.hops + 1, parent=link.parent / 2)
        return (Candidate(link, candidate.score / 2, candidate.score / 2),)

    def sitemaps(self, found: tuple[Url, ...], source: Link, verdict: float) -> list[Link]:
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
            if _same_site(link.url, source.url) and self.fence.refuses(link) is None
        ]

    def admits(self, link: Link) -> bool:
        """Whether a link found on a page may wait."""
        most = self.settings.crawl.depth
        if most and link.depth > most:
            return False
        if link.channel == "feed" and not self.settings.scope.feeds:
            return False
        if is_sitemap(link) and link.source and not _same_site(link.url, link.source):
            return False
        return self.inside(link.url)

    def refusal(self, link: Link) -> Refusal | None:
        """Why a link may not be visited."""
        return None if self.inside(link.url) else self.fence.refuses(link)


def _utf8(header: str) -> str:
    """Headers are read as Latin-1, but servers write addresses in UTF-8."""
    try:
        return header.encode("latin-1").decode("utf-8")
    except UnicodeError:
        return header


def _refused(
    candidate: Candidate, response: Response, visit: partial[Visit], now: float, streak: int
) -> Outcome:
    """Any other status: the table in fetch/retry.py knows whether to come again."""
    plan = decide(
        response.status,
        tries=candidate.tries + 1,
        streak=streak,
        retry_after=response.header("retry-after"),
        now=now,
    )
    failure = Failure("status", f"HTTP {response.status}", final=plan.again is None)
    return Outcome(visit(failure=failure), rest=plan.rest, again=plan.again)


def _visit(
    candidate: Candidate, now: float, generation: int, response: Response | None = None
) -> partial[Visit]:
    """A visit of which only the end is missing: what it brought, or why it brought nothing."""
    return partial(
        Visit,
        link=candidate.link,
        at=now,
        generation=generation,
        queued=candidate.queued,
        score=candidate.score,
        tries=candidate.tries + 1,
        response=response,
    )


def same_path(one: str, other: str) -> bool:
    return one.partition("?")[0] == other.partition("?")[0]


def _same_site(one: str, other: str) -> bool:
    a, b = host(one), host(other)  # an address in numbers is a domain of its own
    return a == b or not (is_ip(a) or is_ip(b) or domain(a) != domain(b))
