"""Classify pages with a category model, as ``honeyguide classify`` does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from honeyguide.errors import ConfigError, ParseError
from honeyguide.models import categories
from honeyguide.models.categories import AnyCategoryModel
from honeyguide.text.segments import TextTokenizer
from honeyguide.training.documents import MAX_TEXT_BYTES, parse_document
from honeyguide.types import Page

_BATCH = 256
_MAX_WORDS = 8
_TEXT_CHARS = 2_000
_NO_WORDS = "no words to judge by"


class CategoryResult(NamedTuple):
    """The categories of one page."""

    name: str
    category: str
    """The likeliest; '' for a page without words, or without words that the model knows."""
    chances: dict[str, float]
    """Probability of each category, the likeliest first; empty without words to judge by."""
    words: tuple[tuple[str, float], ...] = ()
    """Words that spoke for the category, and their log-odds."""
    tokens: tuple[tuple[str, ...], ...] = ()
    """The segments as the model read them."""
    why: str = ""
    """Why there is no category."""

    def to_dict(self, *, text: bool) -> dict[str, Any]:
        """For JSON."""
        found = {
            "name": self.name,
            "category": self.category or None,
            "probabilities": {name: round(chance, 6) for name, chance in self.chances.items()},
            "words": {word: round(weight, 4) for word, weight in self.words},
            "why": self.why or None,
        }
        return found | {"text": [" ".join(tokens) for tokens in self.tokens]} if text else found


class PageClassifier:
    """A model with its tokenizer."""

    def __init__(self, model: AnyCategoryModel) -> None:
        self.model = model
        self.reading = TextTokenizer.from_settings(model.settings)

    @classmethod
    def open(cls, folder: Path, encoder: Path | None = None) -> PageClassifier:
        if folder.name == "model.json":
            folder = folder.parent
        return cls(categories.load_category_model(folder, encoder))

    def classify_pages(self, pages: Sequence[tuple[str, Page]]) -> list[CategoryResult]:
        """Results for named pages, judged in batches."""
        found: list[CategoryResult] = []
        for start in range(0, len(pages), _BATCH):
            batch = pages[start : start + _BATCH]
            read = [self.reading.page_segments(page) for _, page in batch]
            table = self.model.judge_many(read)
            for (name, _), segments, row in zip(batch, read, table.tolist(), strict=True):
                pairs = zip(self.model.categories, row, strict=True)
                chances = dict(sorted(pairs, key=lambda one: -one[1]))
                tokens = tuple(tuple(part) for part in segments.tokens)
                if known := self.model.low_coverage(segments.tokens):
                    why = f"{_NO_WORDS}: {known}" if known.total else _NO_WORDS
                    found.append(CategoryResult(name, "", {}, tokens=tokens, why=why))
                    continue
                best = next(iter(chances))
                words = tuple(self.model.top_words(segments.tokens, best, _MAX_WORDS))
                found.append(CategoryResult(name, best, chances, words, tokens))
        return found


def normaliser_changes(reading: TextTokenizer, page: Page) -> list[tuple[str, str, str]]:
    """What the Turkish normaliser changes on a page: step, before, after."""
    if not reading.normalise or reading.language != "tr":
        return []
    from honeyguide.text.turkish import explain_changes

    return list(explain_changes(page.text[:_TEXT_CHARS]))


def read_page(path: Path) -> Page:
    """The page in a user's file."""
    try:
        with path.open("rb") as file:
            body = file.read(MAX_TEXT_BYTES)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    return _parse_body(body, path.name, str(path))


def page_from_bytes(body: bytes, where: str) -> Page:
    """The page in bytes that came through a pipe."""
    return _parse_body(body[:MAX_TEXT_BYTES], "", where)


def _parse_body(body: bytes, name: str, where: str) -> Page:
    try:
        return parse_document(body, name)
    except ParseError as error:
        raise ConfigError(f"{where} holds no text that can be read") from error
