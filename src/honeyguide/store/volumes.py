"""How much a crawl brought in over time: raw, gross and net volume, and its precision.

The measures of Xu, Yoon & Tourassi (§5). Raw volume counts pages fetched, gross volume those that
the crawler itself calls relevant, net volume those of them that are. Precision is net ÷ gross, in
one span of time (temporal) or since the beginning (cumulative): precision of the output, not
harvest rate. The paper's users judged one of every 50 results; net volume is then estimated.

Which results are judged is decided by their addresses alone (their fingerprints), so that a page
stays in the sample while the crawl goes on and pages are judged anew.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from honeyguide.store import row_checks
from honeyguide.store.database import Database, SqlRow, url_key
from honeyguide.types import Url

SAMPLE_STEPS = (50, 10, 2, 1)
"""One result in so many is judged: the first with at least :data:`_MIN_SAMPLE` pages. Each step
divides the one before, so that what was judged stays judged as a collection grows."""
_MIN_SAMPLE = 10
_MAX_SAMPLE = 2_000
_MAX_SPANS = 400
_NORMAL_95 = 1.959964
_PAGE_SQL = "has_page AND verdict BETWEEN 0 AND 1 AND at BETWEEN 1 AND 1e11"
_GROSS_SQL = "verdict >= {cut} AND copy_of IS NULL AND NOT unproven AND ungated IS NULL"
"""What the crawler calls relevant, whatever people say of it."""


@dataclass(frozen=True, slots=True)
class SampledResult:
    """A result that the crawler calls relevant, offered for judging."""

    url: Url
    title: str
    verdict: float
    at: float
    relevant: bool | None = None
    """What people say; None: nobody looked."""


@dataclass(frozen=True, slots=True)
class CrawlVolume:
    """What one span of time brought in, or all spans up to it."""

    until: float
    """Seconds since the first page at which the span ends."""
    raw: int
    gross: int
    judged: int
    """Gross results of the sample of which people know the truth."""
    confirmed: int
    """Judged results that are relevant."""

    @property
    def precision(self) -> float | None:
        """Confirmed ÷ judged; None: nothing was judged."""
        return self.confirmed / self.judged if self.judged else None


@dataclass(frozen=True, slots=True)
class PrecisionEstimate:
    """Precision of what the crawler calls relevant, with the Wilson interval of 95 %."""

    judged: int
    confirmed: int

    @property
    def value(self) -> float | None:
        return self.confirmed / self.judged if self.judged else None

    @property
    def interval(self) -> tuple[float, float]:
        n, z2 = self.judged, _NORMAL_95**2
        if not n:
            return 0.0, 1.0
        share = self.confirmed / n
        middle, spread = share + z2 / (2 * n), share * (1 - share) / n + z2 / (4 * n * n)
        half = _NORMAL_95 * math.sqrt(spread)
        low, high = ((middle - half) / (1 + z2 / n), (middle + half) / (1 + z2 / n))
        return max(0.0, min(low, share)), min(1.0, max(high, share))


class VolumeTable:
    """Reads volumes from the journal of visits: two scans, whatever its length."""

    def __init__(self, db: Database, threshold: float) -> None:
        self._db = db
        self._gross = _GROSS_SQL.format(cut=float(threshold))

    def first_and_last(self) -> tuple[float, float]:
        """When the first page came, and the last."""
        ends = [
            self._db.fetch_value(f"SELECT at FROM visits WHERE {_PAGE_SQL} ORDER BY id {way}")  # noqa: S608
            for way in ("LIMIT 1", "DESC LIMIT 1")
        ]
        first, last = (row_checks.number_or_zero(at) for at in ends)
        return first, max(first, last)

    def count_spans(self, first: float, span: float) -> list[tuple[int, int]]:
        """(raw, gross) of each span, the empty ones between included."""
        rows = self._db.fetch_all(
            "SELECT CAST(min(max((at - ?1) / ?2, 0), ?3) AS INTEGER) AS place, count(*), "  # noqa: S608
            f"total({self._gross}) FROM visits WHERE {_PAGE_SQL} GROUP BY place ORDER BY place",
            (first, span, _MAX_SPANS - 1),
        )
        counted = {place: (raw, int(gross)) for place, raw, gross in rows}
        return [counted.get(place, (0, 0)) for place in range(max(counted, default=-1) + 1)]

    def sample_results(self, every: int, truth: Mapping[Url, bool]) -> list[SampledResult]:
        """One result in ``every``, oldest first."""
        rows = self._db.fetch_all(
            "SELECT url, title, verdict, at FROM visits WHERE "  # noqa: S608
            f"(fingerprint & 9223372036854775807) % ? = 0 AND {_PAGE_SQL} AND {self._gross} "
            "ORDER BY id LIMIT ?",
            (every, _MAX_SAMPLE),
        )
        return [_to_result(row, truth) for row in rows if row_checks.is_http_url(row[0])]

    def best_results(self, most: int, truth: Mapping[Url, bool]) -> list[SampledResult]:
        """The surest results, those first that people call relevant; those they disown left out."""
        rows = self._db.fetch_all(
            f"SELECT url, title, verdict, at FROM visits WHERE {_PAGE_SQL} AND {self._gross} "  # noqa: S608
            "ORDER BY verdict DESC, id LIMIT ?",
            (3 * most,),
        )
        found = [_to_result(row, truth) for row in rows if row_checks.is_http_url(row[0])]
        kept = [result for result in found if result.relevant is not False]
        return sorted(kept, key=lambda result: result.relevant is None)[:most]

    def judge_gross(self, truth: Mapping[Url, bool]) -> PrecisionEstimate:
        """Of all results that people judged, sampled or not, those that are relevant."""
        judged = confirmed = 0
        for url, relevant in truth.items():
            sql = (
                "SELECT 1 FROM visits WHERE fingerprint = ? AND url = ? "  # noqa: S608
                f"AND {_PAGE_SQL} AND {self._gross} LIMIT 1"
            )
            if self._db.fetch_one(sql, url_key(url)) is not None:
                judged, confirmed = judged + 1, confirmed + relevant
        return PrecisionEstimate(judged, confirmed)


def _to_result(row: SqlRow, truth: Mapping[Url, bool]) -> SampledResult:
    url, title, verdict, at = row
    return SampledResult(url, row_checks.text_or_empty(title), verdict, at, truth.get(url))


def choose_sample_step(gross: int) -> int:
    """One result in how many is judged, of so many."""
    return next((step for step in SAMPLE_STEPS if gross >= step * _MIN_SAMPLE), 1)


def volumes_per_span(
    counts: Sequence[tuple[int, int]], sample: Sequence[SampledResult], first: float, span: float
) -> list[CrawlVolume]:
    """Volumes of each span on its own, with what people say of the sample."""
    judged, confirmed = [0] * len(counts), [0] * len(counts)
    for result in sample:
        if result.relevant is not None and counts:
            place = min(max(int((result.at - first) / span), 0), len(counts) - 1)
            judged[place] += 1
            confirmed[place] += result.relevant
    return [
        CrawlVolume((n + 1) * span, raw, gross, judged[n], confirmed[n])
        for n, (raw, gross) in enumerate(counts)
    ]


def cumulative_volumes(volumes: Sequence[CrawlVolume]) -> list[CrawlVolume]:
    """Volumes since the beginning, from those of each span."""
    kept: list[CrawlVolume] = []
    raw = gross = judged = confirmed = 0
    for one in volumes:
        raw, gross = raw + one.raw, gross + one.gross
        judged, confirmed = judged + one.judged, confirmed + one.confirmed
        kept.append(CrawlVolume(one.until, raw, gross, judged, confirmed))
    return kept
