"""Labelled documents for training: read, without repetitions, within limits."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import chain, islice
from pathlib import Path

from honeyguide.errors import ConfigError
from honeyguide.language_codes import language_name
from honeyguide.text.segments import PageSegments, TextTokenizer
from honeyguide.training.documents import (
    ColumnNames,
    LabelledDocument,
    ReadingTally,
    read_documents,
)
from honeyguide.types import Page

MAX_DOCUMENTS = 50_000
"""Most documents for training; of more, a uniform sample is drawn."""
_DETECTED_FIRST = 200
_MIN_DOCUMENTS, _FEW_DOCUMENTS = 2, 20
_UNBALANCED = 10
"""Ratio of the largest to the smallest category from which on a note is given."""
MAX_CATEGORIES = 200


@dataclass(frozen=True)
class Corpus:
    """Documents as segments with labels."""

    pages: list[PageSegments]
    labels: list[int]
    categories: tuple[str, ...]
    reading: TextTokenizer
    notes: tuple[str, ...] = ()
    """What was left out and what to mind, in sentences."""
    digests: frozenset[bytes] = frozenset()
    """Of the texts, to know them again in a test."""

    def category_sizes(self) -> list[int]:
        """Documents of each category."""
        counts = Counter(self.labels)
        return [counts[number] for number in range(len(self.categories))]


def gather_corpus(
    source: Path,
    reading: TextTokenizer,
    columns: ColumnNames = ColumnNames(),  # noqa: B008 - a named tuple never changes
    *,
    more: Sequence[Path] = (),
    most: int = MAX_DOCUMENTS,
    seed: int = 1,
    progress: Callable[[int], None] = lambda _: None,
) -> Corpus:
    """The corpus of a source and of ``more``. A tokenizer without a language gets the detected one.

    Raises ConfigError if there are fewer than two categories.
    """
    tally = ReadingTally()
    found = chain.from_iterable(
        read_documents(one, columns, tally, reading.language) for one in (source, *more)
    )
    first = list(islice(found, _DETECTED_FIRST))
    reading, notes = _set_language(reading, first)
    left = tally.left_out
    digests: set[bytes] = set()
    once = _note_digests(_skip_repeated(chain(first, found), left), digests)
    documents, seen = _sample_documents(once, reading, most, seed, left, progress)
    if seen > most:
        notes.append(f"Of {seen} documents {most} were drawn; the rest was not used.")
    notes += _encoding_notes(tally)
    notes += [f"{number} left out: {why}." for why, number in sorted(left.items())]
    return replace(_build_corpus(documents, reading, notes, source), digests=frozenset(digests))


def _note_digests(
    found: Iterable[LabelledDocument], digests: set[bytes]
) -> Iterator[LabelledDocument]:
    for document in found:
        digests.add(text_digest(document.page))
        yield document


@dataclass(frozen=True)
class UnseenDocuments:
    """Documents of another source, for a model that was trained without them."""

    pages: list[PageSegments]
    labels: list[int]
    """Numbers of the model's categories."""
    notes: tuple[str, ...] = ()


def gather_unseen(
    source: Path,
    reading: TextTokenizer,
    categories: Sequence[str],
    columns: ColumnNames = ColumnNames(),  # noqa: B008 - a named tuple never changes
    *,
    known: Container[bytes] = frozenset(),
    most: int = MAX_DOCUMENTS,
    seed: int = 1,
    progress: Callable[[int], None] = lambda _: None,
) -> UnseenDocuments:
    """What can be asked of these documents: whose category the model has, and whose text it was not
    trained on (``known``: digests of those texts)."""
    tally, number = ReadingTally(), {name: place for place, name in enumerate(categories)}
    left = tally.left_out

    def usable() -> Iterator[LabelledDocument]:
        found = read_documents(source, columns, tally, reading.language)
        for document in _skip_repeated(found, left):
            if document.label not in number:
                left["a category that the model does not have"] += 1
            elif text_digest(document.page) in known:
                left["texts that the model was trained on"] += 1
            else:
                yield document

    documents, seen = _sample_documents(usable(), reading, most, seed, left, progress)
    if not documents:
        why = "; ".join(f"{count} {reason}" for reason, count in sorted(left.items()))
        raise ConfigError(
            f"{source}: no document can be used for a test of a model of {', '.join(categories)}"
            + (f" ({why})" if why else "")
        )
    notes = [f"Of {seen} documents {most} were drawn; the rest was not used."] * (seen > most)
    notes += [f"{count} left out: {why}." for why, count in sorted(left.items())]
    labels = [number[label] for _, label in documents]
    return UnseenDocuments([page for page, _ in documents], labels, tuple(notes))


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
    sample: list[tuple[PageSegments, str]] = []
    for page, label in found:
        place = seen if seen < most else dice.randrange(seen + 1)
        if place < most:
            segments = reading.page_segments(page)
            if not segments.tokens:
                left["no words"] += 1
                continue
            sample[place : place + 1] = [(segments, label)]
        seen += 1
        if seen % 100 == 0:
            progress(seen)
    progress(seen)
    return sample, seen


def _skip_repeated(
    found: Iterable[LabelledDocument], left: Counter[str]
) -> Iterator[LabelledDocument]:
    """Leave out repeated texts: in a test they would be known already."""
    labels: dict[bytes, str] = {}
    for document in found:
        mark = text_digest(document.page)
        known = labels.get(mark)
        if known is None:
            labels[mark] = document.label
            yield document
        elif known == document.label:
            left["repeated texts"] += 1
        else:
            left["texts repeated under another label"] += 1


def text_digest(page: Page) -> bytes:
    text = " ".join(f"{page.title}\n{page.text}".lower().split())
    return blake2b(text.encode("utf-8", "replace"), digest_size=12).digest()


def _build_corpus(
    documents: list[tuple[PageSegments, str]],
    reading: TextTokenizer,
    notes: list[str],
    source: Path,
) -> Corpus:
    sizes = Counter(label for _, label in documents)
    rare = sorted(label for label, number in sizes.items() if number < _MIN_DOCUMENTS)
    if rare:
        notes.append(f"Left out, since they have one document only: {', '.join(rare[:10])}.")
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
        notes.append(
            f"Unbalanced: {large!r} has {largest} documents and {small!r} has {fewest}. Look at "
            "the figures of each category, not at the accuracy."
        )
    if fewest < _FEW_DOCUMENTS:
        notes.append(f"{small!r} has {fewest} documents: figures and verdicts will be shaky.")
    number = {label: place for place, label in enumerate(categories)}
    used = [(segments, number[label]) for segments, label in documents if label in number]
    return Corpus([s for s, _ in used], [n for _, n in used], categories, reading, tuple(notes))


def _set_language(
    reading: TextTokenizer, first: list[LabelledDocument]
) -> tuple[TextTokenizer, list[str]]:
    """The tokenizer with its language, and notes about it."""
    notes: list[str] = []
    detected, number = _main_language(first)
    if not reading.language:
        reading = replace(reading, language=detected or "en")
        notes.append(f"The texts are taken to be written in {reading.language!r}.")
    elif detected not in ("", reading.language) and 2 * number > len(first):
        notes.append(
            f"The texts look like {language_name(detected)} ({detected!r}), not like "
            f"{language_name(reading.language)}: is --language {reading.language} right?"
        )
    if reading.normalise and reading.language != "tr":
        raise ConfigError(
            "--normalise repairs Turkish, and the texts are assumed to be in "
            f"{reading.language!r}: leave it out, or say --language tr"
        )
    return reading, notes


def _encoding_notes(tally: ReadingTally) -> list[str]:
    """Notes about encodings other than UTF-8."""
    notes = [
        f"{'1 file was' if number == 1 else f'{number} files were'} read as {encoding}, not UTF-8."
        for encoding, number in sorted(tally.encodings.items())
    ]
    if tally.lost:
        letters = "1 letter" if tally.lost == 1 else f"{tally.lost} letters"
        notes.append(f"{letters} could not be read; --encoding says what the source is written in.")
    return notes


def _main_language(first: list[LabelledDocument]) -> tuple[str, int]:
    """The most frequent language of these documents and its count; '' if undetected."""
    from honeyguide.languages.detection import LanguageDetector

    detector = LanguageDetector()
    languages = Counter(detector.detect_text(document.page.text[:1000]).code for document in first)
    del languages[""]
    return languages.most_common(1)[0] if languages else ("", 0)
