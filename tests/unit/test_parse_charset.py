"""Bytes to text: marks, labels, lies and guesses."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from honeyguide.parse.charset import decode_body, is_utf8
from tests.unit.parsing import page

TURKISH = "Türkiye'de ığdır şehri çok güzeldir, öğrenciler İstanbul'da çalışıyor. " * 3


@pytest.mark.parametrize(
    ("body", "content_type", "charset"),
    [
        (b"\xef\xbb\xbf" + TURKISH.encode(), "text/html; charset=latin1", "utf-8"),
        (b"\xff\xfe" + TURKISH.encode("utf-16le"), "", "utf-16le"),
        (TURKISH.encode("utf-16be"), "text/html; charset=utf-16be", "utf-16be"),
        (f"<p>{TURKISH}".encode("utf-16le"), "", "utf-16le"),
        (TURKISH.encode("cp1254"), "text/html; charset=ISO-8859-9", "windows-1254"),
        (TURKISH.encode("cp1254"), "", "windows-1254"),
        (b"<meta charset=iso-8859-9>" + TURKISH.encode("cp1254"), "", "windows-1254"),
        (TURKISH.encode("cp1254"), "text/html; charset=utf-7", "windows-1254"),
        (TURKISH.encode("cp1254"), "text/html; charset=utf-8", "windows-1254"),
        (b"<meta charset=utf-8>" + TURKISH.encode("cp1254"), "", "windows-1254"),
        (TURKISH.encode(), "text/html; charset=iso-8859-1", "utf-8"),
        (b"<meta charset=utf-16>" + TURKISH.encode(), "", "utf-8"),
        (TURKISH.encode(), "", "utf-8"),
    ],
)
def test_every_way_to_say_it(body: bytes, content_type: str, charset: str):
    text, found = decode_body(body, content_type)
    assert found == charset
    assert text.endswith(TURKISH)


def test_latin1_means_windows_1252():
    assert decode_body(b"\x93quoted\x94", "text/html; charset=latin1") == (
        "“quoted”",
        "windows-1252",
    )


def test_language_and_host_help_to_guess():
    few = "<html lang=tr><p>Açık ığne".encode("cp1254")
    assert "Açık ığne" in decode_body(few)[0]
    assert decode_body("ışık".encode("cp1254"), "", "www.ornek.tr")[0] == "ışık"


def test_one_bad_byte_does_not_spoil_utf8():
    text, charset = decode_body(TURKISH.encode() + b"\xff", "text/html; charset=utf-8")
    assert charset == "utf-8"
    assert text == TURKISH + "\ufffd"


def test_japanese_behind_ascii():
    body = "蜜の案内".encode("iso-2022-jp")
    assert decode_body(body, "text/html; charset=iso-2022-jp")[0] == "蜜の案内"


@pytest.mark.parametrize("label", ["replacement", "iso-2022-kr", "no such", "", "\0", "utf-8" * 99])
def test_labels_that_mean_nothing(label: str):
    assert decode_body(TURKISH.encode(), f"text/html; charset={label}") == (TURKISH, "utf-8")


def test_no_nul_and_no_surrogate_is_left():
    got = page(b"<title>a\0b&#0;&#xD800;</title><p>c\0d \xed\xa0\x80 <a href=/x\0y>z\0</a>")
    everything = got.title + got.text + "".join("".join(map(str, link)) for link in got.links)
    assert "\0" not in everything
    everything.encode()


@given(st.one_of(st.text().map(str.encode), st.binary()), st.sampled_from(["", "utf-8", "latin1"]))
@example(b"\xef\xbb\xbf<p>", "")
@example(b"<b\0ody>", "utf-8")
@example(TURKISH.encode() + b"\xff", "utf-8")
@example(TURKISH.encode("utf-16le"), "utf-16le")
def test_what_is_called_utf8_is_the_text_to_the_last_byte(body: bytes, label: str):
    text, charset = decode_body(body, f"text/html; charset={label}" if label else "")
    assert not is_utf8(text, charset, body) or text.encode() == body


def test_plain_utf8_is_called_so():
    text, charset = decode_body(TURKISH.encode())
    assert is_utf8(text, charset, TURKISH.encode())
