"""HTTP transfers with libcurl, driven from asyncio by pycurl."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

import pycurl

from honeyguide.errors import (
    ConnectError,
    DnsError,
    FetchError,
    FetchTimeout,
    Forbidden,
    ProtocolError,
    TlsError,
    TooLarge,
)
from honeyguide.fetch.decode import to_printable
from honeyguide.fetch.http_headers import ResponseHead, parse_head

# -- Idle timeout --


LastActivity = Callable[[float], float]
"""A function of the event loop's time: when a transfer last received something."""


class IdleTimeout:
    """One timer for all transfers under way, restarted only when it fires."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._active_at: dict[asyncio.Future[Any], LastActivity] = {}
        self._timer: asyncio.TimerHandle | None = None

    def watch_future(self, future: asyncio.Future[Any], last_activity: LastActivity) -> None:
        """Cancel this future when nothing comes for too long."""
        self._active_at[future] = last_activity
        if self._timer is None:
            self._timer = future.get_loop().call_later(self._limit, self._check_idle)

    def stop_watching(self, future: asyncio.Future[Any]) -> bool:
        """No longer watched. Whether it was too long, and the future cancelled therefore."""
        return self._active_at.pop(future, None) is None

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check_idle(self) -> None:
        """Whoever came after the timer was set has at least as long: it never rings too late."""
        self._timer = None
        soonest, loop = self._limit, asyncio.get_running_loop()
        now = loop.time()
        for future, last_activity in list(self._active_at.items()):
            left = last_activity(now) + self._limit - now
            if left > 0:
                soonest = min(soonest, left)
            elif future.cancel():
                del self._active_at[future]
        if self._active_at:
            self._timer = loop.call_later(soonest, self._check_idle)


# -- Transfers --


IDLE_CONNECTIONS: Final = 256
"""Idle connections kept for the next request to their hosts."""
_IDLE_HANDLES = 128
"""Curl handles kept for reuse."""
_MAX_PIECES = 100_000
"""Most pieces of one body: each costs a call, and a byte a piece would cost us seconds."""
_CA_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
)

AdmitHead = Callable[[ResponseHead], "BodyLimit"]
RefuseAddress = Callable[[str], str]


class BodyLimit(NamedTuple):
    """How much of a body may come in, and what happens to the rest."""

    bytes: int
    truncate: bool


class CurlResponse(NamedTuple):
    head: ResponseHead
    payload: bytes
    room: BodyLimit
    ip: str
    elapsed: float


class CurlOptions(NamedTuple):
    connect_s: float
    read_s: float
    total_s: float
    refuse: RefuseAddress
    """Why no connection may be made to this address, or ''."""
    proxy: str = ""
    authorities: str = ""
    """A file of trusted certificates; '': the system's."""


class CurlPool:
    """A pool of curl handles over one set of connections."""

    def __init__(self, options: CurlOptions) -> None:
        self._options = options._replace(authorities=options.authorities or find_ca_bundle())
        self._multi = pycurl.AsyncCurlMulti()
        self._multi.setopt(pycurl.M_MAXCONNECTS, IDLE_CONNECTIONS)
        self._idle_timeout = IdleTimeout(options.read_s)
        self._idle: list[CurlTransfer] = []

    async def get(
        self, url: str, lines: list[str], resolve: list[str], admit: AdmitHead, body: bytes = b""
    ) -> CurlResponse:
        """One answer; whatever FetchError ``admit`` raises at the head ends the transfer."""
        transfer = self._idle.pop() if self._idle else CurlTransfer(self._options)
        try:
            transfer.begin_request(url, lines, resolve, admit, body)
            await self._await_transfer(url, transfer)
            return transfer.finish_response()
        except pycurl.error as error:
            return transfer.fail_response(*error.args)
        finally:
            transfer.end_request()
            if len(self._idle) < _IDLE_HANDLES and not self._multi.closed:
                self._idle.append(transfer)
            else:
                transfer.curl.close()

    async def _await_transfer(self, url: str, transfer: CurlTransfer) -> None:
        future = self._multi.add_handle(transfer.curl)
        self._idle_timeout.watch_future(future, transfer.last_activity)
        try:
            await future
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not self._idle_timeout.stop_watching(future) or (
                task is not None and task.cancelling()
            ):
                raise
            detail = f"no data for {self._options.read_s:g} s"
            raise FetchTimeout(url, detail) from None
        finally:
            with suppress(RuntimeError):  # it ended by itself, or with the pool
                self._multi.remove_handle(transfer.curl)
            self._idle_timeout.stop_watching(future)

    async def aclose(self) -> None:
        await self._multi.aclose()
        self._idle_timeout.stop()
        while self._idle:
            self._idle.pop().curl.close()


class CurlTransfer:
    """One curl handle, set up once, and what its present request has brought so far."""

    def __init__(self, options: CurlOptions) -> None:
        self.curl: Any = pycurl.Curl()
        self._refuse = options.refuse
        self._url = ""
        self._admit: AdmitHead | None = None
        self._received: list[bytes] = []
        self._chunks: list[bytes] = []
        self._sockets: list[socket.socket] = []
        self._lines: list[str] | None = None
        self._began = self._active_at = 0.0
        self._lines_seen = 0
        self._posts = False
        self._reset_state()
        for option, value in _curl_settings(options):
            self.curl.setopt(option, value)
        self.curl.setopt(pycurl.HEADERFUNCTION, self._received.append)
        self.curl.setopt(pycurl.WRITEFUNCTION, self._receive_body)
        self.curl.setopt(pycurl.OPENSOCKETFUNCTION, self._open_socket)

    def begin_request(
        self, url: str, lines: list[str], resolve: list[str], admit: AdmitHead, body: bytes = b""
    ) -> None:
        self._url = url
        if body:
            self.curl.setopt(pycurl.POSTFIELDS, body)
            self._posts = True
        self._admit = admit
        self._began = self._active_at = time.monotonic()
        self._lines_seen = 0
        self.curl.setopt(pycurl.URL, url)
        if lines is not self._lines:
            self.curl.setopt(pycurl.HTTPHEADER, lines)
            self._lines = lines
        if resolve:
            self.curl.setopt(pycurl.RESOLVE, resolve)

    def last_activity(self, now: float) -> float:
        """When something last came, or the request went out. For the head, when first asked."""
        if len(self._received) > self._lines_seen:
            self._lines_seen = len(self._received)
            self._active_at = now
        elif not self._received:
            # While it is still connecting, which has a limit of its own, nothing is missed.
            sent = self.curl.getinfo(pycurl.PRETRANSFER_TIME)
            self._active_at = self._began + sent if sent else now
        return self._active_at

    def finish_response(self) -> CurlResponse:
        """The answer is complete, or as complete as we wanted it."""
        if self._head is None:
            self._read_head()
        if self._failure is not None:
            raise self._failure
        assert self._head is not None
        chunks = self._chunks
        payload = chunks[0] if len(chunks) == 1 else b"".join(chunks)
        info = self.curl.getinfo
        ip, elapsed = info(pycurl.PRIMARY_IP), info(pycurl.TOTAL_TIME)
        return CurlResponse(self._head, payload, self._room, ip, elapsed)

    def fail_response(self, code: int, message: str = "") -> CurlResponse:
        """Curl gave up: say why in our words, unless it was we who stopped it."""
        if self._cut:
            return self.finish_response()
        raise self._failure or self._refused or translate_curl_error(self._url, code, message)

    def end_request(self) -> None:
        """Forget this request; curl has its own copies of the sockets' descriptors."""
        for opened in self._sockets:
            opened.close()
        self._sockets.clear()
        self._received.clear()
        self._chunks.clear()
        self._admit = None
        if self._posts:
            self.curl.setopt(pycurl.HTTPGET, 1)
            self._posts = False
        self._reset_state()

    def _reset_state(self) -> None:
        self._head: ResponseHead | None = None
        self._room = BodyLimit(0, False)
        self._size = 0
        self._cut = False
        self._failure: FetchError | None = None
        self._refused: FetchError | None = None

    def _read_head(self) -> bool:
        assert self._admit is not None
        try:
            self._head = head = parse_head(self._url, self._received)
            self._room = self._admit(head)
        except FetchError as error:
            # Raised later: an exception must not cross curl.
            self._failure = error
            return False
        length = head.header("content-length")
        too_long = length.isdecimal() and len(length) < 20 and int(length) > self._room.bytes
        if too_long and not self._room.truncate:
            self._failure = TooLarge(self._url, f"{length} bytes announced")
        return self._failure is None

    def _receive_body(self, chunk: bytes) -> int | None:
        """Take a piece of the body; 0 stops the transfer."""
        if self._head is None and not self._read_head():
            return 0
        room = self._room
        self._active_at = time.monotonic()
        self._size += len(chunk)
        if len(self._chunks) > _MAX_PIECES:
            self._failure = ProtocolError(self._url, f"the body comes in over {_MAX_PIECES} pieces")
            return 0
        if self._size <= room.bytes:
            self._chunks.append(chunk)
            return None
        if room.truncate:
            self._chunks.append(chunk[: len(chunk) - (self._size - room.bytes)])
            self._cut = True
        else:
            self._failure = TooLarge(self._url, f"more than {room.bytes} bytes received")
        return 0

    def _open_socket(self, _purpose: int, address: Any) -> Any:
        """Called once the address is known and before anything is sent there."""
        reason = self._refuse(address.addr[0])
        if reason:
            self._refused = Forbidden(self._url, f"{address.addr[0]} is {reason}")
            return pycurl.SOCKET_BAD
        try:
            opened = socket.socket(address.family, address.socktype, address.protocol)
        except OSError as error:  # too many open files: our fault, and nobody else's
            self._refused = FetchError(self._url, f"no socket: {error}")
            return pycurl.SOCKET_BAD
        self._sockets.append(opened)
        return opened


_CODES_BY_ERROR: dict[type[FetchError], tuple[int, ...]] = {
    ProtocolError: (1, 3, 8, 16, 61, 92, 95, 100),
    ConnectError: (5, 7, 18, 52, 55, 56, 96, 97),
    DnsError: (6,),
    FetchTimeout: (28,),
    TlsError: (35, 51, 53, 54, 58, 59, 60, 64, 66, 77, 80, 82, 83, 90, 91, 98, 101),
}
CURL_ERRORS: Final = {code: kind for kind, codes in _CODES_BY_ERROR.items() for code in codes}
"""The error for each of curl's codes; any other code is a plain FetchError."""
_READ_ERROR = 56
_NOT_HTTP = ("chunk", "response headers")
"""Broken chunks and endless heads have no code of their own: curl calls them reading errors."""


def translate_curl_error(url: str, code: int, message: str) -> FetchError:
    kind = CURL_ERRORS.get(code, FetchError)
    if code == _READ_ERROR and any(words in message for words in _NOT_HTTP):
        kind = ProtocolError
    return kind(url, to_printable(message) or f"curl error {code}")


def find_ca_bundle() -> str:
    """The system's trusted certificates: the wheel's own path is right on some systems only."""
    found = ssl.get_default_verify_paths().cafile
    return next((path for path in (found, *_CA_BUNDLES) if path and Path(path).is_file()), "")


def _curl_settings(options: CurlOptions) -> list[tuple[int, Any]]:
    """What every request has in common."""
    settings: list[tuple[int, Any]] = [
        (pycurl.PROTOCOLS, pycurl.PROTO_HTTP | pycurl.PROTO_HTTPS),
        (pycurl.FOLLOWLOCATION, 0),
        (pycurl.PATH_AS_IS, 1),
        (pycurl.HTTP_VERSION, pycurl.CURL_HTTP_VERSION_2TLS),
        (pycurl.HTTP_CONTENT_DECODING, 0),
        (pycurl.NOSIGNAL, 1),
        (pycurl.NETRC, 0),
        (pycurl.PROXY, options.proxy),
        (pycurl.NOPROXY, ""),
        (pycurl.SSL_VERIFYPEER, 1),
        (pycurl.SSL_VERIFYHOST, 2),
        (pycurl.BUFFERSIZE, 65_536),
        (pycurl.CONNECTTIMEOUT_MS, _milliseconds(options.connect_s)),
        (pycurl.TIMEOUT_MS, _milliseconds(options.total_s)),
    ]
    if options.authorities:
        settings.append((pycurl.CAINFO, options.authorities))
    else:
        settings.append((pycurl.SSL_OPTIONS, pycurl.SSLOPT_NATIVE_CA))
    return settings


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))
