"""Which words tell two kinds of pages apart: the highest χ² of presence and kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence


def strongest(
    documents: Sequence[Collection[str]], relevant: Sequence[bool], most: int
) -> tuple[str, ...]:
    """The words with the highest χ² over distinct words of each page; ties by the alphabet.

    χ² = N(AD - BC)² / ((A+C)(B+D)(A+B)(C+D)) as in Yang & Pedersen 1997, section 2.4, for
    either kind: with two kinds both have the same value.
    """
    inside: Counter[str] = Counter()
    outside: Counter[str] = Counter()
    for document, wanted in zip(documents, relevant, strict=True):
        (inside if wanted else outside).update(set(document))
    good, bad = sum(relevant), len(relevant) - sum(relevant)
    total = good + bad
    weighed = []
    for word in inside.keys() | outside.keys():
        a, b = inside[word], outside[word]
        c, d = good - a, bad - b
        below = (a + c) * (b + d) * (a + b) * (c + d)
        if below:
            weighed.append((-total * (a * d - b * c) ** 2 / below, word))
    return tuple(word for _, word in sorted(weighed)[:most])
