"""A page as segments of whole sentences, the form in which category models read it.

Alqaraleh & Sırın feed a network 150 tokens at a time and speak of "sentence level" without saying
how a page becomes such samples. Here sentences are put together as long as they fit; title and
description are a segment of their own whose words count double.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from honeyguide.errors import ModelError
from honeyguide.language_codes import RAW_SUFFIX
from honeyguide.text.language import MAX_WORD_CHARS, BoundedMemo, Language, language_of
from honeyguide.types import Link, Page

if TYPE_CHECKING:
    from honeyguide.text.turkish import Normaliser

MAX_SEGMENT_TOKENS = 150
"""Tokens of a segment, as in the paper."""
MAX_PAGE_CHARS = 10_000
"""Characters of the text of a page that are read: enough to judge a page fast."""
_HEAD = 1_000
_TITLE = 2.0
"""Weight of a token in title or description."""
_CONTEXT = 400
"""Characters of the words of a link that are read."""
_BREAK = "ǀǁǂ"
"""Separates sentences that are read in one pass. Letters, since it must pass as a word."""
_BETWEEN = f" {_BREAK} "
_CLICKS = frozenset(f"{_BREAK}\U000107b6\U000107b7\U000107b8")
"""Its letters, and those that are folded into them."""
_ENDS = (". ", "! ", "? ", "… ", "\r", "\n", "。", "！", "？")
"""Ends of sentences. Abbreviations end one, too, which costs nothing here; a pattern that knows
better would cost as much as all the rest."""
_MEMO = 100_000
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")


class PageSegments(NamedTuple):
    """A page in pieces that a model reads whole."""

    tokens: list[list[str]]
    weights: list[float]
    """How much a token of each segment counts."""


@dataclass(frozen=True)
class TextTokenizer:
    """How texts become tokens. A model must read texts as those that it was trained with."""

    language: str = "en"
    normalise: bool = False
    """Repair informal Turkish first: slang, repeated letters, missing dots."""
    stem: bool = True
    """Use stems instead of words."""
    stops: bool = False
    """Keep stop words."""

    @classmethod
    def from_settings(cls, settings: dict[str, Any]) -> Self:
        """From the settings of a model, which may come from a stranger."""
        known = {f.name: type(f.default) for f in fields(cls)}
        for name, value in settings.items():
            if type(value) is not known.get(name):
                raise ModelError(f"a model wants texts read in an unknown way: {name[:40]!a}")
        return cls(**settings)

    @classmethod
    def for_embedding(cls, embedding: str, language: str = "", normalise: bool = False) -> Self:
        """As a model with that first layer reads texts ('': trained from scratch): vectors are of
        words as they stand in texts, and encoders, which are folders, read whole sentences."""
        is_encoder = bool(embedding) and Path(embedding).is_dir()
        return cls(language, normalise, stem=not embedding, stops=is_encoder)

    def page_segments(self, page: Page) -> PageSegments:
        """The page as a model reads it. No segment is empty; a page may have none."""
        if self.normalise and page.detected_language not in ("", self.language):
            # What was heard to be in another language must not be repaired as Turkish.
            return self._without_repair.page_segments(page)
        title, description = page.title[:_HEAD], page.description[:_HEAD]
        head = self._join_sentences(f"{title}\n{description}")
        body = self._join_sentences(_unescape_entities(page.text[:MAX_PAGE_CHARS]))
        return PageSegments(head + body, [_TITLE] * len(head) + [1.0] * len(body))

    def link_tokens(self, links: Sequence[Link]) -> list[list[str]]:
        """The words of each link and around it: one segment, which may be empty."""
        texts = [f"{link.anchor} {link.before} {link.after}"[:_CONTEXT] for link in links]
        found: list[list[str]] = [[]]
        for token in self._read_tokens(_BETWEEN.join(texts)):
            if token == _BREAK:
                found.append([])
            else:
                found[-1].append(token)
        if len(found) != len(links) or not _CLICKS.isdisjoint("".join(texts)):
            # Somebody makes breaks, or swallows them: no link speaks for others.
            found = [self.tokens(text) for text in texts]
        return [tokens[:MAX_SEGMENT_TOKENS] for tokens in found]

    def tokens(self, text: str) -> list[str]:
        return [token for token in self._read_tokens(text) if token != _BREAK]

    def _join_sentences(self, text: str) -> list[list[str]]:
        """Sentences put together while they fit; one that is too long is cut."""
        found: list[list[str]] = []
        for mark in _ENDS:
            text = text.replace(mark, _BETWEEN)
        tokens = self._read_tokens(text)
        tokens.append(_BREAK)
        start = room = 0
        while start < len(tokens):
            end = tokens.index(_BREAK, start)
            for first in range(start, end, MAX_SEGMENT_TOKENS):
                piece = tokens[first : min(end, first + MAX_SEGMENT_TOKENS)]
                if len(piece) > room:
                    found.append([])
                    room = MAX_SEGMENT_TOKENS
                found[-1] += piece
                room -= len(piece)
            start = end + 1
        return found

    def _read_tokens(self, text: str) -> list[str]:
        """Tokens, and breaks where they stand in the text."""
        return list(filter(None, map(self._token_memo.__getitem__, self._split_words(text))))

    @cached_property
    def _split_words(self) -> Callable[[str], list[str]]:
        if self.normalise and self.language == "tr":
            return _turkish_normaliser().words
        return self._reader.words

    @cached_property
    def _reader(self) -> Language:
        """The language as it is written: a model was trained on words as it says itself."""
        return language_of(f"{self.language}{RAW_SUFFIX}")

    @cached_property
    def _without_repair(self) -> Self:
        return replace(self, normalise=False)

    @cached_property
    def _token_memo(self) -> BoundedMemo[str]:
        """Word → its token, or '' for none."""
        known = self._reader
        stops = frozenset() if self.stops else known.stop_words
        stem_of = known.stems.__getitem__ if self.stem else _cut_word
        return BoundedMemo(
            lambda word: word if word == _BREAK else "" if word in stops else stem_of(word), _MEMO
        )


def _unescape_entities(text: str) -> str:
    """Replaces HTML entities (``&uuml;``), which plain text from databases contains, often escaped
    twice (``&amp;uuml;``)."""
    for _ in range(2):
        if "&" in text:
            text = _ENTITY.sub(lambda found: unescape(found[0]), text)
    return text


def _cut_word(word: str) -> str:
    return word[:MAX_WORD_CHARS]


@lru_cache(maxsize=1)
def _turkish_normaliser() -> Normaliser:
    from honeyguide.text.turkish import Normaliser

    return Normaliser()  # stop words and stems are our own business, as for any language
