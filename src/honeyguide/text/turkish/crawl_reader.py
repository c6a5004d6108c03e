"""Turkish as a crawl reads it: words of pages, links, keywords and queries, spelt right.

Alqaraleh & Sırın preprocess what they classify (section on preprocessing). A crawl reads whole
texts many times and compares stems, so the same steps are taken where words become stems: each
word is repaired once, by itself, and a page that is well written costs nothing more than before.
That both sides are read alike matters more than the best guess: ``kus`` is always ``kuş``.

What takes several words is done before a text is cut into words: ordinals (``2. Dünya`` is
``ikinci dünya``) and words with signs for letters (``$ark14U``). Other numbers stay as they are:
in a topic they are names (Windows 10, 2023), and their words are stop words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from honeyguide.language_codes import RAW_SUFFIX
from honeyguide.text.language import Language, language_of, stop_words
from honeyguide.text.turkish.normaliser import read_disguised, spoken_number
from honeyguide.text.turkish.vocabulary import (
    PLAIN_LETTERS,
    load_letter_restorer,
    load_tables,
    load_vocabulary,
)
from honeyguide.text.turkish.word_repair import DiacriticUse, WordRepair

RAW_TURKISH = f"tr{RAW_SUFFIX}"

_ORDINAL = re.compile(r"[0-9]{1,2}\.(?=[ \xa0][^\W\d_])")
_DOUBLED = re.compile(r"(.)\1").search
_SIGNS = "$€£"
_DISGUISED = re.compile(r"(?<!\S)[^\s$€£]{0,24}+[$€£]\S{1,24}(?!\S)")


def turkish_of_the_web() -> Language:
    """Turkish with its words repaired."""
    raw = language_of(RAW_TURKISH)
    return replace(
        raw, code="tr", listed=_stop_words_as_written, respell=respell_word, rewrite=rewrite_text
    )


def respell_word(word: str) -> str:
    """A folded word → the word spelt right, or the word itself: ``gocmen`` → ``göçmen``,
    ``cooook`` → ``çok``, ``mrb`` → ``merhaba``, ``ıstanbul`` → ``istanbul``."""
    repair, careful = _word_repairs()
    if len(word) < 2 or not word.isalpha() or repair.needs_no_repair(word):
        return word
    if word in _english_words():
        return word
    word = repair.lower_plainly(word)
    doubled = _DOUBLED(word)
    fixed = repair.restore_unknown(repair.shorten_repeats(word, word) if doubled else word)
    meaning = repair.expand_slang(fixed, word)
    if " " not in meaning:
        if not doubled or meaning != word:
            return meaning
        return careful.undouble_letters(word, word)
    telling = [part for part in meaning.split() if part not in stop_words(RAW_TURKISH)]
    return telling[0] if len(telling) == 1 else fixed


def rewrite_text(text: str) -> str:
    """The text with ordinals and disguised words in letters."""
    text = _ORDINAL.sub(_ordinal_in_words, text)
    return _DISGUISED.sub(_undisguised, text) if any(map(text.__contains__, _SIGNS)) else text


def _ordinal_in_words(found: re.Match[str]) -> str:
    before = found.string[found.start() - 1 : found.start()]
    # 1.2. is a version or a date.
    return found[0] if before.strip(" (\"'“‘\n\t\xa0") else spoken_number(found[0]) or found[0]


def _undisguised(found: re.Match[str]) -> str:
    return read_disguised(found[0], load_tables(), load_vocabulary()) or found[0]


def _stop_words_as_written() -> Iterable[str]:
    """The stop words, and those of their other spellings that are repaired to them."""
    listed = stop_words(RAW_TURKISH)
    slang = load_tables().slang
    yield from listed
    for word in listed:
        plain = word.translate(PLAIN_LETTERS)
        # Ile and ILE, written without its dots, are folded to these.
        for other in (plain, plain.replace("i", "ı", 1), plain.replace("i", "ı")):
            if respell_word(other) in listed:
                yield other
    for word, meaning in slang.items():
        if listed.issuperset(meaning.split()):
            yield word


@lru_cache(maxsize=1)
def _word_repairs() -> tuple[WordRepair, WordRepair]:
    """For words by themselves; and for double letters, which are mostly meant."""
    tables, vocabulary, letters = load_tables(), load_vocabulary(), load_letter_restorer()
    alone = WordRepair(tables, vocabulary, letters, DiacriticUse.UNCLEAR)
    return alone, WordRepair(tables, vocabulary, letters, DiacriticUse.GIVEN)


@lru_cache(maxsize=1)
def _english_words() -> frozenset[str]:
    """The stop words of English, which stand on pages in any language: once is not önce."""
    return stop_words("en")
