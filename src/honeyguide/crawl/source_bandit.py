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
from math import exp, log
from random import Random
from typing import Literal

from honeyguide.types import Channel, Link, Visit

Source = Literal["link", "search", "sitemap"]

_SOURCE: dict[Channel, Source] = {
    "link": "link", "redirect": "link", "search": "search", "sitemap": "sitemap", "feed": "sitemap",
}  # fmt: skip
"""A redirect keeps the channel that led to it, unless it was a link's (or a seed's)."""

_FADE = 0.99
"""What a visit still counts for at the next one, whatever its source."""
_DOUBT = 10.0
"""So many visits that kept their promise are thought to have been made besides."""
_SURE = 0.02
"""Nothing is expected more surely than this, nor less."""
_FAR = 1.5
"""Most log-odds of a correction."""
_ENOUGH = 0.2
"""A page of results of which this share is new was worth its request: visits are what is scarce."""
_STEP = 0.3
"""What waits is ranked anew when a correction moved so far."""


class _Tally:
    __slots__ = ("count", "good", "promised")

    def __init__(self) -> None:
        self.count = self.good = self.promised = 0.0


class Sources:
    """Told of every visit."""

    def __init__(self, seed: int) -> None:
        self._dice = Random(seed)
        self._tallies: dict[Source, _Tally] = {
            "link": _Tally(), "search": _Tally(), "sitemap": _Tally(),
        }  # fmt: skip
        self._lifts: dict[Source, float] = {"link": 0.0, "search": 0.0, "sitemap": 0.0}

    def followed(self, visit: Visit) -> bool:
        """Whether corrections moved so far that what waits should be ranked anew."""
        source, value = source_of(visit.link), worth(visit)
        if source is None or value is None:
            return False
        for tally in self._tallies.values():
            tally.count *= _FADE
            tally.good *= _FADE
            tally.promised *= _FADE
        found = self._tallies[source]
        found.count += 1
        found.good += value
        # What the strategy promised, before we corrected it.
        found.promised += _lifted(visit.score, -self._lifts[source])
        return self._correct()

    def draw(self, source: Source) -> float:
        """A yield that this source may have, by what is known of it."""
        found = self._tallies[source]
        return self._dice.betavariate(1 + found.good, 1 + max(0.0, found.count - found.good))

    def asking_pays(self, novelty: float) -> bool:
        """Whether to ask the engine, of whose results this share is new, or follow what waits."""
        rivals: list[Source] = ["link"]
        if self._tallies["sitemap"].count >= 1:
            rivals.append("sitemap")
        return self.draw("search") * min(1.0, novelty / _ENOUGH) > max(map(self.draw, rivals))

    def lifted(self, links: Sequence[Link], scores: Sequence[float]) -> list[float]:
        """The scores, corrected by where the links come from."""
        lifts = self._lifts
        return [
            _lifted(score, lift)
            if (source := source_of(link)) is not None and (lift := lifts[source])
            else score
            for link, score in zip(links, scores, strict=True)
        ]

    def lift(self, source: Source) -> float:
        """What is added to the log-odds of this source's scores now."""
        return self._lifts[source]

    def _correct(self) -> bool:
        """Links on pages are the measure: their scores stay as they are."""
        base = _surprise(self._tallies["link"])
        moved = False
        for source in ("search", "sitemap"):
            found = self._tallies[source]
            lift = 0.0
            if found.count:
                lift = min(max(_surprise(found) - base, -_FAR), _FAR)
            if abs(lift - self._lifts[source]) >= _STEP:
                self._lifts[source] = lift
                moved = True
        return moved


def source_of(link: Link) -> Source | None:
    """None: a person gave it, or it leads on from what a person gave."""
    return None if link.depth == 0 else _SOURCE.get(link.channel)


def worth(visit: Visit) -> float | None:
    """What came of a link: a copy, or nothing, is worth nothing. None: it says nothing yet, or it
    led to a list that nobody judges."""
    if visit.failure is not None:
        return 0.0 if visit.failure.final else None
    if visit.moved is not None or visit.verdict is None:
        return None
    return 0.0 if visit.copy is not None else min(max(visit.verdict.score, 0.0), 1.0)


def _surprise(found: _Tally) -> float:
    """By how much more came than was promised, in log-odds; little is believed of few visits."""
    if not found.count:
        return 0.0
    promised = found.promised / found.count
    came = (found.good + _DOUBT * promised) / (found.count + _DOUBT)
    return _odds(came) - _odds(promised)


def _odds(chance: float) -> float:
    chance = min(max(chance, _SURE), 1 - _SURE)
    return log(chance / (1 - chance))


def _lifted(score: float, lift: float) -> float:
    if not lift or not 0.0 < score < 1.0:
        return score
    return 1 / (1 + (1 - score) / score * exp(-lift))
