"""Who may speak to the studio: the browser that opened the printed address, and nobody else.

Every request passes the :class:`Gate`, static files included. In order:

1. The Host header must name this machine, or a page of a stranger whose name was bent to
   127.0.0.1 (DNS rebinding) would be heard.
2. ``/?token=…`` is answered with a cookie (HttpOnly, SameSite=Strict) and sent on without the
   token, so that it stays neither in the address bar nor in a Referer. A ticket does the same, but
   once: it stands in the command line of the browser that we open, which others may see.
3. Whoever has neither the cookie nor ``Authorization: Bearer TOKEN`` gets 401.
4. Other origins, also other ports of this machine, are refused by what browsers say of themselves
   (Sec-Fetch-Site, Origin).
5. What changes anything needs the header ``X-Honeyguide: 1``, which no foreign page can add without
   being allowed to (CSRF), and a body only as JSON.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import NamedTuple
from urllib.parse import parse_qs

HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]"})
_SAFE = frozenset({"GET", "HEAD"})
_LONGEST = 4_096
"""Characters of a header that is looked at."""

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
DATA_POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cache-Control": "no-store",
    "Content-Security-Policy": DATA_POLICY,
}
"""On every answer, unless it has its own."""


class Refusal(NamedTuple):
    """Why a request goes no further; ``cookie`` is set where it is sent on instead."""

    status: int
    why: str
    cookie: str = ""
    foreign: bool = False
    """Another page led here, so that a browser would keep the cookie back on a plain redirect."""


@dataclass(frozen=True)
class Gate:
    """Decides from a request's line and headers alone; does no I/O."""

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    _session: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    _tickets: set[str] = field(default_factory=set, repr=False)

    @property
    def address(self) -> str:
        """What is printed."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    def ticket(self) -> str:
        """The same address, good for one visit: what a browser is started with."""
        ticket = secrets.token_urlsafe(32)
        self._tickets.add(ticket)
        return f"http://127.0.0.1:{self.port}/?token={ticket}"

    @property
    def cookie(self) -> str:
        """Its name: ports of one machine share their cookies."""
        return f"honeyguide_{self.port}"

    def refuses(
        self, method: str, path: str, query: str, headers: Mapping[str, str]
    ) -> Refusal | None:
        """Names of headers are lower case. None: let it pass."""
        if _name(headers.get("host", "")) not in HOSTS:
            return Refusal(421, "the studio answers on this machine's own name only")
        if path == "/" and method == "GET" and "token=" in query:
            given = _token(query)
            if given in self._tickets or self._is_token(given):
                self._tickets.discard(given)
                foreign = headers.get("sec-fetch-site", "none") not in ("same-origin", "none")
                return Refusal(303, "", self._cookie(), foreign)
            return Refusal(401, "this token is not, or no longer, the studio's")
        if not (self._has_cookie(headers) or self._has_token(headers)):
            return Refusal(401, "open the address that honeyguide serve printed")
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            return Refusal(403, "another page asked for this")
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] != headers.get("host"):
            return Refusal(403, "another page asked for this")
        if method not in _SAFE and headers.get("x-honeyguide") != "1":
            return Refusal(403, "the header X-Honeyguide: 1 is missing")
        return None

    def _cookie(self) -> str:
        return f"{self.cookie}={self._session}; Path=/; HttpOnly; SameSite=Strict"

    def _is_token(self, given: str) -> bool:
        # As bytes: compare_digest refuses texts with other letters.
        return hmac.compare_digest(given.encode("utf-8", "replace"), self.token.encode())

    def _has_token(self, headers: Mapping[str, str]) -> bool:
        kind, _, given = headers.get("authorization", "")[:_LONGEST].partition(" ")
        return kind.lower() == "bearer" and self._is_token(given.strip())

    def _has_cookie(self, headers: Mapping[str, str]) -> bool:
        try:
            found = SimpleCookie(headers.get("cookie", "")[:_LONGEST]).get(self.cookie)
        except CookieError:
            return False
        given = found.value if found is not None else ""
        return hmac.compare_digest(given.encode("utf-8", "replace"), self._session.encode())


def _name(host: str) -> str:
    """A Host header without its port. It may have another than ours, as through a tunnel."""
    name, colon, port = host[:_LONGEST].lower().rpartition(":")
    if not colon:
        return port
    return name if port.isdecimal() else host.lower()


def _token(query: str) -> str:
    try:
        return parse_qs(query[:_LONGEST], max_num_fields=20).get("token", [""])[0]
    except ValueError:
        return ""
