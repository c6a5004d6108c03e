from __future__ import annotations

import pycurl
import pytest

from honeyguide import errors
from honeyguide.errors import FetchError, ProtocolError
from honeyguide.fetch.curl import CURL_ERRORS, translate_curl_error
from honeyguide.fetch.decode import to_printable


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("COULDNT_RESOLVE_HOST", "DnsError"), ("COULDNT_CONNECT", "ConnectError"),
        ("COULDNT_RESOLVE_PROXY", "ConnectError"), ("OPERATION_TIMEDOUT", "FetchTimeout"),
        ("SSL_CONNECT_ERROR", "TlsError"), ("PEER_FAILED_VERIFICATION", "TlsError"),
        ("SSL_CERTPROBLEM", "TlsError"), ("SSL_CIPHER", "TlsError"),
        ("SSL_CACERT_BADFILE", "TlsError"), ("SSL_ISSUER_ERROR", "TlsError"),
        ("SSL_INVALIDCERTSTATUS", "TlsError"), ("GOT_NOTHING", "ConnectError"),
        ("SEND_ERROR", "ConnectError"), ("RECV_ERROR", "ConnectError"),
        ("PARTIAL_FILE", "ConnectError"), ("HTTP2", "ProtocolError"),
        ("UNSUPPORTED_PROTOCOL", "ProtocolError"), ("URL_MALFORMAT", "ProtocolError"),
        ("BAD_CONTENT_ENCODING", "ProtocolError"), ("FTP_WEIRD_SERVER_REPLY", "ProtocolError"),
        ("OUT_OF_MEMORY", "FetchError"),
    ],
)  # fmt: skip
def test_what_curl_errors_mean(name: str, kind: str) -> None:
    code = getattr(pycurl, f"E_{name}")
    error = translate_curl_error("http://a.test/", code, "words")
    assert type(error) is getattr(errors, kind)
    assert error.detail == "words"


def test_what_the_web_says_is_made_printable() -> None:
    said = "subject '\x1b]0;x\x07\u202eé\n' " * 50
    for text in (to_printable(said), translate_curl_error("u", 60, said).detail):
        assert text.isascii()
        assert text.isprintable()
        assert text.startswith("subject ")
        assert len(text) == 200
    assert to_printable("plain words") == "plain words"
    assert to_printable("") == ""


def test_the_error_table_is_sound() -> None:
    assert all(issubclass(kind, FetchError) for kind in CURL_ERRORS.values())
    assert type(translate_curl_error("u", 56, "Illegal chunk")) is ProtocolError
    assert translate_curl_error("u", 4711, "").detail == "curl error 4711"
