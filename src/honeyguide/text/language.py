"""What we know of single languages: stemmers, letters that are alike, scripts without blanks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

import Stemmer

from honeyguide.errors import ConfigError, ModelError
from honeyguide.text import normalise
from honeyguide.text.normalise import LetterPairs, Spelling, fold_letters

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints


SNOWBALL_STEMMERS = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek",
    "en": "english", "eo": "esperanto", "es": "spanish", "et": "estonian", "eu": "basque",
    "fa": "persian", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi",
    "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian",
    "nb": "norwegian", "ne": "nepali", "nl": "dutch", "nn": "norwegian", "no": "norwegian",
    "pl": "polish", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian",
    "st": "sesotho", "sv": "swedish", "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
"""Code → Snowball's stemmer; an older PyStemmer may lack some."""

STOP_LIST_CODES = {"nb": "no", "nn": "no"}
"""Codes whose list of stop words goes by another code."""

CHARS_PER_WORD = {"zh": 2, "yue": 2, "ja": 2, "th": 3, "lo": 3, "km": 3, "my": 3}
"""Languages without blanks between words, and how many characters make a word of running text."""

_TURKIC: LetterPairs = (("İ", "i"), ("I", "ı"))
_CAPITALS = {"tr": _TURKIC, "az": _TURKIC, "crh": _TURKIC}

_ALIKE: dict[str, LetterPairs] = {
    "ar": (("أ", "ا"), ("إ", "ا"), ("آ", "ا"), ("ٱ", "ا"), ("ى", "ي")),
    "de": (("ß", "ss"),),
    # Capitals are written without accents, and ς is σ at the end.
    "el": (
        ("ά", "α"), ("έ", "ε"), ("ή", "η"), ("ί", "ι"), ("ό", "ο"), ("ύ", "υ"), ("ώ", "ω"),
        ("ΐ", "ϊ"), ("ΰ", "ϋ"), ("ς", "σ"),
    ),
    # Keyboards and old encodings write the Arabic letters.
    "fa": (("ي", "ی"), ("ى", "ی"), ("ك", "ک"), ("ۀ", "ه")),
    "fr": (("œ", "oe"), ("æ", "ae")),
    # Old encodings have the cedilla only.
    "ro": (("ş", "ș"), ("ţ", "ț")),
    "ru": (("ё", "е"),),
    # Most people no longer write the circumflex.
    "tr": (("â", "a"), ("î", "i"), ("û", "u")),
    "ur": (("ي", "ی"), ("ك", "ک")),
}  # fmt: skip

_WITHOUT_MARKS = frozenset(
    """
    af ar az be bg br bs ca co crh cs cy da de el en eo es et eu fi fo fr fy ga gd gl ha he hr hu
    hy id is it ja ka kk ko ku ky la lb lt lv mk ms mt nb nl nn no oc pl ps pt ro ru sk sl so sq
    sr st sv sw tl tr uk ur uz vi yue zh zu
    """.split()  # noqa: SIM905 - eighty quotes would hide the codes
)
"""Languages all of whose letters are single characters, once their parts are put together."""


def spelling_of(code: str) -> Spelling:
    return Spelling(
        capitals=_CAPITALS.get(code, ()),
        alike=_ALIKE.get(code, ()),
        marks=code not in _WITHOUT_MARKS,
        joiner=code == "fa",
    )


_PARTICLES = (
    "에서는", "에서도", "으로는", "으로써", "으로서", "이라고", "에게서", "까지는", "부터는",
    "에서", "에게", "으로", "이나", "이란", "이라", "까지", "부터", "처럼", "보다", "마다", "에는",
    "에도", "과의", "와의", "로의", "들의", "들은", "들이", "들을",
    "은", "는", "이", "가", "을", "를", "의", "에", "로", "와", "과", "도", "만", "들",
)  # fmt: skip


def strip_korean_particle(word: str) -> str:
    """A noun without the particle that is written together with it: 기계학습은 → 기계학습.

    No stemmer of Snowball knows Korean; these particles, longest first, are what most hides a
    keyword. At least two syllables are left.
    """
    for particle in _PARTICLES:
        if len(word) - len(particle) >= 2 and word.endswith(particle):
            return word[: -len(particle)]
    return word


_ARTICLES = ("وال", "بال", "كال", "فال", "ال", "لل")


def strip_arabic_article(word: str) -> str:
    """A word without the article, alone or after a preposition, as Larkey, Ballesteros & Connell
    2002 strip it: Snowball leaves it before short words."""
    for article in _ARTICLES:
        if len(word) - len(article) >= 2 and word.startswith(article):
            return word[len(article) :]
    return word


OWN_STEMMERS = {"ar": strip_arabic_article, "ko": strip_korean_particle}
"""Code → our own stemmer, which goes before Snowball's if there is one."""


# --------------------------------------------------------------------------------------------------
# A language as text needs it: what is the same letter, where words end, stems, stop words.
#
# An outsider adds one with the entry-point group ``honeyguide.languages``: the name is the
# language's code, the value a :class:`Language` or a function without arguments that makes one. It
# goes before ours, but for English, whose crawls should not wait for other packages to be looked
# through; ``eng`` is free.
# --------------------------------------------------------------------------------------------------


_MEMO = 100_000
"""Distinct words whose stem is remembered; the web invents words without end."""

_BREAK = "\x1f"
"""Stands between texts that are read in one pass: no segmenter sees it."""

MAX_WORD_CHARS = 64
"""What is longer is no word of any language: it is cut, and not remembered."""


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
    """Everything that reading text in one language takes. Words are folded before all else."""

    code: str
    spelling: Spelling = field(default_factory=Spelling)
    stem: Callable[[str], str] = str
    """Word → its stem; the word itself where nobody knows better."""
    listed: Callable[[], Iterable[str]] = tuple
    """Makes the list of stop words: loaded when first needed."""
    cut: Callable[[str], str] | None = None
    """Puts blanks between the words of a folded text; None: pairs of characters where a script
    has no blanks."""
    per_word: int = 1
    """Tokens that make a word of running text: several where tokens are pairs of characters."""
    spaced: bool = True
    """Words have blanks between them."""

    @cached_property
    def is_known(self) -> bool:
        """Whether more is known of it than that it has letters: a rule of its own, stop words."""
        ruled = self.stem is not str or not self.spaced or bool(self.spelling.capitals)
        return ruled or bool(self.stop_words)

    def fold(self, text: str) -> str:
        """One writing for what readers take for the same: lower case by the language's own rule,
        letters put together from their parts, without points and joiners."""
        return fold_letters(text, self.spelling)[0]

    def separate_words(self, text: str, ends: bool = False) -> str:
        """Folded, and with a blank wherever a word ends: :attr:`word_pattern` finds them all.

        With ``ends``, runs without blanks also give their last character
        (:func:`scripts.split_into_pairs`).
        """
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
        """Matches a word of ready text, or what else is asked for."""
        inside = "\u200c" if self.spelling.joiner else ""
        return normalise.word_pattern(self.spelling.marks, also, inside)

    def is_telling(self, word: str) -> bool:
        """Whether a word says something on its own; most pairs of characters do not."""
        return self.cut is not None or normalise.is_telling_word(word)

    def hint_words(self, text: str) -> list[str]:
        """What to look for of a text that describes something: words that tell, but stop words."""
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
        """Word → stem, remembered."""
        return word_memo(self.stem)

    @cached_property
    def stop_words(self) -> frozenset[str]:
        """Its stop words, folded; none for a language without a list."""
        return frozenset(self.fold(word) for word in self.listed())

    def lemma(self, word: str) -> str:
        """The dictionary form of a word as it was written, folded.

        Raises ConfigError without simplemma, or where that does not know the language.
        """
        return self._lemma_memo[word]

    @cached_property
    def _lemma_memo(self) -> BoundedMemo[str]:
        form = make_lemmatiser(self.code)
        return word_memo(lambda word: self.fold(form(word)))


@lru_cache(maxsize=32)
def language_of(code: str) -> Language:
    """The language of that code; one that is not :attr:`~Language.is_known` where nobody knows it.

    What is left then are words as they are written, in one case.
    """
    if code != "en":
        for entry in _plugin_entries():
            if entry.name == code:
                return _load_plugin(entry.name, entry.value)
    return Language(
        code,
        spelling_of(code),
        _stemmer_of(code),
        lambda: _listed_stop_words(STOP_LIST_CODES.get(code, code)),
        per_word=CHARS_PER_WORD.get(code, 1),
        spaced=code not in CHARS_PER_WORD,
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


def _load_plugin(code: str, target: str) -> Language:
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


# --------------------------------------------------------------------------------------------------
# Dictionary forms of words by simplemma: an extra, loaded when it is first asked.
#
# A language's word list takes a second to load and some hundred megabytes, and the better form is
# worth little to a crawl, where both sides are stemmed alike: stems are the ring's, lemmas are for
# training and for people.
# --------------------------------------------------------------------------------------------------


_OTHER = {"no": "nb", "bs": "hbs", "hr": "hbs", "sr": "hbs"}
"""Codes whose word list goes by another code."""


def make_lemmatiser(code: str) -> Callable[[str], str]:
    """Word → its dictionary form, or the word itself if nobody knows it.

    Raises ConfigError if simplemma is not installed or does not know the language.
    """
    try:
        from simplemma import Lemmatizer
    except ImportError as error:
        raise ConfigError(
            "lemmas need simplemma; install it with: pip install 'honeyguide[lemma]'"
        ) from error
    known, name = Lemmatizer(), _OTHER.get(code, code)

    def form(word: str) -> str:
        return known.lemmatize(word, lang=name) if word else ""

    try:
        form("a")
    except ValueError as error:
        raise ConfigError(f"simplemma has no word list for the language {code!r}") from error
    return form


# --------------------------------------------------------------------------------------------------
# Words and stems by the code of a language: shortcuts to :mod:`honeyguide.text.language`.
# --------------------------------------------------------------------------------------------------


def fold_text(text: str, language: str = "en") -> str:
    """One writing for what readers take for the same: Turkish has two letters i."""
    return language_of(language).fold(text)


def separate_words(text: str, language: str = "en") -> str:
    """Folded, with a blank wherever a word ends."""
    return language_of(language).separate_words(text)


def split_words(text: str, language: str = "en") -> list[str]:
    """Runs of letters and digits, folded; pairs of characters in scripts without blanks."""
    return language_of(language).words(text)


def stems_of(language: str) -> BoundedMemo[str]:
    """Word → stem: ``stems_of("en")[word]``."""
    return language_of(language).stems


def stop_words(language: str) -> frozenset[str]:
    """The language's stop words; none for a language without a list."""
    return language_of(language).stop_words


def check_language(code: str) -> None:
    """A ConfigError for something that is no two-letter language code."""
    if not re.fullmatch(r"[a-z]{2,3}", code):
        raise ConfigError(f"topic.language must be a code such as 'en' or 'tr', not {code!r}")


# --------------------------------------------------------------------------------------------------
# Stems as they stood in a text: people read words, and “queri” is none.
# --------------------------------------------------------------------------------------------------


_READ = 20_000
"""Characters that are looked through."""
_SHORT = 3
_WORDS = 2_000
"""Words that begin like one of the stems."""


def surface_forms(stems: Sequence[str], text: str, language: str) -> list[str]:
    """Of each stem the word that stands for it most often here, folded; where none does, the stem
    with ``…`` behind it."""
    reader = language_of(language)
    if not reader.spaced:
        return list(stems)
    forms: dict[str, Counter[str]] = {stem: Counter() for stem in stems if stem}
    if not forms:
        return list(stems)
    # A stem may differ from its words in its last letter: queri, query.
    starts = sorted({re.escape(stem[:-1] if len(stem) > _SHORT else stem) for stem in forms})
    sought = re.compile(rf"(?<!\w)(?:{'|'.join(starts)})\w*")
    for number, match in enumerate(sought.finditer(reader.separate_words(text[:_READ]))):
        if number >= _WORDS:
            break
        if (form := forms.get(reader.stems[match[0]])) is not None:
            form[match[0]] += 1
    return [_commonest_form(forms[stem]) if forms.get(stem) else f"{stem}…" for stem in stems]


def _commonest_form(form: Counter[str]) -> str:
    """Of those that stand there equally often the shortest: the plainest."""
    return min(form, key=lambda word: (-form[word], len(word), word))
