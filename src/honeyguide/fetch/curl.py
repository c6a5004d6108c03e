"""HTTP transfers with libcurl, driven from asyncio by one selector for all sockets.

pycurl brings a driver of its own, which tells the event loop of every socket anew for every
request. Here a selector of our own holds them, and the loop only hears that something in it
is ready: a third of the work, and no timers beyond the nearest.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector
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

_ACTIONS = {
    EVENT_READ: pycurl.CSELECT_IN,
    EVENT_WRITE: pycurl.CSELECT_OUT,
    EVENT_READ | EVENT_WRITE: pycurl.CSELECT_IN | pycurl.CSELECT_OUT,
}
_EVENTS = {
    pycurl.POLL_IN: EVENT_READ,
    pycurl.POLL_OUT: EVENT_WRITE,
    pycurl.POLL_INOUT: EVENT_READ | EVENT_WRITE,
}


class CurlDriver:
    """Belongs to the event loop in which its first transfer starts."""

    def __init__(self, connections: int) -> None:
        self.closed = False
        self._multi: Any = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_MAXCONNECTS, connections)
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch_socket)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._request_timer)
        self._selector = DefaultSelector()
        self._watched: set[int] = set()
        """The sockets in it: it answers that itself, but slowly."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._under_way: dict[Any, asyncio.Future[None]] = {}
        self._timer: asyncio.TimerHandle | asyncio.Handle | None = None
        self._timed = 0.0
        """When the timer fires; it may be too early."""
        self._due = 0.0
        """When curl wants to be called; 0: never."""
        self._beginning = False
        """A transfer is being handed to curl, which is called as soon as it has it."""

    def start_transfer(self, curl: Any) -> asyncio.Future[None]:
        """Begin a transfer. The future raises pycurl.error, or whatever it is cancelled with.

        Whoever awaited it calls :meth:`stop_transfer`.
        """
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
            self._loop.add_reader(self._selector.fileno(), self._sockets_ready)
        self._beginning = True
        try:
            self._multi.add_handle(curl)
        finally:
            self._beginning = False
        future = self._under_way[curl] = self._loop.create_future()
        # Curl wants to be called at once. From here it may be, which saves a turn of the loop.
        self._socket_action(pycurl.SOCKET_TIMEOUT, 0)
        self._report_finished()
        return future

    def stop_transfer(self, curl: Any) -> None:
        """Take a transfer out, if it did not end by itself."""
        if self._under_way.pop(curl, None) is not None:
            self._multi.remove_handle(curl)

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        for curl, future in list(self._under_way.items()):
            self.stop_transfer(curl)
            future.cancel()
        if self._timer is not None:
            self._timer.cancel()
        if self._loop is not None:
            self._loop.remove_reader(self._selector.fileno())
        self._multi.close()
        self._selector.close()

    def _watch_socket(self, what: int, fd: int, _multi: Any, _data: Any) -> None:
        """Curl says what it waits for at a socket."""
        events = _EVENTS.get(what)
        if events is None:
            if fd in self._watched:
                self._watched.discard(fd)
                self._selector.unregister(fd)
        elif fd in self._watched:
            self._selector.modify(fd, events)
        else:
            self._watched.add(fd)
            self._selector.register(fd, events)

    def _request_timer(self, milliseconds: int) -> None:
        """Curl says when it wants to be called at the latest; mostly it is called before."""
        assert self._loop is not None
        if milliseconds < 0 or self.closed or self._beginning:
            self._due = 0.0
            return
        now = self._loop.time()
        self._due = now + milliseconds / 1000
        if self._timer is not None:
            if self._timed <= self._due:
                return
            self._timer.cancel()
        self._set_timer(now)

    def _set_timer(self, now: float) -> None:
        assert self._loop is not None
        self._timed = self._due
        if self._due <= now:
            # Not at once: curl must not be called from within itself.
            self._timer = self._loop.call_soon(self._timer_rang)
        else:
            self._timer = self._loop.call_at(self._due, self._timer_rang)

    def _timer_rang(self) -> None:
        assert self._loop is not None
        self._timer = None
        now = self._loop.time()
        if not self._due:
            return
        if self._due > now:
            self._set_timer(now)
            return
        self._due = 0.0
        self._socket_action(pycurl.SOCKET_TIMEOUT, 0)
        self._report_finished()

    def _sockets_ready(self) -> None:
        for key, events in self._selector.select(0):
            self._socket_action(key.fd, _ACTIONS[events])
        self._report_finished()

    def _socket_action(self, fd: int, events: int) -> None:
        try:
            self._multi.socket_action(fd, events)
        except pycurl.error as error:
            # Curl has lost its bearings: no transfer will end by itself any more.
            for future in self._under_way.values():
                if not future.done():
                    future.set_exception(error)

    def _report_finished(self) -> None:
        """Say of transfers that have ended that they have."""
        _, done, failed = self._multi.info_read()
        for curl in done:
            self._end_transfer(curl, None)
        for curl, code, message in failed:
            self._end_transfer(curl, pycurl.error(code, message))

    def _end_transfer(self, curl: Any, error: pycurl.error | None) -> None:
        future = self._under_way.get(curl)
        if future is None:
            return
        self.stop_transfer(curl)
        if future.done():
            return
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)


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
        self._driver = CurlDriver(IDLE_CONNECTIONS)
        self._idle_timeout = IdleTimeout(options.read_s)
        self._idle: list[CurlTransfer] = []

    async def get(
        self, url: str, lines: list[str], resolve: list[str], admit: AdmitHead
    ) -> CurlResponse:
        """One answer; whatever FetchError ``admit`` raises at the head ends the transfer."""
        transfer = self._idle.pop() if self._idle else CurlTransfer(self._options)
        try:
            transfer.begin_request(url, lines, resolve, admit)
            await self._await_transfer(url, transfer)
            return transfer.finish_response()
        except pycurl.error as error:
            return transfer.fail_response(*error.args)
        finally:
            transfer.end_request()
            if len(self._idle) < _IDLE_HANDLES and not self._driver.closed:
                self._idle.append(transfer)
            else:
                transfer.curl.close()

    async def _await_transfer(self, url: str, transfer: CurlTransfer) -> None:
        future = self._driver.start_transfer(transfer.curl)
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
            self._driver.stop_transfer(transfer.curl)
            self._idle_timeout.stop_watching(future)

    async def aclose(self) -> None:
        self._driver.close()
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
        self._reset_state()
        for option, value in _curl_settings(options):
            self.curl.setopt(option, value)
        self.curl.setopt(pycurl.HEADERFUNCTION, self._received.append)
        self.curl.setopt(pycurl.WRITEFUNCTION, self._receive_body)
        self.curl.setopt(pycurl.OPENSOCKETFUNCTION, self._open_socket)

    def begin_request(
        self, url: str, lines: list[str], resolve: list[str], admit: AdmitHead
    ) -> None:
        self._url = url
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
