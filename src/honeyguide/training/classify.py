"""Pages into categories: what ``honeyguide classify`` does once it has them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from honeyguide.errors import ConfigError, ParseError
from honeyguide.models import categories
from honeyguide.models.categories import Categories
from honeyguide.text.segments import Reading
from honeyguide.training.documents import page_of
from honeyguide.training.rows import BYTES
from honeyguide.types import Page

_BATCH = 256
_WORDS = 8
_TEXT = 2_000
_NOTHING = "no words to judge by"


class Sorted(NamedTuple):
    """What a model says of one page."""

    name: str
    category: str
    """The likeliest; '' for a page without words, or without words that the model knows."""
    chances: dict[str, float]
    """Of every category, the likeliest first; none where there is nothing to judge by."""
    words: tuple[tuple[str, float], ...] = ()
    """Words that spoke for it, and how much."""
    tokens: tuple[tuple[str, ...], ...] = ()
    """The page as the model read it, in segments."""
    why: str = ""
    """Why there is no category."""

    def plain(self, *, text: bool) -> dict[str, Any]:
        """For JSON."""
        found = {
            "name": self.name,
            "category": self.category or None,
            "probabilities": {name: round(chance, 6) for name, chance in self.chances.items()},
            "words": {word: round(weight, 4) for word, weight in self.words},
            "why": self.why or None,
        }
        return found | {"text": [" ".join(tokens) for tokens in self.tokens]} if text else found


class Sorter:
    """A model, and how it wants texts read."""

    def __init__(self, model: Categories) -> None:
        self.model = model
        self.reading = Reading.of(model.settings)

    @classmethod
    def open(cls, folder: Path, encoder: Path | None = None) -> Sorter:
        if folder.name == "model.json":
            folder = folder.parent
        return cls(categories.load(folder, encoder))

    def sort(self, pages: Sequence[tuple[str, Page]]) -> list[Sorted]:
        """Each page by name; many are judged in one go."""
        found: list[Sorted] = []
        for start in range(0, len(pages), _BATCH):
            some = pages[start : start + _BATCH]
            read = [self.reading.segments(page) for _, page in some]
            table = self.model.judge_many(read)
            for (name, _), segments, row in zip(some, read, table.tolist(), strict=True):
                chances = dict(
                    sorted(zip(self.model.categories, row, strict=True), key=lambda one: -one[1])
                )
                tokens = tuple(tuple(part) for part in segments.tokens)
                if known := self.model.strange(segments.tokens):
                    why = f"{_NOTHING}: {known}" if known.of else _NOTHING
                    found.append(Sorted(name, "", {}, tokens=tokens, why=why))
                    continue
                best = next(iter(chances))
                words = tuple(self.model.evidence(segments.tokens, best, _WORDS))
                found.append(Sorted(name, best, chances, words, tokens))
        return found


def changes(reading: Reading, page: Page) -> list[tuple[str, str, str]]:
    """What the Turkish normaliser would change, or has changed, on a page: step, before, after."""
    if not reading.normalise or reading.language != "tr":
        return []
    from honeyguide.text.turkish import explain

    return list(explain(page.text[:_TEXT]))


def page_in(path: Path) -> Page:
    """The page in a user's file."""
    try:
        with path.open("rb") as file:
            body = file.read(BYTES)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    return _read(body, path.name, str(path))


def page_from_bytes(body: bytes, where: str) -> Page:
    """The same from what came through a pipe."""
    return _read(body[:BYTES], "", where)


def _read(body: bytes, name: str, where: str) -> Page:
    try:
        return page_of(body, name)
    except ParseError as error:
        raise ConfigError(f"{where} holds no text that can be read") from error
