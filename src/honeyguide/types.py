"""The values that travel round the ring. Each is complete and never changes.

There is no ``meta`` dictionary anywhere: a new fact is a new field.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, NewType

Url = NewType("Url", str)
"""A canonical address. Only :func:`honeyguide.url.canonical_url` makes one."""

Channel = Literal["seed", "link", "redirect", "sitemap", "feed", "search", "example"]
"""How a link came to us."""

FailureKind = Literal[
    "dns", "connect", "tls", "timeout", "protocol", "too_large", "too_many_redirects",
    "forbidden", "wrong_type", "robots", "noindex", "scope", "trap", "status", "parse", "bug",
    "fetch",
]  # fmt: skip
"""Why a visit brought no page. The first nine are the ``kind`` of a ``FetchError``."""


MAX_TOPICS = 10
"""Topics of one crawl: each judges every page and learns in a process of its own."""

UNREQUESTED: frozenset[FailureKind] = frozenset({"robots", "forbidden", "scope", "trap"})
"""Failures, without an answer, of links that nobody was asked for: told, but no visits."""


class LinkStats(NamedTuple):
    """What came of links like this one, as far as the crawl knew when it was ranked.

    Yields are mean verdicts, 0..1, drawn towards those of the wider circle while few are known.
    """

    host: float
    """Of the links to its host …"""
    host_count: float
    """… and how many were followed, old ones counting less."""
    group: float
    """Of the links to its host that stood in the same place of a page (tag path) …"""
    group_count: float
    siblings: float
    """Of the other links on the pages that it stands on."""
    parents: float
    """Mean verdict of the pages that it stands on."""
    best: float
    """The best of them."""
    relevant: int
    """How many of them are relevant."""
    barren: int
    """Steps since the last relevant page on the way to it; 0: it stands on one."""
    visits: int
    """Visits made so far."""
    surprise: float = 0.0
    """How much more than expected came of links to its host, in its place and on its pages: in
    log-odds, to be added."""
    authority: float = 0.0
    """How many hosts link to it and how good they are, beside the best-backed link: 0..1. This and
    what follows is told to those who ask for it (:attr:`StrategyTraits.uses_authority`)."""
    originality: float = 1.0
    """How little the pages that it stands on resemble pages that were read before them."""
    topic_similarity: float = 0.0
    """How much its anchor and the key words of its page are the topic's: a cosine."""
    beside: float = 0.1
    """What came of the links that stand beside it, the nearest counting most."""


class Link(NamedTuple):
    """An edge seen on a page. A named tuple, because a page has a hundred of them."""

    url: Url
    source: Url | None = None
    """The page it stood on; None for a seed."""
    anchor: str = ""
    before: str = ""
    """Up to 50 characters before the anchor, cut at the neighbouring anchor."""
    after: str = ""
    tag_path: str = ""
    """Element names from the body down to the anchor: ``div.nav/ul/li``."""
    rel: str = ""
    hreflang: str = ""
    channel: Channel = "link"
    depth: int = 0
    hops: int = 0
    """Redirects that led here since the last real link."""
    parent: float = 1.0
    """The verdict's score of the page it stood on; what that means where it stands on several:
    :attr:`StrategyTraits.parent_score`."""
    inlinks: int = 1
    yields: LinkStats | None = None
    """Told to strategies that ask for it (:attr:`StrategyTraits.uses_link_stats`), while they rank.
    """

    # Made as tuples are: a page has a hundred links, and ``_replace`` takes three times as long.

    def with_parent(self, parent: float) -> Link:
        """The same link with another score of the page it stands on."""
        return tuple.__new__(Link, (*self[:_PARENT], parent, *self[_PARENT + 1 :]))

    def with_inlinks(self, inlinks: int) -> Link:
        """The same link, found on so many pages."""
        return tuple.__new__(Link, (*self[:_INLINKS], inlinks, *self[_INLINKS + 1 :]))

    def with_yields(self, yields: LinkStats) -> Link:
        """The same link with what is known of links like it."""
        return tuple.__new__(Link, (*self[:_YIELDS], yields, *self[_YIELDS + 1 :]))


_PARENT = Link._fields.index("parent")
_INLINKS = Link._fields.index("inlinks")
_YIELDS = Link._fields.index("yields")


class Candidate(NamedTuple):
    """A link with a score, waiting in the frontier or just taken from it."""

    link: Link
    score: float
    """What the strategy says now."""
    initial_score: float = 0.0
    """What it said when the link was first seen."""
    tries: int = 0
    """Attempts already made."""
    row: int = -1
    """Its place in the frontier; -1 before it has one."""


@dataclass(frozen=True, slots=True)
class Request:
    url: Url
    referer: Url | None = None
    etag: str = ""
    modified: str = ""
    """Validators echoed from an earlier answer; empty for a first visit."""
    limit: int | None = None
    """Byte cap of the decoded body; None: the fetcher's own, by media type."""
    truncate: bool = False
    """Keep the first ``limit`` bytes instead of failing (robots.txt)."""
    any_type: bool = False
    """Skip the media-type gate (robots.txt, sitemaps)."""
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Sent besides our own, without cookies; may hold a key, so never logged, archived or shown."""


class Response(NamedTuple):
    """One answer, redirects included: the fetcher never follows them."""

    url: Url
    status: int
    headers: tuple[tuple[str, str], ...]
    """In the order received, names as sent."""
    payload: bytes
    """As sent, transfer coding removed, content coding kept: what the WARC file holds."""
    body: bytes
    """The payload with its content coding undone."""
    request_head: bytes
    """The request as it went out, request line to blank line; empty if nobody archives it."""
    head: bytes
    """Status line and headers as received, to the blank line; empty if nobody archives them."""
    ip: str
    started: float
    """Unix time at which the request was sent."""
    elapsed: float
    """Seconds until the last byte."""

    def header(self, name: str) -> str:
        """The first header of that name, or ''."""
        wanted, length = name.lower(), len(name)
        for key, value in self.headers:
            if len(key) == length and key.lower() == wanted:
                return value
        return ""

    @property
    def media_type(self) -> str:
        return self.header("content-type").partition(";")[0].strip().lower()


@dataclass(frozen=True, slots=True)
class Page:
    """A parsed response."""

    url: Url
    title: str = ""
    description: str = ""
    headings: tuple[str, ...] = ()
    text: str = ""
    """The main text; the whole body text where no main part stands out."""
    links: tuple[Link, ...] = ()
    language: str = ""
    """As declared (``html lang`` or Content-Language), lower case; '' if not."""
    canonical: Url | None = None
    index: bool = True
    """False: the page asks not to be indexed (meta robots, X-Robots-Tag)."""
    follow: bool = True
    """False: the page asks that its links not be followed."""
    media_type: str = "text/html"
    charset: str = "utf-8"
    detected_language: str = ""
    """The language its words are in, as heard; '' if nobody listened or could tell."""


class Reason(NamedTuple):
    """One piece of evidence: what was seen and how much it counted."""

    what: str
    weight: float


UNKNOWN_SCORE = 0.49
"""What a strategy says of a page when it knows nothing of the topic: not enough to be relevant."""


class Verdict(NamedTuple):
    """The relevance of a page, 0..1, with reasons."""

    score: float
    reasons: tuple[Reason, ...] = ()
    topics: tuple[float, ...] = ()
    """The score for each topic, in their order; empty with one topic."""
    ungated: float | None = None
    """The score before the language gate made it 0; None: the gate let the page through."""


class Failure(NamedTuple):
    """The web failing is data."""

    kind: FailureKind
    detail: str = ""
    final: bool = True
    """False: it will be tried again."""


class DuplicateOf(NamedTuple):
    """This page's text was seen before."""

    of: Url
    exact: bool


class Visit(NamedTuple):
    """Everything known about one attempt."""

    link: Link
    at: float
    generation: int = 0
    initial_score: float = 0.0
    """Score when the link entered the frontier."""
    score: float = 0.0
    """Score when it was taken out."""
    tries: int = 1
    response: Response | None = None
    page: Page | None = None
    verdict: Verdict | None = None
    duplicate: DuplicateOf | None = None
    moved: Url | None = None
    """Where a redirect points."""
    failure: Failure | None = None

    @property
    def was_requested(self) -> bool:
        """Whether the site was asked. What we must not ask for is told, but it is no visit."""
        return (
            self.failure is None
            or self.response is not None
            or self.failure.kind not in UNREQUESTED
        )


@dataclass(frozen=True, slots=True)
class Label:
    """A person's judgement of a page."""

    url: Url
    value: float
    by: str = "user"
    at: float = 0.0
    topic: str = ""
    """The name of the topic it is about; '': the first."""


class StrategyTraits(NamedTuple):
    """What a strategy is used to: how its candidates are served and what it can start from."""

    order: Literal["best", "breadth", "proportional"] = "best"
    merge: Literal["max", "any"] = "max"
    """Several links to one page: the best of them counts, or each adds to the others."""
    learns: bool = False
    needs: tuple[Literal["keywords", "description", "good", "bad", "ontology"], ...] = ()
    """Any one of these must be in the topic; empty: nothing is needed."""
    learns_from_visits: bool = False
    """It learns from every visit, with the verdict as the target, besides labels."""
    reads_outlinks: bool = False
    """It reads the links on the pages that it learns from."""
    learns_on_growth: bool = False
    """It learns whenever its examples grew by a tenth, not every so many pages."""
    reads: Literal["words", "links"] = "words"
    """What it looks at: the words of pages and around links, or only where links lead."""
    uses_link_stats: bool = False
    """It wants to know what came of similar links, and ranks anew those that are touched by it."""
    uses_authority: bool = False
    """It wants to know, besides, who links to a link, and among which words."""
    parent_score: Literal["first", "best", "all", "each"] = "first"
    """A link's ``parent``, while it is ranked: the verdict of the page that it was found on, of the
    best page that it stands on, or what all of these are worth together. Or it is ranked as it
    stands on each of them, words and all, and the best counts (links/parent_pages.py)."""
    uses_neighbours: bool = False
    """With ``parents`` all or each: what came of the links beside it counts, too, unless
    ``learn.teacher`` is none."""
    learned_fields: tuple[str, ...] = ()
    """Fields of plain numbers and words that a lesson fills: no parameters for topic.toml."""


@dataclass(frozen=True, slots=True)
class Example:
    """What a strategy learns from."""

    link: Link
    page: Page
    target: float
    by: Literal["seed", "user", "judge", "visit"]
    """Given with the topic, a person's label, a confident verdict, or any visit's verdict."""
    elapsed: float = 0.0
    """Seconds its host took to answer; 0 if nobody knows."""
    topic: str = ""
    """The name of the topic that a person's target is about; '': the first."""
    topics: tuple[float, ...] = ()
    """The verdict's score for each topic, where there are several."""
    foreign: bool = False
    """The target is 0 for the page's language, or because it is a copy: it tells of links, and
    nothing of the topic."""


@dataclass(frozen=True, slots=True)
class Concept:
    """A concept of an ontology, as near to the topic as its distance says."""

    name: str
    distance: int
    synonyms: tuple[str, ...] = ()
