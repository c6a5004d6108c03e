"""Detect the language of a page: by its words first, then by what it declares.

The model is that of py3langid (Lui & Baldwin 2012, langid.py: naive Bayes over byte n-grams that
separate languages in any domain), which comes inside its package. Only the columns of the needed
languages are kept, and the automaton walks all positions of several texts at once, which takes half
the time. The package divides scores by the square root of the length; here a power is used that
fits better (`bench/languages.py`), so that about eight of ten texts with probability .8 are right.

``html lang`` describes a template and is often wrong. It is a prior: it decides about a few words
and is overruled by a paragraph.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from hashlib import blake2b
from importlib import resources
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from honeyguide.errors import ConfigError, ModelError
from honeyguide.types import Page

LANGUAGE_TABLES: dict[str, Any] = tomllib.loads(
    (resources.files(__package__) / "data/languages.toml").read_text("utf-8")
)
DETECTABLE = frozenset(LANGUAGE_TABLES["detectable"].split())
"""Codes of the languages that the model of py3langid 0.4 knows."""
COMMON_LANGUAGES = frozenset(LANGUAGE_TABLES["common"].split())
"""Languages that much of the web is written in."""
MINOR_LANGUAGES = frozenset(LANGUAGE_TABLES["minor"].split())
"""Detected only where they are wanted. They are close to a larger language, would take texts
from it, and hardly occur in a crawl for another language."""

WANTED_ODDS, ENGLISH_ODDS, RARE_ODDS = 20.0, 5.0, 0.05
"""Prior odds against other common languages: of the wanted ones, of English, and of uncommon
ones. A crawl starts where its languages are and meets English everywhere. Texts in an uncommon
language would be taken for another one if it were left out."""

_CODE_ALIASES: dict[str, str] = LANGUAGE_TABLES["code_aliases"]
_TAG = re.compile(r"\s*([A-Za-z]{2,3})(?![A-Za-z0-9])").match


def primary_code(tag: str) -> str:
    """The code of a language tag as pages and links declare it; '' if it is none.

    >>> primary_code("TR-tr"), primary_code("nb_NO"), primary_code("x-default")
    ('tr', 'no', '')
    """
    found = _TAG(tag)
    if found is None:
        return ""
    code = found[1].lower()
    return _CODE_ALIASES.get(code, code)


def language_odds(wanted: tuple[str, ...]) -> dict[str, float]:
    """The languages to distinguish if these are wanted, and the prior odds of each."""
    found = dict.fromkeys(sorted(DETECTABLE - MINOR_LANGUAGES), RARE_ODDS) | dict.fromkeys(
        sorted(COMMON_LANGUAGES), 1.0
    )
    if wanted:
        found["en"] = ENGLISH_ODDS
    return found | dict.fromkeys(wanted, WANTED_ODDS)


# --- The n-gram model ---


NO_WORDS = "zxx"
"""Code of the model for numbers, file names and other text in no language."""
_DEPTH = 6
"""The longest n-gram in bytes: the automaton depends on so many bytes before."""
_BREAK = b"\xff"
"""Occurs in no text: the automaton forgets at it what came before."""
_UNIT = 512
"""The weights are 16-bit numbers between -16 and -2, exactly multiples of 1 / 512. As whole
numbers they take as little memory and are read several times faster."""
_NEVER = -60.0
"""Lower log-probabilities make no difference and are slow to compute with."""
_SCALE, _POWER = 0.41, 0.645
"""Scores are divided by scale · bytes ** power, fitted by log-likelihood to single words, pairs
of words, sentences and paragraphs in some fifty languages."""


class NgramLanguageModel(NamedTuple):
    """The part of the model for some languages."""

    codes: tuple[str, ...]
    """The languages, sorted; 'zxx' is always among them."""
    first: NDArray[np.int64]
    """The first column of each language: one that is written in two scripts has two."""
    weights: NDArray[np.int16]
    """Log-probabilities, n-grams × columns, as multiples of 1 / unit."""
    priors: NDArray[np.float32]
    moves: NDArray[np.uint32]
    """The automaton: row of a state + byte → state."""
    rows: NDArray[np.int64]
    grams: NDArray[np.int64]
    """The n-gram that ends in a state, or -1."""

    def log_likelihoods(self, pieces: Sequence[bytes]) -> NDArray[np.float32]:
        """Log-likelihood, pieces × columns; a row of 0 where no n-gram is known."""
        letters = np.frombuffer(_BREAK.join(pieces), np.uint8).astype(np.int64)
        states = np.zeros(len(letters), np.int64)
        for back in range(min(_DEPTH, len(letters)) - 1, -1, -1):
            before = letters[: len(letters) - back]
            states[back:] = self.moves[self.rows[states[back:]] + before]
        found = self.grams[states]
        seen = found >= 0
        grams, which = np.unique(found[seen], return_inverse=True)
        piece = np.cumsum(letters == _BREAK[0])[seen]
        cells = piece * len(grams) + which
        counts = np.bincount(cells, minlength=len(pieces) * len(grams)).reshape(len(pieces), -1)
        weights = self.weights[grams].astype(np.float32)
        scores: NDArray[np.float32] = np.log1p(counts, dtype=np.float32) @ weights
        scores /= _UNIT
        scores += self.priors
        scores[~counts.any(axis=1)] = 0.0
        return scores

    def probabilities(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """The probability of each language for each text, if all were equally common.

        All are equal for a text without known n-grams. The caller limits the length of the texts.
        """
        pieces = [encode_text(text) for text in texts]
        lengths = np.array([max(len(piece), 1) for piece in pieces], np.float64)
        shares = self.log_likelihoods(pieces) / (_SCALE * lengths**_POWER)[:, None]
        shares = np.exp(np.maximum(shares - shares.max(axis=1, keepdims=True), _NEVER))
        shares /= shares.sum(axis=1, keepdims=True)
        chances: NDArray[np.float64] = np.add.reduceat(shares, self.first, axis=1)
        return chances


def encode_text(text: str) -> bytes:
    """The bytes as the model was trained to read them. A capital İ in lower case by the rules of
    other languages leaves a dot behind, which no Turkish text has."""
    if text.isupper():
        text = text.lower()
    text = unicodedata.normalize("NFC", text.replace("i\u0307", "i"))
    return text.encode("utf-8", "surrogatepass")


@lru_cache(maxsize=2)
def load_ngram_model(codes: frozenset[str]) -> NgramLanguageModel:
    """The model for these languages; loading it takes most of a second."""
    weights, priors, classes, moves, rows, grams = _read_model()
    columns = [i for i, code in enumerate(classes) if code in codes or code == NO_WORDS]
    columns.sort(key=classes.__getitem__)
    names, first = np.unique([classes[i] for i in columns], return_index=True)
    return NgramLanguageModel(
        codes=tuple(names.tolist()),
        first=first,
        weights=np.ascontiguousarray(np.rint(weights[:, columns] * np.float32(_UNIT)), np.int16),
        priors=priors[columns],
        moves=np.asarray(moves, np.uint32),
        rows=np.asarray(rows, np.int64) << 8,
        grams=np.asarray(grams, np.int64),
    )


def _read_model() -> tuple[Any, ...]:
    try:
        from py3langid.langid import MODEL_DIR, MODEL_FILE
        from py3langid.modelio import load_model

        return tuple(load_model(MODEL_DIR / MODEL_FILE))
    except (ImportError, OSError, ValueError, KeyError) as error:
        raise ModelError(f"the language model of py3langid cannot be read: {error}") from error


# --- Detection ---


_MOST = 1_000
"""Characters of a text that are read."""
_WINDOWS = 5
"""Places of a longer text that are read, since its beginning may be a menu. A digest of the
whole text chooses them, so that nobody can write for them alone."""
_TRIES = 20
"""Attempts to find a window with words."""
_LONG = 300
"""Characters of a title or heading."""
_LINE = 40
"""Lines of at least this length are read one by one, shorter ones together: the menu of a page
may be in another language than its text."""
_FEW = 6
"""Letters that are needed in scripts like Latin."""
_FEWER = 2
"""Letters that are needed in scripts that say much with each letter."""
_SCANTY = 150
"""Text with fewer characters is read together with the title and the headings."""
_DOUBT = 0.35
"""Lower confidence counts as undetected."""
_TRUE = 0.85
"""How often declared languages are right."""
_TRUE_ENGLISH = 0.65
"""How often a declaration of English is right: templates come in English and stay so."""
_LETTER = re.compile(r"[^\W\d_]")


class DetectedLanguage(NamedTuple):
    """The language of a text."""

    code: str
    """ISO 639-1, or 639-3 where that has none; '' if undetected."""
    confidence: float
    """0..1: the share of the text in this language; for a wanted language the share in any of the
    wanted ones."""


UNDETECTED = DetectedLanguage("", 0.0)


class LanguageDetector:
    """Detects the language of pages and whether it is wanted; without wanted languages all are."""

    def __init__(self, wanted: tuple[str, ...] = (), threshold: float = 0.6) -> None:
        self.wanted = tuple(dict.fromkeys(primary_code(code) or code for code in wanted))
        self.threshold = threshold
        for code in self.wanted:
            if code not in DETECTABLE:
                known = " ".join(sorted(DETECTABLE))
                raise ConfigError(
                    f"there is no way to detect whether a page is in {code!r}; known: {known}"
                )
        self._odds = language_odds(self.wanted)

    def detect_page(self, page: Page) -> DetectedLanguage:
        """The language of its text, together with title and headings if there is hardly any
        text."""
        pieces = readable_pieces(page.text)
        if sum(map(len, pieces)) < _SCANTY:
            pieces += readable_pieces(
                "\n".join(line[:_LONG] for line in (page.title, *page.headings[:10]))
            )
        return self._detect_pieces(pieces, primary_code(page.language))

    def detect_text(self, text: str) -> DetectedLanguage:
        return self._detect_pieces(readable_pieces(text), "")

    def is_wanted(self, detected: DetectedLanguage) -> bool:
        """Whether the language is wanted; undetected languages are."""
        if not self.wanted or not detected.code:
            return True
        return detected.code in self.wanted and detected.confidence >= self.threshold

    def _detect_pieces(self, texts: list[str], declared: str) -> DetectedLanguage:
        """The language with the largest share of the texts; what is in no language does not
        count."""
        trust = _TRUE_ENGLISH if declared == "en" else _TRUE
        stated = DetectedLanguage(declared, trust) if declared in DETECTABLE else UNDETECTED
        if not texts:
            return stated
        model, odds = self._model_and_odds
        if declared in self._odds:
            # Bayes' rule: before anything was heard it was `trust` likely. That is about the whole
            # page; each text has its part of it.
            others = sum(self._odds.values()) - self._odds[declared]
            lift = max(1.0, trust / (1 - trust) * others / self._odds[declared])
            odds = odds.copy()
            odds[model.codes.index(declared)] *= lift ** (1 / len(texts))
        chances = model.probabilities(texts) * odds
        chances /= chances.sum(axis=1, keepdims=True)
        lengths = np.array([len(text) for text in texts], np.float64)
        shares = lengths / lengths.sum() @ chances
        shares[model.codes.index(NO_WORDS)] = 0.0
        detected = float(shares.sum())
        if detected < 0.5:
            return stated
        best = int(shares.argmax())
        sure = float(shares[best]) / detected
        # Half in one wanted language and half in another is all in wanted ones.
        ours = [place for place, code in enumerate(model.codes) if code in self.wanted]
        if ours and (together := float(shares[ours].sum()) / detected) >= sure:
            best, sure = max(ours, key=shares.__getitem__), together
        return DetectedLanguage(model.codes[best], sure) if sure >= _DOUBT else UNDETECTED

    @cached_property
    def _model_and_odds(self) -> tuple[NgramLanguageModel, NDArray[np.float64]]:
        """The model and the odds of its languages, loaded at the first text."""
        model = load_ngram_model(frozenset(self._odds))
        return model, np.array([self._odds.get(code, 1.0) for code in model.codes])


def readable_pieces(text: str) -> list[str]:
    """The pieces of a text that are read; [] if it has no words."""
    if len(text) > 2 * _MOST:
        text = "\n".join(_text_windows(text))
    long: list[str] = []
    short: list[str] = []
    for line in text[: 2 * _MOST].split("\n"):
        if plain := _without_addresses(line):
            (long if len(plain) >= _LINE else short).append(plain)
    if short:
        long.append(" ".join(short))
    return [piece for piece in long if _has_letters(piece)]


def _text_windows(text: str) -> Iterator[str]:
    """A window with words from each fifth of a long text."""
    size, step = _MOST // _WINDOWS, len(text) // _WINDOWS
    room = step - size
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=2 * _WINDOWS).digest()
    for place in range(_WINDOWS):
        first = int.from_bytes(digest[2 * place : 2 * place + 2]) * room >> 16
        for turn in range(_TRIES):
            # In steps of the golden section, which come near every place soon.
            start = place * step + (first + int(0.618 * room * turn)) % room
            window = text[start : start + size]
            if _has_letters(_without_addresses(window)):
                yield window
                break


def _without_addresses(line: str) -> str:
    """Without runs of blanks, and without addresses and paths, which are in no language."""
    return " ".join(
        word for word in line.split() if not (word.isascii() and ("/" in word or "@" in word))
    )


def _has_letters(text: str) -> bool:
    least = _FEW if text.isascii() else _FEWER
    return sum(1 for _ in zip(range(least), _LETTER.finditer(text), strict=False)) == least
