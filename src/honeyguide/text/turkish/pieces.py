"""What stands between two blanks: an address, a number, a word in disguise, or words.

Addresses, e-mail, file names and code are nobody's Turkish: they are cut into words and left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

from honeyguide.text.tokens import fold
from honeyguide.text.turkish.tables import Tables
from honeyguide.text.turkish.vocabulary import Vocabulary

LONGEST = 64
"""Characters of a piece that is looked at closely: longer ones hold no word of any language."""

_RUNS = re.compile(r"[^\W_]+").findall
_WORDS = re.compile(r"([^\W_]+)(?:['’]([^\W_]+))?").finditer
_REPEATED = re.compile(r"(.)\1{3,}")
_ENDING = re.compile("[a-zçğıöşü]{1,7}").fullmatch
_FOREIGN = re.compile(
    r"://|^www\.|@\w|\w_\w|\\|::|->|=>|==|[<>{}|~^`]|\w=\w|\(\)|\w/\w+/|"
    r"\w\.(?:com|org|net|edu|gov|info|io|dev|tr|html?|php|aspx?|js|css|py|c|h|cpp|java|xml|json|"
    r"txt|pdf|docx?|xlsx?|pptx?|od[tsp]|jpe?g|png|gif|svg|mp[34]|zip|exe)(?:\W|$)",
    re.ASCII,
).search
_NUMBERED = re.compile(r"[^\W\d_]+\d+|\d{2,}[^\W\d_]+|\d[^\W\d_]{1,3}").fullmatch
_EDGES = "!\"'“”‘’„«»()[]….,;:?*#-–—"
_READINGS = 64
"""Ways to read a word in disguise that are tried."""


def foreign(piece: str) -> bool:
    """An address, a file name or code: not to be touched."""
    return _FOREIGN(piece) is not None


def shortened(piece: str) -> str:
    """Without the letters that repeat, if it is too long to be looked at otherwise."""
    return _REPEATED.sub(r"\1\1\1", piece) if len(piece) > LONGEST else piece


def untouched(piece: str) -> list[str]:
    """Its words as they are, but for case, and that not by Turkish rules."""
    return [run[:LONGEST] for run in _RUNS(piece.lower())]


def words(piece: str, cut: bool) -> Iterator[str]:
    """Its words in their own case. ``cut``: a name loses its ending, Ankara'da → Ankara."""
    for found in _WORDS(piece):
        head, tail = found[1], found[2]
        yield head[:LONGEST]
        if tail and not (cut and not head[0].islower() and _ENDING(tail)):
            yield tail[:LONGEST]


def undisguised(piece: str, tables: Tables, vocabulary: Vocabulary) -> str:
    """``$ark14U`` → ``şarkı senin için``; '' if there is no common word behind it.

    Alqaraleh & Sırın call this emo style and show that one example. Numbers with units and numbered
    words (``100tl``, ``kanal1``, ``mp3``) are left alone.
    """
    bare = fold(piece, "tr").strip(_EDGES)
    if len(bare) > LONGEST // 2 or not any(letter.isalpha() for letter in bare):
        return ""
    for phrase, meaning in tables.phrases.items():
        if bare.endswith(phrase):
            head = bare[: -len(phrase)]
            word = _behind(head, tables, vocabulary) if head else ""
            if word or not head:
                return f"{word} {meaning}".strip()
    return _behind(bare, tables, vocabulary) if _disguised(bare, tables) else ""


def _disguised(bare: str, tables: Tables) -> bool:
    signs = sum(sign in tables.signs for sign in bare)
    digits = sum(letter.isdigit() for letter in bare)
    # Digits alone need a longer word to be believed: h1z may be a code, $u is none.
    return (
        0 < signs <= len(bare) // 2
        and (signs > digits or (len(bare) > 3 and digits < 3))
        and (not _NUMBERED(bare))
    )


def _behind(bare: str, tables: Tables, vocabulary: Vocabulary) -> str:
    """The most common word among the readings of the signs."""
    options = [tables.signs.get(letter, (letter,)) for letter in bare]
    readings = 1
    for option in options:
        readings *= len(option)
    if readings > _READINGS:
        return ""
    found = ("".join(letters) for letters in product(*options))
    common = [word for word in found if vocabulary.common(word)]
    return min(common, key=vocabulary.rank, default="")
