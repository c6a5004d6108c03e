"""Three zones of a page, and which phrases stand in which of them.

Xu, Yoon & Tourassi: a phrase in the main text (z1), in the headings (z2) and in the anchors and
their addresses (z3) are three different features. The title counts as a heading.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from honeyguide.text.terms import Terms
from honeyguide.text.word_patterns import address
from honeyguide.types import Page
from honeyguide.url import path

ZONES = ("text", "headings", "links")

_TEXT, _HEADINGS, _LINKS, _PIECE = 10_000, 50, 100, 200
"""Characters of the text, headings, links that are read, and characters of each of them."""


Feature = tuple[int, str, str]
"""A phrase in a zone: the zone's number, the phrase's stems, and how it reads."""


def zones(page: Page) -> tuple[str, str, str]:
    """The texts of a page's zones, each with an end: pages may be huge."""
    headings = (page.title, *page.headings[:_HEADINGS])
    pieces = []
    for link in page.links[:_LINKS]:
        pieces.append(link.anchor[:_PIECE])
        pieces.append(address(path(link.url)[:_PIECE]))
    return (
        page.text[:_TEXT],
        "\n".join(heading[:_PIECE] for heading in headings),
        "\n".join(pieces)[:_TEXT],
    )


class Zoned:
    """Finds features in zones: a zone has a phrase where its stems follow each other."""

    def __init__(self, features: Sequence[Feature], language: str) -> None:
        self._terms = Terms([name for _, _, name in features], language)
        numbers = {" ".join(stems): n for n, stems in enumerate(self._terms.phrases)}
        self._columns: tuple[dict[int, int], ...] = ({}, {}, {})
        for column, (zone, key, _) in enumerate(features):
            if key in numbers:
                self._columns[zone][numbers[key]] = column

    def find(self, texts: Sequence[str]) -> list[int]:
        """Columns of the features that stand in these zones."""
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
def zoned(features: tuple[Feature, ...], language: str) -> Zoned:
    """The same features give the same finder: strategies are plain values and hold no caches."""
    return Zoned(features, language)
