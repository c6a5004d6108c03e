"""In which language a page is written: what its words sound like, then what it declares.

``html lang`` says what a template was made for, and often lies. So it only counts as an opinion
held beforehand: it decides about a few words and is overruled by a paragraph.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from honeyguide.errors import ConfigError
from honeyguide.text.language_priors import HEARD, odds, primary
from honeyguide.text.language_scores import NO_WORDS, Tables, tables
from honeyguide.types import Page

_MOST = 1_000
"""Characters that are listened to …"""
_WINDOWS = 5
"""… in so many places of a longer text, as its beginning may be the menu of a template. All of the
text says which they are, so that nobody writes for them alone without doing sums …"""
_TRIES = 20
"""… and they have words, if the text has."""
_LONG = 300
"""Characters of a title or heading."""
_LINE = 40
"""A line as long as this is heard by itself, shorter ones together: a page may have its menu in one
language and its text in another."""
_FEW = 6
"""Letters that it takes to tell, at least; of scripts that say much with each letter …"""
_FEWER = 2
_SCANTY = 150
"""What has fewer characters of text is heard together with its title and headings."""
_DOUBT = 0.35
"""Who is not surer than this cannot tell."""
_TRUE = 0.85
"""How often declared languages are right …"""
_TRUE_ENGLISH = 0.65
"""… and where English is declared: templates come in English, and nobody changes that."""
_LETTER = re.compile(r"[^\W\d_]")


class Tongue(NamedTuple):
    """What a text is written in."""

    code: str
    """ISO 639-1, or 639-3 where that has none; '' : nobody can tell."""
    sure: float
    """0..1: how much of the text is in it, as far as one can tell; where it is one of several that
    are wanted, how much is in any of them."""


UNHEARD = Tongue("", 0.0)


class Ear:
    """Hears whether pages are in the wanted languages; with none wanted, everything is."""

    def __init__(self, wanted: tuple[str, ...] = (), threshold: float = 0.6) -> None:
        self.wanted = tuple(dict.fromkeys(primary(code) or code for code in wanted))
        self.threshold = threshold
        for code in self.wanted:
            if code not in HEARD:
                known = " ".join(sorted(HEARD))
                raise ConfigError(f"no way to hear whether a page is in {code!r}; known: {known}")
        self._odds = odds(self.wanted)

    def of(self, page: Page) -> Tongue:
        """The language of its text; title and headings count where it has hardly any."""
        heard = pieces(page.text)
        if sum(map(len, heard)) < _SCANTY:
            heard += pieces("\n".join(line[:_LONG] for line in (page.title, *page.headings[:10])))
        return self._heard(heard, primary(page.language))

    def of_text(self, text: str) -> Tongue:
        return self._heard(pieces(text), "")

    def wants(self, tongue: Tongue) -> bool:
        """What nobody can tell gets the benefit of the doubt."""
        if not self.wanted or not tongue.code:
            return True
        return tongue.code in self.wanted and tongue.sure >= self.threshold

    def _heard(self, texts: list[str], declared: str) -> Tongue:
        """How much of the texts is in each language; what is in none does not count."""
        trust = _TRUE_ENGLISH if declared == "en" else _TRUE
        stated = Tongue(declared, trust) if declared in HEARD else UNHEARD
        if not texts:
            return stated
        model, odds = self._listening
        if declared in self._odds:
            # Bayes' rule: before anything was heard it was `trust` likely. That is about the whole
            # page; each text has its part of it.
            others = sum(self._odds.values()) - self._odds[declared]
            lift = max(1.0, trust / (1 - trust) * others / self._odds[declared])
            odds = odds.copy()
            odds[model.codes.index(declared)] *= lift ** (1 / len(texts))
        chances = model.chances(texts) * odds
        chances /= chances.sum(axis=1, keepdims=True)
        lengths = np.array([len(text) for text in texts], np.float64)
        shares = lengths / lengths.sum() @ chances
        shares[model.codes.index(NO_WORDS)] = 0.0
        told = float(shares.sum())
        if told < 0.5:
            return stated
        best = int(shares.argmax())
        sure = float(shares[best]) / told
        # Half in one wanted language and half in another is all in wanted ones.
        ours = [place for place, code in enumerate(model.codes) if code in self.wanted]
        if ours and (together := float(shares[ours].sum()) / told) >= sure:
            best, sure = max(ours, key=shares.__getitem__), together
        return Tongue(model.codes[best], sure) if sure >= _DOUBT else UNHEARD

    @cached_property
    def _listening(self) -> tuple[Tables, NDArray[np.float64]]:
        """The model, and how often to expect each of its languages; read at the first text."""
        model = tables(frozenset(self._odds))
        return model, np.array([self._odds.get(code, 1.0) for code in model.codes])


def pieces(text: str) -> list[str]:
    """What to listen to, of a text of any length; [] if it has no words."""
    if len(text) > 2 * _MOST:
        text = "\n".join(_windows(text))
    long: list[str] = []
    short: list[str] = []
    for line in text[: 2 * _MOST].split("\n"):
        if plain := _plain(line):
            (long if len(plain) >= _LINE else short).append(plain)
    if short:
        long.append(" ".join(short))
    return [piece for piece in long if _readable(piece)]


def _windows(text: str) -> Iterator[str]:
    """One from each fifth of a long text, unless that has no words."""
    size, step = _MOST // _WINDOWS, len(text) // _WINDOWS
    room = step - size
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=2 * _WINDOWS).digest()
    for place in range(_WINDOWS):
        first = int.from_bytes(digest[2 * place : 2 * place + 2]) * room >> 16
        for turn in range(_TRIES):
            # In steps of the golden section, which come near every place soon.
            start = place * step + (first + int(0.618 * room * turn)) % room
            window = text[start : start + size]
            if _readable(_plain(window)):
                yield window
                break


def _plain(line: str) -> str:
    """Without runs of blanks, and without addresses and paths, which are in no language."""
    return " ".join(
        word for word in line.split() if not (word.isascii() and ("/" in word or "@" in word))
    )


def _readable(text: str) -> bool:
    least = _FEW if text.isascii() else _FEWER
    return sum(1 for _ in zip(range(least), _LETTER.finditer(text), strict=False)) == least
