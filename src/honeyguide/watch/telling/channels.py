"""The ways a message goes: webhook, Apprise, standard output, feed file.

A channel is given a message and says what became of it. Nothing is raised for what the network
does; a user's mistake (an address that is none, a library that is missing) is a ConfigError when
the channel is made, before anything was watched.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, Protocol, TextIO

from honeyguide.change import Change
from honeyguide.errors import ConfigError, StoreError
from honeyguide.watch.telling.feed import Feed, atom, rss, write
from honeyguide.watch.telling.message import Message
from honeyguide.watch.telling.outcome import Outcome, again, given_up, sent

_APPRISE_S = 60.0
"""Longest time for all that Apprise does; its own limits are per step."""


class Messenger(Protocol):
    """Carries messages through one channel; a :class:`.webhook.Webhook` is one."""

    async def send(self, message: Message, now: float, tries: int = 0) -> Outcome:
        """``tries`` were made before this one."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Standard output, or any stream: one JSON object in a line."""

    stream: TextIO

    async def send(self, message: Message, now: float, tries: int = 0) -> Outcome:
        try:
            self.stream.write(json.dumps(message.data()) + "\n")
            self.stream.flush()
        except BrokenPipeError:
            return given_up("nobody reads the output any more", now)
        except OSError as error:
            return again(f"the output cannot be written: {error.strerror}", now, tries)
        return sent(now)


@dataclass(frozen=True, slots=True)
class FeedFile:
    """A feed in the collection's folder, written anew from what the store holds."""

    path: Path
    feed: Feed
    recent: Callable[[], Sequence[Change]]
    """The newest changes that this channel was told of, those of the message included."""
    form: Literal["atom", "rss"] = "atom"

    async def send(self, message: Message, now: float, tries: int = 0) -> Outcome:  # noqa: ARG002
        document = (rss if self.form == "rss" else atom)(self.feed, self.recent())
        try:
            await asyncio.to_thread(write, self.path, document)
        except StoreError as error:
            return again(str(error), now, tries)
        return sent(now)


@dataclass(frozen=True, slots=True)
class Apprise:
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
        if not _library().Apprise().add(self.url):
            scheme, mark, _ = self.url.partition("://")
            shown = f" that begins with {scheme[:20]}://" if mark else ""
            raise ConfigError(f"Apprise does not understand the address of a channel{shown}")

    async def send(self, message: Message, now: float, tries: int = 0) -> Outcome:
        try:
            done = await asyncio.wait_for(asyncio.to_thread(self._notify, message), _APPRISE_S)
        except TimeoutError:
            return again("Apprise took too long", now, tries)
        # A hundred plug-ins by other people, each with its own exceptions; their texts may hold
        # the address, so only the kind is told.
        except Exception as error:  # noqa: BLE001
            return again(f"Apprise failed: {type(error).__name__}", now, tries)
        return sent(now) if done else again("Apprise could not deliver it", now, tries)

    def _notify(self, message: Message) -> bool:
        target = _library().Apprise()
        target.add(self.url)
        # Mail wants HTML, chats want Markdown: handing them theirs spares a conversion that would
        # have to be trusted with other people's words.
        form = _wanted(target[0])
        body = {"html": message.html, "markdown": message.markdown}.get(form, message.text)()
        return bool(target.notify(title=message.title, body=body, body_format=form))


def _wanted(service: Any) -> str:
    """Which form a service of Apprise takes; newer versions let it choose among several."""
    resolve = getattr(service, "resolve_format", None)
    form = resolve("markdown") if resolve else service.notify_format
    return str(getattr(form, "value", form))


def _library() -> Any:
    """Imported when first needed: it takes long, and is optional."""
    library = import_module("apprise")
    # It logs addresses with their passwords; what is worth knowing stands in the outcome.
    logging.getLogger("apprise").disabled = True
    connections = logging.getLogger("urllib3.connectionpool")
    connections.setLevel(max(connections.level, logging.INFO))
    return library
