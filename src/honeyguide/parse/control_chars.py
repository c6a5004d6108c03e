"""Characters that a browser would choke on: told, but no more of them than any language has.

Signs that stand on, under or between others (accents, joiners, marks of direction) may be piled up
without end, and a word may be as long as a page; laying out either takes a browser minutes.
"""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from unicodedata import category

_PILE = 20
"""Combining signs in a row; the rest are left out."""
_WORD = 1_000
"""Signs in a row without a blank."""
_COMBINING = frozenset({"Mn", "Me", "Cf"})
_BLANKS = " \t\r\n\f"
_BLANK = re.compile(f"[{_BLANKS}]")
_LONG = re.compile(f"[^{_BLANKS}]{{{_WORD}}}")


def eased(text: str) -> str:
    """The whole of a text; where a line may end within a word, it has a blank without width."""
    return "\u200b".join(Signs().told(text))


class Signs:
    """For text in parts: a word, or a pile, may begin in one and go on in the next."""

    def __init__(self) -> None:
        self._word = 0
        """Signs since the last blank, or the last place where a line may end …"""
        self._pile = 0
        """… and combining ones at the end of what was told."""

    def told(self, text: str) -> list[str]:
        """The text without too high piles, in pieces between which a line may end."""
        return self._broken(self._thinned(text))

    def _thinned(self, text: str) -> str:
        if text.isascii():
            self._pile = 0 if text else self._pile
            return text
        begun, pile = _piles()
        if found := begun.match(text):
            text = text[: min(found.end(), _PILE - self._pile)] + text[found.end() :]
        text = pile.sub(r"\1", text)
        ended = 0
        while ended < min(len(text), _PILE) and category(text[-1 - ended]) in _COMBINING:
            ended += 1
        self._pile = min(_PILE, self._pile + ended) if ended == len(text) else ended
        return text

    def _broken(self, text: str) -> list[str]:
        room = _WORD - self._word
        full = len(text) >= room and _BLANK.search(text, 0, room) is None
        ends = [room] if full else []
        ends += [found.end() for found in _LONG.finditer(text, room if full else 0)]
        last = max(0, *ends[-1:], *(text.rfind(blank) + 1 for blank in _BLANKS))
        self._word = len(text) - last + (0 if last else self._word)
        return [text[begin:end] for begin, end in zip([0, *ends], [*ends, len(text)], strict=True)]


@lru_cache(maxsize=1)
def _piles() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """A pile that a text begins with, and one that is too high. Unicode's list is long, so it is
    gone through when the first page is shown."""
    ranges: list[list[int]] = []
    for code in range(0x80, sys.maxunicode + 1):
        if category(chr(code)) in _COMBINING:
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    signs = "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)
    return re.compile(f"[{signs}]+"), re.compile(f"([{signs}]{{{_PILE}}})[{signs}]+")
