"""How relevant a text is to some terms: finding terms, scoring them, and topics stated in words.

A BM25-like score between 0 and 1, with reasons. The frequency of each term saturates as in BM25
(Robertson & Zaragoza 2009, section 3.4: k1, b), and long pages need more of it. Where BM25 adds the
terms up without bound, they are joined as independent evidence here, 1 - Π(1 - strength·tf/(tf +
k)), so that the score lies in 0..1 and a page need not contain all keywords.

Whoever names one keyword means the whole topic by it, whoever names eight means a part by each: the
fewer are named, the more each counts, and a page with the only keyword in its title is relevant. A
concept is worth less with each step between it and the topic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from functools import lru_cache
from math import log
from typing import NamedTuple

from honeyguide.text.language import BoundedMemo, Language, language_of
from honeyguide.text.normalise import first_unit, is_unspaced
from honeyguide.types import Concept, Page, Reason, Verdict

PIECE_START = b" x"
"""How a piece begins in an outline."""

_WIDE = tuple(map(chr, (0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000)))
"""Blanks beyond Latin-1."""
_SHAPES = bytes(32 if chr(code).isspace() else 120 for code in range(256))


def blank_outline(text: str) -> bytes:
    """A blank for each character that :meth:`str.split` cuts at and an x for all others, after a
    first blank: ``blank_outline(text).count(PIECE_START)`` is ``len(text.split())`` in a quarter of
    the time."""
    if not text.isascii():
        for blank in _WIDE:
            if blank in text:
                text = text.replace(blank, " ")
    return b" " + text.encode("latin-1", "replace").translate(_SHAPES)


# --- Finding terms ---


_GAP = 2
"""Largest distance of neighbouring words of a phrase: one stop word fits between them."""
_BREAK = "\x1f"
_MEMO = 50_000
_FEW = 24
"""Up to so many beginnings of words are searched for; with more, every word is looked up."""
_ENDS = {"en": ("e", "i", "y", "bl")}
"""By language, ends of stems of which up to two letters do not begin the words: ``hope`` of
``hoping``, ``abl`` of ``ability``, ``die`` of ``dying``. All other stems are beginnings of their
words. In languages that are missing here stemming may change the beginning of a word."""
_PIECE = 1 << 16
"""Divides the number of a word within a piece, so that words of one piece count as neighbours."""
_BEGUN = 16
"""Most beginnings of phrases that are followed at a time: hostile text may contain thousands."""


class TermCount(NamedTuple):
    """What occurs in one text."""

    terms: dict[int, int]
    """Number of a term → how often it occurs."""
    parts: dict[str, int]
    """Stem of a word of a phrase → how often it occurs, with or without the rest of the phrase."""


class TermMatcher:
    """Counts occurrences of terms by their stems.

    A phrase occurs where its stems follow each other. Each of its words alone is a *part*, weaker
    evidence that is counted separately. In scripts without blanks a term is a phrase of pairs of
    characters, of which only Chinese ones are parts; a term of one character occurs wherever the
    character stands, unless another term contains it.
    """

    def __init__(self, terms: Sequence[str], language: str = "en") -> None:
        self.language = language
        self._reader = reader = language_of(language)
        named: dict[tuple[str, ...], str] = {}
        for term in terms:
            if (phrase := _phrase_stems(term, reader)) and phrase not in named:
                named[phrase] = reader.fold(term).strip()
        self.phrases, self.names = list(named), list(named.values())
        inside = frozenset(s for phrase in self.phrases if len(phrase) > 1 for s in phrase)
        self.parts = frozenset(filter(reader.is_telling, inside))
        self._mute = inside - self.parts
        """Stems of phrases that mean nothing alone."""
        self._words = {p[0]: number for number, p in enumerate(self.phrases) if len(p) == 1}
        self._tree = _phrase_tree(self.phrases)
        every = inside | self._words.keys()
        self._lone = any(is_unspaced(stem) and first_unit(stem) == stem for stem in every)
        """A term is a single character of a script without blanks; pairs may begin with it."""
        self._known = known = _known_stems(every, reader, self._lone)
        word = reader.word_pattern()
        self._holds: BoundedMemo[tuple[tuple[int, str], ...]] = BoundedMemo(
            lambda piece: tuple(
                (n, stem) for n, one in enumerate(word.findall(piece)) if (stem := known[one])
            ),
            _MEMO,
        )
        """Text between two blanks → the stems of terms in it with their places; mostly none."""
        self._word_at, self._words_in = word.match, word.findall
        self._tokens = reader.word_pattern(_BREAK).findall
        self._starts = () if any(map(is_unspaced, every)) else _word_starts(every, reader.code)

    def __len__(self) -> int:
        return len(self.phrases)

    def count_terms(self, text: str) -> tuple[TermCount, int]:
        """What occurs in a text, and its length: the number of pieces between blanks."""
        text = self._prepare_text(text)
        if self._starts:
            shape = blank_outline(text)
            length = -(-shape.count(PIECE_START) // self._reader.per_word)

            def begun(last: int, at: int) -> tuple[int, int]:
                # The outline has a blank more than the text, in front of it.
                blank = shape.rfind(b" ", last + 1, at + 1)
                return shape.count(PIECE_START, last + 1, at + 2), blank

            places = self._search_starts(text, begun)
            return self._count_hits((at + n / _PIECE, stem) for at, n, stem in places), length
        # Splitting at blanks is three times faster than looking for letters; the few pieces that
        # hold a term are looked at closely.
        pieces = text.split()
        length = -(-len(pieces) // self._reader.per_word)
        holds = self._holds
        held = [(at, stems) for at, piece in enumerate(pieces) if (stems := holds[piece])]
        hits = [(at + n / _PIECE, stem) for at, stems in held for n, stem in stems]
        return self._count_hits(hits), length

    def _prepare_text(self, text: str) -> str:
        return self._reader.separate_words(text, self._lone)

    def _search_starts(
        self, text: str, begun: Callable[[int, int], tuple[int, int]]
    ) -> Iterator[tuple[int, int, str]]:
        """Stems of terms in the parts of a text: the number of the part, the words before it in
        that part, and the stem. ``begun`` tells how many parts begin between two places, and where
        the last one does.

        For a few terms this is four times faster than going by words.
        """
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

    def count_all(self, texts: Sequence[str]) -> list[TermCount | None]:
        """The same for many short texts at once, several times faster; None: nothing occurs."""
        joined = _BREAK.join(texts)
        if joined.count(_BREAK) != len(texts) - 1:
            joined = _BREAK.join(text.replace(_BREAK, " ") for text in texts)
        joined = self._prepare_text(joined)
        if self._starts:
            parts: dict[int, list[tuple[int, str]]] = {}

            def begun(last: int, at: int) -> tuple[int, int]:
                return joined.count(_BREAK, last, at), joined.rfind(_BREAK, last, at)

            for part, at, stem in self._search_starts(joined, begun):
                parts.setdefault(part, []).append((at, stem))
            return [self._count_hits(parts[n]) if n in parts else None for n in range(len(texts))]
        known = self._known
        found: list[TermCount | None] = []
        hits: list[tuple[int, str]] = []
        for at, stem in [
            (at, stem) for at, word in enumerate(self._tokens(joined)) if (stem := known[word])
        ]:
            if stem == _BREAK:
                found.append(self._count_hits(hits) if hits else None)
                hits = []
            else:
                hits.append((at, stem))
        if texts:
            found.append(self._count_hits(hits) if hits else None)
        return found

    def _count_hits(self, hits: Iterable[tuple[float, str]]) -> TermCount:
        """Terms and parts from (place, stem) pairs.

        The work grows with the text and not with the number of terms: only phrases that the words
        before have begun are looked at, and phrases with the same beginning once.
        """
        terms: dict[int, int] = {}
        parts: dict[str, int] = {}
        begun: dict[_PhraseNode, float] = {}
        """Beginning of phrases → where the last of its words stood; the oldest first."""
        used: dict[_PhraseNode, float] = {}
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
        return TermCount(terms, parts)


def _phrase_stems(term: str, language: Language) -> tuple[str, ...]:
    """The stems that must follow each other where the term occurs."""
    stems, stops = language.stems, language.stop_words
    words = language.words(term)
    # "full" is in stop lists but matters in "full-text search": drop short ones only.
    chosen = [w for w in words if len(w) > 3 or w not in stops or is_unspaced(w)] or words
    return tuple(stems[word] for word in chosen)


class _PhraseNode:
    """A beginning that some phrases share."""

    __slots__ = ("number", "then")

    def __init__(self) -> None:
        self.number: int | None = None
        """The phrase that ends here; None: none does."""
        self.then: dict[str, _PhraseNode] = {}


def _phrase_tree(phrases: Sequence[tuple[str, ...]]) -> _PhraseNode:
    """Phrases of several words as a tree by their beginnings."""
    root = _PhraseNode()
    for number, phrase in enumerate(phrases):
        if len(phrase) > 1:
            node = root
            for stem in phrase:
                node = node.then.setdefault(stem, _PhraseNode())
            node.number = number
    return root


def _word_starts(stems: Iterable[str], language: str) -> tuple[str, ...]:
    """Beginnings of all words with these stems; () where that is of no use or not known."""
    if language not in _ENDS:
        return ()
    found: list[str] = []
    ends = _ENDS[language]
    for start in sorted(s[: max(1, len(s) - 2)] if s.endswith(ends) else s for s in stems):
        if not (found and start.startswith(found[-1])):
            found.append(start)
    useful = len(found) <= _FEW and all(len(start) > 1 for start in found)
    return tuple(found) if useful else ()


def _known_stems(used: Set[str], language: Language, lone: bool) -> BoundedMemo[str]:
    """Word → its stem if a term contains it, else ''."""
    stems = language.stems

    def known_stem(word: str) -> str:
        if word == _BREAK or (stem := stems[word]) in used:
            return word if word == _BREAK else stem
        begins = lone and is_unspaced(word) and first_unit(word) in used
        return first_unit(word) if begins else ""

    return BoundedMemo(known_stem, _MEMO)


# --- Scoring ---


_K1, _B, _TYPICAL = 3.0, 0.75, 400.0
"""Saturation, length normalisation, and words of a typical main text."""
_TITLE, _HEADINGS = 4, 2
"""How often a word in the title, and one in a heading, counts."""
_SHOWN = 10_000
"""Characters of the main text that are read: enough to judge a page fast."""
_PART, HINT_STRENGTH = 0.06, 0.05
"""Strength of a single word of a phrase, and of a word that only the description contains."""
_REASONS = 6


class Relevance:
    """Terms with strengths, ready to judge pages and short texts."""

    def __init__(
        self, terms: TermMatcher, strength: list[float], stress: float = 1.0, short: int = 50
    ) -> None:
        """``stress``: exponent by which the evidence of a page is raised; ``short``: least number
        of words that a text is treated as having, since one mention in a few words proves little.
        """
        self.terms = terms
        self._strength = strength
        self._stress = stress
        self._short = short

    def judge(self, page: Page) -> Verdict:
        """The verdict on a page from its title, headings, description and main text."""
        return self.judge_terms(*self.page_terms(page))

    def judge_terms(self, counts: TermCount, length: int) -> Verdict:
        """The verdict on a page whose terms were counted already."""
        k = _K1 * (1 - _B + _B * max(length, self._short) / _TYPICAL)
        doubt = 1.0
        reasons = []
        for number, n in counts.terms.items():
            evidence = self._strength[number] * n / (n + k)
            doubt *= 1 - evidence
            reasons.append((evidence, f"“{self.terms.names[number]}” ×{n}"))
        for stem, n in counts.parts.items():
            evidence = _PART * n / (n + k)
            doubt *= 1 - evidence
            reasons.append((evidence, f"{stem}… ×{n}"))
        reasons.sort(reverse=True)
        strongest = tuple(Reason(what, round(e, 3)) for e, what in reasons[:_REASONS])
        return Verdict(1 - doubt**self._stress, strongest)

    def page_terms(self, page: Page) -> tuple[TermCount, int]:
        """What occurs on a page, where its title and headings count more; and its length."""
        counts, length = self.terms.count_terms(page.text[:_SHOWN])
        zones = (page.title, " . ".join(page.headings[:40]), page.description)
        weights = (_TITLE, _HEADINGS, 1)
        for zone, weight in zip(self.terms.count_all(zones), weights, strict=True):
            if zone is not None:
                for number, n in zone.terms.items():
                    counts.terms[number] = counts.terms.get(number, 0) + weight * n
                for stem, n in zone.parts.items():
                    counts.parts[stem] = counts.parts.get(stem, 0) + weight * n
        return counts, length

    def names_topic(self, text: str) -> bool:
        """Whether a term stands in a short text, such as a title."""
        (found,) = self.terms.count_all((text,))
        return found is not None and bool(found.terms)

    def score_texts(self, texts: Sequence[str]) -> list[float]:
        """Evidence in short texts such as anchors: 0..1, without saturation."""
        return [self._score_count(count) if count else 0.0 for count in self.terms.count_all(texts)]

    def _score_count(self, count: TermCount) -> float:
        doubt = 1.0
        for number in count.terms:
            doubt *= 1 - self._strength[number]
        for _ in count.parts:
            doubt *= 1 - _PART
        return 1 - doubt


def phrase_strength(phrase: Sequence[str]) -> float:
    """A phrase means more than a word: 0.6, 0.75, 0.88, 0.95."""
    return min(0.95, 0.6 + 0.15 * (len(phrase) - 1) - 0.02 * max(0, len(phrase) - 2))


@lru_cache(maxsize=16)
def keyword_relevance(keywords: tuple[str, ...], description: str, language: str) -> Relevance:
    """Relevance by keywords and a description, cached: strategies are plain values and hold no
    caches."""
    hints = language_of(language).hint_words(description)
    # Without keywords the description's words are all there is.
    terms = TermMatcher((*keywords, *hints), language)
    named = len(TermMatcher(keywords, language)) if keywords else len(terms)
    strengths = [
        phrase_strength(p) if n < named else HINT_STRENGTH for n, p in enumerate(terms.phrases)
    ]
    return Relevance(terms, strengths)


# --- Topics stated in words ---


_SHORT = 100
"""Least number of words that a text is treated as having."""
_STEP = 0.5
"""Factor for each step between a concept and the topic."""
_LEAST_WORTH = 0.1
"""Of a term that stands everywhere, or on no good page."""
_TYPICAL_COUNT = 10
"""Mentions on a page that prove half of what many do."""


@lru_cache(maxsize=16)
def topic_relevance(
    keywords: tuple[str, ...],
    description: str,
    concepts: tuple[Concept, ...],
    language: str,
    worths: tuple[float, ...] = (),
) -> Relevance | None:
    """Relevance by all that was stated of a topic, cached; None: nothing was stated.

    ``worths``: how much each term counts, from :func:`term_worths`; (): all the same."""
    worth: dict[str, float] = dict.fromkeys(keywords, 1.0)
    for concept in sorted(concepts, key=lambda c: c.distance):
        for name in (concept.name, *concept.synonyms):
            worth.setdefault(name, _STEP ** max(concept.distance, 0))
    # Without keywords or concepts the description's words are all there is.
    for hint in language_of(language).hint_words(description):
        worth.setdefault(hint, 0.0 if keywords or concepts else 1.0)
    terms = TermMatcher(tuple(worth), language)
    if not len(terms):
        return None
    stated: dict[tuple[str, ...], float] = {}
    for name, value in worth.items():
        for phrase in TermMatcher((name,), language).phrases:
            stated.setdefault(phrase, value)
    strengths = [
        stated[p] * phrase_strength(p) if stated[p] else HINT_STRENGTH for p in terms.phrases
    ]
    named = (*keywords, *(c.name for c in concepts if c.distance <= 0))
    count: float = len(TermMatcher(named, language)) or len(terms)
    if len(worths) == len(terms):
        strengths = [s * worth for s, worth in zip(strengths, worths, strict=True)]
        count *= sum(worths) / len(worths)
    return Relevance(terms, strengths, 1 + 1 / max(count, 1), _SHORT)


def term_worths(
    count: int, pages: Sequence[TermCount], good: Iterable[TermCount]
) -> tuple[float, ...]:
    """How much each of so many terms tells of the topic: rare among these pages, and frequent on
    good ones.

    Between 0 and 1, the best term has 1. (): no term stands on a good page, so nothing is known.
    Of a description, *bird* tells more than *eat*, which stands on every page about animals."""
    pages_with, frequency = [0] * count, [0.0] * count
    for page in pages:
        for number in page.terms:
            pages_with[number] += 1
    for page in good:
        for number, n in page.terms.items():
            frequency[number] += n / (n + _TYPICAL_COUNT)
    if not any(frequency):
        return ()
    worths = [
        (log((1 + len(pages)) / (1 + within)) + _LEAST_WORTH) * (often + _LEAST_WORTH)
        for within, often in zip(pages_with, frequency, strict=True)
    ]
    return tuple(round(worth / max(worths), 6) for worth in worths)
