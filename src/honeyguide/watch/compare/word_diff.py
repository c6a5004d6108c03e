"""Two texts, word by word: what stayed, what went, what came. For people to look at."""

from __future__ import annotations

from collections import Counter
from difflib import SequenceMatcher
from typing import Literal

Piece = tuple[Literal["same", "removed", "added"], str]

_MATCHES = 10_000
"""Pairs of equal words up to which a matcher may be asked: it looks at each again and again."""
_TEXT = 100_000
"""Letters that anybody would look at."""


def diff_words(old: str, new: str) -> list[Piece]:
    """Pieces that, without the added ones, read as the old text, and without the removed ones as
    the new, white space aside."""
    before, after = old[:_TEXT].split(), new[:_TEXT].split()
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    pieces: list[Piece] = []
    _add(pieces, "same", before[:start])
    gone, come = before[start : len(before) - end], after[start : len(after) - end]
    if gone and come and _matches(gone, come) <= _MATCHES:
        _matched(pieces, gone, come)
    else:
        _add(pieces, "removed", gone)
        _add(pieces, "added", come)
    _add(pieces, "same", before[len(before) - end :])
    return pieces


def _matched(pieces: list[Piece], gone: list[str], come: list[str]) -> None:
    for _, low, high, start, stop in SequenceMatcher(None, gone, come, False).get_opcodes():
        if gone[low:high] == come[start:stop]:
            _add(pieces, "same", gone[low:high])
        else:
            _add(pieces, "removed", gone[low:high])
            _add(pieces, "added", come[start:stop])


def _matches(gone: list[str], come: list[str]) -> int:
    counts = Counter(come)
    return sum(count * counts[word] for word, count in Counter(gone).items())


def _add(pieces: list[Piece], what: Literal["same", "removed", "added"], words: list[str]) -> None:
    if not words:
        return
    text = " ".join(words)
    if pieces and pieces[-1][0] == what:
        pieces[-1] = (what, f"{pieces[-1][1]} {text}")
    else:
        pieces.append((what, text))


def _common(one: list[str], other: list[str]) -> int:
    """How many words both begin with."""
    most = min(len(one), len(other))
    return next((at for at in range(most) if one[at] != other[at]), most)
