"""What speaks for a page, as the screens show it: reasons, and where they stand in its text."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from honeyguide.config import Settings
from honeyguide.crawl.evidence import marks, terms_of
from honeyguide.types import Reason


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
    return [Why(reason.what, reason.weight) for reason in reasons]


def marked(settings: Settings, text: str, reasons: tuple[Reason, ...]) -> list[Marked]:
    """Evidence is looked for as the keywords are: in their own language."""
    found = marks(text, terms_of(settings, reasons), settings.topic.spoken)
    return [Marked(*mark) for mark in found]
