"""Repair of single Turkish words: case, letters, short forms.

Known words are never changed, and a change must lead to a known word, so names and words of other
languages stay as they are.
"""

from __future__ import annotations

import re
from enum import Enum
from itertools import combinations

from honeyguide.text.turkish.vocabulary import (
    LetterRestorer,
    NormaliserTables,
    TurkishVocabulary,
    flip_letter,
)

_RUN = re.compile(r"([^\W\d_])\1{2,}")
_DOUBLE = re.compile(r"([^\W\d_])\1")
# Arabic words have aa and ii by right: a careful text means them.
_CONSONANTS = re.compile(r"([^\W\d_ai])\1")
_ROMAN = re.compile(r"(?=[IVXLC]{2})C{0,3}(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})").fullmatch
_OTHER = frozenset("qwxQWX")
"""Letters that Turkish does not have."""
_FOREIGN_SPELLING = re.compile(r"[aeiou]{2}|[csptgkw]h|^[^aeiou]{2}|[qwx]").search
"""Letters that stand together in names and words of other languages, and in common loan words."""
_LONGEST_WORD = 24
_ACRONYM = 4
_TELLING = 8
"""Letters of a word that make a match by chance unlikely."""
_SHORTEST_DOUBLED = 4
"""Letters of a word that is mistyped and not an abbreviation such as ddt or ppk."""
_DOUBLES = 3
"""Doubled letters of one word that are looked at."""
_DOUBTS = 4
"""Least certain letters that are tried the other way."""


class DiacriticUse(Enum):
    """How a text treats the six marked letters."""

    GIVEN = "given"
    """It has some: a capitalised word without them is a name."""
    UNCLEAR = "unclear"
    """It has none and is too short to tell."""
    MISSING = "missing"
    """It has none and must have lost them: known words are looked up as well."""


ENOUGH_CHARS = 120
"""Characters without a marked letter that are enough to tell: in Turkish one letter in seven has
a mark."""


def diacritic_use(text: str) -> DiacriticUse:
    if not text.isascii() and any(letter in text for letter in "ışğüçöİŞĞÜÇÖ"):
        return DiacriticUse.GIVEN
    return DiacriticUse.UNCLEAR if len(text) < ENOUGH_CHARS else DiacriticUse.MISSING


class WordRepair:
    """Spelling steps. Each takes a word and its original form, and returns a word."""

    def __init__(
        self,
        tables: NormaliserTables,
        vocabulary: TurkishVocabulary,
        letters: LetterRestorer,
        text: DiacriticUse,
        deasciify: bool = True,
    ) -> None:
        self._slang, self._deasciify = tables.slang, deasciify
        self._vocabulary, self._letters, self._text = vocabulary, letters, text

    def needs_no_repair(self, word: str) -> bool:
        """Whether no step would change it: a common word, as most are. Fast."""
        if self._text is DiacriticUse.MISSING:
            return False
        return self._vocabulary.is_common(word) and word not in self._slang

    def lower_plainly(self, word: str) -> str:
        """A folded word with i for ı if its capitals had no dots: WINDOWS, Istanbul, BILGI."""
        plain = word.replace("ı", "i")
        if plain == word or not plain.isascii():
            return word
        foreign = word[0] == "ı" or not _OTHER.isdisjoint(word)
        return plain if foreign or self._vocabulary.likeliest_word(plain) else word

    def fold_case(self, word: str, raw: str) -> str:  # noqa: ARG002 - a step like the others
        """Turkish lower case; words that cannot be Turkish and Roman numbers get plain lower
        case."""
        if "I" not in word:
            return word.replace("İ", "i").lower()
        if _ROMAN(word) or not _OTHER.isdisjoint(word):
            return word.lower()
        lower = word.replace("İ", "i").replace("I", "ı").lower()
        # Istanbul, Iverson, IBM: written without a dot, or not ours.
        if word.isascii() and not self._vocabulary.is_word(lower):
            plain = word.lower()
            short = len(word) <= _ACRONYM
            if short or word[1:].islower() or self._vocabulary.is_word(plain):
                return plain
        return lower

    def shorten_repeats(self, word: str, raw: str) -> str:
        """``çooooook`` → ``çok``; ``dikkkat`` → ``dikkat``, since no word is ``dikat``."""
        if not _RUN.search(word) or _ROMAN(raw):
            return word
        single, double = _RUN.sub(r"\1", word), _RUN.sub(r"\1\1", word)
        known = single in self._slang or self._vocabulary.is_word(single)
        if known or self._right_spelling(single):
            return single
        return double if self._vocabulary.is_word(double) else single

    def expand_slang(self, word: str, raw: str) -> str:
        """``slm`` → ``selam``. In careful text a word in capitals is an abbreviation."""
        if self._text is DiacriticUse.GIVEN and raw.isupper() and len(raw) <= _ACRONYM:
            return word
        return self._slang.get(word, word)

    def restore_letters(self, word: str, raw: str) -> str:
        """``kizmis`` → ``kızmış``."""
        if not raw.isascii() or not word.isalpha() or self._is_name(raw):
            return word
        # Two letters are as well English: is.
        if self._text is DiacriticUse.GIVEN and (len(word) < 3 or self._vocabulary.is_word(word)):
            return word
        if self._text is DiacriticUse.UNCLEAR and self._vocabulary.is_common(word):
            return word
        return self._marked_spelling(word) or word

    def restore_unknown(self, word: str) -> str:
        """The marks of a folded word without context: a common word that looks like it goes first,
        then the word itself if it is a form of a known word, and only then a guess."""
        if not word.isascii():
            return word
        common = self._vocabulary.likeliest_word(word)
        if common or _FOREIGN_SPELLING(word) or self._vocabulary.is_word(word):
            return common or word
        return self._marked_spelling(word) or word

    def undouble_letters(self, word: str, raw: str) -> str:
        """``hoşlanmmadım`` → ``hoşlanmadım``: changes only unknown words, and only to known
        ones."""
        doubles = _CONSONANTS if self._text is DiacriticUse.GIVEN else _DOUBLE
        places = [found.start() for found in doubles.finditer(word)][:_DOUBLES]
        if not places or len(word) < _SHORTEST_DOUBLED or not self._is_plain_word(word):
            return word
        if self._is_name(raw) or self._vocabulary.is_word(word):
            return word
        for many in range(1, len(places) + 1):
            for chosen in combinations(places, many):
                single = "".join(c for place, c in enumerate(word) if place not in chosen)
                if right := self._right_spelling(single):
                    return right
        return word

    def _is_name(self, raw: str) -> bool:
        """Whether it is capitalised in a text that has its marks."""
        return self._text is DiacriticUse.GIVEN and raw[0].isupper() and not raw.isupper()

    def _is_plain_word(self, word: str) -> bool:
        return 1 < len(word) <= _LONGEST_WORD and word.isalpha() and _OTHER.isdisjoint(word)

    def _right_spelling(self, word: str) -> str:
        """The word itself if it is good, its marked spelling if that is, else ''."""
        if self._is_good_word(word):
            return word
        return self._marked_spelling(word) if self._deasciify and word.isascii() else ""

    def _is_good_word(self, word: str) -> bool:
        """Whether it may replace another word: short words of careful texts must be common."""
        if self._text is DiacriticUse.GIVEN and len(word) < _TELLING:
            return self._vocabulary.is_common(word)
        return self._vocabulary.is_word(word)

    def _marked_spelling(self, word: str) -> str:
        """A good word that looks like this without its marks; '' if there is none."""
        plain = word.replace("ı", "i")
        if not self._is_plain_word(plain):
            return ""
        if common := self._vocabulary.likeliest_word(plain):
            return common
        guess, doubts = self._letters.restore_marks(plain)
        others = (flip_letter(guess, place) for _, place in doubts[:_DOUBTS])
        return next((word for word in (guess, *others) if self._is_good_word(word)), "")
