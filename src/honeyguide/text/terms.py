"""Find a topic's terms, single words or phrases, in running text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from typing import NamedTuple

from honeyguide.text.language import LONGEST, Language, language_of
from honeyguide.text.whitespace import BEGINS, outline
from honeyguide.text.word_patterns import first, unspaced

_GAP = 2
"""Words of a phrase may lie so far apart: one stop word fits between them."""
_BREAK = "\x1f"
_MEMO = 50_000
_FEW = 24
"""So few beginnings of words are sooner searched for than every word is looked up."""
_ENDS = {"en": ("e", "i", "y", "bl")}
"""By language, the ends of stems of which up to two letters are not the word's own: ``hope`` of
``hoping``, ``abl`` of ``ability``, ``die`` of ``dying``. Every other stem is how its words begin;
in languages that are not here, stemming may change a word's beginning."""
_PIECE = 1 << 16
"""Words of one piece of text lie so near together that they count as neighbours."""
_BEGUN = 16
"""Beginnings of phrases that are remembered: a hostile piece of text may hold thousands."""


class Count(NamedTuple):
    """What was found in one text."""

    terms: dict[int, int]
    """Number of a term → how often it occurs."""
    parts: dict[str, int]
    """Stem of a word that stands in a phrase → how often it occurs, with or without the rest."""


class Terms:
    """Counts occurrences of terms by their stems.

    A phrase is found where its stems follow each other; each of its words alone is a *part*,
    weaker evidence that is counted separately. In scripts without blanks a term is a phrase of
    pairs of characters, of which only Chinese ones are parts, and a term of one character is found
    wherever the character stands, unless another term has it.
    """

    def __init__(self, terms: Sequence[str], language: str = "en") -> None:
        self.language = language
        self._tongue = tongue = language_of(language)
        named: dict[tuple[str, ...], str] = {}
        for term in terms:
            if (phrase := _phrase(term, tongue)) and phrase not in named:
                named[phrase] = tongue.fold(term).strip()
        self.phrases, self.names = list(named), list(named.values())
        inside = frozenset(s for phrase in self.phrases if len(phrase) > 1 for s in phrase)
        self.parts = frozenset(filter(tongue.tells, inside))
        self._mute = inside - self.parts
        """What stands in a phrase and says nothing alone."""
        self._words = {p[0]: number for number, p in enumerate(self.phrases) if len(p) == 1}
        self._tree = _tree(self.phrases)
        every = inside | self._words.keys()
        self._known = _Known(every, tongue)
        word = tongue.word()
        self._holds = _Holds(self._known, word.findall)
        self._word_at, self._words_in = word.match, word.findall
        self._tokens = tongue.word(_BREAK).findall
        self._starts = () if any(map(unspaced, every)) else _starts(every, language)

    def __len__(self) -> int:
        return len(self.phrases)

    def count(self, text: str) -> tuple[Count, int]:
        """What stands in a text, and its length: how many pieces its blanks make."""
        text = self._ready(text)
        if self._starts:
            shape = outline(text)
            length = -(-shape.count(BEGINS) // self._tongue.per_word)

            def begun(last: int, at: int) -> tuple[int, int]:
                # The outline has a blank more than the text, in front of it.
                return shape.count(BEGINS, last + 1, at + 2), shape.rfind(b" ", last + 1, at + 1)

            places = self._search(text, begun)
            return self._tell((at + n / _PIECE, stem) for at, n, stem in places), length
        # Splitting at blanks is three times faster than looking for letters; the few pieces that
        # hold a term are looked at closely.
        pieces = text.split()
        length = -(-len(pieces) // self._tongue.per_word)
        holds = self._holds
        held = [(at, stems) for at, piece in enumerate(pieces) if (stems := holds[piece])]
        hits = [(at + n / _PIECE, stem) for at, stems in held for n, stem in stems]
        return self._tell(hits), length

    def _ready(self, text: str) -> str:
        return self._tongue.ready(text, self._known.lone)

    def _search(
        self, text: str, begun: Callable[[int, int], tuple[int, int]]
    ) -> Iterator[tuple[int, int, str]]:
        """Stems of terms in the parts of a text: the part, the words before it in that part, and
        the stem. ``begun``: how many parts begin between two places, and where the last does.

        For a few terms this is four times faster than going by words."""
        known, word_at, words_in = self._known, self._word_at, self._words_in
        found: list[tuple[int, str]] = []
        for start in self._starts:
            at = text.find(start)
            while at >= 0:
                inside = at and text[at - 1].isalnum()
                if not inside and (word := word_at(text, at)) and (stem := known[word[0]]):
                    found.append((at, stem))
                at = text.find(start, at + 1)
        part = before = last = 0
        for at, stem in sorted(found):
            more, begins = begun(last, at)
            if more:
                part, before, last = part + more, 0, begins
            before += len(words_in(text, last, at))
            last = at
            yield part, before, stem

    def count_all(self, texts: Sequence[str]) -> list[Count | None]:
        """The same for many short texts at once, which is several times faster; None: nothing."""
        joined = _BREAK.join(texts)
        if joined.count(_BREAK) != len(texts) - 1:
            joined = _BREAK.join(text.replace(_BREAK, " ") for text in texts)
        joined = self._ready(joined)
        if self._starts:
            parts: dict[int, list[tuple[int, str]]] = {}

            def begun(last: int, at: int) -> tuple[int, int]:
                return joined.count(_BREAK, last, at), joined.rfind(_BREAK, last, at)

            for part, at, stem in self._search(joined, begun):
                parts.setdefault(part, []).append((at, stem))
            return [self._tell(parts[n]) if n in parts else None for n in range(len(texts))]
        known = self._known
        found: list[Count | None] = []
        hits: list[tuple[int, str]] = []
        for at, stem in [
            (at, stem) for at, word in enumerate(self._tokens(joined)) if (stem := known[word])
        ]:
            if stem == _BREAK:
                found.append(self._tell(hits) if hits else None)
                hits = []
            else:
                hits.append((at, stem))
        if texts:
            found.append(self._tell(hits) if hits else None)
        return found

    def _tell(self, hits: Iterable[tuple[float, str]]) -> Count:
        """Terms and parts from (place, stem) pairs.

        The work grows with the text, not with the terms: of all phrases with a word only those
        that the words before it have begun are looked at, and phrases that begin alike at once.
        """
        terms: dict[int, int] = {}
        parts: dict[str, int] = {}
        begun: dict[_Node, float] = {}
        """Beginning of phrases → where the last of its words stood; the oldest first."""
        used: dict[_Node, float] = {}
        """Beginning of phrases → where the word before its last stood: it counts only once."""
        for at, stem in hits:
            if (number := self._words.get(stem)) is not None:
                terms[number] = terms.get(number, 0) + 1
            if stem in self.parts:
                parts[stem] = parts.get(stem, 0) + 1
            elif stem not in self._mute:
                continue
            grown = [begin] if (begin := self._tree.then.get(stem)) else []
            for node, last in list(begun.items()) if begun else ():
                if at - last > _GAP:
                    del begun[node]
                elif (longer := node.then.get(stem)) and used.get(longer) != last:
                    used[longer] = last
                    grown.append(longer)
            for node in grown:
                if node.number is not None:
                    terms[node.number] = terms.get(node.number, 0) + 1
                if node.then:
                    begun.pop(node, None)
                    begun[node] = at
            while len(begun) > _BEGUN:
                del begun[next(iter(begun))]
        return Count(terms, parts)


def _phrase(term: str, language: Language) -> tuple[str, ...]:
    """The stems that must follow each other where the term stands."""
    stems, stops = language.stems, language.stops
    said = language.words(term)
    # "full" is in stop lists but matters in "full-text search": drop short ones only.
    kept = [w for w in said if len(w) > 3 or w not in stops or unspaced(w)] or said
    return tuple(stems[word] for word in kept)


class _Node:
    """A beginning that some phrases share."""

    __slots__ = ("number", "then")

    def __init__(self) -> None:
        self.number: int | None = None
        """Of the phrase that is whole here."""
        self.then: dict[str, _Node] = {}


def _tree(phrases: Sequence[tuple[str, ...]]) -> _Node:
    """Phrases of several words, joined where they begin alike."""
    root = _Node()
    for number, phrase in enumerate(phrases):
        if len(phrase) > 1:
            node = root
            for stem in phrase:
                node = node.then.setdefault(stem, _Node())
            node.number = number
    return root


def _starts(stems: Iterable[str], language: str) -> tuple[str, ...]:
    """How every word of these stems begins; () if that is no help, or nobody can tell."""
    if language not in _ENDS:
        return ()
    found: list[str] = []
    ends = _ENDS[language]
    for start in sorted(s[: max(1, len(s) - 2)] if s.endswith(ends) else s for s in stems):
        if not (found and start.startswith(found[-1])):
            found.append(start)
    useful = len(found) <= _FEW and all(len(start) > 1 for start in found)
    return tuple(found) if useful else ()


class _Known(dict[str, str]):
    """Word → its stem if a term uses it, else ''. Fills itself; forgets when it is full."""

    def __init__(self, used: Set[str], language: Language) -> None:
        super().__init__()
        self._used = used
        self._stems = language.stems
        self.lone = any(unspaced(stem) and first(stem) == stem for stem in used)
        """A term has a single character of a script without blanks: pairs begin with it."""
        self[_BREAK] = _BREAK

    def __missing__(self, word: str) -> str:
        if len(self) >= _MEMO:
            self.clear()
            self[_BREAK] = _BREAK
        stem = self._stems[word]
        answer = stem if stem in self._used else ""
        if self.lone and not answer and unspaced(word) and first(word) in self._used:
            answer = first(word)
        if len(word) <= LONGEST:
            self[word] = answer
        return answer


class _Holds(dict[str, tuple[tuple[int, str], ...]]):
    """Text between two blanks → the terms' stems in it with their places: mostly none."""

    def __init__(self, known: _Known, words: Callable[[str], list[str]]) -> None:
        super().__init__()
        self._known = known
        self._words = words

    def __missing__(self, piece: str) -> tuple[tuple[int, str], ...]:
        known = self._known
        answer = tuple(
            (n, stem) for n, word in enumerate(self._words(piece)) if (stem := known[word])
        )
        if len(piece) <= LONGEST:
            if len(self) >= _MEMO:
                self.clear()
            self[piece] = answer
        return answer
