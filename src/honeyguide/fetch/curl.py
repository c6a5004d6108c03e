"""libcurl: one GET in, bytes and head out. Only ``drive`` sees pycurl besides."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import pycurl

from honeyguide.errors import FetchError, FetchTimeout, Forbidden, ProtocolError, TooLarge
from honeyguide.fetch.curl_errors import translate
from honeyguide.fetch.curl_multi import Drive
from honeyguide.fetch.http_headers import Head, read
from honeyguide.fetch.idle_timeout import Silence

CONNECTIONS: Final = 256
"""Idle connections kept for the next request to their hosts."""
_IDLE = 128
"""Curl handles kept for reuse."""
_PIECES = 100_000
"""Most pieces of one body: each costs a call, and a byte a piece would cost us seconds."""
_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
)

Admit = Callable[[Head], "Room"]
Refuse = Callable[[str], str]


class Room(NamedTuple):
    """How much of a body may come in, and what happens to the rest."""

    bytes: int
    truncate: bool


class Arrived(NamedTuple):
    head: Head
    payload: bytes
    room: Room
    ip: str
    elapsed: float


class Options(NamedTuple):
    connect_s: float
    read_s: float
    total_s: float
    refuse: Refuse
    """Why no connection may be made to this address, or ''."""
    proxy: str = ""
    authorities: str = ""
    """A file of trusted certificates; '': the system's."""


class Wire:
    """A pool of curl handles over one set of connections."""

    def __init__(self, options: Options) -> None:
        self._options = options._replace(authorities=options.authorities or bundle())
        self._drive = Drive(CONNECTIONS)
        self._silence = Silence(options.read_s)
        self._idle: list[Transfer] = []

    async def get(self, url: str, lines: list[str], resolve: list[str], admit: Admit) -> Arrived:
        """One answer; whatever FetchError ``admit`` raises at the head ends the transfer."""
        transfer = self._idle.pop() if self._idle else Transfer(self._options)
        try:
            transfer.begin(url, lines, resolve, admit)
            await self._arrival(url, transfer)
            return transfer.finish()
        except pycurl.error as error:
            return transfer.fail(*error.args)
        finally:
            transfer.end()
            if len(self._idle) < _IDLE and not self._drive.closed:
                self._idle.append(transfer)
            else:
                transfer.curl.close()

    async def _arrival(self, url: str, transfer: Transfer) -> None:
        future = self._drive.start(transfer.curl)
        self._silence.watch(future, transfer.heard)
        try:
            await future
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not self._silence.leave(future) or (task is not None and task.cancelling()):
                raise
            detail = f"nothing came for {self._options.read_s:g} s"
            raise FetchTimeout(url, detail) from None
        finally:
            self._drive.stop(transfer.curl)
            self._silence.leave(future)

    async def aclose(self) -> None:
        self._drive.close()
        self._silence.stop()
        while self._idle:
            self._idle.pop().curl.close()


class Transfer:
    """One curl handle, set up once, and what its present request has brought so far."""

    def __init__(self, options: Options) -> None:
        self.curl: Any = pycurl.Curl()
        self._refuse = options.refuse
        self._url = ""
        self._admit: Admit | None = None
        self._received: list[bytes] = []
        self._chunks: list[bytes] = []
        self._sockets: list[socket.socket] = []
        self._lines: list[str] | None = None
        self._began = self._heard = 0.0
        self._lines_heard = 0
        self._reset()
        for option, value in _settings(options):
            self.curl.setopt(option, value)
        self.curl.setopt(pycurl.HEADERFUNCTION, self._received.append)
        self.curl.setopt(pycurl.WRITEFUNCTION, self._write)
        self.curl.setopt(pycurl.OPENSOCKETFUNCTION, self._open)

    def begin(self, url: str, lines: list[str], resolve: list[str], admit: Admit) -> None:
        self._url = url
        self._admit = admit
        self._began = self._heard = time.monotonic()
        self._lines_heard = 0
        self.curl.setopt(pycurl.URL, url)
        if lines is not self._lines:
            self.curl.setopt(pycurl.HTTPHEADER, lines)
            self._lines = lines
        if resolve:
            self.curl.setopt(pycurl.RESOLVE, resolve)

    def heard(self, now: float) -> float:
        """When something last came, or the request went out. For the head, when first asked."""
        if len(self._received) > self._lines_heard:
            self._lines_heard = len(self._received)
            self._heard = now
        elif not self._received:
            # While it is still connecting, which has a limit of its own, nothing is missed.
            sent = self.curl.getinfo(pycurl.PRETRANSFER_TIME)
            self._heard = self._began + sent if sent else now
        return self._heard

    def finish(self) -> Arrived:
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
        return Arrived(self._head, payload, self._room, ip, elapsed)

    def fail(self, code: int, message: str = "") -> Arrived:
        """Curl gave up: say why in our words, unless it was we who stopped it."""
        if self._cut:
            return self.finish()
        raise self._failure or self._refused or translate(self._url, code, message)

    def end(self) -> None:
        """Forget this request; curl has its own copies of the sockets' descriptors."""
        for opened in self._sockets:
            opened.close()
        self._sockets.clear()
        self._received.clear()
        self._chunks.clear()
        self._admit = None
        self._reset()

    def _reset(self) -> None:
        self._head: Head | None = None
        self._room = Room(0, False)
        self._size = 0
        self._cut = False
        self._failure: FetchError | None = None
        self._refused: FetchError | None = None

    def _read_head(self) -> bool:
        assert self._admit is not None
        try:
            self._head = head = read(self._url, self._received)
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

    def _write(self, chunk: bytes) -> int | None:
        """Take a piece of the body; 0 stops the transfer."""
        if self._head is None and not self._read_head():
            return 0
        room = self._room
        self._heard = time.monotonic()
        self._size += len(chunk)
        if len(self._chunks) > _PIECES:
            self._failure = ProtocolError(self._url, f"the body comes in over {_PIECES} pieces")
            return 0
        if self._size <= room.bytes:
            self._chunks.append(chunk)
            return None
        if room.truncate:
            self._chunks.append(chunk[: len(chunk) - (self._size - room.bytes)])
            self._cut = True
        else:
            self._failure = TooLarge(self._url, f"more than {room.bytes} bytes came")
        return 0

    def _open(self, _purpose: int, address: Any) -> Any:
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


def bundle() -> str:
    """The system's trusted certificates: the wheel's own path is right on some systems only."""
    found = ssl.get_default_verify_paths().cafile
    return next((path for path in (found, *_BUNDLES) if path and Path(path).is_file()), "")


def _settings(options: Options) -> list[tuple[int, Any]]:
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
        (pycurl.CONNECTTIMEOUT_MS, _ms(options.connect_s)),
        (pycurl.TIMEOUT_MS, _ms(options.total_s)),
    ]
    if options.authorities:
        settings.append((pycurl.CAINFO, options.authorities))
    else:
        settings.append((pycurl.SSL_OPTIONS, pycurl.SSLOPT_NATIVE_CA))
    return settings


def _ms(seconds: float) -> int:
    return max(1, round(seconds * 1000))
