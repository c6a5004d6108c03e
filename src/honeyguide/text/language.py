"""A language as text needs it: what is the same letter, where words end, stems, stop words.

An outsider adds one with the entry-point group ``honeyguide.languages``: the name is the
language's code, the value a :class:`Language` or a function without arguments that makes one. It
goes before ours, but for English, whose crawls should not wait for other packages to be looked
through; ``eng`` is free.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import Stemmer

from honeyguide.errors import ModelError
from honeyguide.text import word_patterns as scripts
from honeyguide.text.language_data import OWN, PER_WORD, SNOWBALL, STOPS, spelling_of
from honeyguide.text.normalise import Spelling, folded

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

_MEMO = 100_000
"""Distinct words whose stem is remembered; the web invents words without end."""

_BREAK = "\x1f"
"""Stands between texts that are read in one pass: no segmenter sees it."""

LONGEST = 64
"""What is longer is no word of any language: it is cut, and not remembered."""


class Memo(dict[str, str]):
    """Word → its stem or lemma, made once per word: ``stems[word]``."""

    def __init__(self, make: Callable[[str], str]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, word: str) -> str:
        if len(word) > LONGEST:
            return word[:LONGEST]
        if len(self) >= _MEMO:
            self.clear()
        made = self[word] = str(self._make(word))
        return made


def _none() -> Iterable[str]:
    return ()


@dataclass(frozen=True, eq=False)
class Language:
    """Everything that reading text in one language takes. Words are folded before all else."""

    code: str
    spelling: Spelling = field(default_factory=Spelling)
    stem: Callable[[str], str] = str
    """Word → its stem; the word itself where nobody knows better."""
    listed: Callable[[], Iterable[str]] = _none
    """Makes the list of stop words: loaded when first needed."""
    cut: Callable[[str], str] | None = None
    """Puts blanks between the words of a folded text; None: pairs of characters where a script
    has no blanks."""
    per_word: int = 1
    """Tokens that make a word of running text: several where tokens are pairs of characters."""
    spaced: bool = True
    """Words have blanks between them."""

    @cached_property
    def known(self) -> bool:
        """Whether more is known of it than that it has letters: a rule of its own, stop words."""
        ruled = self.stem is not str or not self.spaced or bool(self.spelling.capitals)
        return ruled or bool(self.stops)

    def fold(self, text: str) -> str:
        """One writing for what readers take for the same: lower case by the language's own rule,
        letters put together from their parts, without points and joiners."""
        return folded(text, self.spelling)[0]

    def ready(self, text: str, ends: bool = False) -> str:
        """Folded, and with a blank wherever a word ends: :attr:`word` finds them all.

        With ``ends``, runs without blanks also give their last character (:func:`scripts.pairs`).
        """
        text, unspaced = folded(text, self.spelling)
        if self.cut is not None:
            return _BREAK.join(map(self.cut, text.split(_BREAK)))
        return scripts.pairs(text, ends) if unspaced else text

    def words(self, text: str) -> list[str]:
        """Runs of letters and digits, folded; pairs of characters in scripts without blanks."""
        return self._found(self.ready(text))

    @cached_property
    def _found(self) -> Callable[[str], list[str]]:
        return self.word().findall

    def word(self, also: str = "") -> re.Pattern[str]:
        """Matches a word of ready text, or what else is asked for."""
        inside = "\u200c" if self.spelling.joiner else ""
        return scripts.word(self.spelling.marks, also, inside)

    def tells(self, word: str) -> bool:
        """Whether a word says something on its own; most pairs of characters do not."""
        return self.cut is not None or scripts.tells(word)

    def hints(self, text: str) -> list[str]:
        """What to look for of a text that describes something: words that tell, but stop words."""
        said = [word for word in self.words(text) if self.tells(word) and word not in self.stops]
        return said if self.cut is not None else [*said, *scripts.names(self.fold(text))]

    @cached_property
    def stems(self) -> Memo:
        """Word → stem, remembered."""
        return Memo(self.stem)

    @cached_property
    def stops(self) -> frozenset[str]:
        """Its stop words, folded; none for a language without a list."""
        return frozenset(self.fold(word) for word in self.listed())

    def lemma(self, word: str) -> str:
        """The dictionary form of a word as it was written, folded.

        Raises ConfigError without simplemma, or where that does not know the language.
        """
        return self._lemmas[word]

    @cached_property
    def _lemmas(self) -> Memo:
        from honeyguide.text.lemmas import lemmatiser  # few ask, and it loads a dictionary

        form = lemmatiser(self.code)
        return Memo(lambda word: self.fold(form(word)))


@lru_cache(maxsize=32)
def language_of(code: str) -> Language:
    """The language of that code; one that is not :attr:`~Language.known` where nobody knows it.

    What is left then are words as they are written, in one case.
    """
    if code != "en":
        for entry in _others():
            if entry.name == code:
                return _loaded(entry.name, entry.value)
    return Language(
        code,
        spelling_of(code),
        _stemmer(code),
        lambda: _listed(STOPS.get(code, code)),
        per_word=PER_WORD.get(code, 1),
        spaced=code not in PER_WORD,
    )


def _stemmer(code: str) -> Callable[[str], str]:
    name, own = SNOWBALL.get(code, ""), OWN.get(code)
    if name not in Stemmer.algorithms():
        return own or str
    # Its own memory of words is slower than stemming them anew.
    stem: Callable[[str], str] = Stemmer.Stemmer(name, 0).stemWord
    return stem if own is None else lambda word: stem(own(word))


def _listed(code: str) -> Iterable[str]:
    import stopwordsiso  # not every crawl needs it, and it takes as long to load as ten pages

    words: Iterable[str] = stopwordsiso.stopwords(code) if stopwordsiso.has_lang(code) else ()
    return words


def _others() -> EntryPoints:
    from importlib.metadata import entry_points  # takes as long to load as a dozen pages

    return entry_points(group="honeyguide.languages")


def _loaded(code: str, target: str) -> Language:
    """What another package registered under that code."""
    module, _, attribute = target.partition(":")
    try:
        found: Any = getattr(import_module(module), attribute)
        made = found if isinstance(found, Language) else found()
    except Exception as error:  # whatever another package does, the message names it
        raise ModelError(f"the language {code!r} cannot be loaded: {error}") from error
    if not isinstance(made, Language):
        raise ModelError(f"the language {code!r} is not a Language: {target}")
    return made
