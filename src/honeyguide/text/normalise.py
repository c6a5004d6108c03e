"""Where words end and which letters count as the same: patterns, pairs of characters, folding.

Folding unifies case, composed and decomposed accents, and forms of letters. It is bounded and takes
time in proportion to the text, whatever the text contains.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from itertools import chain
from operator import add
from typing import NamedTuple
from unicodedata import category, normalize
from urllib.parse import unquote

_HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_OTHERS = (
    "\u3041-\u3096\u309d-\u309f",  # hiragana
    "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff",  # katakana
    "\u0e01-\u0e3a\u0e40-\u0e4e",  # Thai
    "\u0e81-\u0ece\u0edc-\u0edf",  # Lao
    "\u1000-\u103f\u1050-\u108f",  # Myanmar
    "\u1780-\u17d3",  # Khmer
    "\u1950-\u19c9\u1a20-\u1a7c",  # Tai
)
UNSPACED_CHARS = "".join((_HAN, *_OTHERS))
"""Characters of scripts without blanks between words, for the set of a pattern."""

_NAME_LENGTHS = range(2, 33)
_MARKED = (range(0x300, 0x1D00), range(0xA800, 0xAC00))
"""Blocks with the marks of nearly all living scripts; the others would make patterns slow."""


@lru_cache(maxsize=64)
def word_pattern(marks: bool = False, also: str = "", inside: str = "") -> re.Pattern[str]:
    """A pattern of words in separated text: letters and digits, with their marks if there are any.

    ``also`` is another pattern that may match where no word begins; ``inside`` are characters that
    count as marks.
    """
    letters = r"[^\W_]+"
    if marks or inside:
        signs = (_mark_chars() if marks else "") + inside
        letters += rf"(?:[{signs}]+[^\W_]*)*"
    return re.compile(f"{letters}|{also}" if also else letters)


@lru_cache(maxsize=1)
def _unspaced_run() -> re.Pattern[str]:
    """A run of characters of one such script. Made when needed: the pattern is large, and most
    pages have no such run."""
    return re.compile("|".join(f"[{script}]+" for script in (_HAN, *_OTHERS)))


@lru_cache(maxsize=1)
def _mark_chars() -> str:
    """Marks, which Python does not count as letters although words are full of them."""
    return "".join(c for c in map(chr, chain(*_MARKED)) if category(c).startswith("M"))


def split_into_pairs(text: str, ends: bool = False) -> str:
    """Overlapping pairs of characters with blanks between, where a script has no blanks.

    Pairs find Chinese nearly as well as words do and need no dictionary (Nie, Gao, Zhang & Zhou
    2000). Scripts are separated, so that Japanese particles and foreign names leave the words
    beside them, and a character stays with its marks. With ``ends`` the last character of a run
    follows its pairs, so that each character begins a word.
    """
    return _unspaced_run().sub(partial(_pairs_of_run, ends), text)


def _pairs_of_run(ends: bool, run: re.Match[str]) -> str:
    """The pairs of a run, with blanks where a word stands next to it."""
    units = _split_units(run[0])
    pairs = " ".join(map(add, units, [*units[1:], ""] if ends else units[1:])) or units[0]
    text, (start, end) = run.string, run.span()
    if start and text[start - 1].isalnum():
        pairs = f" {pairs}"
    return f"{pairs} " if text[end : end + 1].isalnum() else pairs


def _split_units(run: str) -> Sequence[str]:
    """The characters, each with its marks."""
    return _unit_finder()(run) if "\u0e00" <= run[0] < "\u2000" else run


@lru_cache(maxsize=1)
def _unit_finder() -> Callable[[str], list[str]]:
    return re.compile(f".[{_mark_chars()}]*", re.DOTALL).findall


def unspaced_names(text: str) -> list[str]:
    """Whole runs whose pairs mean nothing: katakana, Thai and the like, which may be names.

    Chinese is left out because its pairs have a meaning, and hiragana because it is mostly grammar.
    """
    runs = (run[0] for run in _unspaced_run().finditer(text) if len(run[0]) in _NAME_LENGTHS)
    return [run for run in runs if not (_is_han(run) or "\u3041" <= run[0] <= "\u309f")]


def _is_han(run: str) -> bool:
    return run[0] >= "\u3400" or run[0] in "\u3005\u3007"


def readable_address(url: str) -> str:
    """An address with its percent codes read, in lower case.

    I becomes i even in Turkish: addresses are made of ASCII letters.
    """
    return (unquote(url) if "%" in url else url).lower()


def is_unspaced(word: str) -> bool:
    """Whether a word is one or two characters out of a script without blanks."""
    return not word.isascii() and _unspaced_run().match(word) is not None


def first_unit(word: str) -> str:
    """The first character of a word that is :func:`is_unspaced`, with its marks."""
    return _split_units(word)[0]


def is_telling_word(word: str) -> bool:
    """Whether a word means something on its own. Single characters and most pairs do not; most
    Chinese pairs do."""
    return not is_unspaced(word) or (len(word) > 1 and _is_han(word))


def is_too_short(word: str) -> bool:
    """Whether a word has too few letters to mean something; a pair of characters has enough."""
    return len(word) < 3 and not (len(word) > 1 and is_unspaced(word))


def rejoin_words(words: Iterable[str]) -> str:
    """Words as people write them: overlapping pairs become a run again."""
    words = tuple(words)
    if (plain := " ".join(words)).isascii():
        return plain
    joined, last = "", ""
    for word in words:
        overlap = next((n for n in range(1, len(word)) if last.endswith(word[:n])), 0)
        if overlap and is_unspaced(word) and is_unspaced(last):
            joined += word[overlap:]
        else:
            joined += f" {word}" if joined else word
        last = word
    return joined


# --- One spelling of letters ---


LetterPairs = tuple[tuple[str, str], ...]
"""What is written, and what replaces it."""

_ASCII = bytes(range(128))
_BROKEN = "surrogatepass"
"""Halves of surrogate pairs pass unchanged."""

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
"""The ignored characters without the joiner, for languages in whose words it counts."""
_CARE = _IGNORED + _PARTS
_APART = UNSPACED_CHARS + "\uff66-\uff9d"


class Spelling(NamedTuple):
    """Which letters count as the same in a language."""

    capitals: LetterPairs = ()
    """Capitals whose small letters differ from those of most languages."""
    alike: LetterPairs = ()
    """Small letters beyond ASCII, and what replaces them."""
    marks: bool = True
    """Its words contain marks that are no letters, such as vowel signs. Where they do not, accents
    that belong to no letter are removed, such as stress in Russian."""
    joiner: bool = False
    """Its words may contain the zero-width non-joiner."""


def fold_letters(text: str, spelling: Spelling) -> tuple[str, bool]:
    """The text in one spelling, and whether it contains a script without blanks between words."""
    if text.isascii():
        for capital, small in spelling.capitals:
            text = text.replace(capital, small)
        return text.lower(), False
    # One curly quotation mark makes Python look every letter up, though nearly all are ASCII:
    # whether anything needs care is seen from the others alone.
    raw = text.encode("utf-8", _BROKEN)
    beyond = raw.translate(None, _ASCII).decode("utf-8", _BROKEN)
    unspaced = _any_char_of(_APART).search(beyond) is not None
    care = _any_char_of(_CARE).search(beyond) is not None
    if care:
        text = _composing_pattern().sub(lambda part: normalize("NFKC", part[0]), text)
        text = _any_char_of(_JOINED if spelling.joiner else _IGNORED).sub("", text)
    elif not spelling.capitals and beyond.lower() == beyond:
        return _unify_letters(raw.lower().decode("utf-8", _BROKEN), spelling.alike), unspaced
    for capital, small in spelling.capitals:
        text = text.replace(capital, small)
    text = _unify_letters(text.lower(), spelling.alike)
    if "\u0307" in text:
        # Whoever lowers a Turkish İ without knowing Turkish leaves its dot behind.
        text = text.replace("i\u0307", "i")
    if care and not spelling.marks:
        text = _any_char_of(_ACCENTS).sub("", text)
    return text, unspaced


# Few commands need these patterns, and making them takes as long as a few pages.


@lru_cache(maxsize=1)
def _composing_pattern() -> re.Pattern[str]:
    # In short stretches: to put thousands of marks on one letter in order takes quadratic time.
    return re.compile(f".?[{_PARTS}]{{1,32}}", re.DOTALL)


@lru_cache(maxsize=8)
def _any_char_of(characters: str) -> re.Pattern[str]:
    return re.compile(f"[{characters}]")


def _unify_letters(text: str, pairs: LetterPairs) -> str:
    for one, other in pairs:
        text = text.replace(one, other)
    return text
