"""What a link shows before it is followed: the stems of its words, and where it stands."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import sqrt
from typing import NamedTuple

from honeyguide.text.language import language_of
from honeyguide.text.vectors import BREAK
from honeyguide.text.word_patterns import address as read
from honeyguide.types import Link
from honeyguide.url import authority, path

_WORDS = 60
"""Words of a field that are read."""
_CHARACTERS = 500


class Signs(NamedTuple):
    """Of one link."""

    anchor: list[str]
    around: list[str]
    address: list[str]
    host: str
    place: str
    """The tag path."""

    @property
    def size(self) -> float:
        """Many signs of a link count less each."""
        return sqrt(len(self.anchor) + len(self.around) + len(self.address) + 3)

    def kinds(self) -> tuple[tuple[str, Iterable[str]], ...]:
        """All of them by kind, none twice."""
        return (
            ("a", set(self.anchor)),
            ("s", set(self.around)),
            ("u", set(self.address)),
            ("h", (self.host,)),
            ("t", (self.place,)),
        )

    def named(self) -> list[str]:
        """All of them, each with its kind before it."""
        return [f"{kind} {what}" for kind, whats in self.kinds() for what in whats]


def said(kind: str, what: str) -> str:
    """A sign for people."""
    return {
        "a": f"“{what}” in the anchor",
        "s": f"“{what}” around it",
        "u": f"“{what}” in the address",
        "h": f"leads to {what}",
        "t": f"stands in {what or 'no element'}",
    }[kind]


def fields_of(links: Sequence[Link]) -> list[str]:
    """What the links say: all their anchors, then what stands around each, then the addresses."""
    arounds = [f"{link.before} {link.after}" for link in links]
    addresses = [read(path(link.url)) for link in links]
    return [*[link.anchor for link in links], *arounds, *addresses]


def signs_of(
    links: Sequence[Link], language: str, fields: Sequence[str] | None = None
) -> list[Signs]:
    """``fields``: what :func:`fields_of` says of them, for whoever needs it as well."""
    count, stems = len(links), _stems(fields_of(links) if fields is None else fields, language)
    return [
        Signs(anchor, around, address, authority(link.url), link.tag_path.replace("\n", " "))
        for link, anchor, around, address in zip(
            links, stems[:count], stems[count : 2 * count], stems[2 * count :], strict=True
        )
    ]


def _stems(texts: Sequence[str], language: str) -> list[list[str]]:
    """The stems of each text; all in one pass, which is several times quicker."""
    joined = BREAK.join(text[:_CHARACTERS].replace(BREAK, " ") for text in texts)
    tongue = language_of(language)
    stems = tongue.stems
    found: list[list[str]] = [[]]
    last = found[0]
    for token in tongue.word(BREAK).findall(tongue.ready(joined)):
        if token == BREAK:
            last = []
            found.append(last)
        elif len(last) < _WORDS:
            last.append(stems[token])
    return found[: len(texts)]


def worths(sign: Signs, worth: Callable[[str, float], float]) -> tuple[float, float, float]:
    """What the critic thinks of the words of each field."""
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
