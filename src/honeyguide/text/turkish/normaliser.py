"""Turkish as people write it, made into words that can be counted.

Alqaraleh & Sırın, section on preprocessing: case, sentences, numbers, spelling (slang, repeated
letters, emo style, missing marks), stop words, stems, lemmas; each step is a switch. They name the
steps and show examples; the methods are ours. Dropping too frequent words is left to the counter.
Call it for Turkish text only; nothing here detects the language.

Sentences: a full stop ends none after an abbreviation (``Dr.``), an initial, an ordinal (``3.``,
``IV.``), or before a lower-case letter that begins no address. A line break always ends one. Time
is linear in any text.

Numbers: ``105`` → ``yüz beş``, ``%3,5`` → ``yüzde üç virgül beş``, so that ``5`` and ``beş`` count
as the same word. Telephone numbers, dates, times and versions stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, product
from math import prod
from unicodedata import normalize

from honeyguide.language_codes import RAW_SUFFIX
from honeyguide.text.language import BoundedMemo, fold_text, make_lemmatiser, stems_of, stop_words
from honeyguide.text.turkish.vocabulary import (
    NormaliserTables,
    TurkishVocabulary,
    load_letter_restorer,
    load_tables,
    load_vocabulary,
)
from honeyguide.text.turkish.word_repair import DiacriticUse, WordRepair, diacritic_use

# One look per run of stops: a lookbehind keeps a run of a million dots from being tried from each.
_STOP = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’»)\]]*+(?=[^\S\n])")
_BEFORE = re.compile(r"[^\W_]+(?:\.[^\W_]+)*$")
_ORDINAL_NUMBER = re.compile(r"\d{1,2}|[IVX]{1,5}", re.ASCII).fullmatch
_OPENING = "\"'“‘«([-–—•* \t\r\xa0"
_ADDRESS = ("www.", "http:", "https:")
_BACK = 24
"""Characters around a full stop that are looked at: no abbreviation is longer."""


def split_sentences(text: str, abbreviations: Mapping[str, bool]) -> list[str]:
    """The sentences of a text, stripped, none empty.

    ``abbreviations``: lower case without the last stop → whether it may end a sentence, as ``vb.``
    may.
    """
    found = []
    for line in text.splitlines():
        start = 0
        for stop in _STOP.finditer(line):
            if _ends_sentence(line, stop, abbreviations):
                found.append(line[start : stop.end()])
                start = stop.end()
        found.append(line[start:])
    return [stripped for sentence in found if (stripped := sentence.strip())]


def _ends_sentence(line: str, stop: re.Match[str], abbreviations: Mapping[str, bool]) -> bool:
    after = line[stop.end() : stop.end() + _BACK].lstrip(_OPENING)
    if after[:1].islower() and not after.startswith(_ADDRESS):
        return False
    if stop[0] != ".":
        return True
    before = _BEFORE.search(line[max(0, stop.start() - _BACK) : stop.start()])
    if before is None:
        return True
    word = before[0]
    if _ORDINAL_NUMBER(word) or (len(word) == 1 and word.isupper()):
        return False
    return abbreviations.get(word.replace("İ", "i").lower(), True)


# --- Numbers in words ---


LARGEST_NUMBER = 10**15 - 1
"""999 trillion and what follows; a number with more digits is an identifier."""

_ONES = ("", "bir", "iki", "üç", "dört", "beş", "altı", "yedi", "sekiz", "dokuz")
_TENS = ("", "on", "yirmi", "otuz", "kırk", "elli", "altmış", "yetmiş", "seksen", "doksan")
_SCALES = ("", "bin", "milyon", "milyar", "trilyon")
_ORDINAL_WORDS = {
    "sıfır": "sıfırıncı", "bir": "birinci", "iki": "ikinci", "üç": "üçüncü", "dört": "dördüncü",
    "beş": "beşinci", "altı": "altıncı", "yedi": "yedinci", "sekiz": "sekizinci",
    "dokuz": "dokuzuncu", "on": "onuncu", "yirmi": "yirminci", "otuz": "otuzuncu",
    "kırk": "kırkıncı", "elli": "ellinci", "altmış": "altmışıncı", "yetmiş": "yetmişinci",
    "seksen": "sekseninci", "doksan": "doksanıncı", "yüz": "yüzüncü",
}  # fmt: skip

_NUMBER = re.compile(
    r"(?P<sign>[-−–+])?(?P<percent>%)?"
    r"(?P<whole>0|[1-9]\d{0,2}(?:\.\d{3}){1,4}|[1-9]\d{0,14})"
    r"(?:,(?P<part>\d{1,6}))?(?P<after>%)?"
    r"(?:['’](?P<ending>[a-zçğıöşü]{1,7}))?",
    re.ASCII,
).fullmatch
_PLACE = re.compile(r"([1-9]\d?)\.", re.ASCII).fullmatch
_WRAPPING = '"“”„«»()[]…;:!?'


def in_words(number: int) -> list[str]:
    """A number as it is read aloud; ValueError beyond :data:`LARGEST_NUMBER`."""
    if abs(number) > LARGEST_NUMBER:
        raise ValueError(f"no words for a number of {len(str(abs(number)))} digits")
    if number < 0:
        return ["eksi", *in_words(-number)]
    if number == 0:
        return ["sıfır"]
    found: list[str] = []
    for scale in range(len(_SCALES) - 1, -1, -1):
        group = number // 1000**scale % 1000
        # One thousand is bin, never bir bin.
        if group and not (scale == 1 and group == 1):
            found += _hundred_words(group)
        if group and scale:
            found.append(_SCALES[scale])
    return found


def spoken_number(piece: str) -> str:
    """The words of a piece of text if it is a number, else ''."""
    bare = piece.strip(_WRAPPING)
    if place := _PLACE(bare):
        *before, last = in_words(int(place[1]))
        return " ".join((*before, _ORDINAL_WORDS[last]))
    found = _NUMBER(bare.rstrip(".,"))
    if found is None or (found["percent"] and found["after"]):
        return ""
    words = in_words(int(found["whole"].replace(".", "")))
    if part := found["part"]:
        zeros = len(part) - len(part.lstrip("0"))
        words += ["virgül", *["sıfır"] * zeros]
        words += in_words(int(part)) if zeros < len(part) else []
    if found["percent"] or found["after"]:
        words.insert(0, "yüzde")
    if found["sign"] in ("-", "−", "–"):
        words.insert(0, "eksi")
    if ending := found["ending"]:
        # Four is the one number whose last letter softens: ``4'üncü`` is dördüncü.
        softens = words[-1] == "dört" and ending[0] in "aeıioöuü"
        words[-1] = ("dörd" if softens else words[-1]) + ending
    return " ".join(words)


def _hundred_words(group: int) -> list[str]:
    hundreds, tens, ones = group // 100, group // 10 % 10, group % 10
    found = [_ONES[hundreds]] if hundreds > 1 else []
    if hundreds:
        found.append("yüz")
    return found + [word for word in (_TENS[tens], _ONES[ones]) if word]


# --- Pieces between blanks: addresses, numbers, disguised words, words ---


MAX_PIECE_CHARS = 64
"""Longest piece of text that is looked at closely: longer ones contain no word of any language."""

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
"""Most readings of a disguised word that are tried."""


def foreign_words(piece: str) -> list[str]:
    """Its words unchanged, in lower case but not by Turkish rules."""
    return [run[:MAX_PIECE_CHARS] for run in _RUNS(piece.lower())]


def split_piece(piece: str, cut: bool) -> Iterator[str]:
    """Its words in their own case. ``cut``: a name loses its ending, Ankara'da → Ankara."""
    for found in _WORDS(piece):
        head, tail = found[1], found[2]
        yield head[:MAX_PIECE_CHARS]
        if tail and not (cut and not head[0].islower() and _ENDING(tail)):
            yield tail[:MAX_PIECE_CHARS]


def read_disguised(piece: str, tables: NormaliserTables, vocabulary: TurkishVocabulary) -> str:
    """``$ark14U`` → ``şarkı senin için``; '' if no common word is behind it.

    Alqaraleh & Sırın call this emo style and show that one example. Numbers with units and numbered
    words (``100tl``, ``kanal1``, ``mp3``) stay as they are.
    """
    bare = fold_text(piece, "tr").strip(_EDGES)
    if len(bare) > MAX_PIECE_CHARS // 2 or not any(letter.isalpha() for letter in bare):
        return ""
    for phrase, meaning in tables.phrases.items():
        if bare.endswith(phrase):
            head = bare[: -len(phrase)]
            word = _commonest_reading(head, tables, vocabulary) if head else ""
            if word or not head:
                return f"{word} {meaning}".strip()
    return _commonest_reading(bare, tables, vocabulary) if _is_disguised(bare, tables) else ""


def _is_disguised(bare: str, tables: NormaliserTables) -> bool:
    signs = sum(sign in tables.signs for sign in bare)
    digits = sum(letter.isdigit() for letter in bare)
    # Digits alone need a longer word to be believed: h1z may be a code, $u is none.
    return (
        0 < signs <= len(bare) // 2
        and (signs > digits or (len(bare) > 3 and digits < 3))
        and (not _NUMBERED(bare))
    )


def _commonest_reading(bare: str, tables: NormaliserTables, vocabulary: TurkishVocabulary) -> str:
    """The most common word among the readings of the signs."""
    options = [tables.signs.get(letter, (letter,)) for letter in bare]
    if prod(map(len, options)) > _READINGS:
        return ""
    found = ("".join(letters) for letters in product(*options))
    common = [word for word in found if vocabulary.is_common(word)]
    return min(common, key=vocabulary.frequency_rank, default="")


# --- The normaliser ---


NormaliserChange = tuple[str, str, str]
"""A step, the text before it, and the text after it."""
_MEMO = 100_000
"""Distinct pieces whose words are stored for each kind of text: some 20 MB."""
_PUNCTUATION = "\"'“”‘’„«».,;:!?…"
_SHOWN = 1_000
"""Changes that are explained."""


@dataclass(frozen=True)
class Normaliser:
    """Which steps are taken. Words come out in lower case and without punctuation."""

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
    """A folder with tables of the user, added to the built-in ones: see
    ``vocabulary.load_tables``."""

    def words(self, text: str) -> list[str]:
        """The words of a text, in order."""
        return _normalised_words(self, text, diacritic_use(text))

    def sentences(self, text: str) -> list[str]:
        """The sentences of a text, unchanged."""
        if not self.segment:
            return [text] if text.strip() else []
        return split_sentences(text, load_tables(self.tables).abbreviations)

    def sentence_words(self, text: str) -> list[list[str]]:
        """The words of each sentence; the whole text decides how marked letters are treated."""
        text_marks = diacritic_use(text)
        found = (_normalised_words(self, sentence, text_marks) for sentence in self.sentences(text))
        return [words for words in found if words]

    def explain(self, text: str) -> list[NormaliserChange]:
        """Which step changed what, each change once, in the order of the text."""
        reader = _piece_memo(self, diacritic_use(text))
        found: dict[NormaliserChange, None] = {}
        for piece in text.split():
            reader.read_piece(piece, found)
            if len(found) >= _SHOWN:
                break
        return list(found)[:_SHOWN]


def explain_changes(text: str) -> list[NormaliserChange]:
    """What the default normaliser changes in a text."""
    return Normaliser().explain(text)


def _normalised_words(how: Normaliser, text: str, text_marks: DiacriticUse) -> list[str]:
    return list(chain.from_iterable(map(_piece_memo(how, text_marks).__getitem__, text.split())))


class _PieceMemo(BoundedMemo[tuple[str, ...]]):
    """Text between two blanks → its words, cached."""

    def __init__(self, how: Normaliser, text_marks: DiacriticUse) -> None:
        super().__init__(lambda piece: self.read_piece(piece, {}), _MEMO, MAX_PIECE_CHARS)
        self._how = how
        self._tables, self._vocabulary = load_tables(how.tables), load_vocabulary()
        repair = WordRepair(
            self._tables, self._vocabulary, load_letter_restorer(), text_marks, how.deasciify
        )
        steps = (
            ("repeated letters", repair.shorten_repeats, how.repeats),
            ("slang", repair.expand_slang, how.slang),
            ("letters", repair.restore_letters, how.deasciify),
            ("repeated letters", repair.undouble_letters, how.repeats),
        )
        self._fold, self._stays = repair.fold_case, repair.needs_no_repair
        self._spelling = [(name, step) for name, step, wanted in steps if wanted]
        self._forms = list(_form_steps(how))

    def __missing__(self, piece: str) -> tuple[str, ...]:
        word = piece.strip(_PUNCTUATION)
        # Remembered without its punctuation: three words in ten have some.
        if word != piece and word.isalpha():
            return self[word]
        return super().__missing__(piece)

    def read_piece(self, piece: str, notes: dict[NormaliserChange, None]) -> tuple[str, ...]:
        """The words of a piece; changes go into the notes."""
        word = piece.strip(_PUNCTUATION)
        if word.isalpha() and len(word) <= MAX_PIECE_CHARS:
            return self._final_forms(self._repair_spelling(word, notes), notes)
        if _FOREIGN(piece[:MAX_PIECE_CHARS]):
            return tuple(foreign_words(piece))
        if len(piece) > MAX_PIECE_CHARS:
            piece = _REPEATED.sub(r"\1\1\1", piece)
        piece = compose_letters(piece)
        if len(piece) > MAX_PIECE_CHARS:
            return tuple(foreign_words(fold_text(piece, "tr")))
        if self._how.numbers and (read := spoken_number(piece)):
            notes[("numbers", piece, read)] = None
            return self._final_forms(read, notes)
        if self._how.emo and (read := read_disguised(piece, self._tables, self._vocabulary)):
            notes[("emo", piece, read)] = None
            return self._final_forms(read, notes)
        found = [self._repair_spelling(raw, notes) for raw in split_piece(piece, self._how.endings)]
        return self._final_forms(" ".join(found), notes)

    def _repair_spelling(self, raw: str, notes: dict[NormaliserChange, None]) -> str:
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

    def _final_forms(self, words: str, notes: dict[NormaliserChange, None]) -> tuple[str, ...]:
        if not self._forms:
            return tuple(words.split())
        found = []
        for before in words.split():
            word = before
            for name, step in self._forms:
                if (after := step(word)) != word:
                    notes[(name, word, after)] = None
                    word = after
            if word:
                found.append(word)
        return tuple(found)


def _form_steps(how: Normaliser) -> list[tuple[str, Callable[[str], str]]]:
    """The steps after spelling."""
    found: list[tuple[str, Callable[[str], str]]] = []
    if how.stops:
        stops = stop_words(f"tr{RAW_SUFFIX}")
        found.append(("stop words", lambda word: "" if word in stops else word))
    if how.lemmas:
        found.append(("lemmas", make_lemmatiser("tr")))
    if how.stems:
        found.append(("stems", stems_of(f"tr{RAW_SUFFIX}").__getitem__))
    return found


def compose_letters(piece: str) -> str:
    """Letters as single characters: s with a cedilla is ş; soft hyphens and stray dots are
    removed."""
    if piece.isascii():
        return piece
    piece = piece.replace("I\u0307", "İ").replace("\u0307", "").replace("\xad", "")
    # Sorting marks takes quadratic time: long pieces go without.
    return normalize("NFC", piece) if len(piece) <= MAX_PIECE_CHARS else piece


@lru_cache(maxsize=16)
def _piece_memo(how: Normaliser, text_marks: DiacriticUse) -> _PieceMemo:
    """A cached memo for these switches: a normaliser is a plain value and holds no caches."""
    return _PieceMemo(how, text_marks)
