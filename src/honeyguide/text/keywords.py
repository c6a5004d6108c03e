"""Key phrases of a text, and how well a phrase separates good pages from bad ones.

Key phrases by RAKE (Rose, Engel, Cramer & Cowley 2010): stop words and punctuation cut a text into
candidate phrases; a word is worth degree ÷ frequency, a phrase the sum of its words. Only phrases
of one to four words count, since longer runs are menus and tables. The *key* of a phrase is its
stems.

Phrases are features in three zones of a page (Xu, Yoon & Tourassi): the main text (z1), the
headings and the title (z2), and the anchors with their addresses (z3).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from honeyguide.text.language import MAX_WORD_CHARS, language_of
from honeyguide.text.normalise import is_telling_word, is_unspaced, readable_address, rejoin_words
from honeyguide.text.relevance import TermMatcher
from honeyguide.types import Page
from honeyguide.url import path_of

Floats = NDArray[np.float64]

_MAX_PHRASE_WORDS = 4
"""Words of a phrase."""
_MAX_PHRASE_PAIRS = 7
"""Pairs of characters of a phrase, in scripts without blanks between words."""
_MAX_CHARS = 10_000
"""Characters of a text that are read."""
_PHRASE_END = r"[^\w\s'’-]|\n"
"""Ends a phrase: punctuation or a new line, but no hyphen inside a word."""


class KeyPhrase(NamedTuple):
    """A candidate phrase."""

    key: str
    """Its stems: what makes two phrases the same."""
    name: str
    """As it first stood in the text, in lower case."""
    score: float


def key_phrases(
    text: str, language: str = "en", *, share: float = 1 / 3, most: int = 100
) -> list[KeyPhrase]:
    """The best third of a text's candidate phrases, best first; equals in order of appearance."""
    reader = language_of(language)
    stems, stops = reader.stems, reader.stop_words
    times_of: Counter[tuple[str, ...]] = Counter()
    run: list[str] = []
    ready = reader.separate_words(text[:_MAX_CHARS])
    for piece in (*reader.word_pattern(_PHRASE_END).findall(ready), "\n"):
        if piece[0].isalpha() and piece not in stops and len(piece) <= MAX_WORD_CHARS:
            run.append(piece)
        elif run:
            if len(run) <= _MAX_PHRASE_WORDS:
                times_of[tuple(run)] += 1
            elif all(map(is_unspaced, run)):
                times_of.update(_split_pairs(run))
            run = []
    frequency: Counter[str] = Counter()
    degree: Counter[str] = Counter()
    for phrase, times in times_of.items():
        for word in phrase:
            frequency[word] += times
            degree[word] += times * len(phrase)
    best_of: dict[str, KeyPhrase] = {}
    for phrase in times_of:
        key = " ".join(stems[word] for word in phrase)
        score = sum(degree[word] / frequency[word] for word in phrase)
        if key not in best_of or best_of[key].score < score:
            best_of[key] = KeyPhrase(key, rejoin_words(phrase), score)
    best = sorted(best_of.values(), key=lambda phrase: -phrase.score)
    return best[: min(most, ceil(len(best) * share))]


def _split_pairs(run: list[str]) -> list[tuple[str, ...]]:
    """The phrases that a long run of pairs may contain."""
    if len(run) <= _MAX_PHRASE_PAIRS:
        return [tuple(run)]
    # A clause without blanks: a pair is a word of Chinese, elsewhere it takes a few more.
    size = 1 if all(map(is_telling_word, run)) else 3
    return [tuple(run[at : at + size]) for at in range(len(run) - size + 1)]


def phrase_odds(good: Floats, bad: Floats, goods: int, bads: int) -> Floats:
    """ψ = (p11·p00)/(p01·p10) of each phrase (Xu, Yoon & Tourassi, feature screening).

    ``good`` and ``bad`` count the good and bad pages that contain it; ``goods`` and ``bads`` are
    all of them.
    """
    return odds_ratio(good, bad, goods - good, bads - bad)


def odds_ratio(p11: Floats, p10: Floats, p01: Floats, p00: Floats) -> Floats:
    """ψ from the four cells: good and bad pages with the phrase, and those without it.

    ½ is added to each cell, since a phrase that no bad page contains would divide by zero.
    """
    p11, p10, p01, p00 = p11 + 0.5, p10 + 0.5, p01 + 0.5, p00 + 0.5
    return np.asarray((p11 * p00) / (p01 * p10), np.float64)


def min_phrase_support(pages: int) -> int:
    """Pages that must contain a phrase before it counts: 5, or fewer with few examples.

    The paper says 5; with fewer than 100 pages nothing would be left, so a twentieth of them is
    enough.
    """
    return 5 if pages >= 100 else max(1, ceil(pages / 20))


def phrase_vocabulary(
    texts: Sequence[str], language: str, *, share: float, most: int
) -> dict[str, str]:
    """Key → name of each phrase that is a key phrase of one of these texts.

    With more than 40 texts a phrase must be a key phrase of two of them: phrases of a single page
    would only fill the memory.
    """
    times: Counter[str] = Counter()
    names: dict[str, str] = {}
    for text in texts:
        for phrase in key_phrases(text, language, share=share, most=most):
            times[phrase.key] += 1
            names.setdefault(phrase.key, phrase.name)
    least = 1 if len(texts) <= 40 else 2
    return {key: name for key, name in names.items() if times[key] >= least}


# --- Phrases in zones of a page ---


ZONES = ("text", "headings", "links")

_TEXT, _HEADINGS, _LINKS, _PIECE = 10_000, 50, 100, 200
"""Limits: characters of the text, headings, links, and characters of each heading or link."""


ZonePhrase = tuple[int, str, str]
"""A phrase in a zone: the number of the zone, the stems of the phrase, and its text."""


def page_zones(page: Page) -> tuple[str, str, str]:
    """The texts of the three zones of a page, each bounded."""
    headings = (page.title, *page.headings[:_HEADINGS])
    pieces = []
    for link in page.links[:_LINKS]:
        pieces.append(link.anchor[:_PIECE])
        pieces.append(readable_address(path_of(link.url)[:_PIECE]))
    shown = "\n".join(heading[:_PIECE] for heading in headings)
    return page.text[:_TEXT], shown, "\n".join(pieces)[:_TEXT]


class ZonePhraseFinder:
    """Finds phrases in zones. A zone contains a phrase where its stems follow each other."""

    def __init__(self, features: Sequence[ZonePhrase], language: str) -> None:
        self._terms = TermMatcher([name for _, _, name in features], language)
        numbers = {" ".join(stems): n for n, stems in enumerate(self._terms.phrases)}
        self._columns: tuple[dict[int, int], ...] = ({}, {}, {})
        for column, (zone, key, _) in enumerate(features):
            if key in numbers:
                self._columns[zone][numbers[key]] = column

    def find_features(self, texts: Sequence[str]) -> list[int]:
        """Columns of the features that these zones contain."""
        # Zones that no feature asks for are not read.
        wanted = [text if self._columns[zone] else "" for zone, text in enumerate(texts)]
        return [
            columns[number]
            for columns, count in zip(self._columns, self._terms.count_all(wanted), strict=True)
            if count
            for number in count.terms
            if number in columns
        ]


@lru_cache(maxsize=4)
def zone_phrase_finder(features: tuple[ZonePhrase, ...], language: str) -> ZonePhraseFinder:
    """A cached finder: strategies are plain values and hold no caches."""
    return ZonePhraseFinder(features, language)
