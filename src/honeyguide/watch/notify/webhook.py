"""The webhook channel: a JSON POST to an address of the user, signed if there is a secret.

The headers are those of the Standard Webhooks specification (version 1), so that receivers can
check them with libraries that exist: ``webhook-id`` is the same whenever the same message is sent
again, ``webhook-signature`` is HMAC-SHA256 over id, time and body.

Through :mod:`http.client`: it follows no redirect and asks no environment for a proxy, so nothing
is contacted but what the user wrote, which may be on a private network.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import socket
import ssl
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import unquote, urlsplit

from honeyguide.errors import ConfigError
from honeyguide.url import canonical_url
from honeyguide.watch.notify.channels import SendOutcome, given_up, retry_later, sent_at
from honeyguide.watch.notify.message import ChangeMessage

_MAX_ANSWER = 65_536
"""Bytes of the answer that are read, and thrown away."""
_RETRY_STATUSES = frozenset({408, 425, 429})
"""Answers that ask for another try; so does every 5xx."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """One address. It may be a secret as a whole, so that only its host is ever shown."""

    url: str = field(repr=False)
    secret: str = field(default="", repr=False)
    """``whsec_`` and base64, as the specification has it; anything else is taken as it stands."""
    timeout_s: float = 15.0
    """Longest time for the whole exchange."""
    host: str = field(init=False)

    def __post_init__(self) -> None:
        url = canonical_url(self.url.strip())
        if not url:
            raise ConfigError("the address of a webhook must begin with https:// or http://")
        object.__setattr__(self, "url", url)
        object.__setattr__(self, "host", urlsplit(url).hostname or "")
        _signing_key(self.secret)

    async def send(self, message: ChangeMessage, now: float, tries: int = 0) -> SendOutcome:
        """Never raises for what the network does; ``tries`` were made before this one."""
        # ASCII only, so that the bytes are the same whatever the receiver takes them for.
        body = json.dumps(message.to_data()).encode("ascii")
        exchange = _WebhookExchange(self.url, self.timeout_s)
        posting = asyncio.create_task(
            asyncio.to_thread(exchange.post, body, self._build_headers(message.id, now, body))
        )
        try:
            # The socket's own time-out is for a silence; a trickle needs this one.
            status, wait = await asyncio.wait_for(asyncio.shield(posting), self.timeout_s)
        except (OSError, HTTPException, UnicodeError) as error:  # the last: a name that none can be
            return retry_later(f"{self.host}: {_describe_error(error)}", now, tries)
        finally:
            exchange.cut_off()
            await asyncio.wait([posting], timeout=1.0)
            if posting.done() and not posting.cancelled():
                posting.exception()  # heard, or asyncio would complain that nobody listened
        if 200 <= status < 300:
            return sent_at(now)
        if status in _RETRY_STATUSES or status >= 500:
            return retry_later(f"{self.host} answered {status}", now, tries, wait)
        if 300 <= status < 400:
            return given_up(f"{self.host} answered {status}: write its new address", now)
        return given_up(f"{self.host} answered {status}", now)

    def _build_headers(self, key: str, now: float, body: bytes) -> dict[str, str]:
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "Honeyguide",
            "webhook-id": key,
            "webhook-timestamp": str(int(now)),
        }
        if self.secret:
            headers["webhook-signature"] = sign_body(self.secret, key, int(now), body)
        login = urlsplit(self.url)
        if login.username or login.password:
            pair = f"{unquote(login.username or '')}:{unquote(login.password or '')}"
            headers["Authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
        return headers


def sign_body(secret: str, key: str, timestamp: int, body: bytes) -> str:
    """What ``webhook-signature`` must be for this body."""
    signed = f"{key}.{timestamp}.".encode() + body
    return f"v1,{b64encode(hmac.new(_signing_key(secret), signed, sha256).digest()).decode()}"


def _signing_key(secret: str) -> bytes:
    if not secret.startswith("whsec_"):
        return secret.encode()
    try:
        return b64decode(secret.removeprefix("whsec_"), validate=True)
    except ValueError:
        raise ConfigError("the webhook's secret begins with whsec_ but is not base64") from None


class _WebhookExchange:
    """One request in a thread, which :meth:`cut_off` ends from outside."""

    def __init__(self, url: str, timeout_s: float) -> None:
        parts = urlsplit(url)
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._connection = kind(parts.hostname or "", parts.port, timeout=timeout_s)

    def post(self, body: bytes, headers: Mapping[str, str]) -> tuple[int, float]:
        """The status, and how many seconds the receiver asks us to wait."""
        try:
            self._connection.request("POST", self._path, body, dict(headers))
            answer = self._connection.getresponse()
            wait = answer.getheader("Retry-After", "")
            answer.read(_MAX_ANSWER)
            return answer.status, float(wait) if wait.isdecimal() and wait.isascii() else 0.0
        finally:
            self._connection.close()

    def cut_off(self) -> None:
        sock = self._connection.sock
        if sock is not None:
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                return  # it has ended by itself


def _describe_error(error: Exception) -> str:
    """In words of our own: what an exception says may hold the address."""
    match error:
        case TimeoutError():
            return "no answer in time"
        case ssl.SSLCertVerificationError():
            return f"its certificate is not good: {error.verify_message}"
        case ssl.SSLError():
            return "no secure connection"
        case socket.gaierror() | UnicodeError():
            return "there is no host of this name"
        case ConnectionRefusedError():
            return "the connection was refused"
        case OSError():
            return "the connection failed"
    return "what it answered is not HTTP"
