"""Links as binary features: which frequent words stand in address, anchor and surroundings.

Barbosa & Freire 2007, section 3.2, with the sizes and rules of their public successor: stems of
more than two letters, the most frequent of each field, address words that contain a stem already
chosen merged into it, and the top-level domain as a feature of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from honeyguide.text.vectors import UNKNOWN, Floats, Growing, Ints, Places, Rows, count, largest
from honeyguide.text.word_patterns import address, brief
from honeyguide.types import Link, Reason
from honeyguide.url import host

Field = Literal["url", "anchor", "around"]

_OFTEN, _SELDOM, _RARE = 5, 1, 10
"""A word must occur more than 5 times; more than once where the most frequent has at most 10."""
_TLDS = 20
_READ = 1_000
"""Characters of a field that are read."""


@dataclass(frozen=True, eq=False)
class LinkWords:
    """The chosen stems of each field, the most frequent first; none: the field is not read."""

    url: tuple[str, ...] = ()
    anchor: tuple[str, ...] = ()
    around: tuple[str, ...] = ()
    tlds: tuple[str, ...] = ()
    language: str = "en"

    def __len__(self) -> int:
        return len(self.url) + len(self.anchor) + len(self.around) + len(self.tlds)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return (
            *(f"“{stem}” in the address" for stem in self.url),
            *(f"“{stem}” in the anchor" for stem in self.anchor),
            *(f"“{stem}” around it" for stem in self.around),
            *(f"a host in .{tld}" for tld in self.tlds),
        )

    @cached_property
    def _lookups(self) -> tuple[tuple[Field, Places], ...]:
        anchor, around = len(self.url), len(self.url) + len(self.anchor)
        lookups: tuple[tuple[Field, Places], ...] = (
            ("url", _Containing(_numbered(self.url, 0), self.language)),
            ("anchor", Places(_numbered(self.anchor, anchor), self.language)),
            ("around", Places(_numbered(self.around, around), self.language)),
        )
        return tuple((field, places) for field, places in lookups if getattr(self, field))

    @cached_property
    def _tlds(self) -> dict[str, int]:
        return _numbered(self.tlds, len(self) - len(self.tlds))

    def rows(self, links: Sequence[Link]) -> Rows:
        """A row of ones for each link."""
        ends = np.array(self._ends(links), dtype=np.int64)
        numbers, places = [np.flatnonzero(ends >= 0)], [ends[ends >= 0]]
        for field, lookup in self._lookups:
            texts = [text_of(link, field) for link in links]
            number, place, _ = count(texts, lookup, self.language)
            numbers.append(number)
            places.append(place)
        number = np.concatenate(numbers)
        order = np.argsort(number, kind="stable")
        starts = np.zeros(len(links) + 1, dtype=np.int32)
        np.cumsum(np.bincount(number, minlength=len(links)), out=starts[1:])
        return Rows(np.ones(len(number)), np.concatenate(places)[order].astype(np.int32), starts)

    def _ends(self, links: Sequence[Link]) -> list[int]:
        """The place of each link's top-level domain; most links of a page share a few hosts."""
        known: dict[str, int] = {}
        ends = []
        for link in links:
            name = link.url.partition("//")[2].partition("/")[0]
            if (end := known.get(name)) is None:
                end = known[name] = self._tlds.get(tld_of(link), UNKNOWN)
            ends.append(end)
        return ends

    def telling(self, places: Ints, shares: Floats) -> tuple[Reason, ...]:
        """The features that count most, for or against."""
        return tuple(Reason(self.names[p], share) for p, share in largest(places, shares))


class _Containing(Places):
    """A word that is not chosen stands for the first chosen stem within it: birdwatching, bird."""

    def _place(self, stem: str) -> int:
        place = super()._place(stem)
        if place == UNKNOWN:
            return next((p for chosen, p in self._of_stem.items() if chosen in stem), UNKNOWN)
        return place


def _numbered(stems: Sequence[str], first: int) -> dict[str, int]:
    return {stem: first + place for place, stem in enumerate(stems)}


def choose(
    links: Sequence[Link], fields: Sequence[Field], sizes: dict[Field, int], language: str = "en"
) -> LinkWords:
    """The most frequent words of each field of these links."""
    chosen = {
        field: _frequent([text_of(link, field) for link in links], field, sizes[field], language)
        for field in fields
    }
    tlds: tuple[str, ...] = ()
    if "url" in fields:
        ends = Counter(tld_of(link) for link in links)
        tlds = tuple(sorted(sorted(ends), key=lambda tld: -ends[tld])[:_TLDS])
    return LinkWords(**chosen, tlds=tlds, language=language)


def _frequent(texts: Sequence[str], field: Field, size: int, language: str) -> tuple[str, ...]:
    stems: dict[str, int] = {}
    growing = Growing(stems, language)
    _, places, _ = count(texts, growing, language)
    often = np.bincount(places, minlength=len(stems)).tolist()
    enough = _SELDOM if max(often, default=0) <= _RARE else _OFTEN
    # Ties by the alphabet: the same links choose the same words.
    names = sorted(
        (stem for stem, place in stems.items() if often[place] > enough),
        key=lambda s: (-often[stems[s]], s),
    )
    chosen: list[str] = []
    for stem in names:
        if len(chosen) == size:
            break
        merged = field == "url" and any(other in stem for other in chosen)
        if not (brief(stem) or merged):
            chosen.append(stem)
    return tuple(chosen)


def text_of(link: Link, field: Field) -> str:
    match field:
        case "url":
            return address(link.url.partition("//")[2][:_READ])
        case "anchor":
            return link.anchor[:_READ]
        case "around":
            return f"{link.before[-_READ:]} {link.after[:_READ]}"


def tld_of(link: Link) -> str:
    return host(link.url).rpartition(".")[2]
