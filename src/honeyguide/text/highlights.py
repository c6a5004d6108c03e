"""Find the evidence for a verdict in the text of a page.

Reasons of a verdict quote what counted: “beekeeping” ×3, or the stem nectar… . The functions here
find these words in the text, so that they can be marked. Offsets count characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from honeyguide.config.settings import Settings
from honeyguide.text.language import Language, language_of, surface_forms
from honeyguide.text.normalise import UNSPACED_CHARS
from honeyguide.types import Reason

_QUOTED = re.compile(r"“([^”]{1,200})”|(\w{2,64})…")
_QUOTED_STEM = re.compile(
    r"(?:[^:“”]{1,60}: )?(?:“(?P<quoted>\w{1,64})”(?: in the (?:anchor|address)| around it)?$"
    r"|(?P<counted>\w{2,64})… ×\d)"
).match
"""A reason that quotes one stem, or counts one: nectar… ×6. A quoted word of a keyword is followed
by a count and is no stem."""
_UNSPACED_SCRIPT = re.compile(f"[{UNSPACED_CHARS}]")
_MAX_TERMS = 60
_MAX_TERM_WORDS = 8
"""Words of a term that are searched for."""
MAX_SPANS = 2_000
"""Most places that are marked."""


class HighlightSpan(NamedTuple):
    """A marked place of a text."""

    start: int
    end: int
    what: str
    weight: float
    """How much it counted; below 0: against the page."""


def unstem_reasons(reasons: Iterable[Reason], text: str, language: str) -> tuple[Reason, ...]:
    """The reasons with a word of this text in place of each stem that they quote.

    Strategies know stems only; words are looked up when a person looks at a page, which is rare.
    """
    originals = tuple(reasons)
    found = [_QUOTED_STEM(reason.what) for reason in originals]
    words = surface_forms([one[one.lastgroup or 0] if one else "" for one in found], text, language)
    return tuple(
        reason._replace(what=_put_word(one, word)) if one else reason
        for reason, one, word in zip(originals, found, words, strict=True)
    )


def _put_word(found: re.Match[str], word: str) -> str:
    """The reason with this word in place of its stem."""
    start, end = found.span(found.lastgroup or 0)
    counted = found.lastgroup == "counted"
    shown = f"“{word}”" if counted and not word.endswith("…") else word
    return found.string[:start] + shown + found.string[end + counted :]


def format_verdict(score: float, threshold: float) -> str:
    """A verdict in two digits, or in as many as show on which side of the threshold it is."""
    for digits in (2, 3, 4):
        shown = f"{score:.{digits}f}"
        if (float(shown) >= threshold) == (score >= threshold):
            return shown
    return f"just under {threshold:g}" if score < threshold else f"just above {threshold:g}"


def highlight_terms(settings: Settings, reasons: Iterable[Reason]) -> dict[str, float]:
    """Terms to search for and their weights: what the reasons quote, and the keywords of the topics
    that no reason mentions, with weight 0."""
    found: dict[str, float] = {}
    for reason in reasons:
        for quoted, stem in _QUOTED.findall(reason.what):
            found.setdefault(quoted or f"{stem}…", reason.weight)
    further = [keyword for topic in settings.topics for keyword in topic.keywords]
    for keyword in (*settings.topic.keywords, *further):
        found.setdefault(keyword, 0.0)
    return dict(list(found.items())[:_MAX_TERMS])


def find_highlights(text: str, terms: dict[str, float], language: str) -> list[HighlightSpan]:
    """All places of all terms in the order of the text, compared by stems; no place overlaps
    another."""
    reader = language_of(language)
    sought: dict[str, list[tuple[Sequence[str], str]]] = {}
    found: list[HighlightSpan] = []
    for term in terms:
        if _UNSPACED_SCRIPT.search(term):
            found += _literal_spans(text, term, terms[term])
            continue
        bare = term.removesuffix("…").split()[:_MAX_TERM_WORDS]
        parts = tuple(reader.stems[part] for word in bare for part in reader.words(word))
        if parts:
            sought.setdefault(parts[0], []).append((parts, term))
    if sought:
        found += _stemmed_spans(text, sought, terms, reader)
    return _drop_overlaps(found)


def _stemmed_spans(
    text: str,
    sought: dict[str, list[tuple[Sequence[str], str]]],
    terms: dict[str, float],
    language: Language,
) -> Iterator[HighlightSpan]:
    stems: dict[str, str] = {}
    places: list[tuple[int, int]] = []
    stems_in_text: list[str] = []
    for match in language.word_pattern().finditer(text):
        word = match[0]
        stem = stems.get(word)
        if stem is None:
            stem = stems[word] = language.stems[language.fold(word)]
        places.append(match.span())
        stems_in_text.append(stem)
    count = 0
    for at, stem in enumerate(stems_in_text):
        for parts, term in sought.get(stem, ()):
            if tuple(stems_in_text[at : at + len(parts)]) == tuple(parts):
                end = places[at + len(parts) - 1][1]
                yield HighlightSpan(places[at][0], end, term, terms[term])
                count += 1
        if count >= MAX_SPANS:
            return


def _literal_spans(text: str, term: str, weight: float) -> Iterator[HighlightSpan]:
    """Places of a term in scripts without blanks, where a word is a run of characters."""
    at, count = text.find(term), 0
    while at >= 0 and count < MAX_SPANS:
        yield HighlightSpan(at, at + len(term), term, weight)
        at, count = text.find(term, at + len(term)), count + 1


def _drop_overlaps(found: list[HighlightSpan]) -> list[HighlightSpan]:
    """The longest of the spans that overlap, at most :data:`MAX_SPANS`."""
    apart: list[HighlightSpan] = []
    for span in sorted(found, key=lambda span: (span.start, -span.end)):
        if not apart or span.start >= apart[-1].end:
            apart.append(span)
    return apart[:MAX_SPANS]
