"""What curl's error codes mean in our words. The one place where they are translated."""

from __future__ import annotations

from typing import Final

from honeyguide.errors import (
    ConnectError,
    DnsError,
    FetchError,
    FetchTimeout,
    ProtocolError,
    TlsError,
)

CURL_ERRORS: Final[dict[int, type[FetchError]]] = {
    1: ProtocolError,  # unsupported protocol, HTTP/0.9 included
    3: ProtocolError,  # curl's idea of a URL is narrower than the standard's
    5: ConnectError,  # the proxy's name does not resolve
    6: DnsError,
    7: ConnectError,
    8: ProtocolError,  # weird server reply
    16: ProtocolError,  # HTTP/2 framing
    18: ConnectError,  # the body ended early
    28: FetchTimeout,
    35: TlsError,
    51: TlsError,
    52: ConnectError,  # nothing came at all
    53: TlsError,
    54: TlsError,
    55: ConnectError,
    56: ConnectError,
    58: TlsError,
    59: TlsError,
    60: TlsError,
    61: ProtocolError,  # unknown transfer coding
    64: TlsError,
    66: TlsError,
    77: TlsError,
    80: TlsError,
    82: TlsError,
    83: TlsError,
    90: TlsError,
    91: TlsError,
    92: ProtocolError,  # HTTP/2 stream
    95: ProtocolError,  # HTTP/3
    96: ConnectError,  # QUIC
    97: ConnectError,  # the proxy's handshake
    98: TlsError,
    100: ProtocolError,  # a head beyond curl's own limit
    101: TlsError,
}
"""What curl's error codes mean to us; any other is a plain FetchError."""

_READ_ERROR = 56
_NOT_HTTP = ("chunk", "response headers")
"""Broken chunks and endless heads have no code of their own: curl calls them reading errors."""


_DETAIL_CHARS = 200


def to_printable(text: str) -> str:
    """What the web said, fit for a journal and a terminal: printable ASCII, and not much of it."""
    return ascii(text[:_DETAIL_CHARS])[1:-1][:_DETAIL_CHARS]


def translate_curl_error(url: str, code: int, message: str) -> FetchError:
    """Curl's error in our words."""
    kind = CURL_ERRORS.get(code, FetchError)
    if code == _READ_ERROR and any(words in message for words in _NOT_HTTP):
        kind = ProtocolError
    return kind(url, to_printable(message) or f"curl error {code}")
