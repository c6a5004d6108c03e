"""Languages as text needs them: letters, word ends, stems, stop words, dictionary forms.

Other packages add languages with the entry-point group ``honeyguide.languages``: the name is the
code of the language, the value a :class:`Language` or a function without arguments that returns
one. They go before the built-in ones, except for English (``en``): looking through the installed
packages takes as long as reading ten pages. The name ``eng`` is free.

A language may repair what people write (:attr:`Language.respell`, :attr:`Language.rewrite`). All
words of texts, keywords, links and queries pass through :meth:`Language.separate_words` and
:attr:`Language.stems`, and that is where it is done. ``tr-x-raw`` is Turkish without it.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from importlib import import_module, resources
from typing import TYPE_CHECKING, Any, TypeVar

import Stemmer

from honeyguide.errors import ConfigError, ModelError
from honeyguide.language_codes import RAW_SUFFIX
from honeyguide.text import normalise
from honeyguide.text.normalise import Spelling, fold_letters

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints


_TABLES: dict[str, Any] = tomllib.loads(
    (resources.files(__package__) / "data/languages.toml").read_text("utf-8")
)
SNOWBALL_STEMMERS: dict[str, str] = _TABLES["snowball_stemmers"]
"""Code → Snowball's stemmer; an older PyStemmer may lack some."""
STOP_LIST_CODES: dict[str, str] = _TABLES["stop_list_codes"]
"""Codes whose list of stop words goes by another code."""
CHARS_PER_WORD: dict[str, int] = _TABLES["chars_per_word"]
"""Languages without blanks between words, and how many characters make a word of running text."""
_REPAIRED: dict[str, str] = _TABLES["repaired"]
"""Code → where its :class:`Language` is made, for those of ours that repair words."""
_PARTICLES = _TABLES["korean_particles"].split()
_ARTICLES = _TABLES["arabic_articles"].split()


def spelling_of(code: str) -> Spelling:
    return Spelling(
        capitals=tuple((one, other) for one, other in _TABLES["capitals"].get(code, ())),
        alike=tuple((one, other) for one, other in _TABLES["alike"].get(code, ())),
        marks=code not in _TABLES["without_marks"].split(),
        joiner=code == "fa",
    )


def strip_korean_particle(word: str) -> str:
    """A noun without the particle that is written together with it: 기계학습은 → 기계학습.

    Snowball has no stemmer for Korean. The longest particles are tried first, and at least two
    syllables are left.
    """
    for particle in _PARTICLES:
        if len(word) - len(particle) >= 2 and word.endswith(particle):
            return word[: -len(particle)]
    return word


def strip_arabic_article(word: str) -> str:
    """A word without the article, alone or after a preposition (Larkey, Ballesteros & Connell
    2002). Snowball leaves it before short words."""
    for article in _ARTICLES:
        if len(word) - len(article) >= 2 and word.startswith(article):
            return word[len(article) :]
    return word


OWN_STEMMERS = {"ar": strip_arabic_article, "ko": strip_korean_particle}
"""Code → stemmer of this package, applied before that of Snowball if there is one."""


# --- A language, built in or from another package ---


_MEMO = 100_000
"""Distinct words whose stem is stored; the web has words without end."""

_BREAK = "\x1f"
"""Separates texts that are read in one pass; no segmenter sees it."""

MAX_WORD_CHARS = 64
"""Longest word: longer ones are cut and not stored."""


V = TypeVar("V")


class BoundedMemo(dict[str, V]):
    """What ``make`` returns for a text, computed once for each: ``memo[text]``.

    A memo with ``most`` entries starts anew; texts longer than ``longest`` are not stored.
    """

    def __init__(
        self, make: Callable[[str], V], most: int = _MEMO, longest: int = MAX_WORD_CHARS
    ) -> None:
        super().__init__()
        self._make, self._most, self._longest = make, most, longest

    def __missing__(self, text: str) -> V:
        value = self._make(text)
        if len(text) <= self._longest:
            if len(self) >= self._most:
                self.clear()
            self[text] = value
        return value


def word_memo(make: Callable[[str], str]) -> BoundedMemo[str]:
    """Word → its stem or lemma; a word that is too long is only cut."""
    return BoundedMemo(lambda w: str(make(w)) if len(w) <= MAX_WORD_CHARS else w[:MAX_WORD_CHARS])


@dataclass(frozen=True, eq=False)
class Language:
    """Everything that is needed to read text in one language. Words are folded first."""

    code: str
    spelling: Spelling = field(default_factory=Spelling)
    stem: Callable[[str], str] = str
    """Word → its stem; by default the word itself."""
    listed: Callable[[], Iterable[str]] = tuple
    """Returns the stop words; called when they are first needed."""
    cut: Callable[[str], str] | None = None
    """Puts blanks between the words of a folded text. None: scripts without blanks are read as
    pairs of characters."""
    per_word: int = 1
    """Tokens that make a word of running text: several where tokens are pairs of characters."""
    spaced: bool = True
    """Words have blanks between them."""
    respell: Callable[[str], str] | None = None
    """Word → the same word spelt right, before it is stemmed; asked once for each word."""
    rewrite: Callable[[str], str] | None = None
    """Text → the text with whatever takes more than one word to repair, before it is cut into
    words; asked for every text, so it must be quick."""

    @cached_property
    def is_known(self) -> bool:
        """Whether it has more than letters: a stemmer, stop words, or rules for capitals or word
        ends."""
        ruled = self.stem is not str or not self.spaced or bool(self.spelling.capitals)
        return ruled or bool(self.stop_words)

    def fold(self, text: str) -> str:
        """The text in one spelling: lower case by the rules of the language, composed letters, no
        points and joiners."""
        return fold_letters(text, self.spelling)[0]

    def separate_words(self, text: str, ends: bool = False) -> str:
        """The folded text with a blank after each word, ready for :attr:`word_pattern`.

        With ``ends``, runs without blanks also give their last character
        (:func:`honeyguide.text.normalise.split_into_pairs`).
        """
        if self.rewrite is not None:
            text = self.rewrite(text)
        text, unspaced = fold_letters(text, self.spelling)
        if self.cut is not None:
            return _BREAK.join(map(self.cut, text.split(_BREAK)))
        return normalise.split_into_pairs(text, ends) if unspaced else text

    def words(self, text: str) -> list[str]:
        """Runs of letters and digits, folded; pairs of characters in scripts without blanks."""
        return self._find_words(self.separate_words(text))

    @cached_property
    def _find_words(self) -> Callable[[str], list[str]]:
        return self.word_pattern().findall

    def word_pattern(self, also: str = "") -> re.Pattern[str]:
        """A pattern that matches a word of separated text, or ``also``."""
        inside = "\u200c" if self.spelling.joiner else ""
        return normalise.word_pattern(self.spelling.marks, also, inside)

    def is_telling(self, word: str) -> bool:
        """Whether a word means something on its own; most pairs of characters do not."""
        return self.cut is not None or normalise.is_telling_word(word)

    def hint_words(self, text: str) -> list[str]:
        """Words to search for from a description: those with a meaning that are no stop words."""
        found = [
            word
            for word in self.words(text)
            if self.is_telling(word) and word not in self.stop_words
        ]
        return (
            found if self.cut is not None else [*found, *normalise.unspaced_names(self.fold(text))]
        )

    @cached_property
    def stems(self) -> BoundedMemo[str]:
        """Word → stem of the word spelt right, cached."""
        stem, respell = self.stem, self.respell
        return word_memo(stem if respell is None else lambda word: stem(respell(word)))

    @cached_property
    def stop_words(self) -> frozenset[str]:
        """The folded stop words; empty for a language without a list."""
        return frozenset(self.fold(word) for word in self.listed())

    def lemma(self, word: str) -> str:
        """The dictionary form of a word as it was written, folded.

        Raises ConfigError without simplemma, or where that does not know the language.
        """
        return self._lemma_memo[word]

    @cached_property
    def _lemma_memo(self) -> BoundedMemo[str]:
        form = make_lemmatiser(self.code.partition(RAW_SUFFIX)[0])
        return word_memo(lambda word: self.fold(form(word)))


@lru_cache(maxsize=32)
def language_of(code: str) -> Language:
    """The language with that code. Where nothing is known of it, words are only put in lower case:
    see :attr:`~Language.is_known`."""
    base = code.partition(RAW_SUFFIX)[0]
    if base != "en":
        for entry in _plugin_entries():
            if entry.name == base:
                found = _load_language(base, entry.value)
                return found if base == code else replace(found, respell=None, rewrite=None)
    if code in _REPAIRED:
        return _load_language(code, _REPAIRED[code])
    if base != code and base not in _REPAIRED:
        return language_of(base)
    return Language(
        code,
        spelling_of(base),
        _stemmer_of(base),
        lambda: _listed_stop_words(STOP_LIST_CODES.get(base, base)),
        per_word=CHARS_PER_WORD.get(base, 1),
        spaced=base not in CHARS_PER_WORD,
    )


def _stemmer_of(code: str) -> Callable[[str], str]:
    name, own = SNOWBALL_STEMMERS.get(code, ""), OWN_STEMMERS.get(code)
    if name not in Stemmer.algorithms():
        return own or str
    # Its own memory of words is slower than stemming them anew.
    stem: Callable[[str], str] = Stemmer.Stemmer(name, 0).stemWord
    return stem if own is None else lambda word: stem(own(word))


def _listed_stop_words(code: str) -> Iterable[str]:
    import stopwordsiso  # not every crawl needs it, and it takes as long to load as ten pages

    words: Iterable[str] = stopwordsiso.stopwords(code) if stopwordsiso.has_lang(code) else ()
    return words


def _plugin_entries() -> EntryPoints:
    from importlib.metadata import entry_points  # takes as long to load as a dozen pages

    return entry_points(group="honeyguide.languages")


def _load_language(code: str, target: str) -> Language:
    """The language at ``module:name``, as another package registered it."""
    module, _, attribute = target.partition(":")
    try:
        found: Any = getattr(import_module(module), attribute)
        made = found if isinstance(found, Language) else found()
    except Exception as error:  # whatever another package does, the message names it
        raise ModelError(f"the language {code!r} cannot be loaded: {error}") from error
    if not isinstance(made, Language):
        raise ModelError(f"the language {code!r} is not a Language: {target}")
    return made


# --- Dictionary forms of words by simplemma, an extra that takes a second to load ---


def make_lemmatiser(code: str) -> Callable[[str], str]:
    """Word → its dictionary form, or the word itself if it is unknown.

    Raises ConfigError if simplemma is not installed or does not know the language.
    """
    try:
        from simplemma import Lemmatizer
    except ImportError as error:
        raise ConfigError(
            "lemmas need simplemma; install it with: pip install 'honeyguide[lemma]'"
        ) from error
    known, name = Lemmatizer(), _TABLES["lemma_codes"].get(code, code)

    def form(word: str) -> str:
        return known.lemmatize(word, lang=name) if word else ""

    try:
        form("a")
    except ValueError as error:
        raise ConfigError(f"simplemma has no word list for the language {code!r}") from error
    return form


# --- Shortcuts by the code of a language ---


def fold_text(text: str, language: str = "en") -> str:
    """The text in one spelling by the rules of the language."""
    return language_of(language).fold(text)


def split_words(text: str, language: str = "en") -> list[str]:
    """Runs of letters and digits, folded; pairs of characters in scripts without blanks."""
    return language_of(language).words(text)


def stems_of(language: str) -> BoundedMemo[str]:
    """Word → stem, cached: ``stems_of("en")[word]``."""
    return language_of(language).stems


def stop_words(language: str) -> frozenset[str]:
    """The language's stop words; none for a language without a list."""
    return language_of(language).stop_words


def check_language(code: str) -> None:
    """Raises ConfigError if this is no code of two or three letters."""
    if not re.fullmatch(r"[a-z]{2,3}", code):
        raise ConfigError(f"topic.language must be a code such as 'en' or 'tr', not {code!r}")


# --- Words of a text in place of stems ---


_READ = 20_000
"""Characters that are searched."""
_SHORT = 3
_WORDS = 2_000
"""Words that are looked at, of those that begin like one of the stems."""


def surface_forms(stems: Sequence[str], text: str, language: str) -> list[str]:
    """For each stem the word that has it most often in this text, folded; the stem with ``…`` where
    there is none. Stop words are no reason for anything: the stem "to" is that of "toed"."""
    reader = language_of(language)
    if not reader.spaced:
        return list(stems)
    forms: dict[str, Counter[str]] = {stem: Counter() for stem in stems if stem}
    if not forms:
        return list(stems)
    # A stem may differ from its words in its last letter: queri, query.
    starts = sorted({re.escape(stem[:-1] if len(stem) > _SHORT else stem) for stem in forms})
    sought = re.compile(rf"(?<!\w)(?:{'|'.join(starts)})\w*")
    if reader.respell is not None:  # and where words are repaired, in any letter
        sought = reader.word_pattern()
    for number, match in enumerate(sought.finditer(reader.separate_words(text[:_READ]))):
        if number >= _WORDS and reader.respell is None:
            break
        form = forms.get(reader.stems[match[0]])
        if form is not None and match[0] not in reader.stop_words:
            form[match[0]] += 1
    return [_commonest_form(forms[stem]) if forms.get(stem) else f"{stem}…" for stem in stems]


def _commonest_form(form: Counter[str]) -> str:
    """The most frequent form; of equally frequent ones the shortest."""
    return min(form, key=lambda word: (-form[word], len(word), word))
