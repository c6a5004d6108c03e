"""One word at a time: its case, its letters, its short forms.

What looks like a word already is never changed, and no change is made that does not lead to a known
word; so names and words of other languages stay as they are.
"""

from __future__ import annotations

import re
from enum import Enum
from itertools import combinations

from honeyguide.text.turkish.deasciify import Letters, flipped
from honeyguide.text.turkish.tables import Tables
from honeyguide.text.turkish.vocabulary import Vocabulary

_RUN = re.compile(r"([^\W\d_])\1{2,}")
_DOUBLE = re.compile(r"([^\W\d_])\1")
# Arabic words have aa and ii by right: a careful text means them.
_CONSONANTS = re.compile(r"([^\W\d_ai])\1")
_ROMAN = re.compile(r"(?=[IVXLC]{2})C{0,3}(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})").fullmatch
_OTHER = frozenset("qwxQWX")
"""Letters that Turkish does not have."""
_LONGEST_WORD = 24
_ACRONYM = 4
_TELLING = 8
"""Letters that make it unlikely to meet a word by chance."""
_SHORTEST_DOUBLED = 4
"""Letters of a word that is mistyped and not an abbreviation: ddt, ppk."""
_DOUBLES = 3
"""Doubled letters of one word that are looked at."""
_DOUBTS = 4
"""Letters, the least sure first, that are tried the other way."""


class Marks(Enum):
    """How a text treats the six marked letters."""

    GIVEN = "given"
    """It has some: a capitalised word without is a name."""
    UNCLEAR = "unclear"
    """It has none, and is too short for that to say much."""
    MISSING = "missing"
    """It has none, and must have lost them: also known words are looked up."""


ENOUGH = 120
"""Characters without a marked letter that tell: in Turkish, one letter in seven has a mark."""


def marks(text: str) -> Marks:
    if not text.isascii() and any(letter in text for letter in "ışğüçöİŞĞÜÇÖ"):
        return Marks.GIVEN
    return Marks.UNCLEAR if len(text) < ENOUGH else Marks.MISSING


class Repair:
    """Spelling steps. Each takes a word and how it stood on the page, and returns a word."""

    def __init__(
        self,
        tables: Tables,
        vocabulary: Vocabulary,
        letters: Letters,
        text: Marks,
        deasciify: bool = True,
    ) -> None:
        self._slang, self._deasciify = tables.slang, deasciify
        self._vocabulary, self._letters, self._text = vocabulary, letters, text

    def stays(self, word: str) -> bool:
        """Nothing to repair: a common word, most of a text. Quick, and no step would change it."""
        if self._text is Marks.MISSING:
            return False
        return self._vocabulary.common(word) and word not in self._slang

    def fold(self, word: str, raw: str) -> str:  # noqa: ARG002 - a step like the others
        """Turkish lower case; words that cannot be Turkish, and Roman numbers, go the plain way."""
        if "I" not in word:
            return word.replace("İ", "i").lower()
        if _ROMAN(word) or not _OTHER.isdisjoint(word):
            return word.lower()
        lower = word.replace("İ", "i").replace("I", "ı").lower()
        # Istanbul, Iverson, IBM: written without a dot, or not ours.
        if word.isascii() and not self._vocabulary.known(lower):
            plain = word.lower()
            short = len(word) <= _ACRONYM
            if short or word[1:].islower() or self._vocabulary.known(plain):
                return plain
        return lower

    def repeated(self, word: str, raw: str) -> str:
        """``çooooook`` → ``çok``; ``dikkkat`` → ``dikkat``, since no word is ``dikat``."""
        if not _RUN.search(word) or _ROMAN(raw):
            return word
        single, double = _RUN.sub(r"\1", word), _RUN.sub(r"\1\1", word)
        if single in self._slang or self._vocabulary.known(single) or self._right(single):
            return single
        return double if self._vocabulary.known(double) else single

    def slang(self, word: str, raw: str) -> str:
        """``slm`` → ``selam``. In capitals, in careful text, it is somebody's abbreviation."""
        if self._text is Marks.GIVEN and raw.isupper() and len(raw) <= _ACRONYM:
            return word
        return self._slang.get(word, word)

    def restored(self, word: str, raw: str) -> str:
        """``kizmis`` → ``kızmış``."""
        if not raw.isascii() or not word.isalpha() or self._name(raw):
            return word
        # Two letters are as well English: is.
        if self._text is Marks.GIVEN and (len(word) < 3 or self._vocabulary.known(word)):
            return word
        if self._text is Marks.UNCLEAR and self._vocabulary.common(word):
            return word
        return self._marked(word) or word

    def undoubled(self, word: str, raw: str) -> str:
        """``hoşlanmmadım`` → ``hoşlanmadım``: only what is no word, to what is one."""
        doubles = _CONSONANTS if self._text is Marks.GIVEN else _DOUBLE
        places = [found.start() for found in doubles.finditer(word)][:_DOUBLES]
        if not places or len(word) < _SHORTEST_DOUBLED or not self._whole(word):
            return word
        if self._name(raw) or self._vocabulary.known(word):
            return word
        for many in range(1, len(places) + 1):
            for chosen in combinations(places, many):
                single = "".join(c for place, c in enumerate(word) if place not in chosen)
                if right := self._right(single):
                    return right
        return word

    def _name(self, raw: str) -> bool:
        """A capitalised word in a text that has its marks."""
        return self._text is Marks.GIVEN and raw[0].isupper() and not raw.isupper()

    def _whole(self, word: str) -> bool:
        return 1 < len(word) <= _LONGEST_WORD and word.isalpha() and _OTHER.isdisjoint(word)

    def _right(self, word: str) -> str:
        """The word itself if it is good, its marked spelling if that is; '' otherwise."""
        if self._good(word):
            return word
        return self._marked(word) if self._deasciify and word.isascii() else ""

    def _good(self, word: str) -> bool:
        """Good enough to put in another's place: short words of careful texts must be common."""
        if self._text is Marks.GIVEN and len(word) < _TELLING:
            return self._vocabulary.common(word)
        return self._vocabulary.known(word)

    def _marked(self, word: str) -> str:
        """A good word that looks like this without its marks; '' if there is none."""
        plain = word.replace("ı", "i")
        if not self._whole(plain):
            return ""
        if common := self._vocabulary.likeliest(plain):
            return common
        guess, doubts = self._letters.restore(plain)
        others = (flipped(guess, place) for _, place in doubts[:_DOUBTS])
        return next((word for word in (guess, *others) if self._good(word)), "")
