"""Words and stems by the code of a language: shortcuts to :mod:`honeyguide.text.language`."""

from __future__ import annotations

import re

from honeyguide.errors import ConfigError
from honeyguide.text.language import LONGEST, Memo, language_of
from honeyguide.text.word_patterns import brief

__all__ = [
    "LONGEST",
    "Stems",
    "brief",
    "check_language",
    "fold",
    "ready",
    "stems_of",
    "stop_words",
    "words",
]


def fold(text: str, language: str = "en") -> str:
    """One writing for what readers take for the same: Turkish has two letters i."""
    return language_of(language).fold(text)


def ready(text: str, language: str = "en") -> str:
    """Folded, with a blank wherever a word ends."""
    return language_of(language).ready(text)


def words(text: str, language: str = "en") -> list[str]:
    """Runs of letters and digits, folded; pairs of characters in scripts without blanks."""
    return language_of(language).words(text)


class Stems(Memo):
    """Word → stem, a memory of its own; :func:`stems_of` shares one."""

    def __init__(self, language: str) -> None:
        super().__init__(language_of(language).stem)


def stems_of(language: str) -> Memo:
    """Word → stem: ``stems_of("en")[word]``."""
    return language_of(language).stems


def stop_words(language: str) -> frozenset[str]:
    """The language's stop words; none for a language without a list."""
    return language_of(language).stops


def check_language(code: str) -> None:
    """A ConfigError for something that is no two-letter language code."""
    if not re.fullmatch(r"[a-z]{2,3}", code):
        raise ConfigError(f"topic.language must be a code such as 'en' or 'tr', not {code!r}")
