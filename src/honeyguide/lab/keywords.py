"""What a user would type for a topic: its name, and words that tell its examples from others."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

from honeyguide.errors import ParseError
from honeyguide.parse.read import read
from honeyguide.text.tokens import stems_of, stop_words, words
from honeyguide.types import Link, Response, Url

_SOME = 8


def telling_words(
    label: str, good: Sequence[bytes], others: Sequence[bytes], most: int = _SOME
) -> tuple[str, ...]:
    """Words of the label's last part, then those with the best odds between two sets of pages."""
    # ``language=tr`` is a fact about pages, and no name of a topic.
    labels = [one for one in label.split(" & ") if "=" not in one]
    name = labels[0].rpartition(".")[2].lower() if labels else ""
    named = [w for w in re.split(r"[^\w]+|_", name) if len(w) > 2]
    inside, outside = _counts(good), _counts(others)
    odds = {
        word: math.log((n + 0.5) / (len(good) - n + 0.5))
        - math.log((outside[word] + 0.5) / (len(others) - outside[word] + 0.5))
        for word, n in inside.items()
        if n >= max(2, len(good) // 3)
    }
    best = sorted(odds, key=lambda word: (-odds[word] * inside[word] ** 0.5, word))
    chosen: dict[str, str] = {}
    stems = stems_of("en")
    for word in (*named, *best):
        if len(chosen) < most and word not in stop_words("en"):
            chosen.setdefault(stems[word], word)
    return tuple(chosen.values())


def _counts(bodies: Sequence[bytes]) -> Counter[str]:
    """In how many pages each word stands."""
    counts: Counter[str] = Counter()
    for body in bodies:
        headers = (("Content-Type", "text/html"),)
        url = Url("http://lab.invalid/")
        response = Response(url, 200, headers, body, body, b"", b"", "", 0.0, 0.0)
        try:
            page = read(response, Link(url))
        except ParseError:
            continue
        text = f"{page.title} {' '.join(page.headings)} {page.text[:20_000]}"
        counts.update({word for word in words(text) if len(word) > 2 and word.isalpha()})
    return counts
