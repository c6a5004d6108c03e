"""Authentication of requests to the studio.

Every request passes the :class:`AuthGate`. In order:

1. The Host header must name this machine, or a page of a stranger whose name was bent to
   127.0.0.1 (DNS rebinding) would be heard.
2. Other origins, also other ports of this machine, are refused by what browsers say of themselves
   (Sec-Fetch-Site, Origin). All they may do is lead to the first page.
3. Our own files are for everybody: they hold no secrets, and one of them signs in. It takes the
   ticket from behind the ``#`` of the address, which no browser sends, and exchanges it at
   ``/sign-in`` for a cookie (HttpOnly, SameSite=Strict) and a key that is kept with the page. Once
   only: the browser's history keeps the address.
4. All else needs both. Browsers show the cookie to every server on this machine, whatever its
   port, so that it proves nothing alone; the key is kept for this port. It comes as
   ``X-Honeyguide``, which no foreign page can add without being allowed to (CSRF). What cannot send
   headers (frames, events, downloads) has a pass in its address: signed with the key, for one
   address and one minute.
5. Programs send ``Authorization: Bearer TOKEN`` instead, and ``X-Honeyguide: 1`` with changes; the
   token signs in, too, and as often as they like.
"""

from __future__ import annotations

import hmac
import math
import secrets
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import unquote

HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]"})
SIGN_IN_PATH = "/sign-in"
LOGIN_PATH = "/api/pass"
"""Where the page asks for an address with a pass."""
_OPEN_PATHS = frozenset({"/", "/api/docs", "/api/openapi.json"})
_SAFE_METHODS = frozenset({"GET", "HEAD"})
_HEADER_CHARS = 4_096
"""Characters of a header that is looked at."""
_PASS_S = 60.0
_TICKET_S = 300.0
_MAX_WRONG = 20
_WRONG_S = 60.0
"""So many wrong tokens in such a time are too many."""
_LOGIN_MARK = "pass="

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
DATA_POLICY = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
SAFETY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cache-Control": "no-store",
    "Content-Security-Policy": DATA_POLICY,
}
"""On every answer, unless it has its own."""


class AuthRefusal(NamedTuple):
    """Why a request goes no further."""

    status: int
    why: str


class SignInGrant(NamedTuple):
    """What a browser is given at the sign-in."""

    cookie: str
    """The header that sets it."""
    key: str


@dataclass(frozen=True)
class AuthGate:
    """Decides from a request's line and headers alone; does no I/O."""

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    clock: Callable[[], float] = field(default=time.monotonic, repr=False)
    _session: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    _key: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    _tickets: dict[str, float] = field(default_factory=dict, repr=False)
    _wrong: deque[float] = field(default_factory=lambda: deque(maxlen=_MAX_WRONG), repr=False)

    def sign_in_address(self) -> str:
        """What is printed; a place in the studio (``/c/birds/live``) may follow. It is good for one
        sign-in, as browsers keep addresses; once used, this is another."""
        for ticket, until in self._tickets.items():
            if until == math.inf:
                return self._address_with(ticket)
        return self.ticket_address(math.inf)

    def ticket_address(self, seconds: float = _TICKET_S) -> str:
        """An address for one sign-in soon: what a browser is started with."""
        ticket = secrets.token_urlsafe(32)
        self._tickets[ticket] = self.clock() + seconds
        return self._address_with(ticket)

    def _address_with(self, ticket: str) -> str:
        return f"http://127.0.0.1:{self.port}/#token={ticket}"

    @property
    def cookie_name(self) -> str:
        """Its name: ports of one machine share their cookies."""
        return f"honeyguide_{self.port}"

    def refusal_of(
        self, method: str, path: str, query: str, headers: Mapping[str, str]
    ) -> AuthRefusal | None:
        """Names of headers are lower case. None: let it pass."""
        if _host_name(headers.get("host", "")) not in HOSTS:
            return AuthRefusal(421, "the studio answers on this machine's own name only")
        if _is_foreign(headers) and not (path == "/" and _is_navigation(method, headers)):
            return AuthRefusal(403, "another page asked for this")
        if is_public_path(method, path):
            return None
        if (method, path) == ("POST", SIGN_IN_PATH):
            return None if self._may_sign_in(headers) else self._reject_token()
        if _equal_secrets(_bearer_token(headers), self.token):
            if method in _SAFE_METHODS or headers.get("x-honeyguide"):
                return None
            return AuthRefusal(403, "the header X-Honeyguide: 1 is missing")
        if self._has_cookie(headers) and (
            _equal_secrets(headers.get("x-honeyguide", ""), self._key)
            or (method in _SAFE_METHODS and self._has_pass(path, query))
        ):
            return None
        return AuthRefusal(401, "open the address that honeyguide serve printed")

    def sign_in(self, headers: Mapping[str, str]) -> SignInGrant:
        """For a sign-in that was not refused; a ticket is used up by it."""
        self._tickets.pop(_bearer_token(headers), None)
        return SignInGrant(
            f"{self.cookie_name}={self._session}; Path=/; HttpOnly; SameSite=Strict", self._key
        )

    def signed_address(self, address: str) -> str:
        """The address (path and query) with a pass as its last parameter."""
        path, mark, query = address.partition("?")
        until = f"{self.clock() + _PASS_S:.0f}"
        sign = self._signature(unquote(path), query, until)
        return f"{path}?{query}{'&' if mark and query else ''}{_LOGIN_MARK}{until}-{sign}"

    def _has_pass(self, path: str, query: str) -> bool:
        asked, pass_text = split_pass(query)
        if path == LOGIN_PATH:  # else a pass could be renewed for ever
            return False
        until, _, sign = pass_text.partition("-")
        if not (until.isascii() and until.isdecimal() and len(until) < 16):
            return False
        return _equal_secrets(sign, self._signature(path, asked, until)) and self.clock() <= int(
            until
        )

    def _signature(self, path: str, query: str, until: str) -> str:
        signed = f"{until}\n{query}\n{path}".encode("utf-8", "surrogatepass")
        return hmac.new(self._key.encode(), signed, "sha256").hexdigest()

    def _may_sign_in(self, headers: Mapping[str, str]) -> bool:
        token = _bearer_token(headers)
        return _equal_secrets(token, self.token) or self.clock() <= self._tickets.get(token, -1.0)

    def _reject_token(self) -> AuthRefusal:
        # The right token is heard all the same: 256 bits are not guessed, and a limit for all would
        # let any program on this machine lock the owner out.
        now = self.clock()
        often = len(self._wrong) == _MAX_WRONG and now - self._wrong[0] < _WRONG_S
        self._wrong.append(now)
        if often:
            return AuthRefusal(429, "too many wrong tokens; wait a minute")
        return AuthRefusal(401, "this token is not, or no longer, the studio's")

    def _has_cookie(self, headers: Mapping[str, str]) -> bool:
        # By hand, and all of it: other servers on this machine share our jar, some with cookies
        # that no parser takes, some under our very name.
        pairs = (pair.strip().partition("=") for pair in headers.get("cookie", "").split(";"))
        found = [value.strip(' "') for name, _, value in pairs if name.strip() == self.cookie_name]
        return any(_equal_secrets(value, self._session) for value in found)


def is_public_path(method: str, path: str) -> bool:
    """Whether it is for everybody: the studio's own files, as anybody can install them."""
    return method in _SAFE_METHODS and (path in _OPEN_PATHS or path.startswith("/static/"))


def split_pass(query: str) -> tuple[str, str]:
    """The query as it was asked, and the pass at its end; '' where there is none."""
    asked, mark, pass_text = query.rpartition(_LOGIN_MARK)
    if not mark or (asked and not asked.endswith("&")):
        return query, ""
    return asked.removesuffix("&"), pass_text


def _is_foreign(headers: Mapping[str, str]) -> bool:
    """Another page made this request; what is no browser says nothing of it."""
    if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        return True
    origin = headers.get("origin")
    return origin is not None and origin.partition("://")[2] != headers.get("host")


def _is_navigation(method: str, headers: Mapping[str, str]) -> bool:
    """A person followed a link to the studio, in a window of its own."""
    kind = (headers.get("sec-fetch-mode"), headers.get("sec-fetch-dest"))
    return method == "GET" and kind == ("navigate", "document")


def _bearer_token(headers: Mapping[str, str]) -> str:
    kind, _, token = headers.get("authorization", "")[:_HEADER_CHARS].partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def _equal_secrets(candidate: str, secret: str) -> bool:
    # As bytes: compare_digest refuses texts with other letters.
    return hmac.compare_digest(candidate.encode("utf-8", "replace"), secret.encode())


def _host_name(host: str) -> str:
    """A Host header without its port. It may have another than ours, as through a tunnel."""
    name, colon, port = host[:_HEADER_CHARS].lower().rpartition(":")
    if not colon:
        return port
    return name if port.isdecimal() else host.lower()
