"""Answers of the lab server: pages of a web, its search engine, aliases, errors, edits."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from html import escape
from http import HTTPStatus
from random import Random
from typing import NamedTuple, Protocol, Self

from turbohtml import SelectorSyntaxError, rewrite
from xxhash import xxh3_64_hexdigest

from honeyguide.errors import ConfigError
from honeyguide.lab.web import LabWeb, RecordedResponse, gunzip_bytes, gzip_bytes, without_scheme
from honeyguide.types import Response, Url
from honeyguide.url import canonical_url


def close_links(html: bytes, url: Url, known: Callable[[str], bool]) -> bytes:
    """Take the address off links whose target ``known`` does not know."""
    base: Url | None = None

    def note_base(element: rewrite.Element) -> None:
        nonlocal base
        base = base or canonical_url(element.get("href") or "", url)

    def close_unknown(element: rewrite.Element) -> None:
        target = canonical_url((element.get("href") or "").strip(), base or url)
        if target is not None and not known(target):
            element.remove_attribute("href")

    return _rewrite_html(html, {"base[href]": note_base, "a[href],area[href]": close_unknown})


def strip_elements(html: bytes, rules: Iterable[str]) -> bytes:
    """Take elements out of HTML, with everything in them; a rule is a CSS selector."""
    return _rewrite_html(html, dict.fromkeys(rules, rewrite.Element.remove))


def _rewrite_html(html: bytes, handlers: Mapping[str, rewrite.ElementHandler]) -> bytes:
    # Tags are ASCII in all encodings that are read so; what surrounds them stays as it is.
    text = html.decode("utf-8", "surrogateescape")
    edited = rewrite.rewrite(text, elements=handlers.items())
    return edited.encode("utf-8", "surrogateescape")


# --------------------------------------------------------------------------------------------------
# How a recorded web is served: what is altered on the way out, and which answer a request gets.
#
# Nothing here touches a socket, and nothing is ever fetched from anywhere else.
# --------------------------------------------------------------------------------------------------


_HTTPS_LINK = re.compile(rb"https://([A-Za-z0-9.\-]+(?::\d+)?)", re.IGNORECASE)
_HEADER_CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")

_OWN_HEADERS = {
    "alt-svc", "connection", "content-encoding", "content-length", "date", "etag", "keep-alive",
    "proxy-connection", "server", "strict-transport-security", "te", "trailer",
    "transfer-encoding", "upgrade", "vary",
}  # fmt: skip
"""Facts of the recorded connection, which are not facts of ours."""

_TEXT_TYPES = (
    "text/",
    "application/xhtml",
    "application/xml",
    "application/rss",
    "application/atom",
)
LAB_HOST = "lab.invalid"
"""The lab's own address: it tells what is served."""
ENGINE_HOST = "search.lab"
"""The host of the lab's search engine, where it has one. It is no part of the web."""
_ENGINE_HOSTS = (ENGINE_HOST, ENGINE_HOST + ":80")


@dataclass(frozen=True, slots=True)
class ServingOptions:
    """What the lab does to a recorded web while serving it."""

    robots: str | None = None
    """robots.txt of every host; None: as recorded."""
    latency_s: float = 0.0
    strip: tuple[str, ...] = ()
    """Elements to leave out, as CSS selectors: ``tag``, ``tag#id``, ``tag.class``."""
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
        try:
            strip_elements(b"", self.strip)
        except SelectorSyntaxError as error:
            raise ConfigError(f"strip: {error}; a rule is like tag#id or tag.class") from error


class LabResponse(NamedTuple):
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
        return gunzip_bytes(self.packed)

    def to_response(self, url: Url) -> Response:
        """The same as a fetcher would bring it."""
        lines = self.head.decode("latin-1").split("\r\n")[1:]
        headers = tuple((k, v) for k, _, v in (line.partition(": ") for line in lines) if k)
        body = self.body
        head = self.head + b"Content-Length: %d\r\n\r\n" % len(body)
        return Response(url, self.status, headers, body, body, b"", head, "", 0.0, 0.0)


NO_RESPONSE = LabResponse(0, b"", b"")
"""No answer at all: the connection breaks."""


class VirtualHost(Protocol):
    """Somebody who answers beside the web, under a host of its own."""

    def respond(self, key: str) -> LabResponse: ...

    def fresh_copy(self) -> Self:
        """The same as it was at first."""


class LabResponder:
    """Answers requests out of a recorded web."""

    def __init__(
        self, web: LabWeb, serving: ServingOptions | None = None, engine: VirtualHost | None = None
    ) -> None:
        """``engine``: answers for the host ``search.lab``."""
        self.web = web
        self.serving = serving or ServingOptions()
        self.engine = engine
        moved = {key.partition("/")[0] for key in self.serving.aliases}
        self._hosts = web.hosts | moved
        self._random = Random(self.serving.seed)
        self._ready = _ResponseCache(self.serving.cache_mb << 20)

    def respond(self, key: str) -> LabResponse:
        """The answer for ``host/path?query``, as the client wrote it."""
        if self.engine is not None and _is_for_engine(key):
            return self.engine.respond(key)
        if self.serving.error_rate and self._should_fail(key):
            return message_response(503, "The lab was asked to fail now and then.")
        if ready := self._ready.get(key):
            return ready
        record = self.web.lookup(key)
        if record is None:
            known = canonical_url("http://" + key)
            if known is None:
                return message_response(400, "That is not an address.")
            key = without_scheme(known)
            if ready := self._ready.get(key):
                return ready
            record = self.web.lookup(key)
        host, _, path = key.partition("/")
        if path == "robots.txt":
            rules = self.serving.robots
            if rules is not None and host in self._hosts:
                headers = (("Content-Type", "text/plain; charset=utf-8"),)
                return make_response(200, headers, rules.encode())
        if record is None:
            if target := self.serving.aliases.get(key):
                return make_response(301, (("Location", target),), b"")
            return self._missing_response(host, path)
        ready = self._prepare_response(record)
        self._ready.put(key, ready)
        return ready

    def fresh_copy(self) -> LabResponder:
        """The same desk as it was at first: its errors come in the same order again."""
        other = copy(self)  # what was prepared is shared
        other._random = Random(self.serving.seed)
        other.engine = self.engine and self.engine.fresh_copy()
        return other

    def with_engine(self, engine: VirtualHost | None) -> LabResponder:
        """The same desk as it was at first, with that engine beside it, or none."""
        other = self.fresh_copy()
        other.engine = engine and engine.fresh_copy()
        return other

    def _should_fail(self, key: str) -> bool:
        # robots.txt never fails: a crawler would rightly leave the whole host alone.
        if key.endswith("/robots.txt") or key.startswith(LAB_HOST):
            return False
        return self._random.random() < self.serving.error_rate

    def _prepare_response(self, record: RecordedResponse) -> LabResponse:
        headers = [pair for pair in record.headers if pair[0].lower() not in _OWN_HEADERS]
        media_type = record.header("content-type").lower()
        packed = record.packed
        if self.serving.plain:
            headers = [(k, self._plain_text(v)) for k, v in headers]
        if media_type.startswith(_TEXT_TYPES) and "utf-16" not in media_type:
            body = altered = record.body
            if self.serving.plain and b"ttps://" in body:
                altered = _HTTPS_LINK.sub(self._plain_link, altered)
            if "html" in media_type:
                if self.serving.closed:
                    altered = close_links(altered, Url(record.url), self._is_recorded)
                if self.serving.strip:
                    altered = strip_elements(altered, self.serving.strip)
            if altered is not body:
                packed = gzip_bytes(altered)
        return _build_response(record.status, tuple(headers), packed)

    def _is_recorded(self, url: str) -> bool:
        key = without_scheme(url)
        return key in self.serving.aliases or self.web.lookup(key) is not None

    def _plain_link(self, match: re.Match[bytes]) -> bytes:
        host = match[1].removesuffix(b":443")
        return b"http://" + host if host.decode().lower() in self._hosts else match[0]

    def _plain_text(self, value: str) -> str:
        if "https://" not in value:
            return value
        return _HTTPS_LINK.sub(self._plain_link, value.encode("latin-1", "replace")).decode(
            "latin-1"
        )

    def _missing_response(self, host: str, path: str) -> LabResponse:
        if host in self._hosts:
            return message_response(404, "No such page was recorded.")
        if host == LAB_HOST:
            if path:
                return message_response(
                    404, f"The lab's own address has one page, http://{LAB_HOST}/"
                )
            facts = {"pages": len(self.web), "hosts": sorted(self._hosts)}
            text = json.dumps(facts, indent=1) + "\n"
            return make_response(200, (("Content-Type", "application/json"),), text.encode())
        return message_response(
            502, f"The host {host[:253]} is not in this web, and the lab contacts no other server."
        )


def _is_for_engine(key: str) -> bool:
    """Who asks the lab itself to search means its engine, too."""
    return key.partition("/")[0].lower() in _ENGINE_HOSTS or key.startswith(f"{LAB_HOST}/search?")


class _ResponseCache(dict[str, LabResponse]):
    """Prepared answers; the oldest go when there are too many bytes."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self._room = room

    def put(self, key: str, answer: LabResponse) -> None:
        self[key] = answer
        self._room -= len(answer.packed) + len(answer.head)
        while self._room < 0 and self:
            oldest = self.pop(next(iter(self)))
            self._room += len(oldest.packed) + len(oldest.head)


def message_response(status: int, text: str) -> LabResponse:
    """A small page that says what is the matter."""
    title = f"{status} {_status_phrase(status)}"
    page = f"<!DOCTYPE html><title>{title}</title><h1>{title}</h1><p>{escape(text)}</p>\n"
    return make_response(status, (("Content-Type", "text/html; charset=utf-8"),), page.encode())


def make_response(status: int, headers: tuple[tuple[str, str], ...], body: bytes) -> LabResponse:
    return _build_response(status, headers, gzip_bytes(body))


def _build_response(
    status: int, headers: tuple[tuple[str, str], ...], packed: bytes
) -> LabResponse:
    etag = f'W/"{xxh3_64_hexdigest(packed)}"' if status == 200 else ""
    lines = [f"HTTP/1.1 {status} {_status_phrase(status)}", "Server: honeyguide-lab"]
    lines += [f"{_HEADER_CONTROLS.sub('', k)}: {_HEADER_CONTROLS.sub('', v)}" for k, v in headers]
    lines += [f"ETag: {etag}"] if etag else []
    head = "\r\n".join([*lines, "Vary: Accept-Encoding", ""])
    return LabResponse(status, head.encode("latin-1", "replace"), packed, etag)


def _status_phrase(status: int) -> str:
    return HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else "Unknown"
