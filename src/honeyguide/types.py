"""The values that pass between the parts of a crawl. They are immutable.

There is no ``meta`` dictionary: a new fact is a new field.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, NewType

Url = NewType("Url", str)
"""A canonical address, made only by :func:`honeyguide.url.canonical_url`."""

Channel = Literal["seed", "link", "redirect", "sitemap", "feed", "search", "example"]
"""How a link was found."""

FailureKind = Literal[
    "dns", "connect", "tls", "timeout", "protocol", "too_large", "too_many_redirects",
    "forbidden", "wrong_type", "robots", "noindex", "scope", "trap", "status", "parse", "bug",
    "fetch",
]  # fmt: skip
"""Why a visit brought no page. The first nine are the ``kind`` of a ``FetchError``."""


MAX_TOPICS = 10
"""Topics of one crawl: each judges every page and learns in a process of its own."""

UNREQUESTED: frozenset[FailureKind] = frozenset({"robots", "forbidden", "scope", "trap"})
"""Failures of links for which no request was sent: recorded, but no visits."""


class LinkStats(NamedTuple):
    """Statistics of links like this one when it was ranked.

    Yields are mean verdicts, 0..1, shrunk towards those of the wider group while few are known.
    """

    host: float
    """Yield of the links to its host."""
    host_count: float
    """How many of them were followed, old ones counting less."""
    group: float
    """Yield of the links to its host at the same place of a page (tag path)."""
    group_count: float
    siblings: float
    """Yield of the other links on the pages that it stands on."""
    parents: float
    """Mean verdict of the pages that it stands on."""
    best: float
    """Best verdict of these pages."""
    relevant: int
    """Number of relevant pages among them."""
    barren: int
    """Steps since the last relevant page on the way to it; 0: it stands on one."""
    visits: int
    """Visits so far."""
    surprise: float = 0.0
    """How much more than expected links to its host, at its place and on its pages brought, in
    log-odds to be added."""
    authority: float = 0.0
    """Number and quality of the hosts that link to it, relative to the best link: 0..1. This and
    the following two fields are set for strategies with :attr:`StrategyTraits.uses_authority`."""
    originality: float = 1.0
    """How little its pages resemble pages that were read before."""
    topic_similarity: float = 0.0
    """Cosine of its anchor and the key words of its page with the topic."""
    beside: float = 0.1
    """Yield of its neighbours, the nearest counting most."""


class Link(NamedTuple):
    """A link on a page. A named tuple, because a page has a hundred of them."""

    url: Url
    source: Url | None = None
    """The page that it stands on; None for a seed."""
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
    """Redirects since the last real link."""
    parent: float = 1.0
    """Score of the page that it stands on; of several pages:
    :attr:`StrategyTraits.parent_score`."""
    inlinks: int = 1
    yields: LinkStats | None = None
    """Set for strategies with :attr:`StrategyTraits.uses_link_stats` while they rank."""

    # Made as tuples are: a page has a hundred links, and ``_replace`` takes three times as long.

    def with_parent(self, parent: float) -> Link:
        """The same link with another score of the page it stands on."""
        return tuple.__new__(Link, (*self[:_PARENT], parent, *self[_PARENT + 1 :]))

    def with_inlinks(self, inlinks: int) -> Link:
        """The same link, found on so many pages."""
        return tuple.__new__(Link, (*self[:_INLINKS], inlinks, *self[_INLINKS + 1 :]))

    def with_yields(self, yields: LinkStats) -> Link:
        """The same link with what is known of links like it."""
        return tuple.__new__(Link, (*self[:_YIELDS], yields))


_PARENT = Link._fields.index("parent")
_INLINKS = Link._fields.index("inlinks")
_YIELDS = Link._fields.index("yields")
assert len(Link._fields) == _YIELDS + 1, "Link.with_yields takes it for the last field"


class Candidate(NamedTuple):
    """A link with a score, waiting in the frontier or just taken from it."""

    link: Link
    score: float
    """The present score."""
    initial_score: float = 0.0
    """The score when the link was first found."""
    tries: int = 0
    """Attempts already made."""
    row: int = -1
    """Its row in the frontier; -1 before it has one."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request to fetch an address."""

    url: Url
    referer: Url | None = None
    etag: str = ""
    modified: str = ""
    """Validators of an earlier response; empty for a first visit."""
    limit: int | None = None
    """Most bytes of the decoded body; None: the default of the fetcher for the media type."""
    truncate: bool = False
    """Keep the first ``limit`` bytes instead of failing (robots.txt)."""
    any_type: bool = False
    """Skip the media-type gate (robots.txt, sitemaps)."""
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Additional headers, without cookies; may contain a key, so they are never logged, archived or
    shown."""
    body: bytes = field(default=b"", repr=False)
    """What is sent, by POST; empty: GET."""


class Response(NamedTuple):
    """One response; redirects are not followed."""

    url: Url
    status: int
    headers: tuple[tuple[str, str], ...]
    """In the order received, names as sent."""
    payload: bytes
    """As sent, without transfer coding, with content coding: the content of the WARC file."""
    body: bytes
    """The payload without content coding."""
    request_head: bytes
    """The request as sent, from request line to blank line; empty without archive."""
    head: bytes
    """Status line and headers as received, to the blank line; empty without archive."""
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
    """The main text, or the whole text if no main part was found."""
    links: tuple[Link, ...] = ()
    language: str = ""
    """Declared language (``html lang`` or Content-Language) in lower case, or ''."""
    canonical: Url | None = None
    index: bool = True
    """False: the page asks not to be indexed (meta robots, X-Robots-Tag)."""
    follow: bool = True
    """False: the page asks that its links not be followed."""
    media_type: str = "text/html"
    charset: str = "utf-8"
    detected_language: str = ""
    """Code of the detected language; '' if it was not detected."""


class Reason(NamedTuple):
    """One piece of evidence: what was seen and how much it counted."""

    what: str
    weight: float


UNKNOWN_SCORE = 0.49
"""Score of a page without any knowledge of the topic: just not relevant."""


class Verdict(NamedTuple):
    """The relevance of a page, 0..1, with reasons."""

    score: float
    reasons: tuple[Reason, ...] = ()
    topics: tuple[float, ...] = ()
    """Score for each topic, in their order; empty with one topic."""
    ungated: float | None = None
    """Score before the language gate set it to 0; None: the page passed the gate."""


class Failure(NamedTuple):
    """Why a visit brought no page: failures are data."""

    kind: FailureKind
    detail: str = ""
    final: bool = True
    """False: it will be tried again."""


class DuplicateOf(NamedTuple):
    """The page repeats the text of an earlier one."""

    of: Url
    exact: bool


class Visit(NamedTuple):
    """One attempt to visit a link."""

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
    """Target of a redirect."""
    failure: Failure | None = None
    unproven: bool = False
    """Its site is on probation (links/host_trust.py)."""

    def is_relevant(self, threshold: float) -> bool:
        """Whether its page reaches the threshold, copies no other and need not prove itself."""
        reached = self.verdict is not None and self.verdict.score >= threshold
        return reached and self.duplicate is None and not self.unproven

    @property
    def was_requested(self) -> bool:
        """Whether a request was sent. Forbidden links are recorded, but are no visits."""
        return (
            self.failure is None
            or self.response is not None
            or self.failure.kind not in UNREQUESTED
        )


MODEL_LABELLER = "model:"
"""How the name begins under which the labels of a language model are kept."""


@dataclass(frozen=True, slots=True)
class Label:
    """A judgement of a page, by a person or by a language model."""

    url: Url
    value: float
    by: str = "user"
    at: float = 0.0
    topic: str = ""
    """Name of its topic; '': the first."""


class StrategyTraits(NamedTuple):
    """What a strategy needs and how its candidates are ordered."""

    order: Literal["best", "breadth", "proportional"] = "best"
    merge: Literal["max", "any"] = "max"
    """Several links to one page: the best counts, or each adds to the others."""
    learns: bool = False
    needs: tuple[Literal["keywords", "description", "good", "bad", "ontology"], ...] = ()
    """Any one of these must be in the topic; empty: nothing is needed."""
    learns_from_visits: bool = False
    """It learns from every visit with the verdict as target, besides labels."""
    reads_outlinks: bool = False
    """It uses the links on the pages that it learns from."""
    learns_on_growth: bool = False
    """It learns when its examples grew by a tenth, not every so many pages."""
    reads: Literal["words", "links"] = "words"
    """What it uses: words of pages and around links, or only the targets of links."""
    uses_link_stats: bool = False
    """It uses statistics of similar links; links are ranked again when these change."""
    uses_authority: bool = False
    """It also uses the hosts that link to a link, and the words of its pages."""
    parent_score: Literal["first", "best", "all", "each"] = "first"
    """The ``parent`` of a link while it is ranked: the verdict of the first page with it, of the
    best page, or the value of all its pages together. With ``each`` it is ranked at each place with
    its words, and the best counts (links/parent_pages.py)."""
    uses_neighbours: bool = False
    """With ``parent_score`` all or each: yields of neighbouring links count as well, unless
    ``learn.teacher`` is none."""
    learned_fields: tuple[str, ...] = ()
    """Fields of plain numbers and words that training fills: no parameters in topic.toml."""
    judges_in_chances: bool = False
    """Its verdicts are meant as probabilities of the pages that the crawl visits."""
    cut_parameter: str = ""
    """The parameter that says which pages are relevant; where the topic sets it, the verdicts
    that reach ``topic.threshold`` are, as published."""


@dataclass(frozen=True, slots=True)
class Example:
    """A training example."""

    link: Link
    page: Page
    target: float
    by: Literal["seed", "user", "judge", "visit"]
    """From the topic, a label of a person, a confident verdict, or the verdict of any visit."""
    elapsed: float = 0.0
    """Response time of its host in seconds; 0 if unknown."""
    topic: str = ""
    """Name of the topic of a label; '': the first."""
    topics: tuple[float, ...] = ()
    """Score for each topic, if there are several."""
    foreign: bool = False
    """The target is 0 because of the language of the page, or because it is a copy: it concerns
    links and not the topic."""


@dataclass(frozen=True, slots=True)
class Concept:
    """A concept of an ontology with its distance from the topic."""

    name: str
    distance: int
    synonyms: tuple[str, ...] = ()
