"""Dictionary forms of words by simplemma: an extra, loaded when it is first asked.

A language's word list takes a second to load and some hundred megabytes, and the better form is
worth little to a crawl, where both sides are stemmed alike: stems are the ring's, lemmas are for
training and for people.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

from honeyguide.errors import ConfigError

_OTHER = {"no": "nb", "bs": "hbs", "hr": "hbs", "sr": "hbs"}
"""Codes whose word list goes by another code."""


def installed() -> bool:
    return find_spec("simplemma") is not None


def lemmatiser(code: str) -> Callable[[str], str]:
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
