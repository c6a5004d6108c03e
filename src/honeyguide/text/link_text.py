"""The words of a link: its address, its anchor, and what stands around it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from honeyguide.text.language import LONGEST, language_of
from honeyguide.text.word_patterns import address
from honeyguide.types import Link

_SHOWN = 300
"""Characters of each part: addresses may be endless."""
_SCHEMES = frozenset(("http", "https", "www"))
_WHERE = {"url:": "in the address", "anchor:": "in the anchor", "near:": "around it"}
"""Prefixes, and what they mean."""


def snippet(link: Link, language: str = "en", *, prefixes: bool = False) -> tuple[str, ...]:
    """The stems of a link's words, stop words left out, each once.

    ``prefixes`` tells a word of the address from the same word in the anchor or around it.
    """
    tongue = language_of(language)
    stems, stops = tongue.stems, tongue.stops
    around = f"{link.before[-_SHOWN:]} {link.after[:_SHOWN]}"
    parts = (address(link.url[:_SHOWN]), link.anchor[:_SHOWN], around)
    found: dict[str, None] = {}
    for name, text in zip(_WHERE, parts, strict=True):
        start = name if prefixes else ""
        for word in tongue.words(text):
            if word not in stops and word not in _SCHEMES and len(word) <= LONGEST:
                found[start + stems[word]] = None
    return tuple(found)


def quoted(word: str) -> str:
    """A word of a snippet for people, who know no prefixes."""
    start, colon, stem = word.partition(":")
    where = _WHERE.get(start + colon)
    return f"“{stem}” {where}" if where else f"“{word}”"


def lexicon(snippets: Iterable[Sequence[str]], most: int) -> tuple[str, ...]:
    """The most frequent words of several links that more than one of them has."""
    times = Counter(word for one in snippets for word in one)
    return tuple(word for word, n in times.most_common(most) if n > 1)


def spelled(
    known: tuple[str, ...], snippets: Sequence[Sequence[str]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A row of 0 and 1 for each link, and the share of its words that are known."""
    column = _places(known)
    rows, familiar = np.zeros((len(snippets), len(known))), np.zeros(len(snippets))
    for number, said in enumerate(snippets):
        places = [place for word in said if (place := column.get(word)) is not None]
        rows[number, places] = 1.0
        familiar[number] = len(places) / len(said) if said else 0.0
    return rows, familiar


@lru_cache(maxsize=4)
def _places(known: tuple[str, ...]) -> dict[str, int]:
    """Word → its column; made once for a lexicon."""
    return {word: place for place, word in enumerate(known)}
