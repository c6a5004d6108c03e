"""What a search engine makes of a line that somebody typed, and of text that it keeps."""

from __future__ import annotations

import re
from typing import NamedTuple

LONGEST = 1000
"""Characters of a query that are read …"""
_MOST = 32
"""… and terms of it, as engines do."""

_PART = re.compile(r'(-?)(?:"([^"]*)"?|(\S+))')
_WORD = re.compile(r"[^\W_]+")
_DENSE = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
"""Scripts that put no spaces between words: Thai, Lao, Burmese, Khmer, kana, Han."""
_SIGN = re.compile(f"[{_DENSE}]")
_WIDE = _DENSE + "\u3000-\u303f\uff00-\uffef"
"""… and their stops."""
_APART = re.compile(f"(?<=[{_WIDE}]) (?=[{_WIDE}])")


class Asked(NamedTuple):
    """A query as FTS5 takes it: every term is a quoted string, so none is read as its syntax."""

    every: str = ""
    """Matches pages with all terms; '': nothing was asked for."""
    some: str = ""
    """Matches pages with any of them."""


def asked(text: str) -> Asked:
    """Words, ``"phrases"``, ``-words`` and ``-"phrases"``; everything else is punctuation."""
    wanted: dict[str, None] = {}
    without: dict[str, None] = {}
    for sign, phrase, word in _PART.findall(text[:LONGEST]):
        # self-help is two words side by side, in the index as well.
        if term := " ".join(_WORD.findall(spaced(phrase or word))):
            (without if sign else wanted)[f'"{term}"'] = None
    if not wanted:
        return Asked()  # what is not wanted does not say what is
    terms, barred = list(wanted)[:_MOST], list(without)[:_MOST]
    tail = f" NOT ({' OR '.join(barred)})" if barred else ""
    return Asked(f"({' AND '.join(terms)}){tail}", f"({' OR '.join(terms)}){tail}")


def spaced(text: str) -> str:
    """The same with every character of such a script a word of its own, for the tokenizer."""
    return _SIGN.sub(r" \g<0> ", text)


def unspaced(text: str) -> str:
    """The text again, for people."""
    return _APART.sub("", " ".join(text.split()))
