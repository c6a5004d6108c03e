"""Certificates are checked, and HTTP/2 is spoken where it is offered."""

from __future__ import annotations

import asyncio
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from honeyguide.config.settings import FetchSettings
from honeyguide.errors import TlsError
from honeyguide.fetch.dns import DnsResolver
from honeyguide.fetch.http import CurlFetcher
from honeyguide.types import Request, Response, Url

OPENSSL = shutil.which("openssl")
pytestmark = pytest.mark.skipif(OPENSSL is None, reason="needs the openssl command")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A key and a self-signed certificate for good.test in one file."""
    folder = tmp_path_factory.mktemp("tls")
    key, made, both = folder / "key.pem", folder / "cert.pem", folder / "both.pem"
    assert OPENSSL is not None
    subprocess.run(
        [OPENSSL, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-keyout", key, "-out", made, "-days", "2", "-subj", "/CN=good.test",
         "-addext", "subjectAltName=DNS:good.test"],
        check=True, capture_output=True,
    )  # fmt: skip
    both.write_bytes(key.read_bytes() + made.read_bytes())
    return both


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return (
        len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload
    )


class TlsServer:
    """One connection at a time; HTTP/2 by hand, as little of it as will do."""

    def __init__(self, certificate: Path, protocol: str) -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate)
        self._context.set_alpn_protocols([protocol])
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._accept)
        self._thread.start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)

    def _accept(self) -> None:
        while True:
            try:
                plain, _ = self._listener.accept()
            except OSError:
                return
            plain.settimeout(2)
            with plain:
                try:
                    with self._context.wrap_socket(plain, server_side=True) as sock:
                        if sock.selected_alpn_protocol() == "h2":
                            self._two(sock)
                        else:
                            self._one(sock)
                except OSError:
                    continue

    def _one(self, sock: ssl.SSLSocket) -> None:
        sock.recv(65536)
        sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 3\r\n\r\none")

    def _two(self, sock: ssl.SSLSocket) -> None:
        file = sock.makefile("rb")
        with file:
            if not file.read(24).startswith(b"PRI * HTTP/2.0"):
                return  # the client does not trust us
            sock.sendall(frame(4, 0, 0, b""))
            while len(head := file.read(9)) == 9:
                file.read(int.from_bytes(head[:3], "big"))
                if head[3] == 1:
                    stream = int.from_bytes(head[5:], "big")
                    fields = b"\x88\x0f\x10\x09text/html"  # :status 200, content-type
                    sock.sendall(frame(1, 4, stream, fields) + frame(0, 1, stream, b"two"))


@pytest.fixture(params=["http/1.1", "h2"])
def server(request: pytest.FixtureRequest, certificate: Path) -> Iterator[TlsServer]:
    made = TlsServer(certificate, request.param)
    yield made
    made.close()


def get(server: TlsServer, host: str, authorities: str) -> Response:
    async def here(_host: str) -> tuple[list[str], float]:
        return ["127.0.0.1"], 600.0

    async def main() -> Response:
        fetcher = CurlFetcher(
            FetchSettings(private_addresses=True, connect_s=2, read_s=2, total_s=3),
            user_agent="Honeyguide/0.1 (+me@x.test)",
            resolver=DnsResolver(here),
            authorities=authorities,
        )
        try:
            return await fetcher.fetch(Request(Url(f"https://{host}:{server.port}/x")))
        finally:
            await fetcher.aclose()

    return asyncio.run(main())


def test_a_trusted_certificate(server: TlsServer, certificate: Path) -> None:
    got = get(server, "good.test", str(certificate))
    assert got.status == 200
    assert got.body in (b"one", b"two")
    assert got.head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert got.header("Content-Type") == "text/html"
    assert got.request_head.startswith(b"GET /x HTTP/1.1\r\nHost: good.test:")


def test_an_unknown_authority(server: TlsServer) -> None:
    with pytest.raises(TlsError):
        get(server, "good.test", "")


def test_another_hosts_certificate(server: TlsServer, certificate: Path) -> None:
    with pytest.raises(TlsError):
        get(server, "other.test", str(certificate))
