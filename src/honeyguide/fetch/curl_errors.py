"""What curl's error codes mean in our words. The one place where they are translated."""

from __future__ import annotations

from typing import Final

from honeyguide import errors

CURL_ERRORS: Final[dict[int, type[errors.FetchError]]] = {
    1: errors.ProtocolError,  # unsupported protocol, HTTP/0.9 included
    3: errors.ProtocolError,  # curl's idea of a URL is narrower than the standard's
    5: errors.ConnectError,  # the proxy's name does not resolve
    6: errors.DnsError,
    7: errors.ConnectError,
    8: errors.ProtocolError,  # weird server reply
    16: errors.ProtocolError,  # HTTP/2 framing
    18: errors.ConnectError,  # the body ended early
    28: errors.FetchTimeout,
    35: errors.TlsError,
    51: errors.TlsError,
    52: errors.ConnectError,  # nothing came at all
    53: errors.TlsError,
    54: errors.TlsError,
    55: errors.ConnectError,
    56: errors.ConnectError,
    58: errors.TlsError,
    59: errors.TlsError,
    60: errors.TlsError,
    61: errors.ProtocolError,  # unknown transfer coding
    64: errors.TlsError,
    66: errors.TlsError,
    77: errors.TlsError,
    80: errors.TlsError,
    82: errors.TlsError,
    83: errors.TlsError,
    90: errors.TlsError,
    91: errors.TlsError,
    92: errors.ProtocolError,  # HTTP/2 stream
    95: errors.ProtocolError,  # HTTP/3
    96: errors.ConnectError,  # QUIC
    97: errors.ConnectError,  # the proxy's handshake
    98: errors.TlsError,
    100: errors.ProtocolError,  # a head beyond curl's own limit
    101: errors.TlsError,
}
"""What curl's error codes mean to us; any other is a plain FetchError."""

_READ_ERROR = 56
_NOT_HTTP = ("chunk", "response headers")
"""Broken chunks and endless heads have no code of their own: curl calls them reading errors."""


_DETAIL_CHARS = 200


def to_printable(text: str) -> str:
    """What the web said, fit for a journal and a terminal: printable ASCII, and not much of it."""
    return ascii(text[:_DETAIL_CHARS])[1:-1][:_DETAIL_CHARS]


def translate_curl_error(url: str, code: int, message: str) -> errors.FetchError:
    """Curl's error in our words."""
    kind = CURL_ERRORS.get(code, errors.FetchError)
    if code == _READ_ERROR and any(words in message for words in _NOT_HTTP):
        kind = errors.ProtocolError
    return kind(url, to_printable(message) or f"curl error {code}")
