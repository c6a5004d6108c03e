"""Which Turkish words are words, and how common they are.

Two lists: common forms with their frequency, and stems for all the forms that no list could hold.
A form is known if it is common, or if its stem is known and the endings obey vowel harmony:
``tarafından`` is, ``tarafindan`` is not.
"""

from __future__ import annotations

import lzma
from collections.abc import Mapping, Set
from functools import lru_cache
from importlib import resources

from honeyguide.text.tokens import stems_of
from honeyguide.text.turkish.deasciify import PLAIN, VOWELS, Letters

RAREST = 10_000
"""Frequency of what no list has: like all frequencies here a hundredth of a bel below 1."""
_BACK, _ROUND = "aıou", "oöuü"
_FRONT = str.maketrans("aıou", "eiöü")
_SHORTEST = 3
"""Letters of a stem that the dictionary's word is enough for: shorter ones fit everywhere."""

_CUT = 3
"""Letters that the stemmer may have cut too much."""


class Vocabulary:
    """``common``: word → frequency, the most frequent first; ``stems`` of all other words.

    ``soft`` are the stems, mostly Arabic and French ones, that take front vowels after a back one:
    saatler, ihlalin, festivali.
    """

    def __init__(self, common: Mapping[str, int], stems: Set[str], soft: Set[str]) -> None:
        self._common, self._stems, self._soft = common, stems, soft
        self._stem = stems_of("tr")
        words = list(common)
        # All at once, and the most frequent last so that it stays: this is most of the loading.
        plain = "\n".join(words).translate(PLAIN).split("\n")
        self._likeliest = dict(zip(reversed(plain), reversed(words), strict=True))

    def known(self, word: str) -> bool:
        """Is this a word as one writes it? In lower case, with all its marks."""
        return word in self._common or self._inflected(word)

    def common(self, word: str) -> bool:
        return word in self._common

    def rank(self, word: str) -> int:
        """The smaller the more frequent."""
        return self._common.get(word, RAREST)

    def likeliest(self, plain: str) -> str:
        """The most frequent common word that looks like this without its marks, or ''."""
        return self._likeliest.get(plain, "")

    def _inflected(self, word: str) -> bool:
        stem = self._stem[word]
        endings = word[len(stem) :]
        if len(stem) < _SHORTEST:
            return stem in self._common and word.startswith(stem) and harmonic(stem, endings)
        # The stemmer hardens a last letter: kitabı → kitap.
        if word[: len(stem) - 1] == stem[:-1]:
            if stem in self._soft and harmonic(fronted(stem), endings):
                return True
            if stem in self._stems and stem not in self._soft and harmonic(stem, endings):
                return True
        # And it cuts a last vowel: cerrahinin is cerrahi and an ending, not cerrah.
        return any(
            word[n - 1] in VOWELS
            and word[:n] in self._common
            and word[n] not in VOWELS
            and harmonic(word[:n], word[n:])
            for n in range(len(stem), min(len(stem) + _CUT + 1, len(word)))
        )


def fronted(stem: str) -> str:
    """A stem with front vowels: how a soft one sounds to its endings."""
    return stem.translate(_FRONT)


def harmonic(stem: str, endings: str) -> bool:
    """Does each vowel of the endings follow from the one before it?"""
    last = next((letter for letter in reversed(stem) if letter in VOWELS), "")
    before = ""
    for letter in endings:
        if letter in VOWELS:
            # -yor and -ki are what they are after any vowel.
            fixed = letter == "o" or (letter == "i" and before == "k")
            if last and not fixed and letter not in _next(last):
                return False
            last = letter
        before = letter
    return True


def _next(vowel: str) -> str:
    """The vowels that may follow in an ending."""
    if vowel in _BACK:
        return "au" if vowel in _ROUND else "aı"
    return "eü" if vowel in _ROUND else "ei"


@lru_cache(maxsize=1)
def vocabulary() -> Vocabulary:
    """The bundled one."""
    common: dict[str, int] = {}
    for line in _unpacked("common").splitlines():
        rank, *words = line.split()
        common.update(dict.fromkeys(words, int(rank)))
    stems, soft = _unpacked("stems").split("\n")
    return Vocabulary(common, frozenset(stems.split(" ")), frozenset(soft.split(" ")))


@lru_cache(maxsize=1)
def letters() -> Letters:
    """The bundled ones."""
    weights: dict[str, float] = {}
    for line in _unpacked("weights").splitlines():
        weight, *features = line.split(" ")
        weights.update(dict.fromkeys(features, float(weight)))
    return Letters(weights)


def _unpacked(name: str) -> str:
    packed = resources.files(__package__) / "data" / f"{name}.txt.xz"
    return lzma.decompress(packed.read_bytes()).decode()
