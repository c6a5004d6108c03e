from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honeyguide.fetch import cookies
from honeyguide.fetch.cookies import CookieJar

NOW = 1_700_000_000.0
PAGE = "https://www.shop.example.com/cart/view?x=1"


def jar(*lines: str, url: str = PAGE) -> CookieJar:
    made = CookieJar()
    made.store_cookies(url, lines, NOW)
    return made


@pytest.mark.parametrize(
    ("line", "url", "sent"),
    [
        ("a=1", "https://www.shop.example.com/cart/other", True),
        ("a=1", "https://www.shop.example.com/", False),
        ("a=1; Path=/", "https://www.shop.example.com/", True),
        ("a=1; Path=/cart", "https://www.shop.example.com/cartoon", False),
        ("a=1; Path=/cart", "https://www.shop.example.com/cart", True),
        ("a=1; Path=/", "https://shop.example.com/", False),
        ("a=1; Path=/; Domain=example.com", "https://other.example.com/", True),
        ("a=1; Path=/; Domain=.Example.com", "https://example.com/", True),
        ("a=1; Path=/; Domain=shop.example.com", "https://example.com/", False),
        ("a=1; Path=/; Domain=example.com", "https://badexample.com/", False),
        ("a=1; Path=/; Secure", "https://www.shop.example.com/", True),
        ("a=1; Path=/; Secure", "http://www.shop.example.com/", False),
        ("a=1; Path=/", "http://www.shop.example.com/", True),
        ("a=1; Path=/", "https://www.shop.example.com:8443/", True),
    ],
)
def test_where_a_cookie_goes(line: str, url: str, sent: bool) -> None:
    assert jar(line).cookie_header(url, NOW) == ("a=1" if sent else "")


@pytest.mark.parametrize(
    "line",
    [
        "a=1; Domain=com", "a=1; Domain=evil.test", "a=1; Domain=x.www.shop.example.com",
        "=", "", ";", "a\x00=1", "a=é", "a=1\r\nX: y", f"a={'x' * 4096}", "__Secure-a=1",
        "__Host-a=1; Secure; Domain=example.com; Path=/", "a=1; Max-Age=0", "a=1; Max-Age=-9",
        "a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
    ],
)  # fmt: skip
def test_refused(line: str) -> None:
    assert len(jar(line)) == 0


def test_no_cookies_for_public_suffixes_or_numbers() -> None:
    assert len(jar("a=1; Domain=co.uk", url="http://bbc.co.uk/")) == 0
    assert len(jar("a=1; Domain=github.io", url="http://me.github.io/")) == 0
    own = jar("a=1; Path=/; Domain=github.io", url="http://github.io/")
    assert own.cookie_header("http://github.io/", NOW) == "a=1"
    assert own.cookie_header("http://me.github.io/", NOW) == ""
    number = jar("a=1; Path=/; Domain=192.0.2.1", url="http://192.0.2.1/")
    assert number.cookie_header("http://192.0.2.1/", NOW) == "a=1"
    assert len(jar("a=1; Domain=0.2.1", url="http://192.0.2.1/")) == 0


def test_a_plain_answer_cannot_set_or_replace_a_secure_cookie() -> None:
    made = jar("a=safe; Path=/; Secure")
    made.store_cookies(
        "http://www.shop.example.com/", ["a=evil; Path=/", "b=2; Secure; Path=/"], NOW
    )
    assert made.cookie_header("https://www.shop.example.com/", NOW) == "a=safe"


def test_expiry_and_order() -> None:
    made = jar("a=1; Path=/; Max-Age=60", "b=2; Path=/cart", "c=3; Path=/; Expires=bogus")
    assert made.cookie_header(PAGE, NOW) == "b=2; a=1; c=3"
    assert made.cookie_header(PAGE, NOW + 60) == "b=2; c=3"
    made.store_cookies(PAGE, ["b=; Path=/cart; Max-Age=0"], NOW)
    assert made.cookie_header(PAGE, NOW + 60) == "c=3"


def test_old_style_dates() -> None:
    made = jar("a=1; Path=/; expires=Wed, 15-Nov-2023 22:13:20 GMT")
    assert made.cookie_header(PAGE, NOW) == "a=1"
    assert made.cookie_header(PAGE, NOW + 86_401) == ""


def test_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cookies, "MAX_SITES", 2)
    made = jar(*(f"c{n}={n}; Path=/" for n in range(60)))
    assert len(made) == 50
    assert "c9=" not in made.cookie_header(PAGE, NOW)
    assert "c59=59" in made.cookie_header(PAGE, NOW)
    for name in ("a", "b"):
        made.store_cookies(f"http://{name}.test/", ["x=1"], NOW)
    assert made.cookie_header(PAGE, NOW) == ""
    assert len(made) == 2
    big = jar(*(f"c{n}={'x' * 4000}; Path=/" for n in range(20)))
    assert len(big.cookie_header(PAGE, NOW)) <= 16_384


@given(st.lists(st.text(max_size=80), max_size=5))
def test_never_fails_and_never_sends_control_characters(lines: list[str]) -> None:
    sent = jar(*lines).cookie_header(PAGE, NOW)
    assert "\r" not in sent
    assert "\n" not in sent
    assert "\0" not in sent
