"""Active learning: which visited pages to ask a person about.

Questions go in rounds of eight. Five are about pages on both sides of the cut: the kept pages that
are nearest to it, and the nearest of the others (Lewis & Gale 1994). Nearness is a rank, because
verdicts may all lie near 0 and 1. One question is about a page that is certainly kept, which finds
confident mistakes; one about a certain no that resembles good pages; and one about a page that
stands for many others (a greedy cover, as in Wei, Iyer & Bilmes 2015).

All are unlike each other and labelled pages, as k-means++ spreads its first centres (Arthur &
Vassilvitskii 2007; Ash et al. 2020 choose batches of labels so), and spread over sites. Pages of
one template, or near copies, are asked about once while there are others. Unlike k-means++ nothing
is random: the same pages give the same questions.

A single kind of question can be chosen: the least certain pages, pages on which page and link model
disagree (two views of one page, as in the co-testing of Muslea et al. 2000), or pages of sites
without labels.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from honeyguide.text.language import split_words

_BUCKETS = 1024
COMPARED_CHARS = 3_000
"""Characters of a page that are compared."""
_LARGE_SITE = 0.2
"""Share of the pages from which on a site is large."""

Floats = NDArray[np.floating[Any]]
QuestionReason = Literal[
    "above", "below", "sure", "typical", "missed", "unsure", "unknown", "site", "split", "host",
    "second",
]  # fmt: skip
QuestionKind = Literal["mixed", "uncertainty", "disagreement", "novelty"]

_REPEATED_WORTH = 0.25
"""Least worth of a page that resembles one already chosen."""
_QUESTION_ROUND: tuple[QuestionReason, ...] = (
    "above", "below", "missed", "above", "below", "sure", "below", "typical",
)  # fmt: skip
"""Kinds of questions in turn."""
_NEAR_RANK = 10.0
"""The page with this rank from the cut is worth half as much as the nearest one."""
_ALIKE = 0.1
"""Largest distance (1 - cosine) of pages of one template, or near copies."""
_COVERED_PAGES = 500
"""Pages that typical ones are to stand for, taken evenly from all."""


@dataclass(frozen=True, slots=True)
class UnlabelledPage:
    """A page that nobody has labelled."""

    verdict: float
    text: str
    site: str = ""
    known: bool = True
    """Whether the verdict has a reason; if not, the strategy knows no word of the page."""
    promise: float | None = None
    """Score of the link before the page was fetched; None for a seed."""


class LabelledText(NamedTuple):
    """A page that a person judged."""

    text: str
    value: float
    site: str = ""


class PageToAsk(NamedTuple):
    """A chosen page, and why."""

    place: int  # among the pages to choose from
    why: QuestionReason


def choose_questions(
    pages: Sequence[UnlabelledPage],
    labelled: Sequence[LabelledText],
    count: int,
    *,
    threshold: float = 0.5,
    labels: int = 0,
    choice: QuestionKind = "mixed",
) -> list[PageToAsk]:
    """The pages to ask about. ``labels``, the number of labels so far, gives the place in the
    round."""
    if not pages:
        return []
    rows = _text_vectors([page.text for page in pages] + [each.text for each in labelled])
    vectors, labelled_vectors = rows[: len(pages)], rows[len(pages) :]
    strange = 1 - _nearest_cosine(vectors, labelled_vectors)
    if choice == "disagreement":
        return _pick_by_worth("split", _model_disagreement(pages), pages, vectors, strange, count)
    if choice == "novelty":
        return _pick_by_worth(
            "host", _on_new_sites(pages, labelled), pages, vectors, strange, count
        )
    verdicts = np.array([page.verdict for page in pages])
    yes = verdicts >= threshold
    away = np.abs(verdicts - threshold)
    good = np.concatenate((labelled_vectors[[t.value >= 0.5 for t in labelled]], vectors[yes]))
    worths: dict[QuestionReason, Floats] = {
        "above": _nearness(away, yes),
        "below": _nearness(away, ~yes),
        "unsure": _verdict_uncertainty(verdicts, threshold),
        "sure": _are_confident(away, yes) * 1.0,
        "missed": _are_confident(away, ~yes) * _nearest_cosine(vectors, good),
    }
    shares = _site_shares(pages, labelled)
    sites = np.array([page.site for page in pages])
    asked = np.zeros(len(pages))  # questions about the page's site
    free = np.ones(len(pages), bool)
    covered = slice(None, None, len(pages) // _COVERED_PAGES + 1)
    likeness = vectors @ vectors[covered].T
    kinds = ("unsure",) if choice == "uncertainty" else _QUESTION_ROUND
    found = []
    for turn in range(labels, labels + min(count, len(pages))):
        why = kinds[turn % len(kinds)]
        spread = strange * (1 + shares) / np.sqrt(1 + asked)
        among = free & (strange > _ALIKE)
        if why == "typical":
            worth = np.maximum(likeness - (1 - strange[covered]), 0.0).mean(axis=1)
        else:
            # Of a certain no, the likeness to good pages counts, not that it is strange.
            worth = worths[why] * (1.0 if why == "missed" else spread)
        if not (worth[among] > 0).any():  # there is no other of this kind
            among, why = (among if among.any() else free), "unsure"
            worth = 1e-9 + _nearness(away, among) * spread
        best = int(np.argmax(np.where(among, worth, -1.0)))
        found.append(PageToAsk(best, _main_reason(why, pages[best], float(shares[best]))))
        free[best] = False
        strange = np.minimum(strange, 1 - vectors @ vectors[best])
        shares = np.where(sites == pages[best].site, 0.0, shares)
        asked += sites == pages[best].site
    return found


def _pick_by_worth(
    why: QuestionReason,
    worth: Floats,
    pages: Sequence[UnlabelledPage],
    vectors: Floats,
    strange: Floats,
    count: int,
) -> list[PageToAsk]:
    """Questions of one kind, spread over unlike pages; for new hosts one page each."""
    found: list[PageToAsk] = []
    while len(found) < count and worth.any():
        best = int(np.argmax(worth * (_REPEATED_WORTH + strange)))
        found.append(PageToAsk(best, why))
        strange = np.minimum(strange, 1 - vectors @ vectors[best])
        once = why == "host"
        done = [n == best or (once and p.site == pages[best].site) for n, p in enumerate(pages)]
        worth = np.where(done, 0.0, worth)
    return found


def _on_new_sites(pages: Sequence[UnlabelledPage], labelled: Sequence[LabelledText]) -> Floats:
    """1 for pages of sites without a labelled page."""
    known_sites = {each.site for each in labelled}
    return np.array([float(page.site not in known_sites) for page in pages])


def _model_disagreement(pages: Sequence[UnlabelledPage]) -> Floats:
    """How differently page and link model rank a page, 0..1. Their scales differ, so the rank of
    the page in each is compared."""
    has_promise = np.array([page.promise is not None for page in pages])
    verdicts = np.array([page.verdict for page in pages])
    promises = np.array([page.promise or 0.0 for page in pages])
    found = np.zeros(len(pages))
    if has_promise.sum() > 1:
        found[has_promise] = np.abs(
            _rank_shares(verdicts[has_promise]) - _rank_shares(promises[has_promise])
        )
    return found


def _rank_shares(values: Floats) -> Floats:
    """The share of values that are smaller; equal ones count half."""
    order = np.sort(values)
    low, high = np.searchsorted(order, values), np.searchsorted(order, values, "right")
    return np.asarray((low + high) / (2 * len(values)))


def _nearness(away: Floats, side: NDArray[np.bool_]) -> Floats:
    """1 for the page of this side that is nearest to the cut, ever less for the next ones."""
    ranks = np.searchsorted(np.sort(away[side]), away)
    return np.where(side, 1 / (1 + ranks / _NEAR_RANK), 0.0)


def _verdict_uncertainty(verdicts: Floats, threshold: float) -> Floats:
    """1 at the threshold, 0 at both ends."""
    reach = np.where(verdicts >= threshold, max(1 - threshold, 1e-9), threshold)
    return np.asarray(1 - np.abs(verdicts - threshold) / reach)


def _are_confident(away: Floats, side: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Pages on one side that are more than half as far from the threshold as the farthest."""
    return np.asarray(side & (away >= away[side].max(initial=0.0) / 2))


def _site_shares(pages: Sequence[UnlabelledPage], labelled: Sequence[LabelledText]) -> Floats:
    """The share of the pages that are on the page's site; 0 where a page of it is labelled."""
    sizes = Counter(page.site for page in pages)
    known_sites = {each.site for each in labelled}
    return np.array([0.0 if p.site in known_sites else sizes[p.site] / len(pages) for p in pages])


def _main_reason(why: QuestionReason, page: UnlabelledPage, share: float) -> QuestionReason:
    """Why the page was chosen, or what is even more worth saying of an unsure one."""
    if why in ("above", "below", "unsure"):
        if not page.known:
            return "unknown"
        if _LARGE_SITE <= share < 1:
            return "site"
    return why


def _nearest_cosine(rows: Floats, others: Floats) -> Floats:
    """The cosine of each row to the nearest of the others; 0 without others."""
    return np.asarray((rows @ others.T).max(axis=1)) if len(others) else np.zeros(len(rows))


def _text_vectors(texts: Sequence[str]) -> Floats:
    """Hashed words, (1 + ln tf)·ln(1 + N/df), each vector of length 1."""
    rows = np.zeros((len(texts), _BUCKETS), np.float32)
    for row, text in zip(rows, texts, strict=True):
        found = [_word_bucket(word) for word in split_words(text[:COMPARED_CHARS])]
        row[:] = np.bincount(np.array(found, np.intp), minlength=_BUCKETS)
    rarity = np.log(1 + len(texts) / np.maximum((rows > 0).sum(axis=0), 1))
    rows = np.where(rows > 0, 1 + np.log(np.maximum(rows, 1)), 0) * rarity.astype(np.float32)
    lengths = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    return np.asarray(rows / np.where(lengths > 0, lengths, 1))


@lru_cache(maxsize=100_000)
def _word_bucket(word: str) -> int:
    return zlib.crc32(word[:64].encode("utf-8", "replace")) % _BUCKETS
