"""Active learning: which visited pages to ask a person about.

Most are pages with the least certain verdict (Lewis & Gale 1994), on sites of which much was
fetched (Settles & Craven 2008 weigh by density), and unlike each other and labelled pages, as
k-means++ spreads its first centres (Arthur & Vassilvitskii 2007; Ash et al. 2020 choose batches of
labels so). One in five is a page with a certain verdict, which checks precision and detects drift;
one in five is a certain no that resembles good pages. Unlike k-means++ nothing is random: the same
pages give the same questions.

A single kind of question can be chosen: the least certain pages, pages on which page and link model
disagree (two views of one page, as in the co-testing of Muslea et al. 2000), or pages of sites
without labels. All are spread in the same way.
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
    "unsure", "strange", "unknown", "site", "sure", "missed", "split", "host", "second"
]
QuestionKind = Literal["mixed", "uncertainty", "disagreement", "novelty"]

_REPEATED_WORTH = 0.25
"""Least worth of a page that resembles one already chosen."""
_QUESTION_ROUND: tuple[QuestionReason, ...] = ("unsure", "unsure", "sure", "unsure", "missed")
"""Kinds of questions in turn."""


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
    sure = {"sure": _are_confident(away, yes), "missed": _are_confident(away, ~yes)}
    unsure = _verdict_uncertainty(verdicts, threshold)
    shares = _site_shares(pages, labelled)
    good = np.concatenate((labelled_vectors[[t.value >= 0.5 for t in labelled]], vectors[yes]))
    resembling = _nearest_cosine(vectors, good)
    free = np.ones(len(pages), bool)
    found = []
    for turn in range(labels, labels + min(count, len(pages))):
        why = "unsure" if choice == "uncertainty" else _QUESTION_ROUND[turn % len(_QUESTION_ROUND)]
        among = free & sure.get(why, free)
        if not among.any():
            why, among = "unsure", free
        worth = resembling if why == "missed" else strange
        if why == "unsure":
            worth = unsure * strange * (1 + shares)
        best = int(np.argmax(np.where(among, worth, -1.0)))
        if why == "unsure":
            parts: dict[QuestionReason, Floats] = {"unsure": unsure, "strange": strange}
            why = _main_reason(best, pages[best].known, parts, shares)
        found.append(PageToAsk(best, why))
        free[best] = False
        strange = np.minimum(strange, 1 - vectors @ vectors[best])
        shares = np.where([page.site == pages[best].site for page in pages], 0.0, shares)
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


def _main_reason(
    best: int, known: bool, parts: dict[QuestionReason, Floats], shares: Floats
) -> QuestionReason:
    """The part in which the page has the highest rank."""
    if not known:
        return "unknown"
    if _LARGE_SITE <= shares[best] < 1:
        return "site"
    return max(parts, key=lambda name: float((parts[name] < parts[name][best]).mean()))


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
