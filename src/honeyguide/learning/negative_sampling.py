"""Pages that are least like some good ones: stand-ins where nobody gave bad examples.

The usual first step of learning from positive examples alone (Liu et al. 2002 call such pages
reliable negatives); likeness is the share of a page's words that good pages use often.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from honeyguide.text.tokens import brief, stop_words, words
from honeyguide.types import Example, Page

_TEXT = 5_000
_WORDS = 300


def unlike(good: Sequence[Example], visits: Sequence[Example], most: int) -> list[Example]:
    """The visits least like the good pages, as examples of what is not wanted."""
    counts = Counter(word for example in good for word in set(_words(example.page)))
    usual = {word for word, _ in counts.most_common(_WORDS)}
    scored = []
    for place, visit in enumerate(visits):
        said = _words(visit.page)
        if said:
            scored.append((sum(word in usual for word in said) / len(said), place))
    scored.sort()
    return [replace(visits[place], target=0.0, by="judge") for _, place in scored[:most]]


def _words(page: Page) -> list[str]:
    language = page.tongue or page.language[:2] or "en"
    stops = stop_words(language)
    said = words(f"{page.title} {page.text[:_TEXT]}", language)
    return [word for word in said if word not in stops and not brief(word)]
