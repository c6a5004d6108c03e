"""One writing for what readers take for the same: case, accents in two parts, forms of letters.

It is bounded and takes time in proportion to the text, whatever stands in it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple
from unicodedata import normalize

from honeyguide.text.word_patterns import UNSPACED

Pairs = tuple[tuple[str, str], ...]
"""What is written, and what stands for it."""

_ASCII = bytes(range(128))
_BROKEN = "surrogatepass"
"""Halves of characters come along as they are."""

_ACCENTS = "\u0300-\u036f"
_JOINER = "\u200c"
_IGNORED = (
    # Soft hyphen, joiners, marks of direction, variants; tatweel and Arabic points; Hebrew points.
    f"\u00ad{_JOINER}-\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufe00-\ufe0f"
    "\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed"
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
)
_PARTS = (
    # Parts that make a letter with the one before, and forms of letters: ligatures, full width.
    f"{_ACCENTS}\u0653-\u0655\u3099\u309a\u1100-\u11ff\uf900-\ufaff\ufb00-\ufbb1\ufbd3-\ufd3d"
    "\ufe70-\ufefc\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff66-\uffdc"
)
_JOINED = _IGNORED.replace(_JOINER, "\u200d")
"""The same where the joiner counts."""
_CARE = _IGNORED + _PARTS
_APART = UNSPACED + "\uff66-\uff9d"


class Spelling(NamedTuple):
    """What is the same letter in a language."""

    capitals: Pairs = ()
    """Capitals whose small letters are not those of most languages."""
    alike: Pairs = ()
    """Small letters beyond ASCII, and what stands for them."""
    marks: bool = True
    """Marks that are no letters, such as vowel signs, stand in its words. Where they do not,
    accents that make no letter are left out: Russian stress."""
    joiner: bool = False
    """The zero-width non-joiner stands inside its words."""


def folded(text: str, spelling: Spelling) -> tuple[str, bool]:
    """The text in one writing, and whether it holds a script without blanks between words."""
    if text.isascii():
        for capital, small in spelling.capitals:
            text = text.replace(capital, small)
        return text.lower(), False
    # One curly quotation mark makes Python look every letter up, though nearly all are ASCII:
    # whether anything needs care is seen from the others alone.
    raw = text.encode("utf-8", _BROKEN)
    beyond = raw.translate(None, _ASCII).decode("utf-8", _BROKEN)
    unspaced = _any_of(_APART).search(beyond) is not None
    care = _any_of(_CARE).search(beyond) is not None
    if care:
        text = _composing().sub(lambda part: normalize("NFKC", part[0]), text)
        text = _any_of(_JOINED if spelling.joiner else _IGNORED).sub("", text)
    elif not spelling.capitals and beyond.lower() == beyond:
        return _alike(raw.lower().decode("utf-8", _BROKEN), spelling.alike), unspaced
    for capital, small in spelling.capitals:
        text = text.replace(capital, small)
    text = _alike(text.lower(), spelling.alike)
    if "\u0307" in text:
        # Whoever lowers a Turkish İ without knowing Turkish leaves its dot behind.
        text = text.replace("i\u0307", "i")
    if care and not spelling.marks:
        text = _any_of(_ACCENTS).sub("", text)
    return text, unspaced


# Few commands need these patterns, and making them takes as long as a few pages.


@lru_cache(maxsize=1)
def _composing() -> re.Pattern[str]:
    # In short stretches: to put thousands of marks on one letter in order takes quadratic time.
    return re.compile(f".?[{_PARTS}]{{1,32}}", re.DOTALL)


@lru_cache(maxsize=8)
def _any_of(characters: str) -> re.Pattern[str]:
    return re.compile(f"[{characters}]")


def _alike(text: str, pairs: Pairs) -> str:
    for one, other in pairs:
        text = text.replace(one, other)
    return text
