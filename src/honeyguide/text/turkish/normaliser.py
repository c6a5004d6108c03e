"""Turkish as people write it, made into words that can be counted.

Alqaraleh & Sırın, section on preprocessing: case, sentences, numbers, spelling (slang, repeated
letters, emo style, missing marks), stop words, stems, lemmas; each step a switch here. They name
the steps and show examples; the methods are ours. Dropping words that are too frequent is left to
who counts them.

Call it for Turkish text only: nothing here asks what a text is written in. The ring's language gate
does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from unicodedata import normalize

from honeyguide.text.tokens import fold, stems_of, stop_words
from honeyguide.text.turkish import pieces
from honeyguide.text.turkish.numbers import spoken
from honeyguide.text.turkish.sentences import sentences
from honeyguide.text.turkish.tables import tables
from honeyguide.text.turkish.vocabulary import letters, vocabulary
from honeyguide.text.turkish.word_repair import Marks, Repair, marks

Change = tuple[str, str, str]
"""A step, and what it made of what."""
_MEMO = 100_000
"""Distinct pieces of text whose words are remembered, for each kind of text: some 20 MB."""
_PUNCTUATION = "\"'“”‘’„«».,;:!?…"
_SHOWN = 1_000
"""Changes that are explained."""


@dataclass(frozen=True)
class Normaliser:
    """Which steps are taken; all words come out in lower case and without punctuation."""

    fold: bool = True
    """Lower case by Turkish rules. False: words that no other step changes keep their case."""
    segment: bool = True
    """Cut texts into sentences; False: a text is one sentence."""
    repeats: bool = True
    """çooooook → çok, hoşlanmmadım → hoşlanmadım."""
    deasciify: bool = True
    """kizmis → kızmış."""
    slang: bool = True
    """slm → selam."""
    emo: bool = True
    """$ark14U → şarkı senin için."""
    numbers: bool = True
    """105 → yüz beş."""
    endings: bool = True
    """Cut what follows an apostrophe: Ankara'da → ankara."""
    stops: bool = False
    """Leave out stop words."""
    lemmas: bool = False
    """Dictionary forms (needs the extra ``lemma``)."""
    stems: bool = False
    """Snowball stems."""
    tables: str = ""
    """A folder of own tables, added to ours: see ``tables.py``."""

    def words(self, text: str) -> list[str]:
        """The words of a text, in order."""
        return _words(self, text, marks(text))

    def sentences(self, text: str) -> list[str]:
        """The sentences of a text, as they stand there."""
        if not self.segment:
            return [text] if text.strip() else []
        return sentences(text, tables(self.tables).abbreviations)

    def sentence_words(self, text: str) -> list[list[str]]:
        """The words of each sentence; the whole text tells how it treats marked letters."""
        text_marks = marks(text)
        found = (_words(self, sentence, text_marks) for sentence in self.sentences(text))
        return [words for words in found if words]

    def explain(self, text: str) -> list[Change]:
        """What was changed by which step, each change once, in the order of the text."""
        reader = _pieces(self, marks(text))
        found: dict[Change, None] = {}
        for piece in text.split():
            reader.read(piece, found)
            if len(found) >= _SHOWN:
                break
        return list(found)[:_SHOWN]


def explain(text: str) -> list[Change]:
    """What the normaliser, as it is by default, changes in a text."""
    return Normaliser().explain(text)


def _words(how: Normaliser, text: str, text_marks: Marks) -> list[str]:
    return list(chain.from_iterable(map(_pieces(how, text_marks).__getitem__, text.split())))


class _Pieces(dict[str, tuple[str, ...]]):
    """Text between two blanks → its words. Fills itself; forgets when it is full."""

    def __init__(self, how: Normaliser, text_marks: Marks) -> None:
        super().__init__()
        self._how = how
        self._tables, self._vocabulary = tables(how.tables), vocabulary()
        repair = Repair(self._tables, self._vocabulary, letters(), text_marks, how.deasciify)
        steps = (
            ("repeated letters", repair.repeated, how.repeats),
            ("slang", repair.slang, how.slang),
            ("letters", repair.restored, how.deasciify),
            ("repeated letters", repair.undoubled, how.repeats),
        )
        self._fold, self._stays = repair.fold, repair.stays
        self._spelling = [(name, step) for name, step, wanted in steps if wanted]
        self._forms = list(_forms(how))

    def __missing__(self, piece: str) -> tuple[str, ...]:
        word = piece.strip(_PUNCTUATION)
        # Remembered without its punctuation: three words in ten have some.
        if word != piece and word.isalpha():
            return self[word]
        words = self.read(piece, {})
        if len(piece) <= pieces.LONGEST:
            if len(self) >= _MEMO:
                self.clear()
            self[piece] = words
        return words

    def read(self, piece: str, notes: dict[Change, None]) -> tuple[str, ...]:
        """The words of a piece; what happened goes into the notes."""
        word = piece.strip(_PUNCTUATION)
        if word.isalpha() and len(word) <= pieces.LONGEST:
            return self._formed(self._spelled(word, notes), notes)
        if pieces.foreign(piece[: pieces.LONGEST]):
            return tuple(pieces.untouched(piece))
        piece = composed(pieces.shortened(piece))
        if len(piece) > pieces.LONGEST:
            return tuple(pieces.untouched(fold(piece, "tr")))
        if self._how.numbers and (said := spoken(piece)):
            notes[("numbers", piece, said)] = None
            return self._formed(said, notes)
        if self._how.emo and (said := pieces.undisguised(piece, self._tables, self._vocabulary)):
            notes[("emo", piece, said)] = None
            return self._formed(said, notes)
        found = [self._spelled(raw, notes) for raw in pieces.words(piece, self._how.endings)]
        return self._formed(" ".join(found), notes)

    def _spelled(self, raw: str, notes: dict[Change, None]) -> str:
        word = folded = self._fold(raw, raw)
        if self._how.fold and folded != raw:
            notes[("case", raw, folded)] = None
        if not self._stays(folded):
            for name, step in self._spelling:
                if (after := step(word, raw)) != word:
                    notes[(name, word, after)] = None
                    word = after
                    if " " in word:
                        break
        return word if self._how.fold or word != folded else raw

    def _formed(self, said: str, notes: dict[Change, None]) -> tuple[str, ...]:
        if not self._forms:
            return tuple(said.split())
        found = []
        for before in said.split():
            word = before
            for name, step in self._forms:
                if (after := step(word)) != word:
                    notes[(name, word, after)] = None
                    word = after
            if word:
                found.append(word)
        return tuple(found)


def _forms(how: Normaliser) -> list[tuple[str, Callable[[str], str]]]:
    """The steps that follow spelling."""
    found: list[tuple[str, Callable[[str], str]]] = []
    if how.stops:
        stops = stop_words("tr")
        found.append(("stop words", lambda word: "" if word in stops else word))
    if how.lemmas:
        from honeyguide.text.lemmas import lemmatiser  # an extra, and slow to load

        found.append(("lemmas", lemmatiser("tr")))
    if how.stems:
        found.append(("stems", stems_of("tr").__getitem__))
    return found


def composed(piece: str) -> str:
    """Letters in one character each: s with a cedilla is ş; soft hyphens and stray dots go."""
    if piece.isascii():
        return piece
    piece = piece.replace("I\u0307", "İ").replace("\u0307", "").replace("\xad", "")
    # Sorting marks takes quadratic time: long pieces go without.
    return normalize("NFC", piece) if len(piece) <= pieces.LONGEST else piece


@lru_cache(maxsize=16)
def _pieces(how: Normaliser, text_marks: Marks) -> _Pieces:
    """The same switches give the same memory: a normaliser is a plain value and holds no caches."""
    return _Pieces(how, text_marks)
