"""Key phrases of a text, and how well a phrase tells good pages from bad ones.

Key phrases by RAKE (Rose, Engel, Cramer & Cowley 2010): stop words and punctuation cut a text
into candidate phrases; a word is worth degree ÷ frequency, a phrase the sum of its words. We keep
phrases of one to four words and let only those count for degree and frequency: longer runs are
menus and tables, not phrases. A phrase's *key* is its stems.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from honeyguide.text.language import LONGEST, language_of
from honeyguide.text.word_patterns import rejoined, tells, unspaced

Floats = NDArray[np.float64]

_LONGEST = 4
"""Words in a phrase …"""
_PAIRS = 7
"""… and pairs of characters, where a script has no blanks between words."""
_SHOWN = 10_000
"""Characters that are read of a text."""
_END = r"[^\w\s'’-]|\n"
"""Ends a phrase: punctuation or a new line, but no hyphen inside a word."""


class Phrase(NamedTuple):
    """A candidate phrase."""

    key: str
    """Its stems: what makes two phrases the same."""
    name: str
    """As it first stood in the text, in lower case."""
    score: float


def phrases(
    text: str, language: str = "en", *, share: float = 1 / 3, most: int = 100
) -> list[Phrase]:
    """The best third of a text's candidate phrases, best first; equals in order of appearance."""
    tongue = language_of(language)
    stems, stops = tongue.stems, tongue.stops
    found: Counter[tuple[str, ...]] = Counter()
    run: list[str] = []
    for piece in [*tongue.word(_END).findall(tongue.ready(text[:_SHOWN])), "\n"]:
        if piece[0].isalpha() and piece not in stops and len(piece) <= LONGEST:
            run.append(piece)
        elif run:
            if len(run) <= _LONGEST:
                found[tuple(run)] += 1
            elif all(map(unspaced, run)):
                found.update(_pairs(run))
            run = []
    frequency: Counter[str] = Counter()
    degree: Counter[str] = Counter()
    for said, times in found.items():
        for word in said:
            frequency[word] += times
            degree[word] += times * len(said)
    made: dict[str, Phrase] = {}
    for said in found:
        key = " ".join(stems[word] for word in said)
        score = sum(degree[word] / frequency[word] for word in said)
        if key not in made or made[key].score < score:
            made[key] = Phrase(key, rejoined(said), score)
    best = sorted(made.values(), key=lambda phrase: -phrase.score)
    return best[: min(most, ceil(len(best) * share))]


def _pairs(run: list[str]) -> list[tuple[str, ...]]:
    """The phrases that a long run of pairs may hold."""
    if len(run) <= _PAIRS:
        return [tuple(run)]
    # A clause without blanks: a pair is a word of Chinese, elsewhere it takes a few more.
    size = 1 if all(map(tells, run)) else 3
    return [tuple(run[at : at + size]) for at in range(len(run) - size + 1)]


def odds(good: Floats, bad: Floats, goods: int, bads: int) -> Floats:
    """ψ = (p11·p00)/(p01·p10) of each phrase (Xu, Yoon & Tourassi, feature screening).

    ``good`` and ``bad`` count the good and bad pages that have it, of so many in all.
    """
    return psi(good, bad, goods - good, bads - bad)


def psi(p11: Floats, p10: Floats, p01: Floats, p00: Floats) -> Floats:
    """The same of the four cells: good and bad pages with the phrase, and those without.

    We add ½ to each cell, without which a phrase that no bad page has would divide by zero.
    """
    p11, p10, p01, p00 = p11 + 0.5, p10 + 0.5, p01 + 0.5, p00 + 0.5
    return np.asarray((p11 * p00) / (p01 * p10), np.float64)


def least_support(pages: int) -> int:
    """Pages that must have a phrase before it may count: 5, and fewer for a few examples.

    The paper says 5; below 100 pages that would leave nothing, so we take a twentieth of them.
    """
    return 5 if pages >= 100 else max(1, ceil(pages / 20))


def vocabulary(texts: Sequence[str], language: str, *, share: float, most: int) -> dict[str, str]:
    """Key → name of every phrase that is a key phrase of one of these texts.

    Where there are many texts, a phrase must be one of two of them: the long tail of phrases
    that stand on a single page would only fill the memory.
    """
    times: Counter[str] = Counter()
    names: dict[str, str] = {}
    for text in texts:
        for phrase in phrases(text, language, share=share, most=most):
            times[phrase.key] += 1
            names.setdefault(phrase.key, phrase.name)
    least = 1 if len(texts) <= 40 else 2
    return {key: name for key, name in names.items() if times[key] >= least}
