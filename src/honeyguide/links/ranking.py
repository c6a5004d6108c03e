"""Scores of links: the strategy, the language gate, and a bandit over the sources of links.

The bandit stores the yields of the links of each source (pages, sitemaps, a search engine) over
some hundred visits and draws by Thompson sampling, as in Raj & Kalyani 2017 (discounted Thompson
sampling), with verdicts instead of wins and losses. It decides when asking the engine is better
than following waiting links.

The same score may mean more from one source than from another, since the words of a snippet are not
those of an anchor. So scores are corrected, in log-odds, by how far the links of a source kept
their promise, compared with links on pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import exp
from random import Random
from typing import Literal, Protocol

from honeyguide.languages.gate import LanguageGate
from honeyguide.links.dead_links import DeadLinks
from honeyguide.models.logistic import log_odds
from honeyguide.protocols import Frontier, Strategy
from honeyguide.types import Channel, Link, Page, Url, Visit

LinkSource = Literal["link", "search", "sitemap"]

_CHANNEL_SOURCES: dict[Channel, LinkSource] = {
    "link": "link", "redirect": "link", "search": "search", "sitemap": "sitemap", "feed": "sitemap",
}  # fmt: skip
"""A redirect keeps the channel that led to it, unless that was a link or a seed."""

_DECAY = 0.99
"""Weight of a visit at the next one."""
_PRIOR_VISITS = 10.0
"""Prior visits that kept their promise."""
_MIN_CHANCE = 0.02
"""Least expected probability, and its distance to 1."""
_MAX_CORRECTION = 1.5
"""Largest log-odds of a correction."""
_NOVEL_SHARE = 0.2
"""Share of new results from which on a page of results was worth its request."""
_RERANK_STEP = 0.3
"""Waiting links are ranked again when a correction moved so far."""


class _SourceTally:
    """Decayed sums of one source."""

    __slots__ = ("count", "good", "promised")

    def __init__(self) -> None:
        self.count = self.good = self.promised = 0.0


class SourceBandit:
    """Yields and corrections of the sources of links."""

    def __init__(self, seed: int) -> None:
        self._dice = Random(seed)
        self._tallies: dict[LinkSource, _SourceTally] = {
            "link": _SourceTally(), "search": _SourceTally(), "sitemap": _SourceTally(),
        }  # fmt: skip
        self._lifts: dict[LinkSource, float] = {"link": 0.0, "search": 0.0, "sitemap": 0.0}

    def record_visit(self, visit: Visit) -> bool:
        """Record a visit. Returns whether a correction moved so far that waiting links should be
        ranked again."""
        source, value = link_source(visit.link), visit_worth(visit)
        if source is None or value is None:
            return False
        for tally in self._tallies.values():
            tally.count *= _DECAY
            tally.good *= _DECAY
            tally.promised *= _DECAY
        found = self._tallies[source]
        found.count += 1
        found.good += value
        # What the strategy promised, before we corrected it.
        found.promised += _shift_score(visit.score, -self._lifts[source])
        return self._update_corrections()

    def draw_yield(self, source: LinkSource) -> float:
        """A random yield of this source from its posterior."""
        found = self._tallies[source]
        return self._dice.betavariate(1 + found.good, 1 + max(0.0, found.count - found.good))

    def asking_pays(self, novelty: float) -> bool:
        """Whether to ask the engine, ``novelty`` of whose results are new, rather than follow
        waiting links."""
        rivals: list[LinkSource] = ["link"]
        if self._tallies["sitemap"].count >= 1:
            rivals.append("sitemap")
        return self.draw_yield("search") * min(1.0, novelty / _NOVEL_SHARE) > max(
            map(self.draw_yield, rivals)
        )

    def correct_scores(self, links: Sequence[Link], scores: Sequence[float]) -> list[float]:
        """The scores, corrected by the source of each link."""
        lifts = self._lifts
        return [
            _shift_score(score, lift)
            if (source := link_source(link)) is not None and (lift := lifts[source])
            else score
            for link, score in zip(links, scores, strict=True)
        ]

    def score_correction(self, source: LinkSource) -> float:
        """Log-odds that are added to the scores of this source."""
        return self._lifts[source]

    def _update_corrections(self) -> bool:
        """Links on pages are the reference: their scores stay as they are."""
        base = _source_surprise(self._tallies["link"])
        moved = False
        for source in ("search", "sitemap"):
            found = self._tallies[source]
            lift = 0.0
            if found.count:
                lift = min(max(_source_surprise(found) - base, -_MAX_CORRECTION), _MAX_CORRECTION)
            if abs(lift - self._lifts[source]) >= _RERANK_STEP:
                self._lifts[source] = lift
                moved = True
        return moved


def link_source(link: Link) -> LinkSource | None:
    """The source of a link; None for links from people and what they redirect to."""
    return None if link.depth == 0 else _CHANNEL_SOURCES.get(link.channel)


def visit_worth(visit: Visit) -> float | None:
    """The yield of a link; 0 for a copy or a failure. None: nothing yet, or a list without a
    verdict."""
    if visit.failure is not None:
        return 0.0 if visit.failure.final else None
    if visit.moved is not None or visit.verdict is None:
        return None
    return 0.0 if visit.duplicate is not None else min(max(visit.verdict.score, 0.0), 1.0)


def _source_surprise(found: _SourceTally) -> float:
    """Difference of yield and promise in log-odds, shrunk for few visits."""
    if not found.count:
        return 0.0
    promised = found.promised / found.count
    came = (found.good + _PRIOR_VISITS * promised) / (found.count + _PRIOR_VISITS)
    return log_odds(came, _MIN_CHANCE) - log_odds(promised, _MIN_CHANCE)


def _shift_score(score: float, lift: float) -> float:
    if not lift or not 0.0 < score < 1.0:
        return score
    return 1 / (1 + (1 - score) / score * exp(-lift))


# --- Ranking ---


SITEMAP_SCORE = 0.9
"""Score of a sitemap: it goes before most pages of its site."""

_GIVEN_CHANNELS = frozenset({"seed", "example"})
"""Links from people."""


class LinkKnowledge(Protocol):
    """Knows the other pages of a link: the history of links, or their parent pages."""

    ahead: int
    """About so many of the best waiting links are ranked again after a visit."""

    def record_page(
        self, source: Link, verdict: float, links: Sequence[Link], read: Page | None = None
    ) -> None: ...
    def record_visit(self, visit: Visit) -> None: ...
    def annotate_links(self, links: Sequence[Link]) -> list[Link]: ...
    def other_places(self, links: Sequence[Link]) -> list[tuple[int, Link]]: ...
    def pop_changed_links(self) -> list[Url]: ...


def rank_links(
    strategy: Strategy,
    ledger: LinkKnowledge | None,
    links: Sequence[Link],
    languages: LanguageGate | None = None,
    sources: SourceBandit | None = None,
    *,
    dead_links: DeadLinks | None = None,
    anew: bool = False,
) -> list[float]:
    """The scores of the strategy; seeds and sitemaps have fixed ones.

    With a ledger, each link gets its statistics or the value of its pages. ``anew``: the links wait
    already, and of their places the best counts; the frontier compares a new link with its score so
    far. With languages, scores are multiplied by the probability of a wanted language, and with
    dead links by the chance that there is a page. With sources, they are corrected by how far links
    of the same source kept their promise.
    """
    if ledger is not None:
        links = ledger.annotate_links(links)
    scores = strategy.rank(links)
    if ledger is not None and anew and (further := ledger.other_places(links)):
        scores = list(scores)
        others = strategy.rank([place for _, place in further])
        for (number, _), score in zip(further, others, strict=True):
            scores[number] = max(scores[number], score)
    if languages is not None:
        scores = languages.weigh_scores(links, scores)
    if dead_links is not None:
        scores = dead_links.weigh_scores(links, scores)
    scores = [
        1.0
        if link.channel in _GIVEN_CHANNELS
        else SITEMAP_SCORE * link.parent
        if is_sitemap(link)
        else score
        for link, score in zip(links, scores, strict=True)
    ]
    return scores if sources is None else sources.correct_scores(links, scores)


def rerank_changed(
    strategy: Strategy,
    ledger: LinkKnowledge,
    frontier: Frontier,
    languages: LanguageGate | None = None,
    sources: SourceBandit | None = None,
    dead_links: DeadLinks | None = None,
) -> None:
    """After a visit, rank links again whose statistics changed."""
    if (urls := ledger.pop_changed_links()) or ledger.ahead:
        rank = partial(rank_links, strategy, ledger, dead_links=dead_links, anew=True)
        again = partial(rank, languages=languages, sources=sources)
        frontier.rerank_some(again, urls, ledger.ahead)


def is_sitemap(link: Link) -> bool:
    """Whether it leads to a sitemap, which may have any media type."""
    return link.channel == "sitemap" and link.rel == "sitemap"
