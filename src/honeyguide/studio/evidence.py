"""What speaks for a page, as the screens show it: reasons, and where they stand in its text."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

import msgspec

from honeyguide.config import Settings
from honeyguide.crawl.highlights import marks, terms_of, worded
from honeyguide.types import Reason

_MOST, _LONG = 200, 500
"""Reasons that are told, and characters of each: the journal may be a stranger's."""


class Why(msgspec.Struct, frozen=True):
    what: str
    weight: float


class Marked(msgspec.Struct, frozen=True):
    """From one character of a text to another."""

    start: int
    end: int
    what: str
    weight: float


def told(reasons: Iterable[Reason]) -> list[Why]:
    return [Why(reason.what[:_LONG], reason.weight) for reason in islice(reasons, _MOST)]


def spoken(settings: Settings, text: str, reasons: Iterable[Reason]) -> list[Why]:
    """The same, with words of this text instead of stems."""
    return told(worded(reasons, text, settings.topic.spoken))


def marked(settings: Settings, text: str, reasons: tuple[Reason, ...]) -> list[Marked]:
    """Evidence is looked for as the keywords are: in their own language."""
    found = marks(text, terms_of(settings, reasons), settings.topic.spoken)
    return [Marked(*mark) for mark in found]
