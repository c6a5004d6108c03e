"""A bare client for trying the site itself: bytes out, bytes in, nothing understood."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable


def connect(address: str, port: int) -> socket.socket:
    return socket.create_connection((address, port), timeout=2)


def ask(address: str, port: int, target: str = "/", *, host: str = "", more: str = "") -> bytes:
    """One request on a connection of its own; everything that came until the end."""
    with connect(address, port) as wire:
        name = host or f"{address}:{port}"
        head = f"GET {target} HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n{more}\r\n"
        wire.sendall(head.encode())
        return drain(wire)


def drain(wire: socket.socket, limit: int = 1_000_000) -> bytes:
    """What comes until the end, a reset, two seconds of silence, or the limit."""
    got = bytearray()
    try:
        while len(got) < limit and (piece := wire.recv(65536)):
            got += piece
    except (ConnectionError, TimeoutError):
        pass
    return bytes(got)


def until(true: Callable[[], object], seconds: float = 3.0) -> None:
    """Wait for what the site's thread is about to do."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)
