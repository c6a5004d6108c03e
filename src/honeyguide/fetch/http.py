"""The HTTP fetcher: one request, one response, with every size and time bounded."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final, Protocol

from honeyguide.config.settings import FetchSettings
from honeyguide.errors import ConfigError, DnsError, FetchError, Forbidden, ProtocolError, WrongType
from honeyguide.fetch.cookies import CookieJar
from honeyguide.fetch.curl import BodyLimit, CurlOptions, CurlPool, CurlResponse
from honeyguide.fetch.decode import ACCEPT_ENCODING, decode_body, to_printable
from honeyguide.fetch.dns import DnsResolver
from honeyguide.fetch.http_headers import (
    ResponseHead,
    is_sendable,
    make_user_agent,
    merge_header_lines,
    request_head,
    secret_header_lines,
)
from honeyguide.fetch.ip_policy import forbidden_reason, is_loopback_host, metadata_reason
from honeyguide.types import Request, Response, Url
from honeyguide.url import authority_of, host_of, is_ip, path_of

__all__ = ["READABLE_TYPES", "CurlFetcher", "HostResolver", "make_user_agent"]

_PAGE_TYPES = frozenset(("", "text/html", "application/xhtml+xml", "text/plain"))
"""Types under the cap for pages; every other may be as large as a document."""
_FEED_TYPES = ("application/xml", "text/xml", "application/rss+xml", "application/atom+xml")
READABLE_TYPES: Final = _PAGE_TYPES.union(_FEED_TYPES)
"""Media types whose bodies we read; of an answer without a type we see what comes."""

_ASIDE_BYTES = 65_536
"""Most that is kept of a body that is no page: redirects and refusals."""
_LAB_URL = Url("http://lab.invalid/")
_ACCEPT_HEADER = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
_PROXY_SCHEMES = ("http://", "https://", "socks5h://")


class HostResolver(Protocol):
    """What the fetcher needs of a resolver."""

    async def resolve(self, host: str) -> tuple[str, ...]: ...

    async def aclose(self) -> None: ...


class CurlFetcher:
    """Fetches with libcurl: HTTP/1.1 and 2, kept-alive connections, bounded everything."""

    def __init__(
        self,
        settings: FetchSettings,
        *,
        user_agent: str,
        resolver: HostResolver | None = None,
        clock: Callable[[], float] = time.time,
        authorities: str = "",
        archives: bool = True,
    ) -> None:
        """``archives``: somebody keeps the heads of requests and answers as they were."""
        proxy = _lab_proxy(settings.lab) if settings.lab else _checked_proxy(settings.proxy)
        self._settings = settings
        self._archives = archives
        self._clock = clock
        self._proxied = bool(proxy)
        self._plain_proxy = proxy.startswith("http")
        self._checked = not settings.lab
        self._check = asyncio.Lock()
        self._jar = CookieJar()
        self._lines = [
            f"User-Agent: {user_agent}",
            _ACCEPT_HEADER,
            f"Accept-Encoding: {ACCEPT_ENCODING}",
        ]
        # An empty header is one that curl leaves out: its own for proxies, which nobody needs.
        self._removed_headers = ["Proxy-Connection:"] if self._plain_proxy else []
        self._plain = [*self._lines, *self._removed_headers]
        self._resolver: HostResolver | None = None
        if not proxy:
            self._resolver = resolver or DnsResolver(timeout_s=settings.connect_s, clock=clock)
        self._pool = CurlPool(
            CurlOptions(
                settings.connect_s,
                settings.read_s,
                settings.total_s,
                self._refuse_address,
                proxy,
                authorities,
            )
        )

    async def fetch(self, request: Request) -> Response:
        """One request, one answer; redirects are answers. Raises FetchError."""
        if not self._checked:
            async with self._check:
                if not self._checked:
                    await self._check_lab()
        return await self._send_request(request)

    async def aclose(self) -> None:
        await self._pool.aclose()
        if self._resolver is not None:
            await self._resolver.aclose()

    async def _send_request(self, request: Request) -> Response:
        url = request.url
        private = secret_header_lines(request)
        resolve = await self._resolve_host(url)
        extra = self._extra_headers(request)
        lines = [*self._lines, *extra] if extra else self._lines
        started = self._clock()
        arrived = await self._pool.get(
            url,
            merge_header_lines(lines, private, self._removed_headers)
            if extra or private
            else self._plain,
            resolve,
            lambda head: self._limit_body(request, head),
            request.body,
        )
        head, payload, archived = arrived.head, arrived.payload, self._archives
        if self._settings.cookies and not private and (cookies := head.header_values("set-cookie")):
            self._jar.store_cookies(url, cookies, started)
        return Response(
            url=url,
            status=head.status,
            headers=head.headers,
            payload=payload,
            body=self._decode_response(request, arrived),
            request_head=request_head(self._request_target(url), authority_of(url), lines)
            if archived
            else b"",
            head=head.to_archived(len(payload)) if archived else b"",
            ip="" if self._proxied else arrived.ip,
            started=started,
            elapsed=arrived.elapsed,
        )

    def _decode_response(self, request: Request, arrived: CurlResponse) -> bytes:
        """The payload decoded. Of an answer that brings no page, whatever can be read."""
        head, room = arrived.head, arrived.room
        try:
            return decode_body(
                request.url, arrived.payload, head.header("content-encoding"), limit=room.bytes,
                ratio=self._settings.inflate_ratio, truncate=room.truncate,
            )  # fmt: skip
        except ProtocolError:
            if 200 <= head.status < 300:
                raise
            return b""

    def _limit_body(self, request: Request, head: ResponseHead) -> BodyLimit:
        """How large this body may be, on the wire and decoded; WrongType if we do not want it."""
        if not 200 <= head.status < 300:
            return BodyLimit(min(_ASIDE_BYTES, request.limit or _ASIDE_BYTES), True)
        kind = head.header("content-type").partition(";")[0].strip().lower()
        if not request.any_type and kind not in READABLE_TYPES:
            raise WrongType(request.url, to_printable(kind[:80]))
        megabytes = self._settings.html_mb if kind in _PAGE_TYPES else self._settings.document_mb
        limit = int(megabytes * 1_000_000) if request.limit is None else request.limit
        return BodyLimit(limit, request.truncate)

    def _extra_headers(self, request: Request) -> list[str]:
        """The headers that not every request has, in the order in which they are sent."""
        wanted = (
            ("Referer", request.referer or ""),
            ("If-None-Match", request.etag),
            ("If-Modified-Since", request.modified),
        )
        extra = [f"{name}: {value}" for name, value in wanted if value and is_sendable(value)]
        cookies = self._settings.cookies and not request.headers
        if cookies and (cookie := self._jar.cookie_header(request.url, self._clock())):
            extra.append(f"Cookie: {cookie}")
        return extra

    async def _resolve_host(self, url: Url) -> list[str]:
        """Refuse what must not be asked for; look the name up and tell curl, in its notation."""
        if not url.startswith(("http://", "https://")):
            raise ProtocolError(url, "not an http address")
        place = authority_of(url)
        if "@" in place:
            raise Forbidden(url, "carries a user name or password")
        name = host_of(url)
        if self._settings.lab:
            if not url.startswith("http://"):
                raise Forbidden(url, "the lab serves http:// addresses only: name it so")
            return []
        literal = is_ip(name)
        if literal or is_loopback_host(name):
            if self._proxied and (reason := self._private_reason(name, literal)):
                raise Forbidden(url, f"{name} is {reason}")
            return []
        if self._resolver is None:
            return []
        try:
            found = await self._resolver.resolve(name)
        except DnsError as error:
            raise DnsError(url, error.detail) from error
        port = place[len(name) + 1 :] or ("443" if url.startswith("https") else "80")
        addresses = ",".join(f"[{ip}]" if ":" in ip else ip for ip in found)
        return [f"+{name}:{port}:{addresses}"]

    def _private_reason(self, name: str, literal: bool) -> str:
        if self._settings.private_addresses:
            return metadata_reason(name)
        return forbidden_reason(name) if literal else "this machine itself"

    def _refuse_address(self, ip: str) -> str:
        """Asked before every connection, with the address that it would go to."""
        if self._settings.lab:
            return "" if is_loopback_host(ip) else "not on this machine, where a lab must be"
        if self._proxied:
            return ""
        return metadata_reason(ip) if self._settings.private_addresses else forbidden_reason(ip)

    def _request_target(self, url: Url) -> str:
        return url if self._plain_proxy and url.startswith("http:") else path_of(url)

    async def _check_lab(self) -> None:
        """Make sure that what listens at ``fetch.lab`` is a lab, before asking it for anything."""
        address = self._settings.lab
        try:
            answer = await self._send_request(
                Request(_LAB_URL, any_type=True, limit=65_536, truncate=True)
            )
        except FetchError as error:
            detail = error.detail
        else:
            if answer.status == 200 and answer.header("server") == "honeyguide-lab":
                self._checked = True
                return
            detail = f"it answers as '{to_printable(answer.header('server')[:40])}'"
        raise ConfigError(
            f"fetch.lab: no lab answers at {address} ({detail}). "
            "Start one with: honeyguide lab serve"
        )


def _lab_proxy(address: str) -> str:
    """The lab as a proxy; only this machine will do."""
    place = address.removeprefix("http://").rstrip("/")
    name, _, port = place.rpartition(":")
    if not port.isdecimal() or not is_loopback_host(name):
        raise ConfigError(
            f"fetch.lab: {address!r} must be host:port on this machine, such as 127.0.0.1:8080"
        )
    return f"http://{place}"


def _checked_proxy(address: str) -> str:
    if address and not address.startswith(_PROXY_SCHEMES):
        schemes = f"{', '.join(_PROXY_SCHEMES[:-1])} or {_PROXY_SCHEMES[-1]}"
        raise ConfigError(f"fetch.proxy: {address!r} must begin with {schemes}")
    return address
