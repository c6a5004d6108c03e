"""How much a crawl brought in, hour by hour: raw, gross and net volume, and its precision.

The measures of Xu, Yoon & Tourassi. Raw volume counts pages fetched, gross volume those that the
crawler itself calls relevant, net volume those of them that are. Precision is net ÷ gross, in one
hour (temporal) or since the beginning (cumulative): precision of the output, not harvest rate. The
paper's users judged one of every 50 results; net volume is then estimated from those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from honeyguide.types import Url, Visit

MAX_SPANS = 100_000
"""Spans of time that are told apart: a clock that leapt must not fill the memory."""


class VolumeResult(NamedTuple):
    """A page that was fetched."""

    at: float
    gross: bool
    """The crawler calls it relevant."""
    net: bool | None = None
    """It is relevant; None: nobody knows."""


class CrawlVolume(NamedTuple):
    """What one span of time brought in."""

    until: float
    """Seconds since the first visit at which the span ends."""
    raw: int
    gross: int
    judged: int
    """Gross results of which the truth is known."""
    confirmed: int
    """Judged results that are relevant."""

    @property
    def precision(self) -> float | None:
        """Confirmed ÷ judged; None: nothing was judged."""
        return self.confirmed / self.judged if self.judged else None

    @property
    def net(self) -> float:
        """Gross volume × precision: exact where every result was judged."""
        return self.gross * (self.precision or 0.0)


def visit_results(
    visits: Iterable[Visit], threshold: float, truth: Callable[[Url], bool | None]
) -> list[VolumeResult]:
    """Pages of a journal of visits, in order of time; failures and redirects brought none."""
    found = [
        VolumeResult(visit.at, visit.verdict.score >= threshold, truth(visit.link.url))
        for visit in visits
        if visit.page is not None and visit.verdict is not None
    ]
    return sorted(found, key=lambda result: result.at)


def sample_judged(found: Iterable[VolumeResult], every: int = 50) -> list[VolumeResult]:
    """The same results, judged only at one of every so many that the crawler calls relevant."""
    kept, count = [], 0
    for result in found:
        count += result.gross
        judged = result.gross and count % every == 0
        kept.append(result if judged else result._replace(net=None))
    return kept


def volumes_per_span(found: Sequence[VolumeResult], span: float = 3600.0) -> list[CrawlVolume]:
    """Volumes of each span on its own, the empty ones between included."""
    if not found:
        return []
    if span <= 0:
        raise ValueError("a span of time must be longer than nothing")
    start = min(result.at for result in found)
    places = [min(MAX_SPANS - 1, int((result.at - start) / span)) for result in found]
    sums = [[0, 0, 0, 0] for _ in range(max(places) + 1)]
    for place, result in zip(places, found, strict=True):
        judged = result.gross and result.net is not None
        one = (1, result.gross, judged, judged and bool(result.net))
        sums[place] = [a + b for a, b in zip(sums[place], one, strict=True)]
    return [CrawlVolume((n + 1) * span, *counts) for n, counts in enumerate(sums)]


def cumulative_volumes(volumes: Iterable[CrawlVolume]) -> list[CrawlVolume]:
    """Volumes since the beginning, from those of each span."""
    total = CrawlVolume(0.0, 0, 0, 0, 0)
    kept = []
    for volume in volumes:
        sums = [a + b for a, b in zip(total[1:], volume[1:], strict=True)]
        total = CrawlVolume(volume.until, *map(int, sums))
        kept.append(total)
    return kept
