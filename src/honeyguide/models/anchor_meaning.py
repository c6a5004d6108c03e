"""What the meaning of a link's anchor says of the page behind it.

Words of a topic are many, and a link's anchor is often a name that stands on none of the examples.
Vectors of meaning (text/word_vectors.py) tell that *cholera* is like *typhoid fever* all the same.
A logistic regression on them learns from titles of examples, from stated words, and from anchors of
followed links. Its log-odds are one more piece of evidence for the link model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from honeyguide.errors import ModelError
from honeyguide.models import logistic, untrusted
from honeyguide.models.logistic import Floats

TextReader = Callable[[Sequence[str]], Floats]
"""Gives a row of length 1 for each text, or zeros if it means nothing."""
_NAME = "a saved generation"
_STRICT = 1.0
"""Penalty of the weights of a vector."""
_FREE = 0.001
"""Penalty of the constant."""
_UNKNOWN = 0.1
"""Chance of a text that means nothing, where only good texts are known."""
_SHOWN = 100
"""Good texts kept for reasons, and characters of each."""


class RatedText(NamedTuple):
    """A title, an anchor or stated words, and how good the page is that they stand for."""

    text: str
    target: float
    weight: float = 1.0


@dataclass(frozen=True, eq=False)
class AnchorMeaning:
    """A linear model of text vectors."""

    weights: Floats
    """Of each direction, and the constant."""
    good_texts: tuple[str, ...] = ()
    """Texts that were good, to name the one that an anchor is like."""

    def __post_init__(self) -> None:
        """A saved generation may come from elsewhere: nothing in it is trusted."""
        untrusted.check_numbers(_NAME, self.weights)
        texts: Any = self.good_texts
        if not (isinstance(texts, tuple) and len(texts) <= _SHOWN):
            raise ModelError(f"{_NAME} is damaged: it has no good texts")
        if not all(isinstance(text, str) and len(text) <= _SHOWN for text in texts):
            raise ModelError(f"{_NAME} is damaged: its good texts are none")

    def log_odds(self, vectors: Floats) -> Floats:
        """Of a good page behind each text; a text that means nothing has those of any."""
        # Not a matrix product: a text's value must not depend on its neighbours.
        return np.asarray((vectors * self.weights[:-1]).sum(axis=1) + self.weights[-1])

    def describe(self, text: str, share: float, read: TextReader) -> str:
        """The reason for a text's log-odds, as people read it."""
        if share <= 0:
            return "its anchor means something else than what is good"
        others = [good for good in self.good_texts if good.casefold() != text.casefold()]
        if not others:
            return "the meaning of its anchor"
        likeness = read(others) @ read((text,))[0]
        near = others[int(likeness.argmax())]
        return f"“{text[:_SHOWN]}” is close in meaning to “{near}”, which is good"


def train_anchor_meaning(
    rated: Iterable[RatedText], read: TextReader, before: AnchorMeaning | None = None
) -> AnchorMeaning | None:
    """From texts with a meaning, the oldest first. None: no good one is among them.

    Where no bad one is among them, a text that means nothing stands for all others. ``before`` is
    the start of the search."""
    rows = [row for row in rated if row.text]
    good = [row for row in rows if row.target >= 0.5]
    if not good:
        return None
    if len(good) == len(rows):
        rows.append(RatedText("", _UNKNOWN, sum(row.weight for row in good)))
    columns = np.column_stack((read([row.text for row in rows]), np.ones(len(rows))))
    penalties = np.append(np.full(columns.shape[1] - 1, _STRICT), _FREE)
    weights = logistic.fit_logistic(
        columns,
        np.array([row.target for row in rows]),
        weights=np.array([row.weight for row in rows]),
        offsets=np.zeros(len(rows)),
        penalties=penalties,
        start=None if before is None else before.weights,
    )
    shown = dict.fromkeys(row.text[:_SHOWN] for row in reversed(good))
    return AnchorMeaning(weights, tuple(shown)[:_SHOWN])
