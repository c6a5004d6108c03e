"""Where words end: patterns of words, and pairs of characters for scripts without blanks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import chain
from operator import add
from unicodedata import category
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
UNSPACED = "".join((_HAN, *_OTHERS))
"""Characters of scripts without blanks between words, as a pattern's set names them."""

_NAME = range(2, 33)
_MARKED = (range(0x300, 0x1D00), range(0xA800, 0xAC00))
"""Where the marks of nearly all living scripts are; those beyond make patterns slow."""


def word(marks: bool = False, also: str = "", inside: str = "") -> re.Pattern[str]:
    """A pattern of words in ready text: letters and digits, with their marks if there are any.

    ``also`` is another pattern that is found where no word begins; ``inside`` are characters that
    count as marks. The same arguments give the same pattern.
    """
    letters = r"[^\W_]+"
    if marks or inside:
        signs = (_marks() if marks else "") + inside
        letters += rf"(?:[{signs}]+[^\W_]*)*"
    return _pattern(f"{letters}|{also}" if also else letters)


@lru_cache(maxsize=64)
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


@lru_cache(maxsize=1)
def _run() -> re.Pattern[str]:
    """Characters of one such script in a row. Most pages have none, and the pattern is large."""
    return re.compile("|".join(f"[{script}]+" for script in (_HAN, *_OTHERS)))


@lru_cache(maxsize=1)
def _marks() -> str:
    """Marks that are no letters to Python's patterns, though words are full of them."""
    return "".join(c for c in map(chr, chain(*_MARKED)) if category(c).startswith("M"))


def pairs(text: str, ends: bool = False) -> str:
    """Overlapping pairs of characters with blanks between, where a script has no blanks.

    Pairs find Chinese nearly as well as words do and need no dictionary (Nie, Gao, Zhang & Zhou
    2000). We tell scripts apart, so that Japanese particles and foreign names fall off the words
    beside them, and keep a character's marks with it. With ``ends`` the last character of a run
    follows its pairs, so that every character begins a word.
    """
    return _run().sub(_with_ends if ends else _paired, text)


def _paired(run: re.Match[str]) -> str:
    units = _units(run[0])
    return _apart(run, " ".join(map(add, units, units[1:])) or units[0])


def _with_ends(run: re.Match[str]) -> str:
    units = _units(run[0])
    return _apart(run, " ".join(map(add, units, [*units[1:], ""])))


def _apart(run: re.Match[str], said: str) -> str:
    """With blanks where a word stands right beside it; punctuation makes no word of its own."""
    text, (start, end) = run.string, run.span()
    if start and text[start - 1].isalnum():
        said = f" {said}"
    return f"{said} " if text[end : end + 1].isalnum() else said


def _units(run: str) -> Sequence[str]:
    """The characters, each with its marks."""
    return _unit()(run) if "\u0e00" <= run[0] < "\u2000" else run


@lru_cache(maxsize=1)
def _unit() -> Callable[[str], list[str]]:
    return re.compile(f".[{_marks()}]*", re.DOTALL).findall


def names(text: str) -> list[str]:
    """Runs whose pairs say nothing, whole: katakana, Thai and the like; perhaps names of things.

    Chinese is left out, because its pairs do say something, and hiragana, which is mostly grammar.
    """
    runs = (run[0] for run in _run().finditer(text))
    return [run for run in runs if len(run) in _NAME and not (_is_han(run) or _is_hiragana(run))]


def _is_han(run: str) -> bool:
    return run[0] >= "\u3400" or run[0] in "\u3005\u3007"


def _is_hiragana(run: str) -> bool:
    return "\u3041" <= run[0] <= "\u309f"


def address(url: str) -> str:
    """What an address says: the coded letters read, and capitals lowered by no language's rule.

    In addresses I is the capital of i even in Turkish: they are made of ASCII letters.
    """
    return (unquote(url) if "%" in url else url).lower()


def unspaced(word: str) -> bool:
    """Whether a word is one or two characters out of a script without blanks."""
    return not word.isascii() and _run().match(word) is not None


def first(word: str) -> str:
    """The first character of a word that is :func:`unspaced`, with its marks."""
    return _units(word)[0]


def tells(word: str) -> bool:
    """Whether a word says something on its own: most pairs of characters do not, nor does one
    character; a pair of Chinese ones mostly does."""
    return not unspaced(word) or (len(word) > 1 and _is_han(word))


def brief(word: str, least: int = 3) -> bool:
    """Too few letters for a word that tells something; a pair of characters has enough."""
    return len(word) < least and not (len(word) > 1 and unspaced(word))


def rejoined(words: Iterable[str]) -> str:
    """Words as people write them: pairs that overlap become a run again."""
    words = tuple(words)
    if (plain := " ".join(words)).isascii():
        return plain
    said, last = "", ""
    for word in words:
        overlap = next((n for n in range(1, len(word)) if last.endswith(word[:n])), 0)
        if overlap and unspaced(word) and unspaced(last):
            said += word[overlap:]
        else:
            said += f" {word}" if said else word
        last = word
    return said
