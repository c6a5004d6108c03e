"""Labelled documents as a model learns from them: read, without repetitions, within bounds."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path

from honeyguide.errors import ConfigError
from honeyguide.language_codes import language_name
from honeyguide.text.segments import PageSegments, TextTokenizer
from honeyguide.training.documents import LabelledDocument, read_documents
from honeyguide.training.labelled_rows import ColumnNames, ReadingTally
from honeyguide.types import Page

MAX_DOCUMENTS = 50_000
"""Documents that are learned from; of more, so many are drawn, each with the same chance."""
_DETECTED_FIRST = 200
_MIN_DOCUMENTS, _FEW_DOCUMENTS = 2, 20
_UNBALANCED = 10
"""Largest to smallest category, from where on it is worth a word."""
MAX_CATEGORIES = 200


@dataclass(frozen=True)
class Corpus:
    pages: list[PageSegments]
    labels: list[int]
    categories: tuple[str, ...]
    reading: TextTokenizer
    notes: tuple[str, ...] = ()
    """What was left out, and what to mind: sentences for people."""

    def category_sizes(self) -> list[int]:
        """Documents of each category."""
        counts = Counter(self.labels)
        return [counts[number] for number in range(len(self.categories))]


def gather_corpus(
    source: Path,
    reading: TextTokenizer,
    columns: ColumnNames = ColumnNames(),  # noqa: B008 - a named tuple never changes
    *,
    most: int = MAX_DOCUMENTS,
    seed: int = 1,
    progress: Callable[[int], None] = lambda _: None,
) -> Corpus:
    """What can be learned from a source. A reading without a language takes the one that is heard.

    Raises ConfigError where there is nothing to tell apart.
    """
    tally = ReadingTally()
    found = read_documents(source, columns, tally, reading.language)
    first = list(islice(found, _DETECTED_FIRST))
    reading, told = _set_language(reading, first)
    left = tally.left_out
    kept, seen = _sample_documents(
        _skip_repeated(chain(first, found), left), reading, most, seed, left, progress
    )
    if seen > most:
        told.append(f"Of {seen} documents {most} were drawn; the rest was not used.")
    told += _encoding_notes(tally)
    told += [f"{number} left out: {why}." for why, number in sorted(left.items())]
    return _build_corpus(kept, reading, told, source)


def _sample_documents(
    found: Iterable[LabelledDocument],
    reading: TextTokenizer,
    most: int,
    seed: int,
    left: Counter[str],
    progress: Callable[[int], None],
) -> tuple[list[tuple[PageSegments, str]], int]:
    """Reservoir sampling (Vitter 1985, algorithm R): the whole source is read once."""
    dice, seen = random.Random(seed), 0
    kept: list[tuple[PageSegments, str]] = []
    for page, label in found:
        place = seen if seen < most else dice.randrange(seen + 1)
        if place < most:
            segments = reading.page_segments(page)
            if not segments.tokens:
                left["no words"] += 1
                continue
            kept[place : place + 1] = [(segments, label)]
        seen += 1
        if seen % 100 == 0:
            progress(seen)
    progress(seen)
    return kept, seen


def _skip_repeated(
    found: Iterable[LabelledDocument], left: Counter[str]
) -> Iterator[LabelledDocument]:
    """Texts that come again are left out: in a test they would already be known."""
    labels: dict[bytes, str] = {}
    for document in found:
        mark = _text_digest(document.page)
        known = labels.get(mark)
        if known is None:
            labels[mark] = document.label
            yield document
        elif known == document.label:
            left["repeated texts"] += 1
        else:
            left["texts repeated under another label"] += 1


def _text_digest(page: Page) -> bytes:
    text = " ".join(f"{page.title}\n{page.text}".lower().split())
    return blake2b(text.encode("utf-8", "replace"), digest_size=12).digest()


def _build_corpus(
    kept: list[tuple[PageSegments, str]], reading: TextTokenizer, told: list[str], source: Path
) -> Corpus:
    sizes = Counter(label for _, label in kept)
    rare = sorted(label for label, number in sizes.items() if number < _MIN_DOCUMENTS)
    if rare:
        told.append(f"Left out, since they have one document only: {', '.join(rare[:10])}.")
    categories = tuple(sorted(sizes.keys() - set(rare)))
    if len(categories) < 2:
        has = f"only {categories[0]!r}" if categories else "none"
        raise ConfigError(
            f"{source}: two categories with {_MIN_DOCUMENTS} documents each are needed, to "
            f"distinguish them; there is {has}"
        )
    if len(categories) > MAX_CATEGORIES:
        raise ConfigError(
            f"{source}: {len(categories)} categories are too many (at most {MAX_CATEGORIES}); "
            "is the label column the right one?"
        )
    counts = sorted((sizes[c], c) for c in categories)
    (fewest, small), (largest, large) = counts[0], counts[-1]
    if largest >= _UNBALANCED * fewest:
        told.append(
            f"Unbalanced: {large!r} has {largest} documents and {small!r} has {fewest}. Look at "
            "the figures of each category, not at the accuracy."
        )
    if fewest < _FEW_DOCUMENTS:
        told.append(f"{small!r} has {fewest} documents: figures and verdicts will be shaky.")
    number = {label: place for place, label in enumerate(categories)}
    used = [(segments, number[label]) for segments, label in kept if label in number]
    return Corpus([s for s, _ in used], [n for _, n in used], categories, reading, tuple(told))


def _set_language(
    reading: TextTokenizer, first: list[LabelledDocument]
) -> tuple[TextTokenizer, list[str]]:
    """The reading with its language, and what there is to say of it."""
    told: list[str] = []
    heard, number = _main_language(first)
    if not reading.language:
        reading = replace(reading, language=heard or "en")
        told.append(f"The texts are taken to be written in {reading.language!r}.")
    elif heard not in ("", reading.language) and 2 * number > len(first):
        told.append(
            f"The texts look like {language_name(heard)} ({heard!r}), not like "
            f"{language_name(reading.language)}: is --language {reading.language} right?"
        )
    if reading.normalise and reading.language != "tr":
        raise ConfigError(
            "--normalise repairs Turkish, and the texts are assumed to be in "
            f"{reading.language!r}: leave it out, or say --language tr"
        )
    return reading, told


def _encoding_notes(tally: ReadingTally) -> list[str]:
    """What the texts were written in, where that was not UTF-8 throughout."""
    told = [
        f"{'1 file was' if number == 1 else f'{number} files were'} read as {encoding}, not UTF-8."
        for encoding, number in sorted(tally.encodings.items())
    ]
    if tally.lost:
        letters = "1 letter" if tally.lost == 1 else f"{tally.lost} letters"
        told.append(f"{letters} could not be read; --encoding says what the source is written in.")
    return told


def _main_language(first: list[LabelledDocument]) -> tuple[str, int]:
    """The language of most of these, and of how many; '' if nobody can tell."""
    from honeyguide.languages.detection import LanguageDetector

    ear = LanguageDetector()
    heard = Counter(ear.detect_text(document.page.text[:1000]).code for document in first)
    del heard[""]
    return heard.most_common(1)[0] if heard else ("", 0)
