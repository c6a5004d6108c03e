"""Words and stems of a language, fast enough for the ring."""

from __future__ import annotations

import re
from functools import lru_cache

import Stemmer

from honeyguide.errors import ConfigError

_WORD = re.compile(r"[^\W_]+").findall

_SNOWBALL = {
    "ar": "arabic", "ca": "catalan", "da": "danish", "de": "german", "el": "greek",
    "en": "english", "es": "spanish", "eu": "basque", "fi": "finnish", "fr": "french",
    "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian", "id": "indonesian",
    "it": "italian", "lt": "lithuanian", "ne": "nepali", "nl": "dutch", "no": "norwegian",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish",
    "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip

_MEMO = 100_000
"""Distinct words whose stem is remembered; the web invents words without end."""

LONGEST = 64
"""What is longer is no word of any language: it is cut, and not remembered."""


def fold(text: str, language: str = "en") -> str:
    """Lower case by the language's own rule: Turkish has two letters i."""
    if language == "tr":
        text = text.replace("İ", "i").replace("I", "ı")
    return text.lower()


def words(text: str, language: str = "en") -> list[str]:
    """Runs of letters and digits, folded."""
    return _WORD(fold(text, language))


class Stems(dict[str, str]):
    """Word → stem, computed once per word: ``stems[word]``."""

    def __init__(self, language: str) -> None:
        super().__init__()
        name = _SNOWBALL.get(language)
        # Its own memory of words is slower than stemming them anew.
        self._stem = Stemmer.Stemmer(name, 0).stemWord if name else str

    def __missing__(self, word: str) -> str:
        if len(word) > LONGEST:
            return word[:LONGEST]
        if len(self) >= _MEMO:
            self.clear()
        stem = self[word] = str(self._stem(word))
        return stem


@lru_cache(maxsize=8)
def stems_of(language: str) -> Stems:
    return Stems(language)


@lru_cache(maxsize=8)
def stop_words(language: str) -> frozenset[str]:
    """The language's stop words; none for a language without a list."""
    import stopwordsiso  # not every crawl needs it, and it takes as long to load as ten pages

    if not stopwordsiso.has_lang(language):
        return frozenset()
    return frozenset(stopwordsiso.stopwords(language))


def check_language(code: str) -> None:
    """A ConfigError for something that is no two-letter language code."""
    if not re.fullmatch(r"[a-z]{2,3}", code):
        raise ConfigError(f"topic.language must be a code such as 'en' or 'tr', not {code!r}")
