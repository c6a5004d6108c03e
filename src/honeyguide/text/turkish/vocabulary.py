"""Turkish words, letters and tables: vocabulary, restored marks, and tables of the normaliser.

Marks (``kizmis`` → ``kızmış``): six letters lose them on foreign keyboards (ç ğ ı ö ş ü). A
perceptron over the five characters to either side decides each place; those on the left are
restored already, which carries vowel harmony from syllable to syllable. A feature is a piece of the
word with the letter in question in upper case: ``kIz``, ``zmIş``.

Tables are plain text with one entry a line; files of the same names in a folder of the user have
priority:

    slang.txt           slm = selam
    signs.txt           $ = ş            what a sign may stand for; several: 1 = ı i l
    phrases.txt         4u = senin için  how a word may end
    abbreviations.txt   Dr = -           ends no sentence; vb = end may end one

Words: one list has common forms with their frequency, one has stems for all other forms. A form is
known if it is common, or if its stem is known and the endings obey vowel harmony: ``tarafından``
is, ``tarafindan`` is not.
"""

from __future__ import annotations

import lzma
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from honeyguide.errors import ConfigError
from honeyguide.language_codes import RAW_SUFFIX
from honeyguide.text.language import fold_text, stems_of

PLAIN_LETTERS = str.maketrans("çğıöşüâîû", "cgiosuaiu")
"""What a keyboard without Turkish letters makes of them; circumflexes are dropped as well."""
MARKED_LETTERS = {"c": "ç", "g": "ğ", "i": "ı", "o": "ö", "s": "ş", "u": "ü"}
VOWELS = "aeıioöuü"
CONTEXT_LETTERS = 5

_PIECES = tuple(
    (left, right)
    for left in range(CONTEXT_LETTERS + 1)
    for right in range(CONTEXT_LETTERS + 1)
    if 0 < left + right <= CONTEXT_LETTERS + 1
    or (left, right) in ((CONTEXT_LETTERS, CONTEXT_LETTERS), (4, 4), (4, 3), (3, 4))
)


class RestoredWord(NamedTuple):
    """A word with its marks."""

    word: str
    doubts: tuple[tuple[float, int], ...]
    """Confidence and place of each decision, the least certain first."""


def letter_features(left: str, letter: str, right: str) -> Iterator[str]:
    """Pieces around a letter: ``left`` is restored, ``right`` is not; both may be longer than
    needed."""
    middle = letter.upper()
    left, right = ("^" + left)[-CONTEXT_LETTERS:], (right + "$")[:CONTEXT_LETTERS]
    yield middle
    before, after = len(left), len(right)
    for back, ahead in _PIECES:
        if back <= before and ahead <= after:
            yield left[before - back :] + middle + right[:ahead]
    yield _last_vowel(left) + "*" + middle


class LetterRestorer:
    """The trained perceptrons: feature → weight, above zero for the marked letter."""

    def __init__(self, weights: Mapping[str, float]) -> None:
        self._weight = weights.get

    def restore_marks(self, plain: str) -> RestoredWord:
        """The likeliest spelling of a lower-case word without marks."""
        weight = self._weight
        word, doubts = "", []
        for place, letter in enumerate(plain):
            if letter in MARKED_LETTERS:
                score, right = 0.0, plain[place + 1 : place + 1 + CONTEXT_LETTERS]
                for feature in letter_features(word, letter, right):
                    score += weight(feature, 0.0)
                doubts.append((abs(score), place))
                word += MARKED_LETTERS[letter] if score > 0 else letter
            else:
                word += letter
        return RestoredWord(word, tuple(sorted(doubts)))


def flip_letter(word: str, place: int) -> str:
    """The word with the other letter at a place."""
    letter = word[place]
    other = MARKED_LETTERS.get(letter) or letter.translate(PLAIN_LETTERS)
    return word[:place] + other + word[place + 1 :]


def _last_vowel(left: str) -> str:
    return next((letter for letter in reversed(left) if letter in VOWELS), "")


# --- Tables ---


TABLE_NAMES = ("slang", "signs", "phrases", "abbreviations")
_LARGEST = 1_000_000
"""Largest table of a user in bytes."""


@dataclass(frozen=True)
class NormaliserTables:
    """Small tables of the normaliser."""

    slang: Mapping[str, str]
    signs: Mapping[str, tuple[str, ...]]
    phrases: Mapping[str, str]
    abbreviations: Mapping[str, bool]


@lru_cache(maxsize=8)
def load_tables(folder: str = "") -> NormaliserTables:
    """The built-in tables with those of a user; ConfigError for a bad folder or line."""
    ours = resources.files(__package__) / "data"
    found = {
        name: parse_entries((ours / f"{name}.txt").read_text("utf-8"), f"{name}.txt")
        for name in TABLE_NAMES
    }
    if folder:
        for name, more in _read_user_tables(Path(folder)).items():
            found[name].update(more)
    return NormaliserTables(
        slang=found["slang"],
        signs={sign: tuple(letters.split()) for sign, letters in found["signs"].items()},
        phrases=dict(sorted(found["phrases"].items(), key=lambda entry: -len(entry[0]))),
        abbreviations={short: place == "end" for short, place in found["abbreviations"].items()},
    )


def parse_entries(text: str, name: str) -> dict[str, str]:
    """``left = right`` lines, folded as Turkish; ``#`` begins a comment."""
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        content = line.partition("#")[0].strip()
        if not content:
            continue
        left, equals, right = (part.strip() for part in content.partition("="))
        if not (left and equals and right) or " " in left:
            raise ConfigError(
                f"{name}, line {number}: write “word = meaning”, not {content[:80]!r}"
            )
        found[fold_text(left, "tr").rstrip(".")] = fold_text(right, "tr")
    return found


def _read_user_tables(folder: Path) -> dict[str, dict[str, str]]:
    if not folder.is_dir():
        raise ConfigError(f"tables: {folder} is not a folder")
    found = {}
    for name in TABLE_NAMES:
        path = folder / f"{name}.txt"
        try:
            if not path.exists():
                continue
            if path.stat().st_size > _LARGEST:
                raise ConfigError(f"{path} is larger than {_LARGEST:,} bytes")
            found[name] = parse_entries(path.read_text("utf-8-sig"), str(path))
        except (OSError, UnicodeDecodeError) as wrong:
            raise ConfigError(f"{path} cannot be read: {wrong}") from wrong
    if not found:
        wanted = ", ".join(f"{name}.txt" for name in TABLE_NAMES)
        raise ConfigError(f"tables: {folder} has none of {wanted}")
    return found


# --- Vocabulary ---


RAREST = 10_000
"""Rank of words that no list contains. Ranks are hundredths of a bel below 1."""
_BACK, _ROUND = "aıou", "oöuü"
_FRONT = str.maketrans("aıou", "eiöü")
_SHORTEST = 3
"""Shortest stem that may take endings of its own; shorter ones fit everywhere."""

_CUT = 3
"""Letters that the stemmer may have cut too much."""


class TurkishVocabulary:
    """``common``: word → rank, the most frequent first; ``stems`` of all other words.

    ``soft`` are stems, mostly Arabic and French, that take front vowels after a back one: saatler,
    ihlalin, festivali.
    """

    def __init__(self, common: Mapping[str, int], stems: Set[str], soft: Set[str]) -> None:
        self._common, self._stems, self._soft = common, stems, soft
        self._stem = stems_of(f"tr{RAW_SUFFIX}")
        words = list(common)
        # All at once, and the most frequent last so that it stays: this is most of the loading.
        plain = "\n".join(words).translate(PLAIN_LETTERS).split("\n")
        self._likeliest = dict(zip(reversed(plain), reversed(words), strict=True))

    def is_word(self, word: str) -> bool:
        """Whether this is a correctly spelt word, in lower case and with its marks."""
        return word in self._common or self._is_inflected(word)

    def is_common(self, word: str) -> bool:
        return word in self._common

    def frequency_rank(self, word: str) -> int:
        """The smaller, the more frequent."""
        return self._common.get(word, RAREST)

    def likeliest_word(self, plain: str) -> str:
        """The most frequent common word that looks like this without its marks, or ''."""
        return self._likeliest.get(plain, "")

    def _is_inflected(self, word: str) -> bool:
        stem = self._stem[word]
        endings = word[len(stem) :]
        if len(stem) < _SHORTEST:
            return stem in self._common and word.startswith(stem) and is_harmonic(stem, endings)
        # The stemmer hardens a last letter: kitabı → kitap.
        if word[: len(stem) - 1] == stem[:-1]:
            if stem in self._soft and is_harmonic(front_vowels(stem), endings):
                return True
            if stem in self._stems and stem not in self._soft and is_harmonic(stem, endings):
                return True
        # And it cuts a last vowel: cerrahinin is cerrahi and an ending, not cerrah.
        return any(
            word[n - 1] in VOWELS
            and word[:n] in self._common
            and word[n] not in VOWELS
            and is_harmonic(word[:n], word[n:])
            for n in range(len(stem), min(len(stem) + _CUT + 1, len(word)))
        )


def front_vowels(stem: str) -> str:
    """A soft stem as its endings treat it: with front vowels."""
    return stem.translate(_FRONT)


def is_harmonic(stem: str, endings: str) -> bool:
    """Whether each vowel of the endings follows from the one before it."""
    last, before = _last_vowel(stem), ""
    for letter in endings:
        if letter in VOWELS:
            # -yor and -ki are what they are after any vowel.
            fixed = letter == "o" or (letter == "i" and before == "k")
            if last and not fixed and letter not in _next_vowels(last):
                return False
            last = letter
        before = letter
    return True


def _next_vowels(vowel: str) -> str:
    """The vowels that may follow in an ending."""
    if vowel in _BACK:
        return "au" if vowel in _ROUND else "aı"
    return "eü" if vowel in _ROUND else "ei"


@lru_cache(maxsize=1)
def load_vocabulary() -> TurkishVocabulary:
    """The bundled vocabulary."""
    common: dict[str, int] = {}
    for line in _unpack_data("common").splitlines():
        rank, *words = line.split()
        common.update(dict.fromkeys(words, int(rank)))
    stems, soft = _unpack_data("stems").split("\n")
    return TurkishVocabulary(common, frozenset(stems.split(" ")), frozenset(soft.split(" ")))


@lru_cache(maxsize=1)
def load_letter_restorer() -> LetterRestorer:
    """The bundled perceptrons."""
    weights: dict[str, float] = {}
    for line in _unpack_data("weights").splitlines():
        weight, *features = line.split(" ")
        weights.update(dict.fromkeys(features, float(weight)))
    return LetterRestorer(weights)


def _unpack_data(name: str) -> str:
    packed = resources.files(__package__) / "data" / f"{name}.txt.xz"
    return lzma.decompress(packed.read_bytes()).decode()
