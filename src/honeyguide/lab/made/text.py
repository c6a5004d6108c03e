"""What made pages say: real sentences and titles of the embedded manuals, a book per topic."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from html import escape
from typing import NamedTuple

from honeyguide.errors import ParseError
from honeyguide.lab import demo_web
from honeyguide.lab.made.seeded_random import Dice
from honeyguide.lab.made.words import WORDS
from honeyguide.lab.web import Recorded
from honeyguide.parse.read import read
from honeyguide.types import Link, Page, Response, Url
from honeyguide.url import host

MANUALS = {
    "apache": "httpd.apache.org",
    "auth-ldap": "django-auth-ldap.readthedocs.io",
    "borg": "borgbackup.readthedocs.io",
    "django": "docs.djangoproject.com",
    "haystack": "django-haystack.readthedocs.io",
    "pgbackrest": "pgbackrest.org",
    "postgresql": "www.postgresql.org",
    "python": "docs.python.org",
    "python-ldap": "www.python-ldap.org",
    "restic": "restic.readthedocs.io",
    "sqlite": "www.sqlite.org",
    "whoosh": "whoosh.readthedocs.io",
}
"""Topic → the demo web's host with its text."""

LANGUAGES = ("tr", "ru", "el", "ar", "zh")
"""Of pages without a topic, unless the plan names others."""

_PAGES = 60
"""Read of each manual: enough to write millions of pages, and soon read."""
_SENTENCES = 2500
_TITLES = 50
"""Fewer would make too many pages alike."""
_SENTENCE = re.compile(r"(?:^|(?<=[.!?] ))[A-Z][^.!?\n]{25,240}[.!?](?=\s|$)", re.MULTILINE)
_EDGES = re.compile(r"^[\d.\s]+|\s*[¶#]+\s*$|\s+[—-]\s.*$|\(\d+\)$")


class Book(NamedTuple):
    """The text of one topic, or of one language that is no topic. Ready for HTML."""

    language: str
    titles: tuple[str, ...]
    sentences: tuple[str, ...]


@lru_cache(maxsize=1)
def books() -> dict[str, Book]:
    """Topic or language → its book. Reading the manuals takes a second, once a process."""
    pages: defaultdict[str, list[Recorded]] = defaultdict(list)
    for record in demo_web.load():
        pages[host(record.url)].append(record)
    made = {topic: _manual(pages[name]) for topic, name in MANUALS.items()}
    return made | {language: _foreign(language) for language in WORDS}


def _manual(records: list[Recorded]) -> Book:
    records.sort(key=lambda record: record.url)
    chosen = records[:: max(1, len(records) // _PAGES)]
    pages = [page for record in chosen if (page := _page(record)) and _english(page)]
    headings = Counter(
        title for page in pages for title in {_clean(t) for t in (page.title, *page.headings)}
    )
    # What stands on every page of a manual (Navigation, See Also) is nobody's title.
    common = max(3, len(pages) // 10)
    titles = [t for t, n in headings.items() if n <= common and 8 <= len(t) <= 70]
    sentences = list(dict.fromkeys(s for page in pages for s in _SENTENCE.findall(page.text)))
    if len(titles) < _TITLES:  # a manual in one piece: its short sentences do as well
        titles += [sentence[:-1] for sentence in sentences if len(sentence) <= 60]
    return Book("en", _ready(sorted(titles)), _ready(sentences[:_SENTENCES]))


def _page(record: Recorded) -> Page | None:
    body, url = record.body, Url(record.url)
    response = Response(url, 200, record.headers, body, body, b"", b"", "", 0.0, 0.0)
    try:
        return read(response, Link(url))
    except ParseError:
        return None


def _english(page: Page) -> bool:
    return page.language.partition("-")[0] in ("", "en")


def _clean(title: str) -> str:
    return _EDGES.sub("", " ".join(title.split())).strip()


def _ready(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(escape(" ".join(text.split()), quote=False) for text in texts)


def _foreign(language: str) -> Book:
    """A book of one language: its common words in any order, with its own stops."""
    words = WORDS[language].split()
    dice = Dice(0)
    space, stop = ("", "。") if language == "zh" else (" ", ".")

    def phrase(purpose: str, number: int, least: int, most: int) -> str:
        chance = dice.stream(f"{language} {purpose}", number).random
        length = least + int(chance() * (most - least + 1))
        return space.join(_pick(words, chance()) for _ in range(length)).capitalize()

    titles = tuple(phrase("title", n, 3, 5) for n in range(200))
    return Book(language, titles, tuple(phrase("text", n, 9, 20) + stop for n in range(800)))


def _pick(items: Sequence[str], chance: float) -> str:
    return items[int(chance * len(items))]
