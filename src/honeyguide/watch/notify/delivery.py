"""Notification rules, quiet hours and digests, and delivery of queued changes.

Which changes make up a message is stored before the message is sent. After a crash in between, the
same message is sent again under the same id, and no change is in two messages.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import groupby
from logging import getLogger
from typing import Literal, NamedTuple, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from honeyguide.change import Change, ChangeKind
from honeyguide.errors import ConfigError
from honeyguide.store.change_feed import ChangeFeed, NotificationOutbox, UnsentChange
from honeyguide.store.store import Store
from honeyguide.text.language import check_language, split_words, stems_of
from honeyguide.types import Url
from honeyguide.url import canonical_url, host_of
from honeyguide.watch.notify.channels import Messenger, SendOutcome
from honeyguide.watch.notify.message import batch_changes, compose_message

DigestRhythm = Literal["each", "hourly", "daily", "weekly"]
Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]

_SPAN = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)\s*[-–]\s*([01]?\d|2[0-3]):([0-5]\d)").fullmatch
_HOUR = 3600.0
_LAST_TIME = 250_000_000_000.0
"""In the year 9892: far enough, and with some days left before the end of all calendars."""


@lru_cache(maxsize=64)
def time_zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    # A name such as "Europe" is a folder, and one with a NUL is no name at all.
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ConfigError(
            f"there is no time zone {name!r}; write one such as 'Europe/Istanbul' or 'UTC' "
            "(where the system has no list of zones: pip install tzdata)"
        ) from None


@lru_cache(maxsize=64)
def parse_quiet_hours(text: str) -> tuple[time, time]:
    """``22:00-07:00`` as two times of day; the second may be on the next day."""
    found = _SPAN(text.strip())
    if not found:
        raise ConfigError(f"quiet hours are written as '22:00-07:00', not {text!r}")
    start, end = (time(int(h), int(m)) for h, m in (found.group(1, 2), found.group(3, 4)))
    if start == end:
        raise ConfigError(f"quiet hours {text!r} would never end, or never begin")
    return start, end


def quiet_until(quiet: str, at: float, where: ZoneInfo) -> float:
    """The end of the quiet hours that ``at`` lies in; ``at`` itself where it lies in none."""
    if not quiet:
        return at
    start, end = parse_quiet_hours(quiet)
    wall = _wall_clock(at, where)
    now = wall.time()
    over_night = start > end
    if not (now >= start or now < end if over_night else start <= now < end):
        return at
    day = wall.date() + timedelta(days=over_night and now >= start)
    return _moment_after(day, end, at, where)


def digest_time(
    rhythm: DigestRhythm, at: float, where: ZoneInfo, hour: int, weekday: Weekday
) -> float:
    """When what was found at ``at`` belongs into a message, quiet hours aside."""
    if rhythm == "each":
        return at
    if rhythm == "hourly":
        return (at // _HOUR + 1) * _HOUR
    today = _wall_clock(at, where).date()
    for ahead in range(9):
        day = today + timedelta(days=ahead)
        if rhythm == "weekly" and day.weekday() != get_args(Weekday).index(weekday):
            continue
        if (found := _unix_time(day, time(hour), where)) > at:
            return found
    return at  # beyond the end of all calendars


def _moment_after(day: date, clock: time, at: float, where: ZoneInfo) -> float:
    """That moment; where the clock shows it twice, the one that lies ahead."""
    found = _unix_time(day, clock, where)
    return found if found > at else _unix_time(day, clock.replace(fold=1), where)


def _wall_clock(at: float, where: ZoneInfo) -> datetime:
    """What the clock on the wall shows; what no calendar knows, a damaged store may hold."""
    return datetime.fromtimestamp(min(max(at, 0.0), _LAST_TIME) if at == at else 0.0, where)


def _unix_time(day: date, clock: time, where: ZoneInfo) -> float:
    return datetime.combine(day, clock, where).timestamp()


# -- Rules --
#
# A rule says what one channel wants to hear. What it wants waits until :func:`due_time`; then
# :func:`ready_batches` hands it over in batches, each of which becomes one message.


DEFAULT_KINDS: tuple[ChangeKind, ...] = (
    "new", "content", "data", "moved", "gone", "back", "blocked", "soft_404",
)  # fmt: skip
"""What a rule tells of if it does not say: no news that nobody reads."""


@dataclass(frozen=True, slots=True)
class NotifyRule:
    """Which changes one channel gets, and when. Every condition must hold."""

    channel: str
    """The name of the channel, under which its messages wait."""
    kinds: tuple[ChangeKind, ...] = DEFAULT_KINDS
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
    quiet_hours: str = ""
    """No message in these hours: ``22:00-07:00``."""
    time_zone: str = "UTC"
    """Time zone of quiet hours and digests: ``Europe/Istanbul``."""
    digest: DigestRhythm = "each"
    """Rhythm of messages: at once, or collected for an hour, a day or a week."""
    hour: int = 8
    """Hour of day of daily and weekly digests."""
    weekday: Weekday = "monday"
    """Day of weekly digests."""

    def __post_init__(self) -> None:
        where = f"the rule for {self.channel!r}"
        for name, value, known in (
            *(("kinds", kind, get_args(ChangeKind)) for kind in self.kinds),
            ("digest", self.digest, get_args(DigestRhythm)),
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
            if not split_words(word, self.language):
                raise ConfigError(f"{where}: words: there is no word in {word!r}")
        time_zone(self.time_zone)
        if self.quiet_hours:
            parse_quiet_hours(self.quiet_hours)


class WaitingChange(NamedTuple):
    """A change that waits for a channel."""

    key: int
    """By which the store knows it."""
    change: Change


WEIGHED_KINDS = frozenset({"content", "minor", "data", "links", "structure", "cosmetic"})
"""Kinds whose significance was measured."""


def is_wanted(rule: NotifyRule, change: Change) -> bool:
    kinds = [kind for kind in change.kinds if kind in rule.kinds]
    light = change.significance < rule.significance and WEIGHED_KINDS.issuperset(kinds)
    return (
        bool(kinds)
        and not light
        and (not rule.pages or any(_matches_page(one, change.url) for one in rule.pages))
        and (not rule.words or _concerns_terms(change, rule.words, rule.language))
    )


def due_time(rule: NotifyRule, at: float) -> float:
    """The earliest time at which a change found at ``at`` may be sent."""
    where = time_zone(rule.time_zone)
    due = digest_time(rule.digest, at, where, rule.hour, rule.weekday)
    return quiet_until(rule.quiet_hours, due, where)


def ready_batches(
    rule: NotifyRule, waiting: Sequence[WaitingChange], now: float
) -> list[tuple[WaitingChange, ...]]:
    """What is to be told now, a batch for each message; empty while it is not yet time.

    A digest takes along what was found since its hour: nobody wants two messages in a row.
    """
    if not waiting or quiet_until(rule.quiet_hours, now, time_zone(rule.time_zone)) > now:
        return []
    if due_time(rule, min(item.change.at for item in waiting)) > now:
        return []
    if rule.digest != "each":
        return [tuple(waiting)]
    places = batch_changes([item.change for item in waiting])
    return [tuple(waiting[place] for place in batch) for batch in places]


def wake_at(rule: NotifyRule, waiting: Sequence[WaitingChange]) -> float | None:
    """When :func:`ready_batches` may next have something; None if nothing waits."""
    return due_time(rule, min(item.change.at for item in waiting)) if waiting else None


def count_by_significance(
    rule: NotifyRule, changes: Iterable[tuple[Sequence[ChangeKind], int, int]]
) -> list[int]:
    """How many past changes the rule would have told if its least significance were 0, 0.01 … 1.

    The changes are counted: (kinds, hundredths of significance, how many). Pages and words are not
    looked at, so that a rule that asks for some tells fewer.
    """
    totals = [0] * 101
    plain = replace(rule, pages=(), words=())
    for kinds, hundredths, count in changes:
        light = Change(Url(""), 0.0, tuple(kinds))
        if not is_wanted(replace(plain, significance=0.0), light):
            continue
        # Even what weighs nothing is told by the strictest rule: it is not a matter of weight.
        anyway = is_wanted(replace(plain, significance=1.0), light)
        for threshold in range(101 if anyway else hundredths + 1):
            totals[threshold] += count
    return totals


def _matches_page(pattern: str, url: Url) -> bool:
    if "/" in pattern:
        return fnmatchcase(url, pattern if "*" in pattern else canonical_url(pattern) or pattern)
    name = host_of(url)
    return any(fnmatchcase(n, pattern.lower()) for n in (name, name.removeprefix("www.")))


def _concerns_terms(change: Change, terms: Sequence[str], language: str) -> bool:
    """Whether a term stands more or less often in a block than before.

    That it stands in a block of which something else changed is no news about it.
    """
    stems = stems_of(language)
    wanted = [tuple(stems[word] for word in split_words(term, language)) for term in terms]
    for edit in change.edits:
        old, new = (
            [stems[w] for w in split_words(text, language)] for text in (edit.old, edit.new)
        )
        if any(_count_term(term, old) != _count_term(term, new) for term in wanted):
            return True
    return False


def _count_term(term: tuple[str, ...], words: Sequence[str]) -> int:
    if len(term) == 1:
        return words.count(term[0])
    return sum(
        tuple(words[place : place + len(term)]) == term
        for place, word in enumerate(words)
        if word == term[0]
    )


# -- Delivery --

_MAX_CHANGES = 300
"""Changes that are read at once; the others follow in the next messages."""


def queue_change(
    outbox: NotificationOutbox, rules: Iterable[NotifyRule], number: int, change: Change
) -> None:
    """Queue a change for every rule that wants it, in the transaction that stores it."""
    for rule in rules:
        if is_wanted(rule, change):
            outbox.queue_changes([number], rule.channel, change.at, due_time(rule, change.at))


class _MessageBundle(NamedTuple):
    key: str
    changes: tuple[int, ...]
    tries: int
    """Already made."""


@dataclass
class ChannelDelivery:
    """Sends what is queued for one channel."""

    outbox: NotificationOutbox
    feed: ChangeFeed
    rule: NotifyRule
    messenger: Messenger
    collection: str = ""

    async def deliver(self, now: float) -> list[SendOutcome]:
        """What became of the messages that the queue held by now."""
        rule, outbox, channel = self.rule, self.outbox, self.rule.channel
        unsent = outbox.list_unsent(channel, now, _MAX_CHANGES)
        if not unsent:
            return []
        if (later := quiet_until(rule.quiet_hours, now, time_zone(rule.time_zone))) > now:
            outbox.defer_changes(channel, [one.change for one in unsent], later)
            return []
        outcomes: list[SendOutcome] = []
        bundles = self._bundle_messages(unsent, now)
        for place, (key, numbers, tries) in enumerate(bundles):
            found = [row.change for number in numbers if (row := self.feed.get_change(number))]
            if not found:
                self._give_up_lost(numbers, now)
                continue
            message = compose_message(channel, found, self.collection, key)
            outcome = await self.messenger.send(message, now, tries)
            outcomes.append(outcome)
            if outcome.state == "sent":
                outbox.mark_sent(channel, numbers, now)
                continue
            again = outcome.at if outcome.state == "retry" else None
            outbox.mark_failed(channel, numbers, now, outcome.why, again)
            if again:
                # A receiver in trouble is left alone: the others wait with this one.
                rest = [number for bundle in bundles[place + 1 :] for number in bundle.changes]
                outbox.defer_changes(channel, rest, again)
                break
        return outcomes

    def _bundle_messages(self, unsent: Sequence[UnsentChange], now: float) -> list[_MessageBundle]:
        """Messages of which it is not known that they arrived, and new ones; the oldest first."""
        channel = self.rule.channel
        made: list[_MessageBundle] = []
        waiting, lost = [], []
        for key, group in groupby(unsent, lambda one: one.message):
            changes = [*group]
            if key:
                numbers = tuple(one.change for one in changes)
                made.append(_MessageBundle(key, numbers, max(one.tries for one in changes)))
                continue
            for number, *_ in changes:
                if row := self.feed.get_change(number):
                    waiting.append(WaitingChange(number, row.change))
                else:
                    lost.append(number)
        if lost:
            self._give_up_lost(lost, now)
        batches = ready_batches(self.rule, waiting, now)
        if not batches and (later := wake_at(self.rule, waiting)):
            self.outbox.defer_changes(channel, [one.key for one in waiting], max(later, now))
        for batch in batches:
            numbers = tuple(one.key for one in batch)
            made.append(_MessageBundle(self.outbox.bundle_changes(channel, numbers), numbers, 0))
        return sorted(made, key=lambda bundle: bundle.changes)

    def _give_up_lost(self, numbers: Sequence[int], now: float) -> None:
        why = "the change is no longer kept"
        self.outbox.mark_failed(self.rule.channel, numbers, now, why, None)


# -- The delivery loop --


_log = getLogger(__name__)

_EVERY_S = 2.0


@dataclass
class NotifyLoop:
    store: Store
    channels: Sequence[tuple[NotifyRule, Messenger]]
    clock: Callable[[], float]
    name: str = ""
    """The collection's, for messages."""
    sent: int = 0
    """Messages."""
    trouble: str = ""
    """What went wrong last."""

    async def run(self, over: asyncio.Event) -> None:
        """Until it is over. A message that is on its way is not given up: it would go out twice."""
        while not over.is_set():
            await self.deliver_all()
            with suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), _EVERY_S)

    async def deliver_all(self) -> None:
        """Deliver what is due on every channel; a failing channel does not hold up the others."""
        outbox, changes = self.store.outbox, self.store.changes
        for rule, messenger in self.channels:
            try:
                delivery = ChannelDelivery(outbox, changes, rule, messenger, self.name)
                outcomes = await delivery.deliver(self.clock())
            except Exception as error:  # noqa: BLE001 - a channel is other people's code
                _log.warning("%s could not be notified", rule.channel, exc_info=error)
                self.trouble = f"{rule.channel} could not be notified: {type(error).__name__}"
                continue
            for outcome in outcomes:
                if outcome.state == "sent":
                    self.sent += 1
                else:
                    self.trouble = f"{rule.channel} could not be notified: {outcome.why}"
