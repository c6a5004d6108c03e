"""How a recorded web is served: what is altered on the way out, and which answer a request gets.

Nothing here touches a socket, and nothing is ever fetched from anywhere else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field
from html import escape
from http import HTTPStatus
from random import Random
from typing import NamedTuple, Protocol, Self

from xxhash import xxh3_64_hexdigest

from honeyguide.errors import ConfigError
from honeyguide.lab.gzip_io import pack, unpack
from honeyguide.lab.page_rewriting import Strip, close_links
from honeyguide.lab.web import Recorded, Web, without_scheme
from honeyguide.types import Url
from honeyguide.url import canonical

_SECURE = re.compile(rb"https://([A-Za-z0-9.\-]+(?::\d+)?)", re.IGNORECASE)
_UNSAFE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")

_OWN_HEADERS = {
    "alt-svc", "connection", "content-encoding", "content-length", "date", "etag", "keep-alive",
    "proxy-connection", "server", "strict-transport-security", "te", "trailer",
    "transfer-encoding", "upgrade", "vary",
}  # fmt: skip
"""Facts of the recorded connection, which are not facts of ours."""

_TEXT = ("text/", "application/xhtml", "application/xml", "application/rss", "application/atom")
LAB = "lab.invalid"
"""The lab's own address: it tells what is served."""
ENGINE = "search.lab"
"""The host of the lab's search engine, where it has one. It is no part of the web."""
_ENGINE = (ENGINE, ENGINE + ":80")


@dataclass(frozen=True, slots=True)
class Serving:
    """What the lab does to a recorded web while serving it."""

    robots: str | None = None
    """robots.txt of every host; None: as recorded."""
    host_robots: Mapping[str, str] = field(default_factory=dict)
    """robots.txt of single hosts."""
    latency_s: float = 0.0
    strip: tuple[str, ...] = ()
    """Elements to leave out: ``tag``, ``tag#id``, ``tag.class`` or ``tag[name=value]``."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Addresses without scheme that redirect, and where to; a page of the web goes before one."""
    error_rate: float = 0.0
    """Share of requests for pages that fail with 503."""
    seed: int = 1
    closed: bool = False
    """Take out links to pages that were not recorded, so that no visit is wasted on them."""
    plain: bool = True
    """Write https links to hosts of this web as http, so that a plain proxy can follow them."""
    cache_mb: int = 256
    """Room for altered pages, kept gzip'd."""

    def __post_init__(self) -> None:
        if not 0 <= self.error_rate <= 1:
            raise ConfigError(f"error_rate must lie between 0 and 1, not {self.error_rate}")
        for rule in self.strip:
            Strip(rule)


class Answer(NamedTuple):
    """What goes back: the head up to its variable part, and the body both ways."""

    status: int
    head: bytes
    packed: bytes
    """The body, gzip'd; b'' for an empty one."""
    etag: str = ""
    wait_s: float | None = None
    """Seconds that it is held back; None: as long as any answer of this web."""

    @property
    def body(self) -> bytes:
        return unpack(self.packed)


SILENCE = Answer(0, b"", b"")
"""No answer at all: the connection breaks."""


class Beside(Protocol):
    """Somebody who answers beside the web, under a host of its own."""

    def answer(self, key: str) -> Answer: ...

    def anew(self) -> Self:
        """The same as it was at first."""


class Desk:
    """Answers requests out of a recorded web."""

    def __init__(
        self, web: Web, serving: Serving | None = None, engine: Beside | None = None
    ) -> None:
        """``engine``: answers for the host ``search.lab``."""
        self.web = web
        self.serving = serving or Serving()
        self.engine = engine
        moved = {key.partition("/")[0] for key in self.serving.aliases}
        self._hosts = web.hosts | moved
        self._strips = tuple(map(Strip, self.serving.strip))
        self._random = Random(self.serving.seed)
        self._ready = _Shelf(self.serving.cache_mb << 20)

    def answer(self, key: str) -> Answer:
        """The answer for ``host/path?query``, as the client wrote it."""
        if self.engine is not None and _for_engine(key):
            return self.engine.answer(key)
        if self.serving.error_rate and self._fails(key):
            return note(503, "The lab was asked to fail now and then.")
        if ready := self._ready.get(key):
            return ready
        record = self.web.lookup(key)
        if record is None:
            known = canonical("http://" + key)
            if known is None:
                return note(400, "That is no address.")
            key = without_scheme(known)
            if ready := self._ready.get(key):
                return ready
            record = self.web.lookup(key)
        host, _, path = key.partition("/")
        if path == "robots.txt":
            rules = self.serving.host_robots.get(host, self.serving.robots)
            if rules is not None and host in self._hosts:
                return make(200, (("Content-Type", "text/plain; charset=utf-8"),), rules.encode())
        if record is None:
            if target := self.serving.aliases.get(key):
                return make(301, (("Location", target),), b"")
            return self._missing(host, path)
        ready = self._prepare(record)
        self._ready.keep(key, ready)
        return ready

    def anew(self) -> Desk:
        """The same desk as it was at first: its errors come in the same order again."""
        other = copy(self)  # what was prepared is shared
        other._random = Random(self.serving.seed)
        other.engine = self.engine and self.engine.anew()
        return other

    def with_engine(self, engine: Beside | None) -> Desk:
        """The same desk as it was at first, with that engine beside it, or none."""
        other = self.anew()
        other.engine = engine and engine.anew()
        return other

    def warm(self) -> None:
        """Prepare every page now, so that a benchmark does not pay for it later."""
        for record in self.web:
            self._ready.keep(without_scheme(record.url), self._prepare(record))

    def _fails(self, key: str) -> bool:
        # robots.txt never fails: a crawler would rightly leave the whole host alone.
        if key.endswith("/robots.txt") or key.startswith(LAB):
            return False
        return self._random.random() < self.serving.error_rate

    def _prepare(self, record: Recorded) -> Answer:
        headers = [pair for pair in record.headers if pair[0].lower() not in _OWN_HEADERS]
        media_type = record.header("content-type").lower()
        packed = record.packed
        if self.serving.plain:
            headers = [(k, self._plain_text(v)) for k, v in headers]
        if media_type.startswith(_TEXT) and "utf-16" not in media_type:
            body = altered = record.body
            if self.serving.plain and b"ttps://" in body:
                altered = _SECURE.sub(self._plain_link, altered)
            if "html" in media_type:
                if self.serving.closed:
                    altered = close_links(altered, Url(record.url), self._recorded)
                for strip in self._strips:
                    altered = strip(altered)
            if altered is not body:
                packed = pack(altered)
        return _answer(record.status, tuple(headers), packed)

    def _recorded(self, url: str) -> bool:
        key = without_scheme(url)
        return key in self.serving.aliases or self.web.lookup(key) is not None

    def _plain_link(self, match: re.Match[bytes]) -> bytes:
        host = match[1].removesuffix(b":443")
        return b"http://" + host if host.decode().lower() in self._hosts else match[0]

    def _plain_text(self, value: str) -> str:
        if "https://" not in value:
            return value
        return _SECURE.sub(self._plain_link, value.encode("latin-1", "replace")).decode("latin-1")

    def _missing(self, host: str, path: str) -> Answer:
        if host in self._hosts:
            return note(404, "No such page was recorded.")
        if host == LAB:
            if path:
                return note(404, f"The lab's own address has one page, http://{LAB}/")
            facts = {"pages": len(self.web), "hosts": sorted(self._hosts)}
            text = json.dumps(facts, indent=1) + "\n"
            return make(200, (("Content-Type", "application/json"),), text.encode())
        return note(502, f"The host {host[:253]} is not in this web, and the lab asks nobody else.")


def _for_engine(key: str) -> bool:
    """Who asks the lab itself to search means its engine, too."""
    return key.partition("/")[0].lower() in _ENGINE or key.startswith(f"{LAB}/search?")


class _Shelf(dict[str, Answer]):
    """Prepared answers; the oldest go when there are too many bytes."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self._room = room

    def keep(self, key: str, answer: Answer) -> None:
        self[key] = answer
        self._room -= len(answer.packed) + len(answer.head)
        while self._room < 0 and self:
            oldest = self.pop(next(iter(self)))
            self._room += len(oldest.packed) + len(oldest.head)


def note(status: int, text: str) -> Answer:
    """A small page that says what is the matter."""
    title = f"{status} {_phrase(status)}"
    page = f"<!DOCTYPE html><title>{title}</title><h1>{title}</h1><p>{escape(text)}</p>\n"
    return make(status, (("Content-Type", "text/html; charset=utf-8"),), page.encode())


def make(status: int, headers: tuple[tuple[str, str], ...], body: bytes) -> Answer:
    return _answer(status, headers, pack(body))


def _answer(status: int, headers: tuple[tuple[str, str], ...], packed: bytes) -> Answer:
    etag = f'W/"{xxh3_64_hexdigest(packed)}"' if status == 200 else ""
    lines = [f"HTTP/1.1 {status} {_phrase(status)}", "Server: honeyguide-lab"]
    lines += [f"{_UNSAFE.sub('', k)}: {_UNSAFE.sub('', v)}" for k, v in headers]
    lines += [f"ETag: {etag}"] if etag else []
    head = "\r\n".join([*lines, "Vary: Accept-Encoding", ""])
    return Answer(status, head.encode("latin-1", "replace"), packed, etag)


def _phrase(status: int) -> str:
    return HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else "Unknown"
