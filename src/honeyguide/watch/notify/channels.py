"""Notification channels: feed files, standard output and Apprise, and outcomes of messages."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from errno import EDQUOT, ENOSPC
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TextIO
from uuid import UUID, uuid5
from xml.etree.ElementTree import Element, SubElement, tostring

from honeyguide.change import Change
from honeyguide.errors import ConfigError, DiskFull, StoreError
from honeyguide.watch.notify.message import (
    HTML_FORMAT,
    ChangeMessage,
    DigestEntry,
    clean_line,
    digest_entries,
    entry_headline,
    entry_lines,
    safe_link,
)

MAX_TRIES = 14
"""After so many a message is given up: with the waits below, after a day and two hours."""
_FIRST_S = 30.0
_LONGEST_S = 6 * 3600.0


class SendOutcome(NamedTuple):
    state: Literal["sent", "retry", "gave_up"]
    at: float
    """When it was sent or given up, or when to try again."""
    why: str = ""
    """For people; never holds an address or a secret."""


def sent_at(now: float) -> SendOutcome:
    return SendOutcome("sent", now)


def given_up(why: str, now: float) -> SendOutcome:
    return SendOutcome("gave_up", now, why)


def retry_later(why: str, now: float, tries: int, wait_s: float = 0.0) -> SendOutcome:
    """Try later: twice as long after every try, or when the receiver says, but not in a week."""
    if tries + 1 >= MAX_TRIES:
        return given_up(f"{why} ({tries + 1} tries)", now)
    rest = min(_FIRST_S * 2.0 ** min(tries, 30), _LONGEST_S)
    return SendOutcome("retry", now + min(max(rest, wait_s), 4 * _LONGEST_S), why)


# -- Feeds --
#
# The file is always written whole, from what the store holds, so that writing it twice does no harm
# and a crash leaves the old one.


FEED_ITEMS = 100
"""The newest changes that a feed holds."""
_ID_NAMESPACE = UUID("6f0f5b0e-9d63-5b57-8a0c-0f3c2a9d7e11")
"""The name space of our ids."""
_ATOM = "http://www.w3.org/2005/Atom"
_FULL_ERRNOS = frozenset({ENOSPC, EDQUOT})
_LAST_TIME = 253_402_300_799.0
"""The end of the year 9999, after which there are no dates."""


@dataclass(frozen=True, slots=True)
class FeedHeader:
    """What the feed says of itself."""

    title: str
    key: str
    """Never changes for a collection: readers know the feed by it."""


def change_id(change: Change) -> str:
    """Which change it is, for ever: the same page found changed at the same time."""
    name = f"{change.at!r} {change.url}".encode("utf-8", "replace").decode()
    return uuid5(_ID_NAMESPACE, name).urn


def render_atom(feed: FeedHeader, changes: Sequence[Change]) -> bytes:
    shown = _newest_changes(changes)
    root = Element("feed", xmlns=_ATOM)
    _add_child(root, "id", uuid5(_ID_NAMESPACE, clean_line(feed.key)).urn)
    _add_child(root, "title", clean_line(feed.title) or "Changes")
    _add_child(root, "updated", _feed_time(shown[0].at if shown else 0).isoformat())
    _add_child(SubElement(root, "author"), "name", "Honeyguide")
    for change in shown:
        item, entry = SubElement(root, "entry"), digest_entries([change])[0]
        _add_child(item, "id", change_id(change))
        _add_child(item, "title", _entry_title(entry))
        _add_child(item, "updated", _feed_time(change.at).isoformat())
        if target := safe_link(change.url):
            SubElement(item, "link", rel="alternate", href=target)
        for kind in change.kinds:
            SubElement(item, "category", term=kind)
        _add_child(item, "content", _entry_html(entry)).set("type", "html")
    return _serialise_xml(root)


def render_rss(feed: FeedHeader, changes: Sequence[Change]) -> bytes:
    shown = _newest_changes(changes)
    root = Element("rss", version="2.0")
    channel = SubElement(root, "channel")
    _add_child(channel, "title", clean_line(feed.title) or "Changes")
    # RSS wants a link, also of a feed that has no place in the web.
    _add_child(channel, "link", uuid5(_ID_NAMESPACE, clean_line(feed.key)).urn)
    _add_child(channel, "description", "What changed on the watched pages")
    _add_child(channel, "lastBuildDate", format_datetime(_feed_time(shown[0].at if shown else 0)))
    for change in shown:
        item, entry = SubElement(channel, "item"), digest_entries([change])[0]
        _add_child(item, "title", _entry_title(entry))
        if target := safe_link(change.url):
            _add_child(item, "link", target)
        _add_child(item, "guid", change_id(change)).set("isPermaLink", "false")
        _add_child(item, "pubDate", format_datetime(_feed_time(change.at)))
        for kind in change.kinds:
            _add_child(item, "category", kind)
        _add_child(item, "description", _entry_html(entry))
    return _serialise_xml(root)


def write_feed(path: Path, document: bytes) -> None:
    """Put the file in its place in one step; readers see the old one or the new one."""
    try:
        fd, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(document)
                file.flush()
                os.fsync(fd)
            Path(name).chmod(0o644)  # a web server may have to read it
            Path(name).replace(path)
        except BaseException:  # also an interruption must leave no half of a file behind
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        kind = DiskFull if error.errno in _FULL_ERRNOS else StoreError
        raise kind(f"the feed {path} cannot be written: {error.strerror or error}") from error


def _newest_changes(changes: Sequence[Change]) -> list[Change]:
    """The newest first; two at the same time keep a fixed order."""
    return sorted(changes, key=lambda change: (-change.at, change.url))[:FEED_ITEMS]


def _entry_title(entry: DigestEntry) -> str:
    return f"{clean_line(entry.urls[0], 120)}: {entry_headline(entry)}"


def _entry_html(entry: DigestEntry) -> str:
    return "\n".join(entry_lines(entry, HTML_FORMAT))


def _feed_time(at: float) -> datetime:
    inside = min(max(at, 0.0), _LAST_TIME) if at == at else 0.0
    return datetime.fromtimestamp(int(inside), UTC)


def _add_child(parent: Element, name: str, text: str) -> Element:
    child = SubElement(parent, name)
    child.text = text
    return child


def _serialise_xml(root: Element) -> bytes:
    document: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return document


# -- Channels --
#
# A channel is given a message and says what became of it. Nothing is raised for what the network
# does; a user's mistake (an address that is none, a library that is missing) is a ConfigError when
# the channel is made, before anything was watched.


_APPRISE_S = 60.0
"""Longest time for all that Apprise does; its own limits are per step."""


class Messenger(Protocol):
    """Carries messages through one channel; a :class:`.webhook.Webhook` is one."""

    async def send(self, message: ChangeMessage, now: float, tries: int = 0) -> SendOutcome:
        """``tries`` were made before this one."""


@dataclass(frozen=True, slots=True)
class StreamMessenger:
    """Standard output, or any stream: one JSON object in a line."""

    stream: TextIO

    async def send(self, message: ChangeMessage, now: float, tries: int = 0) -> SendOutcome:
        try:
            self.stream.write(json.dumps(message.to_data()) + "\n")
            self.stream.flush()
        except BrokenPipeError:
            return given_up("the output is closed", now)
        except OSError as error:
            return retry_later(f"the output cannot be written: {error.strerror}", now, tries)
        return sent_at(now)


@dataclass(frozen=True, slots=True)
class FeedFile:
    """A feed file in the collection's folder, always written as a whole."""

    path: Path
    feed: FeedHeader
    recent: Callable[[], Sequence[Change]]
    """Returns the newest changes of this channel, those of the current message included."""
    rss: bool = False
    """RSS instead of Atom."""

    async def send(self, message: ChangeMessage, now: float, tries: int = 0) -> SendOutcome:  # noqa: ARG002
        document = (render_rss if self.rss else render_atom)(self.feed, self.recent())
        try:
            await asyncio.to_thread(write_feed, self.path, document)
        except StoreError as error:
            return retry_later(str(error), now, tries)
        return sent_at(now)


@dataclass(frozen=True, slots=True)
class AppriseMessenger:
    """Mail, chats, phones: whatever the Apprise library knows by an address.

    Its addresses hold passwords, so they are never shown; what it answers is yes or no.
    """

    url: str = field(repr=False)

    def __post_init__(self) -> None:
        if find_spec("apprise") is None:
            raise ConfigError(
                "notification through Apprise needs one more package: "
                "pip install 'honeyguide[notify]'"
            )
        if not _load_apprise().Apprise().add(self.url):
            scheme, mark, _ = self.url.partition("://")
            shown = f" that begins with {scheme[:20]}://" if mark else ""
            raise ConfigError(f"Apprise does not understand the address of a channel{shown}")

    async def send(self, message: ChangeMessage, now: float, tries: int = 0) -> SendOutcome:
        try:
            done = await asyncio.wait_for(
                asyncio.to_thread(self._send_blocking, message), _APPRISE_S
            )
        except TimeoutError:
            return retry_later("Apprise took too long", now, tries)
        # A hundred plug-ins by other people, each with its own exceptions; their texts may hold
        # the address, so only the kind is told.
        except Exception as error:  # noqa: BLE001
            return retry_later(f"Apprise failed: {type(error).__name__}", now, tries)
        return sent_at(now) if done else retry_later("Apprise could not deliver it", now, tries)

    def _send_blocking(self, message: ChangeMessage) -> bool:
        target = _load_apprise().Apprise()
        target.add(self.url)
        # Mail wants HTML, chats want Markdown: handing them theirs spares a conversion that would
        # have to be trusted with other people's words.
        form = _preferred_format(target[0])
        body = {"html": message.to_html, "markdown": message.to_markdown}.get(
            form, message.to_text
        )()
        return bool(target.notify(title=message.title, body=body, body_format=form))


def _preferred_format(service: Any) -> str:
    """Which form a service of Apprise takes; newer versions let it choose among several."""
    resolve = getattr(service, "resolve_format", None)
    form = resolve("markdown") if resolve else service.notify_format
    return str(getattr(form, "value", form))


def _load_apprise() -> Any:
    """Imported when first needed: it takes long, and is optional."""
    library = import_module("apprise")
    # It logs addresses with their passwords; what is worth knowing stands in the outcome.
    logging.getLogger("apprise").disabled = True
    connections = logging.getLogger("urllib3.connectionpool")
    connections.setLevel(max(connections.level, logging.INFO))
    return library
