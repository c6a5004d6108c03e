"""Stems as they stood in a text: people read words, and “queri” is none."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from honeyguide.text.language import language_of

_READ = 20_000
"""Characters that are looked through."""
_SHORT = 3
_WORDS = 2_000
"""Words that begin like one of the stems."""


def written(stems: Sequence[str], text: str, language: str) -> list[str]:
    """Of each stem the word that stands for it most often here, folded; where none does, the stem
    with ``…`` behind it."""
    tongue = language_of(language)
    if not tongue.spaced:
        return list(stems)
    forms: dict[str, Counter[str]] = {stem: Counter() for stem in stems if stem}
    if not forms:
        return list(stems)
    # A stem may differ from its words in its last letter: queri, query.
    starts = sorted({re.escape(stem[:-1] if len(stem) > _SHORT else stem) for stem in forms})
    sought = re.compile(rf"(?<!\w)(?:{'|'.join(starts)})\w*")
    for number, match in enumerate(sought.finditer(tongue.ready(text[:_READ]))):
        if number >= _WORDS:
            break
        if (form := forms.get(tongue.stems[match[0]])) is not None:
            form[match[0]] += 1
    return [_commonest(forms[stem]) if forms.get(stem) else f"{stem}…" for stem in stems]


def _commonest(form: Counter[str]) -> str:
    """Of those that stand there equally often the shortest: the plainest."""
    return min(form, key=lambda word: (-form[word], len(word), word))
