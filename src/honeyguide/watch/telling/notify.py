"""Which changes are told, through which channel, and when. Pure functions, told the time.

A rule says what one channel wants to hear. What it wants waits until :func:`due`; then
:func:`ready` hands it over in batches, each of which becomes one message.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import NamedTuple, get_args

from honeyguide.change import Change, ChangeKind
from honeyguide.errors import ConfigError
from honeyguide.text.tokens import check_language, stems_of, words
from honeyguide.types import Url
from honeyguide.url import canonical, host
from honeyguide.watch.telling.digest import batches
from honeyguide.watch.telling.quiet_hours import Rhythm, Weekday, quiet_until, span, told_at, zone

TOLD: tuple[ChangeKind, ...] = (
    "new",
    "content",
    "data",
    "moved",
    "gone",
    "back",
    "blocked",
    "soft_404",
)
"""What a rule tells of if it does not say: no news that nobody reads."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What one channel wants to hear of, and when. Every condition must hold."""

    channel: str
    """The name of the channel."""
    kinds: tuple[ChangeKind, ...] = TOLD
    """Kinds of change; one of the change's kinds must be among them."""
    significance: float = 0.0
    """Least significance, 0..1, of a change of the page's content. That a page has gone, moved
    or is blocked is told in any case: nothing on it can be weighed."""
    words: tuple[str, ...] = ()
    """Words or phrases, found by their stems; one of them must have come or gone."""
    language: str = "en"
    """Language of the words."""
    pages: tuple[str, ...] = ()
    """Hosts (``example.org``, ``*.example.org``) or addresses (``https://example.org/news/*``);
    one of them must fit."""
    quiet: str = ""
    """No message in these hours: ``22:00-07:00``."""
    zone: str = "UTC"
    """Time zone of quiet hours and digests: ``Europe/Istanbul``."""
    digest: Rhythm = "each"
    """At once, or gathered and told once an hour, a day, a week."""
    hour: int = 8
    """Hour of day of daily and weekly digests."""
    weekday: Weekday = "monday"
    """Day of weekly digests."""
    name: str = ""
    """Under which its messages wait; needed where a channel has several rules."""

    @property
    def queue(self) -> str:
        return self.name or self.channel

    def __post_init__(self) -> None:
        where = f"the rule for {self.channel!r}"
        for name, value, known in (
            *(("kinds", kind, get_args(ChangeKind)) for kind in self.kinds),
            ("digest", self.digest, get_args(Rhythm)),
            ("weekday", self.weekday, get_args(Weekday)),
        ):
            if value not in known:
                raise ConfigError(f"{where}: {name}: {value!r} is none of {', '.join(known)}")
        if not 0 <= self.significance <= 1:
            raise ConfigError(f"{where}: significance lies between 0 and 1")
        if not 0 <= self.hour <= 23:
            raise ConfigError(f"{where}: hour lies between 0 and 23")
        check_language(self.language)
        for word in self.words:
            if not words(word, self.language):
                raise ConfigError(f"{where}: words: there is no word in {word!r}")
        zone(self.zone)
        if self.quiet:
            span(self.quiet)


class Waiting(NamedTuple):
    """A change that a channel wants to hear of and was not told yet."""

    key: int
    """By which the store knows it."""
    change: Change


class Trial(NamedTuple):
    """What a rule would have done with past changes."""

    told: tuple[Change, ...]
    kept: tuple[tuple[Change, str], ...]
    """What it would have kept back, and why."""


WEIGHED = frozenset({"content", "minor", "data", "links", "structure", "cosmetic"})
"""Kinds whose significance was measured."""


def wanted(rule: Rule, change: Change) -> bool:
    return not unwanted(rule, change)


def unwanted(rule: Rule, change: Change) -> str:
    """Why this change is not told, in words; '' if it is."""
    kinds = [kind for kind in change.kinds if kind in rule.kinds]
    if not kinds:
        return f"of the kind {', '.join(change.kinds) or 'none'}"
    if change.significance < rule.significance and all(kind in WEIGHED for kind in kinds):
        return f"significance {change.significance:.2f} is under {rule.significance:.2f}"
    if rule.pages and not any(_fits(pattern, change.url) for pattern in rule.pages):
        return "on none of the rule's pages"
    if rule.words and not _concerns(change, rule.words, rule.language):
        return "none of the rule's words came or went"
    return ""


def due(rule: Rule, at: float) -> float:
    """When a change that was found at ``at`` may be told first."""
    where = zone(rule.zone)
    told = told_at(rule.digest, at, where, rule.hour, rule.weekday)
    return quiet_until(rule.quiet, told, where)


def ready(rule: Rule, waiting: Sequence[Waiting], now: float) -> list[tuple[Waiting, ...]]:
    """What is to be told now, a batch for each message; empty while it is not yet time.

    A digest takes along what was found since its hour: nobody wants two messages in a row.
    """
    if not waiting or quiet_until(rule.quiet, now, zone(rule.zone)) > now:
        return []
    if due(rule, min(item.change.at for item in waiting)) > now:
        return []
    if rule.digest != "each":
        return [tuple(waiting)]
    places = batches([item.change for item in waiting])
    return [tuple(waiting[place] for place in batch) for batch in places]


def wake_at(rule: Rule, waiting: Sequence[Waiting]) -> float | None:
    """When :func:`ready` may next have something; None if nothing waits."""
    return due(rule, min(item.change.at for item in waiting)) if waiting else None


def would_have(rule: Rule, changes: Iterable[Change]) -> Trial:
    """The rule tried on past changes: what it would have told, and kept back."""
    told: list[Change] = []
    kept: list[tuple[Change, str]] = []
    for change in changes:
        if why := unwanted(rule, change):
            kept.append((change, why))
        else:
            told.append(change)
    return Trial(tuple(told), tuple(kept))


def at_each(rule: Rule, changes: Iterable[tuple[Sequence[ChangeKind], int, int]]) -> list[int]:
    """How many past changes the rule would have told if its least significance were 0, 0.01 … 1.

    The changes are counted: (kinds, hundredths of significance, how many). Pages and words are not
    looked at, so that a rule that asks for some tells fewer.
    """
    told = [0] * 101
    plain = replace(rule, pages=(), words=())
    for kinds, hundredths, count in changes:
        light = Change(Url(""), 0.0, tuple(kinds))
        if not wanted(replace(plain, significance=0.0), light):
            continue
        # Even what weighs nothing is told by the strictest rule: it is not a matter of weight.
        anyway = wanted(replace(plain, significance=1.0), light)
        for threshold in range(101 if anyway else hundredths + 1):
            told[threshold] += count
    return told


def _fits(pattern: str, url: Url) -> bool:
    if "/" in pattern:
        return fnmatchcase(url, pattern if "*" in pattern else canonical(pattern) or pattern)
    name = host(url)
    return any(fnmatchcase(n, pattern.lower()) for n in (name, name.removeprefix("www.")))


def _concerns(change: Change, terms: Sequence[str], language: str) -> bool:
    """Whether a term stands more or less often in a block than before.

    That it stands in a block of which something else changed is no news about it.
    """
    stems = stems_of(language)
    wanted = [tuple(stems[word] for word in words(term, language)) for term in terms]
    for edit in change.edits:
        old, new = ([stems[w] for w in words(text, language)] for text in (edit.old, edit.new))
        if any(_count(term, old) != _count(term, new) for term in wanted):
            return True
    return False


def _count(term: tuple[str, ...], said: Sequence[str]) -> int:
    if len(term) == 1:
        return said.count(term[0])
    return sum(
        tuple(said[place : place + len(term)]) == term
        for place, word in enumerate(said)
        if word == term[0]
    )
