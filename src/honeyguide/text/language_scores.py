"""How likely a text is written in each of some languages.

The model is that of py3langid (Lui & Baldwin 2012, langid.py: naive Bayes over byte n-grams that
tell languages apart whatever the domain), which comes inside its package. We keep the columns of
the languages that are listened for, and walk its automaton for all positions of some texts at once:
the same counts in half the time. The package's probabilities divide by the square root of the
length; ours by a power that fits better (`bench/languages.py`), so that of texts heard with .8
about eight in ten are heard right.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from honeyguide.errors import ModelError

NO_WORDS = "zxx"
"""What the model calls numbers, names of files, and other things in no language."""
_DEPTH = 6
"""The longest n-gram, in bytes: so far back the automaton remembers."""
_BREAK = b"\xff"
"""Occurs in no text, so the automaton forgets at it what came before."""
_UNIT = 512
"""The model comes in numbers of 16 bits, between -16 and -2: exactly these multiples, as which they
take as little room and are read several times as fast."""
_NEVER = -60.0
"""Log-probabilities below are all the same, and slow to work with."""
_SCALE, _POWER = 0.41, 0.645
"""Scores are divided by scale · bytes ** power: fitted by log-likelihood to single words, pairs of
words, sentences and paragraphs in some fifty languages."""


class Tables(NamedTuple):
    """The model, as far as it is about the languages listened for."""

    codes: tuple[str, ...]
    """The languages, sorted; 'zxx' is among them always."""
    first: NDArray[np.int64]
    """The first column of each: one that is written in two scripts has two."""
    weights: NDArray[np.int16]
    """Log-probabilities, n-grams × columns, as whole numbers of 1 / unit."""
    priors: NDArray[np.float32]
    moves: NDArray[np.uint32]
    """The automaton: row of a state + byte → state."""
    rows: NDArray[np.int64]
    grams: NDArray[np.int64]
    """The n-gram that ends in a state, or -1."""

    def scores(self, pieces: Sequence[bytes]) -> NDArray[np.float32]:
        """Log-likelihood, pieces × columns; 0 all along where the model sees nothing."""
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

    def chances(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """How likely each text is in each language, if all were equally common.

        Of a text in which nothing tells all are equally likely. Whoever asks cuts the texts.
        """
        pieces = [encoded(text) for text in texts]
        lengths = np.array([max(len(piece), 1) for piece in pieces], np.float64)
        shares = self.scores(pieces) / (_SCALE * lengths**_POWER)[:, None]
        shares = np.exp(np.maximum(shares - shares.max(axis=1, keepdims=True), _NEVER))
        shares /= shares.sum(axis=1, keepdims=True)
        chances: NDArray[np.float64] = np.add.reduceat(shares, self.first, axis=1)
        return chances


def encoded(text: str) -> bytes:
    """As the model was taught to read. A capital İ made small by other languages' rule leaves a dot
    of its own behind, which no Turkish text has."""
    if text.isupper():
        text = text.lower()
    text = unicodedata.normalize("NFC", text.replace("i\u0307", "i"))
    return text.encode("utf-8", "surrogatepass")


@lru_cache(maxsize=2)
def tables(codes: frozenset[str]) -> Tables:
    """The model for these languages; read when first asked for, which takes most of a second."""
    weights, priors, classes, moves, rows, grams = _read()
    kept = [i for i, code in enumerate(classes) if code in codes or code == NO_WORDS]
    kept.sort(key=classes.__getitem__)
    names, first = np.unique([classes[i] for i in kept], return_index=True)
    return Tables(
        codes=tuple(names.tolist()),
        first=first,
        weights=np.ascontiguousarray(np.rint(weights[:, kept] * np.float32(_UNIT)), np.int16),
        priors=priors[kept],
        moves=np.asarray(moves, np.uint32),
        rows=np.asarray(rows, np.int64) << 8,
        grams=np.asarray(grams, np.int64),
    )


def _read() -> tuple[Any, ...]:
    try:
        from py3langid.langid import MODEL_DIR, MODEL_FILE
        from py3langid.modelio import load_model

        return tuple(load_model(MODEL_DIR / MODEL_FILE))
    except (ImportError, OSError, ValueError, KeyError) as error:
        raise ModelError(f"the language model of py3langid cannot be read: {error}") from error
