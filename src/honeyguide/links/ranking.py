"""Where links come from: pages, sitemaps, a search engine. Which source is worth more just now?

A bandit over the sources: what came of each source's links is remembered for some hundred visits
and drawn from by Thompson sampling, as in Raj & Kalyani 2017 (discounted Thompson sampling), with
verdicts instead of wins and losses. It says when asking the engine beats following what waits.

A score says how promising a link looks, and the words of a snippet are not those of an anchor: the
same score may mean more from one source than from another. So scores are corrected, in log-odds, by
how far a source's links kept what they promised, beside those of pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import exp
from random import Random
from typing import Literal, Protocol

from honeyguide.languages.gate import LanguageGate
from honeyguide.models.logistic import log_odds
from honeyguide.protocols import Frontier, Strategy
from honeyguide.types import Channel, Link, Page, Url, Visit

LinkSource = Literal["link", "search", "sitemap"]

_CHANNEL_SOURCES: dict[Channel, LinkSource] = {
    "link": "link", "redirect": "link", "search": "search", "sitemap": "sitemap", "feed": "sitemap",
}  # fmt: skip
"""A redirect keeps the channel that led to it, unless it was a link's (or a seed's)."""

_DECAY = 0.99
"""What a visit still counts for at the next one, whatever its source."""
_PRIOR_VISITS = 10.0
"""So many visits that kept their promise are thought to have been made besides."""
_MIN_CHANCE = 0.02
"""Nothing is expected more surely than this, nor less."""
_MAX_CORRECTION = 1.5
"""Most log-odds of a correction."""
_NOVEL_SHARE = 0.2
"""A page of results of which this share is new was worth its request: visits are what is scarce."""
_RERANK_STEP = 0.3
"""What waits is ranked anew when a correction moved so far."""


class _SourceTally:
    __slots__ = ("count", "good", "promised")

    def __init__(self) -> None:
        self.count = self.good = self.promised = 0.0


class SourceBandit:
    """Told of every visit."""

    def __init__(self, seed: int) -> None:
        self._dice = Random(seed)
        self._tallies: dict[LinkSource, _SourceTally] = {
            "link": _SourceTally(), "search": _SourceTally(), "sitemap": _SourceTally(),
        }  # fmt: skip
        self._lifts: dict[LinkSource, float] = {"link": 0.0, "search": 0.0, "sitemap": 0.0}

    def record_visit(self, visit: Visit) -> bool:
        """Whether corrections moved so far that what waits should be ranked anew."""
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
        """A yield that this source may have, by what is known of it."""
        found = self._tallies[source]
        return self._dice.betavariate(1 + found.good, 1 + max(0.0, found.count - found.good))

    def asking_pays(self, novelty: float) -> bool:
        """Whether to ask the engine, of whose results this share is new, or follow what waits."""
        rivals: list[LinkSource] = ["link"]
        if self._tallies["sitemap"].count >= 1:
            rivals.append("sitemap")
        return self.draw_yield("search") * min(1.0, novelty / _NOVEL_SHARE) > max(
            map(self.draw_yield, rivals)
        )

    def correct_scores(self, links: Sequence[Link], scores: Sequence[float]) -> list[float]:
        """The scores, corrected by where the links come from."""
        lifts = self._lifts
        return [
            _shift_score(score, lift)
            if (source := link_source(link)) is not None and (lift := lifts[source])
            else score
            for link, score in zip(links, scores, strict=True)
        ]

    def score_correction(self, source: LinkSource) -> float:
        """What is added to the log-odds of this source's scores now."""
        return self._lifts[source]

    def _update_corrections(self) -> bool:
        """Links on pages are the measure: their scores stay as they are."""
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
    """None: a person gave it, or it leads on from what a person gave."""
    return None if link.depth == 0 else _CHANNEL_SOURCES.get(link.channel)


def visit_worth(visit: Visit) -> float | None:
    """What came of a link: a copy, or nothing, is worth nothing. None: it says nothing yet, or it
    led to a list that nobody judges."""
    if visit.failure is not None:
        return 0.0 if visit.failure.final else None
    if visit.moved is not None or visit.verdict is None:
        return None
    return 0.0 if visit.duplicate is not None else min(max(visit.verdict.score, 0.0), 1.0)


def _source_surprise(found: _SourceTally) -> float:
    """By how much more came than was promised, in log-odds; little is believed of few visits."""
    if not found.count:
        return 0.0
    promised = found.promised / found.count
    came = (found.good + _PRIOR_VISITS * promised) / (found.count + _PRIOR_VISITS)
    return log_odds(came, _MIN_CHANCE) - log_odds(promised, _MIN_CHANCE)


def _shift_score(score: float, lift: float) -> float:
    if not lift or not 0.0 < score < 1.0:
        return score
    return 1 / (1 + (1 - score) / score * exp(-lift))


# --------------------------------------------------------------------------------------------------
# What a link is worth: the strategy says, except of links that are worth the same to everybody.
# --------------------------------------------------------------------------------------------------


SITEMAP_SCORE = 0.9
"""A sitemap goes before most pages of its site."""

_GIVEN_CHANNELS = frozenset({"seed", "example"})
"""Links that a person gave us."""


class LinkKnowledge(Protocol):
    """Knows more of a link than the page that it was just found on: the ledger, or its parents."""

    ahead: int
    """Of the links in front, about so many are ranked anew after a visit."""

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
    anew: bool = False,
) -> list[float]:
    """The strategy's scores, but seeds and sitemaps keep what they are worth to everybody.

    With a ledger, each link is told what came of its like before, or what its pages are worth.
    ``anew``: it waits already, and of the places where it stands the best counts; a new one is
    compared with what it was worth so far by the frontier.
    With languages, its score is times the chance that it leads to a wanted one. With sources, it is
    corrected by how far links that came to us in the same way kept what they promised.
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
) -> None:
    """After a visit: links about which more is known now are ranked by what the ledger says."""
    if (urls := ledger.pop_changed_links()) or ledger.ahead:
        again = partial(
            rank_links, strategy, ledger, languages=languages, sources=sources, anew=True
        )
        frontier.rerank_some(again, urls, ledger.ahead)


def is_sitemap(link: Link) -> bool:
    """Whether it leads to a sitemap, which comes under any media type."""
    return link.channel == "sitemap" and link.rel == "sitemap"
