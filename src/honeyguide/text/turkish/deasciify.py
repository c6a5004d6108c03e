"""Turkish letters back where a keyboard had none: ``kizmis`` → ``kızmış``.

Six letters lose their marks (ç ğ ı ö ş ü). Each place where one may have stood is decided by a
perceptron over the five characters to either side; those on the left are restored already,
which carries vowel harmony from syllable to syllable. Alqaraleh & Sırın name the step and leave
the method open.

A feature is a piece of the word with the letter in question in upper case: ``kIz``, ``zmIş``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

PLAIN = str.maketrans("çğıöşüâîû", "cgiosuaiu")
"""What a keyboard without Turkish letters makes of them; hats go as well."""
MARKED = {"c": "ç", "g": "ğ", "i": "ı", "o": "ö", "s": "ş", "u": "ü"}
VOWELS = "aeıioöuü"
SIDE = 5

_PIECES = tuple(
    (left, right)
    for left in range(SIDE + 1)
    for right in range(SIDE + 1)
    if 0 < left + right <= SIDE + 1 or (left, right) in ((SIDE, SIDE), (4, 4), (4, 3), (3, 4))
)


class Restored(NamedTuple):
    word: str
    doubts: tuple[tuple[float, int], ...]
    """How sure each decision was, the least sure first, and at which letter."""


def features(left: str, letter: str, right: str) -> Iterator[str]:
    """Pieces around a letter: ``left`` is restored, ``right`` is not; both may be longer."""
    middle = letter.upper()
    left, right = ("^" + left)[-SIDE:], (right + "$")[:SIDE]
    yield middle
    before, after = len(left), len(right)
    for back, ahead in _PIECES:
        if back <= before and ahead <= after:
            yield left[before - back :] + middle + right[:ahead]
    yield _last_vowel(left) + "*" + middle


class Letters:
    """The trained perceptrons: feature → weight, above zero for the marked letter."""

    def __init__(self, weights: Mapping[str, float]) -> None:
        self._weight = weights.get

    def restore(self, plain: str) -> Restored:
        """The likeliest spelling of a lower-case word without marks."""
        weight = self._weight
        word, doubts = "", []
        for place, letter in enumerate(plain):
            if letter in MARKED:
                score = 0.0
                for feature in features(word, letter, plain[place + 1 : place + 1 + SIDE]):
                    score += weight(feature, 0.0)
                doubts.append((abs(score), place))
                word += MARKED[letter] if score > 0 else letter
            else:
                word += letter
        return Restored(word, tuple(sorted(doubts)))


def flipped(word: str, place: int) -> str:
    """The word with the other letter at a place."""
    letter = word[place]
    other = MARKED.get(letter) or letter.translate(PLAIN)
    return word[:place] + other + word[place + 1 :]


def _last_vowel(left: str) -> str:
    for letter in reversed(left):
        if letter in VOWELS:
            return letter
    return ""
