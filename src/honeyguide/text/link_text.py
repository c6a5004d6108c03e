"""The words of a link: its address, its anchor, and the text around it.

Three users, three forms: stems of a link for a bag of words, signs by kind with their tag path, and
binary features after Barbosa & Freire 2007, section 3.2: stems of more than two letters, the most
frequent of each field, address words merged into a chosen stem that they contain, and the top-level
domain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import sqrt
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from honeyguide.text import vectors
from honeyguide.text.language import MAX_WORD_CHARS, language_of
from honeyguide.text.normalise import is_too_short, readable_address
from honeyguide.types import Link, Reason
from honeyguide.url import authority_of, host_of, path_of

_SHOWN = 300
"""Characters of each part of a link; addresses may be endless."""
_SCHEMES = frozenset(("http", "https", "www"))
_WHERE = {"url:": "in the address", "anchor:": "in the anchor", "near:": "around it"}
"""Prefixes of stems, and how they are shown."""


def link_stems(link: Link, language: str = "en", *, prefixes: bool = False) -> tuple[str, ...]:
    """The stems of the words of a link, without stop words, each once.

    ``prefixes`` marks the stems of the address, of the anchor and of the words around it.
    """
    reader = language_of(language)
    stems, stops = reader.stems, reader.stop_words
    around = f"{link.before[-_SHOWN:]} {link.after[:_SHOWN]}"
    parts = (readable_address(link.url[:_SHOWN]), link.anchor[:_SHOWN], around)
    found: dict[str, None] = {}
    for name, text in zip(_WHERE, parts, strict=True):
        start = name if prefixes else ""
        for word in reader.words(text):
            if word not in stops and word not in _SCHEMES and len(word) <= MAX_WORD_CHARS:
                found[start + stems[word]] = None
    return tuple(found)


def describe_stem(word: str) -> str:
    """A stem as people read it, without a prefix."""
    start, colon, stem = word.partition(":")
    where = _WHERE.get(start + colon)
    return f"“{stem}” {where}" if where else f"“{word}”"


def frequent_words(snippets: Iterable[Sequence[str]], most: int) -> tuple[str, ...]:
    """The most frequent words that more than one of the links has."""
    times = Counter(word for one in snippets for word in one)
    return tuple(word for word, n in times.most_common(most) if n > 1)


def binary_rows(
    known: tuple[str, ...], snippets: Sequence[Sequence[str]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A row of 0 and 1 for each link, and the share of its words that are known."""
    column = _word_columns(known)
    rows, familiar = np.zeros((len(snippets), len(known))), np.zeros(len(snippets))
    for number, words in enumerate(snippets):
        places = [place for word in words if (place := column.get(word)) is not None]
        rows[number, places] = 1.0
        familiar[number] = len(places) / len(words) if words else 0.0
    return rows, familiar


@lru_cache(maxsize=4)
def _word_columns(known: tuple[str, ...]) -> dict[str, int]:
    """Word → its column, cached for a vocabulary."""
    return {word: place for place, word in enumerate(known)}


# --- Signs of a link, by kind ---


_WORDS = 60
"""Words of a field that are read."""
_CHARACTERS = 500
"""Characters of a field that are read."""


class LinkSigns(NamedTuple):
    """What one link shows before it is followed: stems of its words, its host and its tag path."""

    anchor: list[str]
    around: list[str]
    address: list[str]
    host: str
    place: str
    """The tag path of the element that the link stands in."""

    @property
    def size(self) -> float:
        """Divides the weight of each sign, so that a link with many signs does not count more."""
        return sqrt(len(self.anchor) + len(self.around) + len(self.address) + 3)

    def by_kind(self) -> tuple[tuple[str, Iterable[str]], ...]:
        """All signs by kind, each once."""
        return (
            ("a", set(self.anchor)),
            ("s", set(self.around)),
            ("u", set(self.address)),
            ("h", (self.host,)),
            ("t", (self.place,)),
        )

    def prefixed_names(self) -> list[str]:
        """All signs, each with its kind before it."""
        return [f"{kind} {what}" for kind, whats in self.by_kind() for what in whats]


def describe_sign(kind: str, what: str) -> str:
    """A sign as people read it."""
    return {
        "a": f"“{what}” in the anchor",
        "s": f"“{what}” around it",
        "u": f"“{what}” in the address",
        "h": f"leads to {what}",
        "t": f"is in {what or 'no element'}",
    }[kind]


def link_fields(links: Sequence[Link]) -> list[str]:
    """All anchors of the links, then the words around each, then the addresses."""
    arounds = [f"{link.before} {link.after}" for link in links]
    addresses = [readable_address(path_of(link.url)) for link in links]
    return [*[link.anchor for link in links], *arounds, *addresses]


def collect_signs(
    links: Sequence[Link], language: str, fields: Sequence[str] | None = None
) -> list[LinkSigns]:
    """The signs of each link. ``fields``: the result of :func:`link_fields`, if it is known."""
    count = len(links)
    stems = _stem_texts(link_fields(links) if fields is None else fields, language)
    return [
        LinkSigns(anchor, around, address, authority_of(link.url), link.tag_path.replace("\n", " "))
        for link, anchor, around, address in zip(
            links, stems[:count], stems[count : 2 * count], stems[2 * count :], strict=True
        )
    ]


def _stem_texts(texts: Sequence[str], language: str) -> list[list[str]]:
    """The stems of each text, all in one pass, which is several times faster."""
    joined = vectors.TEXT_BREAK.join(
        text[:_CHARACTERS].replace(vectors.TEXT_BREAK, " ") for text in texts
    )
    reader = language_of(language)
    stems = reader.stems
    found: list[list[str]] = [[]]
    last = found[0]
    for token in reader.word_pattern(vectors.TEXT_BREAK).findall(reader.separate_words(joined)):
        if token == vectors.TEXT_BREAK:
            last = []
            found.append(last)
        elif len(last) < _WORDS:
            last.append(stems[token])
    return found[: len(texts)]


def score_fields(
    sign: LinkSigns, worth: Callable[[str, float], float]
) -> tuple[float, float, float]:
    """The weight of the words of each field, divided by the root of their number."""
    anchor = around = address = 0.0
    for stem in sign.anchor:
        anchor += worth(stem, 0.0)
    for stem in sign.around:
        around += worth(stem, 0.0)
    for stem in sign.address:
        address += worth(stem, 0.0)
    return (
        anchor / sqrt(len(sign.anchor) + 1),
        around / sqrt(len(sign.around) + 1),
        address / sqrt(len(sign.address) + 1),
    )


# --- Links as binary features (Barbosa & Freire 2007) ---


LinkField = Literal["url", "anchor", "around"]

_OFTEN, _SELDOM, _RARE = 5, 1, 10
"""A word must occur more than 5 times, or more than once where the most frequent occurs at most
10 times."""
_TLDS = 20
_READ = 1_000
"""Characters of a field that are read."""


@dataclass(frozen=True, eq=False)
class LinkWords:
    """The chosen stems of each field, the most frequent first; a field without stems is not
    read."""

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
    def _lookups(self) -> tuple[tuple[LinkField, vectors.StemPlaces], ...]:
        anchor, around = len(self.url), len(self.url) + len(self.anchor)
        lookups: tuple[tuple[LinkField, vectors.StemPlaces], ...] = (
            ("url", _ContainedPlaces(_number_stems(self.url, 0), self.language)),
            ("anchor", vectors.StemPlaces(_number_stems(self.anchor, anchor), self.language)),
            ("around", vectors.StemPlaces(_number_stems(self.around, around), self.language)),
        )
        return tuple((field, places) for field, places in lookups if getattr(self, field))

    @cached_property
    def _tlds(self) -> dict[str, int]:
        return _number_stems(self.tlds, len(self) - len(self.tlds))

    def to_rows(self, links: Sequence[Link]) -> vectors.SparseRows:
        """A row of ones for each link."""
        ends = np.array(self._tld_places(links), dtype=np.int64)
        numbers, places = [np.flatnonzero(ends >= 0)], [ends[ends >= 0]]
        for field, lookup in self._lookups:
            texts = [field_text(link, field) for link in links]
            number, place, _ = vectors.count_places(texts, lookup, self.language)
            numbers.append(number)
            places.append(place)
        number = np.concatenate(numbers)
        order = np.argsort(number, kind="stable")
        starts = np.zeros(len(links) + 1, dtype=np.int32)
        np.cumsum(np.bincount(number, minlength=len(links)), out=starts[1:])
        return vectors.SparseRows(
            np.ones(len(number)), np.concatenate(places)[order].astype(np.int32), starts
        )

    def _tld_places(self, links: Sequence[Link]) -> list[int]:
        """The place of the top-level domain of each link; links of a page share few hosts."""
        known: dict[str, int] = {}
        ends = []
        for link in links:
            name = link.url.partition("//")[2].partition("/")[0]
            if (end := known.get(name)) is None:
                end = known[name] = self._tlds.get(tld_of_link(link), vectors.UNKNOWN_PLACE)
            ends.append(end)
        return ends

    def top_reasons(self, places: vectors.Ints, shares: vectors.Floats) -> tuple[Reason, ...]:
        """The features that count most for or against."""
        return tuple(
            Reason(self.names[p], share) for p, share in vectors.largest_shares(places, shares)
        )


class _ContainedPlaces(vectors.StemPlaces):
    """A word that is not chosen counts as the first chosen stem within it: birdwatching, bird."""

    def _find_place(self, stem: str) -> int:
        place = super()._find_place(stem)
        if place == vectors.UNKNOWN_PLACE:
            return next(
                (p for chosen, p in self._of_stem.items() if chosen in stem), vectors.UNKNOWN_PLACE
            )
        return place


def _number_stems(stems: Sequence[str], first: int) -> dict[str, int]:
    return {stem: first + place for place, stem in enumerate(stems)}


def choose_link_words(
    links: Sequence[Link],
    fields: Sequence[LinkField],
    sizes: dict[LinkField, int],
    language: str = "en",
) -> LinkWords:
    """The most frequent words of each field of these links."""
    chosen = {
        field: _frequent_stems(
            [field_text(link, field) for link in links], field, sizes[field], language
        )
        for field in fields
    }
    tlds: tuple[str, ...] = ()
    if "url" in fields:
        ends = Counter(tld_of_link(link) for link in links)
        tlds = tuple(sorted(sorted(ends), key=lambda tld: -ends[tld])[:_TLDS])
    return LinkWords(**chosen, tlds=tlds, language=language)


def _frequent_stems(
    texts: Sequence[str], field: LinkField, size: int, language: str
) -> tuple[str, ...]:
    stems: dict[str, int] = {}
    growing = vectors.GrowingPlaces(stems, language)
    _, places, _ = vectors.count_places(texts, growing, language)
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
        if not (is_too_short(stem) or merged):
            chosen.append(stem)
    return tuple(chosen)


def field_text(link: Link, field: LinkField) -> str:
    match field:
        case "url":
            return readable_address(link.url.partition("//")[2][:_READ])
        case "anchor":
            return link.anchor[:_READ]
        case "around":
            return f"{link.before[-_READ:]} {link.after[:_READ]}"


def tld_of_link(link: Link) -> str:
    return host_of(link.url).rpartition(".")[2]
